// The words of the model in both languages, as docs/glossary.md has them: what a table or a sentence calls a
// state, an outcome, a health. The English word is the token of the API. Thread-safe: pure functions.
#pragma once

#include <string_view>

#include "model/job.h"
#include "model/npu.h"
#include "model/tenant.h"
#include "wire/doctor.h"
#include "wire/language.h"
#include "wire/slices.h"
#include "wire/tokens.h"

namespace tangram::wire {

std::string_view word(JobState state, Language language);
std::string_view word(Outcome outcome, Language language);
std::string_view word(Priority priority, Language language);
std::string_view word(Health health, Language language);
std::string_view word(NpuMode mode, Language language);
std::string_view word(Dimension dimension, Language language);
std::string_view word(Role role, Language language);
std::string_view word(TokenState state, Language language);
std::string_view word(SliceStanding standing, Language language);
std::string_view word(Severity severity, Language language);

}  // namespace tangram::wire
