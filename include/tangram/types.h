// What the Tangram client sends and gets, as plain values.
//
// Units, everywhere: memory in bytes (IEC in texts: 1 GiB is 1 << 30), bandwidth in bits per second, times in
// milliseconds, an NPU is its physical id (N of /dev/davinciN). An absent optional means what the field says.
// Everything that is sent has a default, so that {.tenant = "team-a", .npus = 2} is a whole request.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tangram::api {

using std::chrono::milliseconds;
using TimePoint = std::chrono::system_clock::time_point;
using Labels = std::map<std::string, std::string>;

// The order of the classes is the order of service.
enum class Priority : std::uint8_t { kHigh, kNormal, kLow };

// Host resources of one job. Absent: the tenant's default, and without one the daemon's.
struct HostLimits {
  std::optional<std::int64_t> cpu_milli = {};  // thousandths of a core
  std::optional<std::int64_t> memory_bytes = {};
  std::optional<std::int64_t> processes = {};
};

// What a tenant with its subtree may hold at once. Absent: unlimited.
struct Quota {
  std::optional<std::int64_t> npus = {};
  std::optional<std::int64_t> memory_per_npu_bytes = {};  // that one job may need on each NPU
  std::optional<std::int64_t> memory_total_bytes = {};
  std::optional<std::int64_t> ai_cores = {};
  std::optional<std::int64_t> running_jobs = {};
  std::optional<milliseconds> run_time = {};             // longest time limit of one job
  std::optional<std::vector<Priority>> priorities = {};  // that may be used; absent: all
  std::optional<std::int64_t> bandwidth_bps = {};        // booked; nothing shapes traffic
};

struct Tenant {
  std::string name = {};    // lower-case letters, digits and inner '-', at most 63
  std::string parent = {};  // empty: at the top
  Quota quota = {};
  std::optional<std::uint32_t> uid = {};    // jobs run as this user; absent: one of the daemon's range
  std::vector<std::uint32_t> members = {};  // further users that may act for this tenant
  HostLimits job_defaults = {};             // for jobs that do not say; also the most that one may ask for
};

// What a tenant with its subtree holds at a moment.
struct Usage {
  std::int64_t npus = 0;
  std::int64_t memory_total_bytes = 0;
  std::int64_t ai_cores = 0;
  std::int64_t running_jobs = 0;
  std::int64_t bandwidth_bps = 0;
};

struct TenantStatus {
  Tenant tenant;
  Usage used;
  std::int64_t queued = 0;         // jobs of the subtree that wait
  std::vector<std::string> notes;  // what to know about these limits, for people
};

// What happens when an attempt is lost, or the program fails.
enum class Restart : std::uint8_t { kNever, kOnLost, kOnFailure };

// A slice of one NPU: the smallest template with at least this much of both, or the whole NPU where no
// template is large enough.
struct SliceRequest {
  std::optional<std::int64_t> memory_bytes = {};  // nominal; absent: as much as comes with the cores
  std::int32_t ai_cores = 0;                      // 0: as many as come with the memory
};

struct JobRequest {
  std::string tenant = {};  // empty: the caller's own
  std::string name = {};    // unique among the tenant's unfinished jobs; empty: the job's id
  std::int64_t npus = 1;
  std::optional<std::int64_t> memory_per_npu_bytes = {};  // absent: what the NPU and the quota allow
  std::optional<SliceRequest> slice = {};  // instead of whole NPUs: npus stays 1, memory is its own
  std::int64_t bandwidth_bps = 0;
  Priority priority = Priority::kNormal;
  std::optional<milliseconds> time_limit = {};  // per attempt; absent: the tenant's maximum
  bool no_wait = false;                         // refuse it instead of letting it wait
  Restart restart = Restart::kNever;
  std::int32_t restarts_max = 0;          // kOnFailure
  std::vector<std::string> command = {};  // the program and its arguments
  std::map<std::string, std::string> env = {};
  std::string workdir = {};  // absolute; empty: a directory of the job's own
  HostLimits host = {};
  Labels labels = {};
  // A second submission with the same key is the first one. Empty: the client makes one for each call, so
  // that an answer that was lost is asked for again and never means a second job.
  std::string idempotency_key = {};
};

struct LeaseRequest {
  std::string tenant = {};
  std::string name = {};
  std::int64_t npus = 1;
  std::optional<std::int64_t> memory_per_npu_bytes = {};
  std::optional<SliceRequest> slice = {};
  std::int64_t bandwidth_bps = 0;
  Priority priority = Priority::kNormal;
  std::optional<milliseconds> time_limit = {};  // then the lease is to be released, and after a grace it ends
  bool no_wait = false;
  Labels labels = {};
};

