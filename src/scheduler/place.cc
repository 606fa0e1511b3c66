// place: where an admitted job can go, among nodes that somebody else has found fit in all other respects.
#include <algorithm>
#include <string>
#include <utility>

#include "base/invariant.h"
#include "placement/node_fit.h"
#include "scheduler/place.h"
#include "scheduler/steps.h"

namespace tangram {
namespace {

// Of a job that is admitted and has no place.
Result<Handle> unplaced_job(const CoreState& state, JobId id) {
  const std::optional<Handle> found = state.queue.find_job(id);
  if (!found) {
    return fail(Code::kNotFound, "job.unknown",
                "job j-" + std::to_string(id.value) + " is not queued or running",
                "see which are (tangram queue --all)");
  }
  const JobRecord& job = state.queue.job(*found);
  if (job.is_unplaced()) return *found;
  if (job.is_queued()) {
    return fail(Code::kFailedPrecondition, "job.not_admitted",
                "job j-" + std::to_string(id.value) + " is not admitted: its quota does not allow it yet",
                "see what it waits for (tangram why)");
  }
  return fail(Code::kFailedPrecondition, "job.placed",
              "job j-" + std::to_string(id.value) + " has a place already", "drop that place first");
}

// What the parts would charge there: of a fit the sums are known.
Amounts charge_of_fit(const CoreState& state, const JobSpec& spec, const NodeFit& fit) {
  const bool slices_count = state.settings.slice_count == SliceCount::kOne;
  return {fit.whole_npus + (slices_count ? fit.slices : 0), fit.memory.count, fit.ai_cores, 1,
          spec.bandwidth_bps};
}

// A place may cost more than was charged when hardware came that was not known at the admission.
void refuse_beyond_quota(const CoreState& state, const JobRecord& job, NodeFit& fit) {
  if (!fit.fits) return;
  const Amounts excess = above(charge_of_fit(state, job.spec, fit), job.charge);
  if (excess == Amounts{}) return;
  const std::optional<QuotaBlock> block = state.tenants.first_block(job.spec.tenant, excess);
  if (!block) return;
  fit.fits = false;
  fit.score = 0;
  fit.reason = wait_reason(block->countable);
}

std::vector<PartOffers> offers_for(const CoreState& state, const JobSpec& spec) {
  std::vector<PartOffers> offers;
  for (const Part& part : parts_of(state, spec)) offers.push_back(offers_of(state.fleet, part));
  return offers;
}

bool is_chosen_from(const Fleet& fleet, NodeIndex node, const NpuChoice& choice) {
  if (choice.is_free()) return false;
  if (!choice.only.empty()) return true;
  return std::any_of(choice.without.begin(), choice.without.end(), [&](NpuIndex npu) {
    return npu.value < fleet.npu_count() && fleet.npu(npu).node == node;
  });
}

// Looks at nodes for one job: in the index where it can, afresh where some of their NPUs are not to be used.
class Looker {
 public:
  Looker(const CoreState& state, PlaceIndex& index, const JobRecord& job) : state_(state), job_(job) {
    const Request& request = job.spec.request;
    if (request.has_parts()) {
      known_ = &index.shape(state.fleet, state.parts.serial(request.parts), state.parts.parts(request.parts));
    } else {
      offers_ = offers_for(state, job.spec);
    }
  }

  NodeFit look_at(NodeIndex node, const NpuChoice& choice) {
    NodeFit fit = fit_on(node, choice);
    refuse_beyond_quota(state_, job_, fit);
    return fit;
  }

  bool has_room() {
    for (std::uint32_t node = 0; node < state_.fleet.node_count(); ++node) {
      if (fit_on(NodeIndex(node), {}).fits) return true;
    }
    return false;
  }

 private:
  NodeFit fit_on(NodeIndex node, const NpuChoice& choice) {
    if (known_ != nullptr && !is_chosen_from(state_.fleet, node, choice))
      return known_->fit(state_.fleet, node);
    return NodeFitter(state_.fleet, known_ != nullptr ? known_->offers() : offers_).judge(node, choice);
  }

