// What a target asks of the code under test. What does not hold ends the process, which libFuzzer keeps as a
// finding.
#pragma once

#include "base/error.h"

namespace tangram::fuzz {

void require(bool condition, const char* what);

// Errors are shown to people: one line of UTF-8 without control characters, of bounded length, with a reason.
void require_presentable(const Error& error);

// Anything but what the target is about (the log) stays silent.
void be_quiet();

}  // namespace tangram::fuzz
