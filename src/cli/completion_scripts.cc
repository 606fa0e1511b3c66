// The scripts only hand the words over and show the answer: what may stand where is in the tables of
// commands.
#include "cli/completion.h"

namespace tangram::cli {
namespace {

constexpr std::string_view kBash = R"script(# bash completion for tangram
#   source <(tangram completion bash)
# or, for every shell: tangram completion bash > /usr/local/share/bash-completion/completions/tangram

_tangram() {
  local words=() word glue="" last=${COMP_WORDS[COMP_CWORD]} i
  # Bash takes "--tenant=a" and "on-failure:3" apart; the program wants them whole.
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ $word == [=:]* && ${#words[@]} -gt 0 ]]; then
      words[-1]+=$word
      glue=1
    elif [[ -n $glue ]]; then
      words[-1]+=$word
      glue=""
    else
      words+=("$word")
    fi
  done
  [[ $last == [=:]* ]] && last=""
  local whole=${words[-1]} line
  local skip=$((${#whole} - ${#last}))
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :files) compopt -o default 2> /dev/null ;;
      :directories)
        compopt -o dirnames 2> /dev/null
        ;;
      :none) ;;
      *)
        word=${line%%$'\t'*}
        COMPREPLY+=("${word:skip}")
        ;;
    esac
  done < <("${COMP_WORDS[0]}" __complete "${words[@]}" 2> /dev/null)
  # A list of columns goes on behind a comma.
  [[ ${COMP_WORDS[COMP_CWORD - 1]} == --columns || $whole == --columns=* ]] && compopt -o nospace 2> /dev/null
  return 0
}

complete -F _tangram tangram
)script";

constexpr std::string_view kZsh = R"script(#compdef tangram
# zsh completion for tangram
#   source <(tangram completion zsh)
# or, for every shell: tangram completion zsh > /usr/local/share/zsh/site-functions/_tangram

_tangram() {
  local -a candidates
  local line word about then=none
  while IFS= read -r line; do
    case $line in
      :*) then=${line#:} ;;
      *)
        word=${line%%$'\t'*}
        about=${line#*$'\t'}
        candidates+=("${word//:/\\:}${about:+:$about}")
        ;;
    esac
  done < <("${(Q)words[1]}" __complete "${(@Q)words[2,CURRENT]}" 2> /dev/null)
  (( ${#candidates} )) && _describe -t tangram tangram candidates
  case $then in
    files) _files ;;
    directories) _files -/ ;;
  esac
}

if [[ ${funcstack[1]} == _tangram ]]; then
  _tangram "$@"
else
  compdef _tangram tangram
fi
)script";

constexpr std::string_view kFish = R"script(# fish completion for tangram
#   tangram completion fish | source
# or, for every shell: tangram completion fish > /usr/local/share/fish/vendor_completions.d/tangram.fish

function __tangram_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for line in ($words[1] __complete $words[2..] "$current" 2>/dev/null)
        switch $line
            case ':files'
                __fish_complete_path "$current"
            case ':directories'
                __fish_complete_directories "$current"
            case ':none'
            case '*'
                printf '%s\n' $line
        end
    end
end

complete -c tangram -f -a '(__tangram_complete)'
)script";

}  // namespace

std::string_view completion_script(std::string_view shell) {
  if (shell == "bash") return kBash;
  return shell == "zsh" ? kZsh : kFish;
}

}  // namespace tangram::cli
