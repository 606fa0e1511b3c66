// check_recorded() of decisions: what apply() takes for granted of one that decide() has just made.
#include <algorithm>
#include <string>

#include "base/units.h"
#include "catalog/chip.h"
#include "scheduler/scheduler.h"
#include "scheduler/state.h"
#include "scheduler/values.h"

namespace tangram {
namespace {

class CheckDecision {
 public:
  explicit CheckDecision(const CoreState& state) : state_(state) {}

  Result<void> operator()(const JobStarted& started) const {
    TG_TRY(const JobRecord* const job, queued_job(started.job));
    if (job->attempt >= kAttemptMax || started.attempt != job->attempt + 1) {
      return impossible(started.job, "starts attempt " + std::to_string(started.attempt) + " after attempt " +
                                         std::to_string(job->attempt));
    }
    if (started.npus.size() != static_cast<std::size_t>(job->spec.request.npus)) {
      return impossible(started.job, "gets " + std::to_string(started.npus.size()) + " NPUs and asked for " +
                                         std::to_string(job->spec.request.npus));
    }
    for (std::size_t i = 0; i < started.npus.size(); ++i) TG_TRY_VOID(check_npu(started, i));
    return started.slice ? check_slice(started, *started.slice, job->spec.request) : Result<void>();
  }

  Result<void> operator()(const JobWaits& waits) const {
    TG_TRY_VOID(queued_job(waits.job));
    if (waits.reason == ReasonCode::kNone) return impossible(waits.job, "waits for no reason");
    return {};
  }

  Result<void> operator()(const JobRefused& refused) const {
    TG_TRY_VOID(queued_job(refused.job));
    return {};
  }

 private:
  static tl::unexpected<Error> impossible(JobId job, const std::string& what) {
    return fail(Code::kFailedPrecondition, "record.impossible",
                "job j-" + std::to_string(job.value) + " " + what);
  }

  Result<const JobRecord*> queued_job(JobId id) const {
    const std::optional<Handle> found = state_.queue.find_job(id);
    if (!found || !state_.queue.job(*found).is_queued()) return impossible(id, "is not in the queue");
    return &state_.queue.job(*found);
  }

  Result<void> check_npu(const JobStarted& started, std::size_t at) const {
    const NpuIndex index = started.npus[at];
    const std::string name = "NPU number " + std::to_string(index.value);
    if (index.value >= state_.fleet.npu_count())
      return impossible(started.job, "gets " + name + ", which is not known");
    if (at > 0 && started.npus[at - 1] >= index) return impossible(started.job, "gets NPUs out of order");
    const Fleet::Npu& npu = state_.fleet.npu(index);
    if (npu.job.valid()) {
      return impossible(started.job, "gets " + name + " of job j-" + std::to_string(npu.job.value));
    }
    if (npu.report.health != Health::kOk)
      return impossible(started.job, "gets " + name + ", which is not healthy");
    if (started.slice || npu.is_idle()) return {};
    return impossible(started.job, "gets " + name + ", on which slices stand");
  }

  // What holds by any catalogue of chips: which templates there are, and which mixes of them, may have
  // changed since.
  Result<void> check_slice(const JobStarted& started, const SlicePlacement& slice,
                           const Request& asked) const {
    if (asked.kind != RequestKind::kSlice) return impossible(started.job, "gets a slice and asked for none");
    if (const Result<void> values = check_values(slice); !values) {
      return impossible(started.job, "gets a slice that cannot be: " + values.error().message);
    }
    if (slice.memory < asked.memory_per_npu || slice.ai_cores < asked.ai_cores) {
      return impossible(started.job, "gets a slice of " + size_text(slice.memory, slice.ai_cores) +
                                         " and asked for " + size_text(asked.memory_per_npu, asked.ai_cores));
    }
    const Fleet::Npu& npu = state_.fleet.npu(started.npus.front());
    if (npu.slices.size() >= static_cast<std::size_t>(kSlicesPerChipMax)) {
      return impossible(started.job,
                        "gets slice number " + std::to_string(npu.slices.size() + 1) + " of an NPU");
    }
    if (!has_room(npu, slice)) {
      return impossible(started.job,
                        "gets a slice in vGroup " + std::to_string(slice.vgroup) + ", which is full");
    }
    return {};
  }

  // Single cores share a vGroup, everything else has one to itself.
  static bool has_room(const Fleet::Npu& npu, const SlicePlacement& slice) {
    if (slice.vgroup == kNoVgroup) return true;
    std::int64_t cores = 0;
    bool is_empty = true;
    for (const Fleet::Slice& other : npu.slices) {
      if (other.placement.vgroup != slice.vgroup) continue;
      is_empty = false;
      cores += std::max(other.placement.ai_cores, 1);
    }
    return is_empty || cores + std::max(slice.ai_cores, 1) <= kCoresPerVgroup;
  }

  static std::string size_text(Bytes memory, std::int32_t cores) {
    return format_bytes(memory) + " and " + std::to_string(cores) + (cores == 1 ? " AI core" : " AI cores");
  }

  const CoreState& state_;
};

}  // namespace

Result<void> Scheduler::check_recorded(const Decision& decision) const {
  return std::visit(CheckDecision(*state_), decision);
}

}  // namespace tangram
