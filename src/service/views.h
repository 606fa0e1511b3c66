// The documents that the service answers with, made from a state at an instant. Pure functions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "ports/devices.h"
#include "ports/executor.h"
#include "service/access.h"
#include "service/cut_refusals.h"
#include "service/options.h"
#include "service/state.h"
#include "wire/schema.h"
#include "wire/texts.h"

namespace tangram::service {

// What the last look at the devices showed.
struct DeviceReadings {
  bool available = false;
  std::string note;    // why not
  std::string reason;  // the token behind it
  std::string driver_version;
  DriverStanding driver;
  Sample<bool> slices_recover;         // as in DeviceScan
  RecoverFile recover_file;            // as in DeviceScan
  Sample<bool> slices_for_containers;  // as in DeviceScan
  std::vector<DeviceNpu> npus;
  // What was in use of an NPU's memory when a look last showed no process and no slice there, by physical id.
  std::map<std::uint32_t, Bytes> idle_use;
  StandingRefusals refusals;                // of Slices, at the time of asking
  std::optional<CutRefusal> unusable_file;  // likewise
  // Whose the processes on the NPUs are, by pid; those of nobody are left out. None: that cannot be told
  // here.
  std::optional<std::map<std::int64_t, AttemptKey>> owners;
};

// The names by which texts call tenants and jobs. Refers to `state`.
wire::Names names_of(const State& state);

// Only names that the caller may know: those of its own subtree's jobs, and of the tenants above it.
wire::Names names_of(const State& state, const Caller& caller);

// The job must be known. `position` is 0 when it is not asked for or the job is not queued.
// None: it asks for whole NPUs.
std::optional<wire::SliceRequest> slice_request_of(const Request& request);

wire::JobView make_job_view(const State& state, JobId job, wire::Language language,
                            std::int64_t position = 0);

wire::StatusView make_status(const State& state, const Options& options, const Caller& caller,
                             const DeviceReadings& readings, const std::vector<std::string>& missing_walls);

wire::QuotaView make_quota_view(const State& state, TenantId tenant, wire::Language language);

// The core's refusal of a job in the words that the queue and `why` use.
Error reword_refusal(const State& state, const JobSpec& spec, Error error, wire::Language language);

// What a client is told of a --no-wait job that could not start at once.
Error make_refusal(const State& state, const EndedJob& refused, wire::Language language);

// What a client is told of a job once it is decided; one that was not to wait and could not start is an
// error, although it is on record.
Result<wire::JobView> decided_view(const State& state, const Result<JobId>& job, wire::Language language);

// What a client is told who wants something of a job that is over.
Error job_ended(JobId job, const EndedJob& ended);

// What `why` answers of a job that nothing stands in the way of: it starts, runs or has ended.
wire::WhyView make_settled_why(wire::JobView job, bool is_cancelled, std::int64_t queue_length,
                               wire::Language language);

}  // namespace tangram::service
