// What SQLite waits for the disk: the time of its fsync calls, from a steady clock.
#pragma once

#include <chrono>

namespace tangram::journal {

// The name under which to open a database whose fsyncs are timed: SQLite's own file layer otherwise.
// Registered with SQLite on first use. Thread-safe.
const char* timed_file_layer();

// What the calling thread has waited for fsync so far.
std::chrono::nanoseconds sync_time();

}  // namespace tangram::journal
