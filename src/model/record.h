// What goes into the core and what comes out of it, as data. Every change of the core's state is one of
// these, so that a journal of them is the state. An *input* tells what happened outside; a *decision* is the
// core's own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/units.h"
#include "model/ids.h"
#include "model/job.h"
#include "model/npu.h"
#include "model/part.h"
#include "model/slice.h"
#include "model/tenant.h"

namespace tangram {

// ---- inputs

struct SettingsChanged {
  std::int64_t keep_after_ms = 600'000;  // a job that waited longer has NPUs kept for it
  // Templates of equal memory and cores are chosen between by what is scarce; false: always the fullest.
  bool slice_variants = true;
  SliceCount slice_count = SliceCount::kOne;
  // Somebody else chooses the node: admit() and place() instead of decide(). For good once jobs were
  // admitted.
  bool places_elsewhere = false;

  friend bool operator==(const SettingsChanged&, const SettingsChanged&) = default;
};

// The whole truth about one node: an NPU that was known and is not in the list is absent.
struct NodeReported {
  std::string node;
  std::vector<NpuReport> npus;  // ascending by physical_id

  friend bool operator==(const NodeReported&, const NodeReported&) = default;
};

// Creates or replaces. `id` is chosen by the writer (Scheduler::next_tenant_id) for a new name, kept
// otherwise.
struct TenantPut {
  TenantId id;
  TenantSpec spec;

  friend bool operator==(const TenantPut&, const TenantPut&) = default;
};

struct TenantDeleted {
  TenantId id;

  friend bool operator==(const TenantDeleted&, const TenantDeleted&) = default;
};

struct JobSubmitted {
  JobSpec spec;

  friend bool operator==(const JobSubmitted&, const JobSubmitted&) = default;
};

// A queued job ends at once; a starting or running one ends when its AttemptEnded comes, and is not
// restarted.
struct JobCancelled {
  JobId job;

  friend bool operator==(const JobCancelled&, const JobCancelled&) = default;
};

struct AttemptRunning {
  JobId job;
  std::int32_t attempt = 0;

  friend bool operator==(const AttemptRunning&, const AttemptRunning&) = default;
};

// Frees exactly the NPUs of that job. `requeue` is what Scheduler::restarts_after said when the record was
// made.
struct AttemptEnded {
  JobId job;
  std::int32_t attempt = 0;
  Outcome outcome = Outcome::kSucceeded;
  bool requeue = false;

  friend bool operator==(const AttemptEnded&, const AttemptEnded&) = default;
};

// Books what already exists (an adopted process of an older journal, a foreign allocation): never refused,
// may leave a tenant over its limit, which then only falls.
struct AllocationObserved {
  JobSpec spec;
  std::int32_t attempt = 1;
  std::vector<NpuIndex> npus;
  std::optional<SlicePlacement> slice = {};  // of its one NPU; none: whole NPUs

  friend bool operator==(const AllocationObserved&, const AllocationObserved&) = default;
};

// ---- decisions

struct JobStarted {
  JobId job;
  std::int32_t attempt = 0;
  std::vector<NpuIndex> npus;  // ascending
  std::optional<SlicePlacement> slice =
      {};  // of its one NPU; none: whole NPUs, also where a slice was asked for

  friend bool operator==(const JobStarted&, const JobStarted&) = default;
};

// All queued jobs of the same tenant, priority, request and bandwidth as `job` wait for this reason from now
// on.
struct JobWaits {
  JobId job;
  ReasonCode reason = ReasonCode::kNone;

  friend bool operator==(const JobWaits&, const JobWaits&) = default;
};

// A --no-wait job that cannot start now: it ends as kRefused.
struct JobRefused {
  JobId job;
  ReasonCode reason = ReasonCode::kNone;

  friend bool operator==(const JobRefused&, const JobRefused&) = default;
};

// ---- where somebody else chooses the node (SettingsChanged::places_elsewhere)

// A decision: the job is charged from now on, wherever and whenever it is placed.
struct JobAdmitted {
  JobId job;
  std::int32_t attempt = 0;
  Usage charge;

  friend bool operator==(const JobAdmitted&, const JobAdmitted&) = default;
};

// A job of several parts comes into the queue.
struct PartsSubmitted {
  JobSpec spec;             // its `request` is made of the parts
  std::vector<Part> parts;  // at least one

  friend bool operator==(const PartsSubmitted&, const PartsSubmitted&) = default;
};

// An admitted job has these NPUs: one place for each of its parts, or one for a job without. Its charge
// becomes what they come to.
struct JobPlaced {
  JobId job;
  std::int32_t attempt = 0;
  std::vector<PartPlace> places;

  friend bool operator==(const JobPlaced&, const JobPlaced&) = default;
};

// Its NPUs are free again, and it stays admitted with the same charge. Not once it runs.
struct PlaceDropped {
  JobId job;
  std::int32_t attempt = 0;

  friend bool operator==(const PlaceDropped&, const PlaceDropped&) = default;
};

// What exists whatever was decided: an admission or an allocation that the cluster shows, by us before a
// restart or by somebody else. Of a new job, or of one that is known and has no place yet. NPUs that somebody
// holds already stay theirs, and become this job's when they let go.
struct PartsObserved {
  JobSpec spec;
  std::vector<Part> parts;
  std::int32_t attempt = 1;
  std::vector<PartPlace> places;  // empty: admitted only; otherwise one for each part
  bool running = false;

  friend bool operator==(const PartsObserved&, const PartsObserved&) = default;
};

using Input = std::variant<SettingsChanged, NodeReported, TenantPut, TenantDeleted, JobSubmitted,
                           JobCancelled, AttemptRunning, AttemptEnded, AllocationObserved>;
using Decision = std::variant<JobStarted, JobWaits, JobRefused>;
using Admission = std::variant<JobAdmitted, JobWaits, JobRefused>;
using Step = std::variant<PartsSubmitted, JobPlaced, PlaceDropped, PartsObserved>;

}  // namespace tangram