  const CoreState& state_;
  const JobRecord& job_;
  PlaceIndex::Shape* known_ = nullptr;
  std::vector<PartOffers> offers_;
};

bool is_known_node(const CoreState& state, NodeIndex node) {
  return node.value < state.fleet.node_count();
}

}  // namespace

Result<std::vector<NodeFit>> Scheduler::place(JobId id, std::span<const NodeIndex> nodes,
                                              const NpuChoice& choice) const {
  TG_TRY(const Handle handle, unplaced_job(*state_, id));
  Looker looker(*state_, state_->places, state_->queue.job(handle));
  NodeFit unknown;
  unknown.reason = ReasonCode::kNoDevices;
  std::vector<NodeFit> fits;
  fits.reserve(nodes.size());
  for (const NodeIndex node : nodes) {
    fits.push_back(is_known_node(*state_, node) ? looker.look_at(node, choice) : unknown);
  }
  return fits;
}

Result<std::optional<JobPlaced>> Scheduler::choose_place(JobId id, NodeIndex node,
                                                         const NpuChoice& choice) const {
  TG_TRY(const Handle handle, unplaced_job(*state_, id));
  const JobRecord& job = state_->queue.job(handle);
  if (!is_known_node(*state_, node)) return std::nullopt;
  const std::vector<PartOffers> offers = offers_for(*state_, job.spec);
  NodeFitter fitter(state_->fleet, offers);
  NodeFit fit = fitter.judge(node, choice);
  refuse_beyond_quota(*state_, job, fit);
  if (!fit.fits) return std::nullopt;
  return JobPlaced{id, job.attempt, fitter.places()};
}

std::vector<JobId> Scheduler::unplaced() const {
  std::vector<std::pair<std::uint64_t, JobId>> ranked;
  for (Handle handle = 0; handle < state_->queue.job_slots(); ++handle) {
    const JobRecord& job = state_->queue.job(handle);
    if (!job.spec.id.valid() || !job.is_unplaced()) continue;
    ranked.emplace_back(rank_key(job.spec.priority, job.spec.id), job.spec.id);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<JobId> jobs;
  jobs.reserve(ranked.size());
  for (const auto& [rank, id] : ranked) jobs.push_back(id);
  return jobs;
}

std::vector<JobId> Scheduler::with_room(std::size_t most) const {
  enum class Room : std::uint8_t { kNotAsked, kNone, kSome };
  std::vector<Room> by_parts;  // jobs with the same parts fit in the same places
  std::vector<JobId> jobs;
  for (const JobId id : unplaced()) {
    if (jobs.size() == most) break;
    const JobRecord& job = state_->queue.job(state_->queue.known_job(id));
    Room own = Room::kNotAsked;
    const std::uint32_t parts = job.spec.request.parts;
    if (job.spec.request.has_parts() && by_parts.size() <= parts) by_parts.resize(parts + std::size_t{1});
    Room& room = job.spec.request.has_parts() ? by_parts[parts] : own;
    if (room == Room::kNotAsked) {
      room = Looker(*state_, state_->places, job).has_room() ? Room::kSome : Room::kNone;
    }
    if (room == Room::kSome) jobs.push_back(id);
  }
  return jobs;
}

void apply_placed(CoreState& state, const JobPlaced& placed, TimeMs now) {
  const Handle handle = state.queue.known_job(placed.job);
  JobRecord& job = state.queue.job(handle);
  TG_ASSERT(job.is_unplaced() && job.attempt == placed.attempt, "an admitted job gets a place");
  const Amounts charge = charge_of_places(state, job.spec, parts_of(state, job.spec), placed.places);
  state.tenants.refund(job.spec.tenant, job.charge);
  state.tenants.charge(job.spec.tenant, charge);
  job.charge = charge;
  job.state = JobState::kStarting;
  job.started_at = now;
  hold(state, handle, placed.places, true);
}

void apply_dropped(CoreState& state, const PlaceDropped& dropped) {
  const Handle handle = state.queue.known_job(dropped.job);
  JobRecord& job = state.queue.job(handle);
  TG_ASSERT(job.state == JobState::kStarting && job.attempt == dropped.attempt,
            "only a reservation is dropped");
  let_go(state, handle);
  job.state = JobState::kWaiting;
}

Explanation explain_unplaced(const CoreState& state, const JobRecord& job) {
  Explanation explanation;
  explanation.queue_length = static_cast<std::int64_t>(state.queue.queued_count());
  PlaceIndex index;
  Looker looker(state, index, job);
  Blocker blocker;
  blocker.reason = ReasonCode::kNoDevices;
  for (const Part& part : parts_of(state, job.spec)) blocker.asked += part.npus;
  const auto count = [](const NodeFit& fit, ReasonCode reason) -> std::int64_t {
    const auto* const place = std::find(kNpuRefusals.begin(), kNpuRefusals.end(), reason);
    return fit.refusing[static_cast<std::size_t>(place - kNpuRefusals.begin())];
  };
  std::size_t nearest = kNpuRefusals.size() + 1;
  for (std::uint32_t node = 0; node < state.fleet.node_count(); ++node) {
    const NodeFit fit = looker.look_at(NodeIndex(node), {});
    if (fit.fits) return explanation;  // whoever chooses the node may place it now
    blocker.limit += fit.npus;
    blocker.unhealthy += count(fit, ReasonCode::kNpusUnhealthy);
    blocker.cut += count(fit, ReasonCode::kSlotsBusy) + count(fit, ReasonCode::kSlicesResidual);
    std::int64_t refusing = fit.excluded;
    for (const std::uint16_t npus : fit.refusing) refusing += npus;
    blocker.free += fit.npus - refusing;
    if (fit.reason == ReasonCode::kNoDevices) continue;
    const auto* const place = std::find(kNpuRefusals.begin(), kNpuRefusals.end(), fit.reason);
    const auto distance = static_cast<std::size_t>(place - kNpuRefusals.begin());
    if (distance >= nearest) continue;
    nearest = distance;
    blocker.reason = fit.reason;
  }
  explanation.state = JobState::kWaiting;
  blocker.used = blocker.limit - blocker.free - blocker.unhealthy;
  explanation.blockers.push_back(std::move(blocker));
  return explanation;
}

}  // namespace tangram
