// Running attempts of jobs. Implemented by `runner` (supervised processes); later by Pods.
//
// Life of an attempt: prepare (a supervisor exists and waits) -> journal AttemptPrepared -> go -> … ->
// AttemptExit. A supervisor that sees end of file before `go` ends without having started anything.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "model/job.h"

namespace tangram {

// One try of one job. The job's key is opaque here (at most 64 bytes, [a-z0-9-]): a Pod and a process are one
// kind.
struct AttemptKey {
  std::string job;  // "j-17"
  std::int32_t attempt = 1;

  friend auto operator<=>(const AttemptKey&, const AttemptKey&) = default;
};

// What the host gives to one job. kUnlimited where there is no limit.
struct HostLimits {
  std::int64_t cpu_milli = kUnlimited;  // thousandths of a core
  Bytes memory = Bytes::unlimited();
  std::int64_t processes = kUnlimited;

  friend bool operator==(const HostLimits&, const HostLimits&) = default;
};

// The slice of an NPU that a job holds: all it gets of that NPU.
struct LaunchSlice {
  std::uint32_t physical_id = 0;  // of the NPU that it is cut of
  std::uint32_t id = 0;           // vNPU id of the driver: the N of the host's /dev/vdavinciN
  std::string template_name;      // "vir04"

  friend bool operator==(const LaunchSlice&, const LaunchSlice&) = default;
};

struct LaunchSpec {
  AttemptKey key;
  std::string tenant;
  uid_t uid = 0;  // never 0 when the daemon runs as root
  gid_t gid = 0;
  std::vector<gid_t> groups;
  std::vector<std::string> argv;  // argv[0] is looked up in PATH of `env` inside the job's view
  std::vector<std::pair<std::string, std::string>> env;  // the whole environment, CANN variables included
  std::string workdir;                                   // empty: the job's own directory
  std::vector<std::uint32_t> npus;                       // whole ones: physical ids, ascending
  std::optional<LaunchSlice> slice;                      // then no whole ones
  HostLimits limits;
  std::int64_t time_limit_ms = kUnlimited;
  std::int64_t grace_ms = 10'000;  // between SIGTERM and SIGKILL
  std::int64_t log_bytes_max = 64LL << 20;
};

// Enough to find the supervisor again after a restart of the daemon, and to know that it is the same one.
struct SupervisorIdentity {
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;  // field 22 of /proc/<pid>/stat
  std::string boot_id;

  friend bool operator==(const SupervisorIdentity&, const SupervisorIdentity&) = default;
};

enum class StopReason : std::uint8_t { kCancelled, kDeviceLost };

struct AttemptExit {
  AttemptKey key;
  Outcome outcome = Outcome::kLost;
  std::optional<int> exit_status;  // when the program exited by itself
  std::optional<int> signal;       // when a signal ended it
  std::string message;             // one sentence for the user: "cannot execute /x/y: permission denied"
  bool out_of_memory = false;      // the host memory limit killed it
  bool released = true;  // kNotStarted only; false: no `go` came, or the machine had no process for it
};

// Events come on a thread of the executor; the sink must not block and may be called from several threads.
struct ExecutorSink {
  std::function<void(const AttemptKey&)> running;  // the program was executed
  std::function<void(const AttemptExit&)> exited;  // the cgroup is empty, the exit record durable
};

// Thread-safe after start().
class Executor {
 public:
  virtual ~Executor() = default;

  virtual Result<void> start(ExecutorSink sink) = 0;

  // Spawns the supervisor, which waits for go(). Blocks until it holds its lock (bounded, about 10 s).
  // kResourceExhausted, kDeadlineExceeded, kAborted: the machine lacks something that may come back (room on
  // the disk), was too slow, or the supervisor was killed, so the same call may succeed later. After any
  // error nothing of the attempt is left. A slice takes a /dev of the job's own (gives_private_devices),
  // where it is davinci<id>, as Ascend's container runtime names it; else kFailedPrecondition.
  virtual Result<SupervisorIdentity> prepare(const LaunchSpec& spec) = 0;

  // Lets it execute the program. Idempotent.
  virtual Result<void> go(const AttemptKey& key) = 0;

  // SIGTERM to the whole job, SIGKILL of its cgroup after the grace. Returns at once; the end comes as an
  // event.
  virtual Result<void> stop(const AttemptKey& key, StopReason reason) = 0;

  // After a restart: finds the attempt again. Its end, present or future, comes as an event: with its real
  // exit record if there is one; as kLost after its cgroup was emptied if the supervisor is gone without one;
  // as kNotStarted when it never got its `go`.
  virtual Result<void> adopt(const AttemptKey& key, const std::optional<SupervisorIdentity>& identity) = 0;

  // Removes the attempt's directory (logs, work directory, exit record). The attempt must have ended.
  virtual Result<void> remove(const AttemptKey& key) = 0;

  // Every attempt that has a directory. After start().
  virtual Result<std::vector<AttemptKey>> attempts_on_disk() const = 0;

  // Ends at once what lives of an attempt that nobody knows, and keeps its directory under another name, so
  // that the key can be used again. Blocks. The attempt must not be in flight here.
  virtual Result<void> set_aside(const AttemptKey& key) = 0;

  // Where the attempt's output is: <dir>/log with marks where something was cut.
  virtual std::string log_path(const AttemptKey& key) const = 0;

  // Whether each job has a /dev of its own, in which the driver counts its NPUs from 0. After start().
  virtual bool gives_private_devices() const = 0;

  // Whose process of this machine it is: nobody's when it belongs to no attempt or is gone. kUnavailable when
  // that cannot be told on this machine.
  virtual Result<std::optional<AttemptKey>> owner_of(std::int64_t pid) const = 0;

  // Whether something of the attempt may live: a supervisor, or processes that it left. True where that
  // cannot be told. The attempt must not be in prepare().
  virtual bool may_live(const AttemptKey& key) const = 0;

  // Walls between tenants that are missing on this machine, one sentence each ("no root: jobs run as …").
  virtual std::vector<std::string> missing_walls() const = 0;
};

}  // namespace tangram
