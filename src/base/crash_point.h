// Named places between two steps that must survive a kill. In a test build (TANGRAM_CRASH_POINTS), a process
// started with TANGRAM_CRASH_AT=<name>[:<n>] kills itself with SIGKILL the n-th time (default the first) it
// passes that place. In any other build a crash point is nothing at all.
#pragma once

#include <tangram_build.h>

#include <functional>
#include <string_view>

namespace tangram {

// Thread-safe. Use TG_CRASH_POINT, so that release builds carry no trace of it.
void pass_crash_point(const char* name);

// For a test that plays the life of a process within its own: called at every pass in the place of the kill,
// and may throw. Null: the kill again. Not while other threads pass crash points.
void on_crash_point(std::function<void(std::string_view)> call);

}  // namespace tangram

#ifdef TANGRAM_CRASH_POINTS
#define TG_CRASH_POINT(name) ::tangram::pass_crash_point(name)
#else
#define TG_CRASH_POINT(name) void(0)
#endif
