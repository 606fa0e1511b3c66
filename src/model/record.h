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
#include "model/slice.h"
#include "model/tenant.h"

namespace tangram {

// ---- inputs

struct SettingsChanged {
  std::int64_t keep_after_ms = 600'000;  // a job that waited longer has NPUs kept for it
  // Templates of equal memory and cores are chosen between by what is scarce; false: always the fullest.
  bool slice_variants = true;
  SliceCount slice_count = SliceCount::kOne;

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

using Input = std::variant<SettingsChanged, NodeReported, TenantPut, TenantDeleted, JobSubmitted,
                           JobCancelled, AttemptRunning, AttemptEnded, AllocationObserved>;
using Decision = std::variant<JobStarted, JobWaits, JobRefused>;

}  // namespace tangram