enum class JobState : std::uint8_t {
  kReady,     // in the queue, nothing known to be in its way
  kWaiting,   // in the queue, with a reason
  kStarting,  // has its NPUs, the program is not yet confirmed
  kRunning,   // a lease: it is held
  kEnded,
};

enum class Outcome : std::uint8_t {
  kSucceeded,   // exit status 0; a lease: released by its holder
  kFailed,      // another exit status, or a signal
  kTimedOut,    // stopped at its time limit
  kCancelled,   // by its tenant or the operator
  kNotStarted,  // the program could not be executed
  kLost,        // its supervisor, its holder or the machine went away
  kDeviceLost,  // an NPU that it held went away
  kRefused,     // no_wait, and not startable at once
};

// Why a job waits or was refused.
struct Reason {
  std::string code;  // stable token, "quota.npus.exceeded"
  std::string message;
  std::string hint;
};

// A slice of an NPU that a job has.
struct Slice {
  std::string template_name;             // as the driver knows it, "vir04"
  std::int64_t memory_bytes = 0;         // nominal: what is charged
  std::int64_t usable_memory_bytes = 0;  // what a program inside finds
  std::int32_t ai_cores = 0;
  std::optional<std::int32_t> vgroup;  // of a 310P
};

struct Job {
  std::string id;  // "j-17"
  bool is_lease = false;
  std::string name;
  std::string tenant;
  Priority priority = Priority::kNormal;
  JobState state = JobState::kReady;
  std::optional<Reason> reason;
  std::optional<std::int64_t> position;  // in the queue, from 1
  std::int64_t npus_requested = 1;
  std::optional<std::int64_t> memory_per_npu_bytes;
  std::optional<SliceRequest> slice_requested;  // absent: whole NPUs
  std::optional<milliseconds> time_limit;
  std::int32_t attempt = 0;         // the present or last try; 0: none yet
  std::vector<std::uint32_t> npus;  // held, or held last; the first is the primary device
  // Of that NPU; absent: all of it, also where a slice was asked for and no template is large enough.
  std::optional<Slice> slice;
  Labels labels;
  TimePoint submitted_at;
  std::optional<TimePoint> started_at;
  std::optional<TimePoint> ended_at;
  std::optional<Outcome> outcome;
  std::optional<int> exit_status;
  std::optional<int> signal;
  std::string message;  // how it ended, one sentence

  bool ended() const { return state == JobState::kEnded; }
};

// Which jobs are listed. Empty fields do not restrict.
struct JobQuery {
  std::string tenant = {};  // with its subtree
  Labels labels = {};       // all of them
  std::optional<JobState> state = {};
  bool ended_too = false;
};

// Something that would let a job start.
struct Remedy {
  std::string text;
  std::string command;  // that does it; may be empty
  bool starts = false;  // tried on a copy of the state: the job would start
};

struct Explanation {
  Job job;
  std::string verdict;           // one sentence
  std::vector<Reason> blockers;  // the decisive one first
  std::vector<Remedy> remedies;
  std::optional<TimePoint> estimated_start;
  std::string assumption;  // behind the estimate
};

// As the driver reports it. Only kOk is handed out.
enum class Health : std::uint8_t { kUnknown, kOk, kWarning, kAlarm, kCritical, kAbsent };

// What is not known is absent, never 0.
struct Npu {
  std::uint32_t id = 0;
  std::string chip;  // "910B4"
  Health health = Health::kUnknown;
  std::string health_note;
  std::optional<std::int64_t> memory_total_bytes;
  std::optional<std::int64_t> memory_used_bytes;
  std::optional<std::int64_t> ai_cores;
  std::optional<std::int64_t> ai_core_percent;
  std::optional<std::int64_t> temperature_celsius;
  std::optional<std::int64_t> power_milliwatt;
  std::string tenant;  // who holds it; empty: nobody, or not for this caller's eyes
  std::string job;     // id
};

struct Status {
  std::string version;  // of the daemon
  std::string node;
  std::string driver_version;     // empty: unknown
  bool devices_available = true;  // whether the driver answers
  std::string devices_note;       // why not
  std::vector<Npu> npus;          // ascending by id
  std::int64_t npus_free = 0;     // free and healthy
  std::int64_t jobs_running = 0;
  std::int64_t jobs_queued = 0;
};

}  // namespace tangram::api
