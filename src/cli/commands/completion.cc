#include "cli/completion.h"

#include <array>
#include <ostream>

#include "cli/commands/all.h"
#include "cli/session.h"
#include "wire/command_texts.h"
#include "wire/errors.h"

namespace tangram::cli {
namespace {

namespace help = wire::help;

constexpr std::array<std::string_view, 3> kShells{"bash", "zsh", "fish"};

constexpr Option kShell{.name = "SHELL",
                        .about = help::kCompletionShell,
                        .required = true,
                        .completes = Completes::kChoice,
                        .choices = kShells};
constexpr std::array kOptions{kShell};

int run(Session& session, const Arguments& arguments) {
  session.streams().out << completion_script(arguments.text(kShell)) << std::flush;
  return wire::kExitOk;
}

}  // namespace

const Command kCompletion{
    .name = "completion",
    .summary = help::kCompletion,
    .run = run,
    .options = kOptions,
    .examples =
        "source <(tangram completion bash)\n"
        "tangram completion fish | source\n",
    .offline = true,
};

}  // namespace tangram::cli
