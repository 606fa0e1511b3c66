// What others may see of the state, always in the order of handles, ids or the queue.
#include <algorithm>
#include <map>
#include <utility>

#include "base/invariant.h"
#include "scheduler/state.h"

namespace tangram {
namespace {

TenantView view_of(const TenantTree& tenants, TenantId id) {
  return {id, tenants.spec(id), to_usage(tenants.used(id)), tenants.queued_jobs(id)};
}

NpuView view_of(const Fleet& fleet, NpuIndex index) {
  const Fleet::Npu& npu = fleet.npu(index);
  NpuView view{index, npu.node, npu.report, NpuMode::kFree, npu.job, {}};
  if (npu.job.valid()) view.mode = NpuMode::kWhole;
  if (!npu.job.valid() && !npu.is_idle()) view.mode = NpuMode::kSliced;
  for (const Fleet::Slice& slice : npu.slices) view.slices.push_back({slice.job, slice.placement});
  return view;
}

void show_places(const CoreState& state, const JobRecord& job, JobStatus& status) {
  for (const HeldPart& part : held_parts(state, job)) {
    status.places.push_back(part.place);
    status.npus.insert(status.npus.end(), part.place.npus.begin(), part.place.npus.end());
  }
  std::sort(status.npus.begin(), status.npus.end());
  status.npus.erase(std::unique(status.npus.begin(), status.npus.end()), status.npus.end());
  if (status.places.size() == 1) status.slice = status.places.front().slice;
}

}  // namespace

Scheduler::Scheduler(std::shared_ptr<const Catalog> catalog) : state_(std::make_unique<State>()) {
  state_->fleet = Fleet(std::move(catalog));
}
Scheduler::Scheduler(const Scheduler& other) : state_(std::make_unique<State>(*other.state_)) {}
Scheduler::Scheduler(Scheduler&&) noexcept = default;
Scheduler& Scheduler::operator=(const Scheduler& other) {
  if (this == &other) return *this;
  if (state_) {
    *state_ = *other.state_;  // keeps the memory it has
  } else {
    state_ = std::make_unique<State>(*other.state_);
  }
  return *this;
}
Scheduler& Scheduler::operator=(Scheduler&&) noexcept = default;
Scheduler::~Scheduler() = default;

TimeMs Scheduler::next_wakeup() const {
  // At its bound a waiting job moves to the front of those for whom NPUs and quota are kept.
  const TimeMs after = std::max(state_->clock, state_->decided_at);
  const std::int64_t keep_after_ms = state_->settings.keep_after_ms;
  TimeMs earliest = TimeMs::never();
  const auto look_at = [&](Handle job) {
    if (job == kNoHandle) return;
    const TimeMs bound(state_->queue.job(job).queued_at.value + keep_after_ms);
    if (bound > after) earliest = std::min(earliest, bound);
  };
  for (const Handle handle : state_->queue.groups()) {
    const Group& group = state_->queue.group(handle);
    if (group.parking.slot == Slot::kNever) continue;
    look_at(group.fresh_first);
    for (Handle job = group.requeued_first; job != kNoHandle; job = state_->queue.job(job).next) look_at(job);
  }
  return earliest;
}

TenantId Scheduler::next_tenant_id() const {
  return state_->tenants.next_id();
}

std::optional<TenantId> Scheduler::find_tenant(std::string_view name) const {
  return state_->tenants.find(name);
}

std::optional<TenantView> Scheduler::tenant(TenantId id) const {
  if (!state_->tenants.exists(id)) return std::nullopt;
  return view_of(state_->tenants, id);
}

std::vector<TenantView> Scheduler::tenants() const {
  std::vector<TenantView> views;
  for (std::uint32_t i = 0; i < state_->tenants.size(); ++i) {
    if (state_->tenants.exists(TenantId(i))) views.push_back(view_of(state_->tenants, TenantId(i)));
  }
  return views;
}

std::vector<TenantView> Scheduler::tenants(std::size_t most) const {
  const TenantTree& tenants = state_->tenants;
  std::vector<TenantView> views;
  views.reserve(std::min(most, tenants.count()));
  for (const bool busy : {true, false}) {
    for (std::uint32_t i = 0; i < tenants.size() && views.size() < most; ++i) {
      const TenantId id(i);
      if (tenants.exists(id) && (tenants.live_jobs(id) > 0) == busy) views.push_back(view_of(tenants, id));
    }
  }
  return views;
}

std::size_t Scheduler::tenant_count() const {
  return state_->tenants.count();
}

Quota Scheduler::effective_quota(TenantId id) const {
  return state_->tenants.effective_quota(id);
}

std::optional<JobStatus> Scheduler::job(JobId id) const {
  const std::optional<Handle> found = state_->queue.find_job(id);
  if (!found) return std::nullopt;
  const JobRecord& job = state_->queue.job(*found);
  JobStatus status;
  status.spec = job.spec;
  status.state = job.state;
  status.attempt = job.attempt;
  status.restarts = job.restarts;
  status.submitted_at = job.submitted_at;
  status.queued_at = job.queued_at;
  status.started_at = job.started_at;
  status.cancel_requested = job.cancel_requested;
  if (job.is_queued()) {
    status.reason = state_->queue.group(job.group).reason;
    if (status.reason != ReasonCode::kNone) status.state = JobState::kWaiting;
  } else if (job.held == kNoHandle) {
    status.npus = state_->fleet.held_from(job.first_npu);
    status.slice = slice_of(state_->fleet, job);
  } else {
    show_places(*state_, job, status);
  }
  status.admitted = state_->settings.places_elsewhere && !job.is_queued();
  status.over_limit = job.over_limit;
  if (job.spec.request.has_parts()) status.parts = state_->parts.parts(job.spec.request.parts);
  return status;
}

std::vector<JobId> Scheduler::queue() const {
  const TimeMs now = std::max(state_->clock, state_->decided_at);
  std::vector<std::pair<Rank, JobId>> ranked;
  ranked.reserve(state_->queue.queued_count());
  for (const Handle handle : state_->queue.jobs()) {
    const JobRecord& job = state_->queue.job(handle);
    if (job.is_queued()) ranked.emplace_back(state_->rank(job, now), job.spec.id);
  }
  std::sort(ranked.begin(), ranked.end());
  TG_ASSERT(ranked.size() == state_->queue.queued_count(), "queued jobs are counted");
  std::vector<JobId> ids;
  ids.reserve(ranked.size());
  for (const auto& [rank, id] : ranked) ids.push_back(id);
  return ids;
}

std::vector<JobId> Scheduler::active() const {
  std::vector<JobId> ids;
  for (const Handle handle : state_->queue.jobs()) {
    const JobRecord& job = state_->queue.job(handle);
    if (!job.is_queued()) ids.push_back(job.spec.id);
  }
  return ids;
}

std::size_t Scheduler::queue_length() const {
  return state_->queue.queued_count();
}

std::size_t Scheduler::active_count() const {
  return state_->queue.job_count() - state_->queue.queued_count();
}

std::optional<std::uint64_t> Scheduler::rank(JobId id) const {
  const std::optional<Handle> found = state_->queue.find_job(id);
  if (!found || !state_->queue.job(*found).is_queued()) return std::nullopt;
  return state_->rank(state_->queue.job(*found), std::max(state_->clock, state_->decided_at));
}

std::int64_t Scheduler::queued_alike(JobId id) const {
  const std::optional<Handle> found = state_->queue.find_job(id);
  if (!found || !state_->queue.job(*found).is_queued()) return 0;
  return state_->queue.group(state_->queue.job(*found).group).jobs;
}

std::vector<std::pair<ReasonCode, std::int64_t>> Scheduler::queue_by_reason() const {
  std::map<ReasonCode, std::int64_t> counts;
  for (const Handle handle : state_->queue.groups()) {
    const Group& group = state_->queue.group(handle);
    counts[group.reason] += group.jobs;
  }
  return {counts.begin(), counts.end()};
}

std::vector<NpuView> Scheduler::npus() const {
  std::vector<NpuView> views;
  views.reserve(state_->fleet.npu_count());
  for (std::uint32_t i = 0; i < state_->fleet.npu_count(); ++i)
    views.push_back(view_of(state_->fleet, NpuIndex(i)));
  return views;
}

std::optional<NpuView> Scheduler::npu(NpuIndex index) const {
  if (index.value >= state_->fleet.npu_count()) return std::nullopt;
  return view_of(state_->fleet, index);
}

std::string Scheduler::node_name(NodeIndex node) const {
  return node.value < state_->fleet.node_count() ? state_->fleet.node_name(node) : std::string();
}

std::vector<SliceOption> Scheduler::slice_options(const Request& request) const {
  const Fleet& fleet = state_->fleet;
  std::vector<SliceOption> options;
  for (const SliceOffer& offer : fleet.offers({request.memory_per_npu, request.ai_cores})) {
    SliceOption& option = options.emplace_back();
    option.chip = fleet.kind(offer.kind).chip;
    option.grant = offer.grant;
    if (offer.is_whole()) continue;
    const CutRules& rules = fleet.rules();
    for (const std::uint32_t shape : rules.order(offer.chip).sizes()[offer.grant.size].variants)
      option.templates.push_back(rules.model(offer.chip).templates[shape].name);
  }
  return options;
}

std::shared_ptr<const Catalog> Scheduler::catalog() const {
  return state_->fleet.rules().catalog();
}

std::optional<NodeIndex> Scheduler::find_node(std::string_view name) const {
  return state_->fleet.find_node(name);
}

std::optional<NpuIndex> Scheduler::find_npu(std::string_view node, std::uint32_t physical_id) const {
  const std::optional<NodeIndex> index = state_->fleet.find_node(node);
  if (!index) return std::nullopt;
  return state_->fleet.find_npu(*index, physical_id);
}

SettingsChanged Scheduler::settings() const {
  return state_->settings;
}

}  // namespace tangram
