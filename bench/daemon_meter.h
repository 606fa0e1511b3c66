// What the daemon has used and done so far, as the kernel and its own metrics tell.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace tangram::bench {

// Totals since the daemon began; two readings make a difference.
struct DaemonReading {
  double cpu_seconds = 0;     // of all its threads
  double writer_seconds = 0;  // of the thread that decides
  double decision_seconds = 0;
  double decisions = 0;  // groups
  double command_seconds = 0;
  double commands = 0;
  double records = 0;

  DaemonReading& operator+=(const DaemonReading& other);
  DaemonReading operator-(const DaemonReading& other) const;
  std::string to_json() const;
};

// CPU times of the process from /proc/PID/task/*/schedstat, in nanoseconds there; zero for what cannot be
// read.
void read_cpu(pid_t daemon, DaemonReading& into);
// The rest, from the text of GET /metrics.
void read_metrics(const std::string& text, DaemonReading& into);

}  // namespace tangram::bench
