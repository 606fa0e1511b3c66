// What may stand at the cursor of a command line that is not finished: the same answer for every shell.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/client_options.h"
#include "cli/known_names.h"

namespace tangram::cli {

struct Completion {
  std::vector<KnownName> candidates;  // that begin with what stands at the cursor
  bool files = false;                 // the shell knows which
  bool directories = false;
};

// Who knows the names of jobs, tenants and tokens; asked only when one is wanted.
struct NameSource {
  std::function<std::vector<KnownName>(Jobs)> jobs;
  std::function<std::vector<KnownName>()> tenants;
  std::function<std::vector<KnownName>()> tokens;
};

// `words` without the program's name; the last one stands at the cursor and may be empty. Pure but for the
// source.
Completion complete(const std::vector<std::string>& words, wire::Language language, const NameSource& source);

// For the scripts of the shells: "word<TAB>about" a line, then ":none", ":files" or ":directories". Words
// that a shell would not take as one are left out.
std::string completion_lines(const std::vector<std::string>& words, const Environment& environment);

// The script that a shell reads: "bash", "zsh" or "fish".
std::string_view completion_script(std::string_view shell);

}  // namespace tangram::cli
