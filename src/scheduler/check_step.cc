// check() of steps: what apply() takes for granted of them.
#include <algorithm>
#include <string>
#include <vector>

#include "scheduler/checks.h"
#include "scheduler/scheduler.h"
#include "scheduler/values.h"

namespace tangram {
namespace {

class CheckStep {
 public:
  explicit CheckStep(const CoreState& state) : state_(state) {}

  Result<void> operator()(const PartsSubmitted& submitted) const {
    TG_TRY_VOID(needs_places_elsewhere(submitted.spec.id));
    TG_TRY_VOID(check_values(submitted.parts));
    JobSpec spec = submitted.spec;
    spec.request = request_of(submitted.parts, kNoParts);
    TG_TRY_VOID(check_new_job(state_, spec));
    return check_own_limits(state_, spec, charge_range(state_, submitted.parts, spec.bandwidth_bps).least);
  }

  Result<void> operator()(const JobPlaced& placed) const {
    TG_TRY(const JobRecord* const job, job_in(placed.job, JobState::kWaiting, placed.attempt));
    const std::vector<Part> parts = parts_of(state_, job->spec);
    if (placed.places.size() != parts.size()) {
      return impossible(placed.job, "gets " + std::to_string(placed.places.size()) + " places and has " +
                                        std::to_string(parts.size()) + " parts");
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
      TG_TRY_VOID(check_place(placed.job, placed.places[i]));
      TG_TRY_VOID(check_is_free(placed.job, parts[i], placed.places[i]));
      if (state_.fleet.npu(placed.places[i].npus.front()).node !=
          state_.fleet.npu(placed.places.front().npus.front()).node) {
        return impossible(placed.job, "gets places on several nodes");
      }
    }
    TG_TRY_VOID(check_together(placed));
    const Amounts charge = charge_of_places(state_, job->spec, parts, placed.places);
    if (!state_.tenants.first_block(job->spec.tenant, above(charge, job->charge))) return {};
    return impossible(placed.job, "gets a place that its quota does not allow");
  }

  Result<void> operator()(const PlaceDropped& dropped) const {
    TG_TRY_VOID(job_in(dropped.job, JobState::kStarting, dropped.attempt));
    return needs_places_elsewhere(dropped.job);
  }

  Result<void> operator()(const PartsObserved& observed) const {
    const JobId id = observed.spec.id;
    TG_TRY_VOID(needs_places_elsewhere(id));
    TG_TRY_VOID(check_values(observed.parts));
    JobSpec spec = observed.spec;
    spec.request = request_of(observed.parts, kNoParts);
    TG_TRY_VOID(check_job(state_, spec));
    TG_TRY_VOID(check_range("attempt", observed.attempt, 1, kAttemptMax));
    if (const std::optional<Handle> known = state_.queue.find_job(id)) {
      const JobRecord& job = state_.queue.job(*known);
      if (has_place(job)) return impossible(id, "has a place already");
      if (job.spec.tenant != observed.spec.tenant || !job.spec.request.has_parts() ||
          state_.parts.parts(job.spec.request.parts) != observed.parts) {
        return impossible(id, "is another one than was submitted");
      }
    }
    if (!observed.places.empty() && observed.places.size() != observed.parts.size()) {
      return impossible(id, "has not as many places as parts");
    }
    for (const PartPlace& place : observed.places) TG_TRY_VOID(check_place(id, place));
    return {};
  }

 private:
  static tl::unexpected<Error> impossible(JobId job, const std::string& what) {
    return fail(Code::kFailedPrecondition, "record.impossible",
                "job j-" + std::to_string(job.value) + " " + what);
  }

  Result<void> needs_places_elsewhere(JobId job) const {
    if (state_.settings.places_elsewhere) return {};
    return impossible(job, "has several parts, and places are chosen here");
  }

  Result<const JobRecord*> job_in(JobId id, JobState wanted, std::int32_t attempt) const {
    const std::optional<Handle> found = state_.queue.find_job(id);
    if (!found || state_.queue.job(*found).state != wanted || state_.queue.job(*found).attempt != attempt) {
      return impossible(
          id, "is not " + std::string(to_string(wanted)) + " in attempt " + std::to_string(attempt));
    }
    return &state_.queue.job(*found);
  }

  Result<void> check_place(JobId job, const PartPlace& place) const {
    for (std::size_t i = 0; i < place.npus.size(); ++i) {
      if (place.npus[i].value >= state_.fleet.npu_count()) {
        return impossible(job,
                          "is on NPU number " + std::to_string(place.npus[i].value) + ", which is not known");
      }
      if (i > 0 && place.npus[i - 1] >= place.npus[i]) return impossible(job, "is on NPUs out of order");
    }
    if (!place.slice) return {};
    if (place.npus.size() != 1) return impossible(job, "has a slice of several NPUs");
    return check_values(*place.slice);
  }

  // By the book alone, part by part.
  Result<void> check_is_free(JobId job, const Part& part, const PartPlace& place) const {
    const bool is_slice = part.kind == RequestKind::kSlice;
    if (place.slice && !is_slice) return impossible(job, "gets a slice and asked for none");
    if (place.npus.size() != static_cast<std::size_t>(is_slice ? 1 : part.npus)) {
      return impossible(job, "gets " + std::to_string(place.npus.size()) + " NPUs for a part of " +
                                 std::to_string(part.npus));
    }
    for (const NpuIndex index : place.npus) {
      const Fleet::Npu& npu = state_.fleet.npu(index);
      const bool is_free = place.slice ? !npu.job.valid() : npu.is_idle();
      if (npu.report.health == Health::kOk && is_free) continue;
      return impossible(job, "gets NPU number " + std::to_string(index.value) + ", which is not free");
    }
    if (!place.slice) return {};
    if (place.slice->memory >= part.memory_per_npu && place.slice->ai_cores >= part.ai_cores) return {};
    return impossible(job, "gets a smaller slice than it asked for");
  }

  // Between the parts: no NPU whole and once more, and on each that is cut a mix that there is.
  Result<void> check_together(const JobPlaced& placed) const {
    std::vector<NpuIndex> whole;
    std::vector<NpuIndex> cut;
    for (const PartPlace& place : placed.places) {
      std::vector<NpuIndex>& list = place.slice ? cut : whole;
      list.insert(list.end(), place.npus.begin(), place.npus.end());
    }
    std::sort(whole.begin(), whole.end());
    if (std::adjacent_find(whole.begin(), whole.end()) != whole.end()) {
      return impossible(placed.job, "gets an NPU twice");
    }
    for (const NpuIndex index : cut) {
      if (std::binary_search(whole.begin(), whole.end(), index)) {
        return impossible(placed.job, "gets an NPU whole and cut");
      }
      const Fleet::Npu& npu = state_.fleet.npu(index);
      std::vector<StandingSlice> slices = Fleet::standing(npu);
      for (const PartPlace& place : placed.places) {
        if (place.slice && place.npus.front() == index)
          slices.push_back({place.slice->template_name, place.slice->vgroup});
      }
      if (npu.chip == kNoChip || state_.fleet.rules().state_of(npu.chip, slices) == kNoState) {
        return impossible(placed.job, "gets slices of NPU number " + std::to_string(index.value) +
                                          " that cannot stand together");
      }
    }
    return {};
  }

  const CoreState& state_;
};

}  // namespace

Result<void> Scheduler::check(const Step& step) const {
  return std::visit(CheckStep(*state_), step);
}

}  // namespace tangram
