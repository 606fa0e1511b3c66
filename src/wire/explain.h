// Everything that Tangram answers with a code for, in words: reasons, classes of errors, exit codes. Works
// without a daemon. Thread-safe: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/language.h"

namespace tangram::wire {

struct CodeEntry {
  enum class Kind : std::uint8_t { kReason, kClass, kExitCode };

  std::string code;  // "quota.npus.exceeded", "not_found", "3"
  Kind kind = Kind::kReason;
  std::string meaning;  // one sentence
  std::string effect;   // what follows for a job; empty: says nothing of jobs
  std::string remedy;   // what to do
};

// All of them: reasons as the catalogue has them, then classes, then exit codes.
std::vector<CodeEntry> code_entries(Language language);

// The entry of a code, or all that begin with it and a dot ("quota"). None: no code is like that.
std::vector<CodeEntry> find_codes(std::string_view code, Language language);

std::string_view to_string(CodeEntry::Kind kind);  // "reason", "class", "exit-code"
std::string write(const CodeEntry& entry);         // as JSON
std::string write(const std::vector<CodeEntry>& entries);

}  // namespace tangram::wire
