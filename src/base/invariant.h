// Programmer errors: checked in release too, and never handled. An operating error is a Result instead.
#pragma once

namespace tangram {

// Prints to standard error and aborts. Not for use by hand: see TG_ASSERT.
[[noreturn]] void invariant_failed(const char* expression, const char* file, int line, const char* message);

}  // namespace tangram

#define TG_ASSERT(condition, message)     \
  (static_cast<bool>(condition) ? void(0) \
                                : ::tangram::invariant_failed(#condition, __FILE__, __LINE__, message))

// For checks that cost more than O(1).
#ifdef NDEBUG
#define TG_ASSERT_DEBUG(condition, message) void(0)
#else
#define TG_ASSERT_DEBUG(condition, message) TG_ASSERT(condition, message)
#endif
