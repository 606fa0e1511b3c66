// The documents of the API, as plain values: what a client sends and what the service answers. Their JSON and
// YAML spelling (camelCase, IEC memory "32GiB", durations "24h", rates "10Gbps", times RFC 3339 in UTC with
// milliseconds) comes from the one schema table in schema.h. An absent optional is left out of the JSON.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "model/job.h"
#include "model/npu.h"
#include "model/reason.h"
#include "model/request.h"
#include "model/tenant.h"

namespace tangram::wire {

// What holds a job's NPUs: a program that the service runs, or a caller that runs its own.
enum class JobKind : std::uint8_t { kProgram, kLease };

// ---- what clients send

// Host resources of one job. Absent: the tenant's default, and without one the daemon's.
struct HostLimitsDoc {
  std::optional<std::int64_t> cpu_milli;  // "cpus": 0.5 or 2; thousandths inside
  std::optional<Bytes> memory;
  std::optional<std::int64_t> processes;

  friend bool operator==(const HostLimitsDoc&, const HostLimitsDoc&) = default;
};

// kind: Tenant. Quota fields left out are unlimited; priorities left out: all three.
struct TenantDoc {
  std::string name;
  std::string parent;
  Quota quota;
  std::optional<std::uint32_t>
      uid;  // jobs run as this user; absent: one is allocated from the daemon's range
  std::vector<std::uint32_t> members;  // further uids that may act for this tenant on the Unix socket
  HostLimitsDoc job_defaults;          // for jobs that do not say; also the most a job may ask for

  friend bool operator==(const TenantDoc&, const TenantDoc&) = default;
};

// A slice of one NPU as it is asked for: at least one of the two.
struct SliceRequest {
  std::optional<Bytes> memory;  // nominal; absent: as much as comes with the cores
  std::int32_t ai_cores = 0;    // 0: as many as come with the memory

  friend bool operator==(const SliceRequest&, const SliceRequest&) = default;
};

struct JobSubmission {
  std::string tenant;  // absent for a caller that is a tenant: its own
  std::string name;    // absent: the id; unique among the tenant's unfinished jobs
  std::int64_t npus = 1;
  std::optional<Bytes> memory;        // need per NPU; absent: the smaller of the NPU's and the tenant's limit
  std::optional<SliceRequest> slice;  // instead of whole NPUs: npus stays 1, memory is its own
  std::optional<std::string> share;   // refused with a reason for now
  std::int64_t bandwidth_bps = 0;
  Priority priority = Priority::kNormal;
  std::optional<std::int64_t> time_limit_ms;  // absent: the tenant's maximum
  bool no_wait = false;
  RestartPolicy restart = RestartPolicy::kNever;
  std::int32_t restarts_max = 0;  // JSON/CLI spelling: restart: "on-failure:3"
  std::map<std::string, std::string> labels;
  std::vector<std::string> command;  // the program and its arguments; at least one element
  std::map<std::string, std::string> env;
  std::string workdir;
  HostLimitsDoc host;

  friend bool operator==(const JobSubmission&, const JobSubmission&) = default;
};

// A lease is asked for like a job, but for what a program needs.
using LeaseRequest = JobSubmission;

// What proves that a caller is the holder of a lease.
struct LeaseToken {
  std::string token;

  friend bool operator==(const LeaseToken&, const LeaseToken&) = default;
};

// ---- what the service answers

// A reason as data and as a sentence with its numbers.
struct ReasonView {
  std::string code;  // token(ReasonCode), or the Error::reason
  std::string message;
  std::string hint;
  Details details;

  friend bool operator==(const ReasonView&, const ReasonView&) = default;
};

// A slice that a job has. `memory` is nominal, and what is charged; a program inside finds `usable_memory`.
struct SliceView {
  std::string template_name;
  Bytes memory;
  Bytes usable_memory;
  std::int32_t ai_cores = 0;
  std::optional<std::int32_t> vgroup;
  std::optional<std::uint32_t> id;  // of the driver; of an attempt that starts or runs

  friend bool operator==(const SliceView&, const SliceView&) = default;
};

struct JobView {
  std::string id;  // "j-17"
  JobKind kind = JobKind::kProgram;
  std::string name;
  std::string tenant;
  Priority priority = Priority::kNormal;
  JobState state = JobState::kReady;
  std::optional<ReasonView> reason;      // why it waits
  std::optional<std::int64_t> position;  // in the queue, from 1
  std::int64_t npus_requested = 1;
  std::optional<Bytes> memory_per_npu;
  std::optional<SliceRequest> slice_requested;
  std::int64_t bandwidth_bps = 0;
  std::optional<std::int64_t> time_limit_ms;
  bool no_wait = false;
  RestartPolicy restart = RestartPolicy::kNever;
  std::int32_t restarts_max = 0;
  std::int32_t restarts = 0;
  std::int32_t attempt = 0;
  std::vector<std::uint32_t> npus;  // physical ids held, or held last; the first is the primary device
  std::optional<SliceView> slice;   // of that NPU; absent: all of it, also where a slice was asked for
  // What it has, or what one that waits for a slice would get: template or NPU, nominal and usable memory,
  // and why; one sentence. Empty: not told, or nothing.
  std::string granted;
  std::map<std::string, std::string> labels;
  std::vector<std::string> command;  // arguments may be private: only for the operator and the own tenant
  std::string workdir;
  TimeMs submitted_at;
  std::optional<TimeMs> started_at;
  std::optional<TimeMs> ended_at;
  std::optional<Outcome> outcome;
  std::optional<std::int64_t> exit_status;
  std::optional<std::int64_t> signal;
  std::string message;  // how it ended, one sentence

  friend bool operator==(const JobView&, const JobView&) = default;
};

// A lease as its holder sees it: one event of its stream.
struct LeaseView {
  JobView job;
  std::string token;          // in the first event of a new lease only
  std::int64_t grace_ms = 0;  // how long the lease outlives a connection that broke
  // The holder is asked to give it back, and the lease will have ended so: cancelled, timed-out, device-lost.
  std::optional<Outcome> stopping;
  std::optional<TimeMs> release_by;  // then it ends anyway

  friend bool operator==(const LeaseView&, const LeaseView&) = default;
};

// One slice that stands on an NPU.
struct NpuSliceView {
  std::string template_name;  // empty: not told
  std::optional<std::int32_t> vgroup;
  std::optional<Bytes> memory;  // nominal; of a job's
  std::optional<Bytes> usable_memory;
  std::optional<std::int64_t> ai_cores;
  std::optional<std::uint32_t> id;  // of the driver
  bool residual = false;            // nobody's any more, and not returned yet
  bool unseen = false;              // of those: the last look at the device does not show it
  std::string tenant;               // as of an NPU
  std::string job;
  std::string job_name;
  std::optional<SliceRequest> slice_requested;  // by that job

  friend bool operator==(const NpuSliceView&, const NpuSliceView&) = default;
};

struct NpuStatusView {
  std::uint32_t npu = 0;  // physical id
  std::string chip;
  Health health = Health::kUnknown;
  std::string health_note;
  NpuMode mode = NpuMode::kFree;
  std::optional<Bytes> memory_total;
  std::optional<Bytes> memory_used;  // as the device reports it; absent when unknown
  std::optional<std::int64_t> ai_cores;
  std::optional<std::int64_t> ai_core_percent;
  std::optional<std::int64_t> temperature_celsius;
  std::optional<std::int64_t> power_milliwatt;
  std::optional<Bytes> memory_used_by_job;  // by processes of the job that holds it
  std::string tenant;                       // who holds it; empty: nobody, or not for this caller's eyes
  std::string job;                          // id
  std::string job_name;
  std::optional<SliceRequest> slice_requested;  // by that job, which got all of the NPU
  std::vector<NpuSliceView> slices;             // those of jobs, then others

  friend bool operator==(const NpuStatusView&, const NpuStatusView&) = default;
};

struct StatusView {
  std::string version;
  std::string node;
  std::string driver_version;  // empty: unknown
  bool devices_available = false;
  std::string devices_note;  // why not, with the remedy; or what to know of a driver that answers
  std::vector<NpuStatusView> npus;
  std::int64_t npus_free = 0;
  std::int64_t jobs_running = 0;
  std::int64_t jobs_queued = 0;
  std::vector<std::string> missing_walls;  // isolation that this machine cannot give

  friend bool operator==(const StatusView&, const StatusView&) = default;
};

// One tenant's limits and use. A dimension's limit kUnlimited is left out of the JSON.
struct QuotaView {
  TenantDoc tenant;
  Usage used;  // subtree
  std::int64_t queued = 0;
  std::vector<std::string> notes;  // "bandwidth is booked, not shaped"

  friend bool operator==(const QuotaView&, const QuotaView&) = default;
};

struct RemedyView {
  std::string text;     // one sentence
  std::string command;  // that does it; may be empty
  bool starts = false;  // replayed: the job would start

  friend bool operator==(const RemedyView&, const RemedyView&) = default;
};

struct WhyView {
  JobView job;
  std::string verdict;               // one sentence: "job train-017 waits: tenant team-a holds 4 of 4 NPUs"
  std::vector<ReasonView> blockers;  // ranked
  std::vector<RemedyView> remedies;
  std::optional<std::int64_t> position;
  std::int64_t queue_length = 0;
  std::optional<TimeMs> estimated_start;
  std::string assumption;  // behind the estimate; never an estimate without it

  friend bool operator==(const WhyView&, const WhyView&) = default;
};

struct VersionView {
  std::string version;
  std::string api = "v1";

  friend bool operator==(const VersionView&, const VersionView&) = default;
};

// One document of an `apply`, and what became of it.
struct ApplyItem {
  std::string kind;
  std::string name;
  std::string result;  // "created", "changed", "unchanged"

  friend bool operator==(const ApplyItem&, const ApplyItem&) = default;
};

}  // namespace tangram::wire
