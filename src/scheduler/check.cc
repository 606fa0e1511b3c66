// check(): the only place that refuses. Each refusal names the object, what was asked, the limit, and a way
// out.
#include <algorithm>
#include <string>

#include "base/quote.h"
#include "scheduler/checks.h"
#include "scheduler/judge.h"
#include "scheduler/state.h"
#include "scheduler/values.h"

namespace tangram {
namespace {

std::string amount_text(Dimension dimension, std::int64_t amount) {
  switch (dimension) {
    case Dimension::kNpus:
      return std::to_string(amount) + (amount == 1 ? " NPU" : " NPUs");
    case Dimension::kMemoryPerNpu:
    case Dimension::kMemoryTotal:
      return format_bytes(Bytes(amount));
    case Dimension::kAiCores:
      return std::to_string(amount) + (amount == 1 ? " AI core" : " AI cores");
    case Dimension::kRunningJobs:
      return std::to_string(amount) + (amount == 1 ? " running job" : " running jobs");
    case Dimension::kRunTime:
      return amount >= kUnlimited ? "no time limit" : "a run time of " + format_duration_ms(amount);
    case Dimension::kPriorities:
      break;
    case Dimension::kBandwidth:
      return format_bits_per_second(amount);
  }
  return std::to_string(amount);
}

class CheckInput {
 public:
  explicit CheckInput(const CoreState& state) : state_(state) {}

  Result<void> operator()(const SettingsChanged& settings) const {
    TG_TRY_VOID(check_values(settings));
    if (settings.places_elsewhere || !state_.settings.places_elsewhere || state_.queue.job_count() == 0)
      return {};
    return fail(Code::kFailedPrecondition, "record.impossible",
                "jobs were admitted without a place, so places cannot be chosen here from now on");
  }

  Result<void> operator()(const NodeReported& reported) const { return check_values(reported); }

  Result<void> operator()(const TenantPut& put) const {
    const TenantSpec& spec = put.spec;
    TG_TRY_VOID(check_values(spec));
    TG_TRY_VOID(check_identity(put));
    TenantId parent;
    if (!spec.parent.empty()) {
      const std::optional<TenantId> found = state_.tenants.find(spec.parent);
      if (!found && spec.parent != spec.name) {
        return unknown_tenant(quoted(spec.parent), "parent tenant ", {{"tenant", spec.parent}});
      }
      if (!found || *found == put.id) return cycle(spec);
      parent = *found;
    }
    return check_move(put, parent);
  }

  Result<void> operator()(const TenantDeleted& deleted) const {
    if (!state_.tenants.exists(deleted.id))
      return unknown_tenant("number " + std::to_string(deleted.id.value));
    const std::string& name = state_.tenants.spec(deleted.id).name;
    if (const std::int64_t jobs = state_.tenants.live_jobs(deleted.id); jobs > 0) {
      return fail(Code::kFailedPrecondition, "tenant.busy",
                  "tenant " + quoted(name) + " has " + std::to_string(jobs) + " unfinished jobs",
                  "cancel them or wait for their end (tangram queue --tenant " + name + ")",
                  {{"jobs", jobs}});
    }
    if (state_.tenants.has_children(deleted.id)) {
      return fail(Code::kFailedPrecondition, "tenant.busy",
                  "tenant " + quoted(name) + " has tenants below it", "delete those first (tangram quota)");
    }
    return {};
  }

  Result<void> operator()(const JobSubmitted& submitted) const {
    const JobSpec& spec = submitted.spec;
    TG_TRY_VOID(check_new_job(spec));
    if (spec.request.kind == RequestKind::kShare) {
      return fail(Code::kUnimplemented, std::string(token(ReasonCode::kShareUnsupported)),
                  "shares of an NPU are not handed out yet", "ask for whole NPUs (--npus)");
    }
    TG_TRY_VOID(check_static_limits(spec));
    TG_TRY_VOID(check_capacity(spec));
    return check_whole_limits(spec, demand_of(state_, spec.request, spec.bandwidth_bps).least);
  }

  // Of a job that comes into the queue, whatever its tenant may have.
  Result<void> check_new_job(const JobSpec& spec) const {
    TG_TRY_VOID(check_spec(spec));
    if (spec.id.value >= state_.next_job) return {};
    return fail(Code::kAlreadyExists, "job.exists",
                "job j-" + std::to_string(spec.id.value) + " is not a new job",
                "number jobs in the order of their submission");
  }

  Result<void> operator()(const JobCancelled& cancelled) const { return known_job(cancelled.job); }

  Result<void> operator()(const AttemptRunning& running) const {
    TG_TRY_VOID(check_attempt(running.job, running.attempt));
    if (!state_.queue.job(state_.queue.known_job(running.job)).is_unplaced()) return {};
    return wrong_attempt(running.job, running.attempt);
  }

  Result<void> operator()(const AttemptEnded& ended) const { return check_attempt(ended.job, ended.attempt); }

  Result<void> operator()(const AllocationObserved& observed) const {
    TG_TRY_VOID(check_spec(observed.spec));
    if (state_.queue.find_job(observed.spec.id)) {
      return fail(Code::kAlreadyExists, "job.exists",
                  "job j-" + std::to_string(observed.spec.id.value) + " exists already",
                  "observe it under another id");
    }
    TG_TRY_VOID(check_range("attempt", observed.attempt, 1, kAttemptMax));
    if (observed.npus.empty()) return bad_value("npus", "empty", "at least one NPU");
    if (observed.slice) {
      TG_TRY_VOID(check_range("npus", static_cast<std::int64_t>(observed.npus.size()), 1, 1));
      TG_TRY_VOID(check_values(*observed.slice));
    }
    for (std::size_t i = 0; i < observed.npus.size(); ++i) {
      const NpuIndex index = observed.npus[i];
      if (index.value >= state_.fleet.npu_count()) {
        return fail(Code::kNotFound, "npu.unknown",
                    "NPU number " + std::to_string(index.value) + " is not known", "report the node first");
      }
      if (i > 0 && observed.npus[i - 1] >= index)
        return bad_value("npus", std::to_string(index.value), "ascending");
      if (const JobId holder = holder_of(index, observed.slice.has_value()); holder.valid()) {
        return fail(
            Code::kFailedPrecondition, "npu.busy",
            "NPU number " + std::to_string(index.value) + " is held by job j-" + std::to_string(holder.value),
            "end that job first");
      }
    }
    return {};
  }

  Result<void> check_spec(const JobSpec& spec) const {
    if (!state_.tenants.exists(spec.tenant))
      return unknown_tenant("number " + std::to_string(spec.tenant.value));
    return check_values(spec);
  }

  Result<void> check_own_limits(const JobSpec& spec, const Amounts& least) const {
    TG_TRY_VOID(check_static_limits(spec));
    return check_whole_limits(spec, least);
  }

 private:
  // Who stands in the way of giving that NPU, or a slice of it.
  JobId holder_of(NpuIndex index, bool for_slice) const {
    const Fleet::Npu& npu = state_.fleet.npu(index);
    if (npu.job.valid() || npu.slices.empty()) return npu.job;
    const bool is_full = npu.slices.size() >= static_cast<std::size_t>(kSlicesPerChipMax);
    return for_slice && !is_full ? JobId() : npu.slices.front().job;
  }

  Result<void> check_identity(const TenantPut& put) const {
    const std::optional<TenantId> holder = state_.tenants.find(put.spec.name);
    if (holder && *holder != put.id) {
      return fail(Code::kAlreadyExists, "tenant.exists",
                  "tenant " + quoted(put.spec.name) + " exists already",
                  "change the one that exists, or choose another name");
    }
    if (!holder && put.id != state_.tenants.next_id()) {
      return fail(Code::kInvalidArgument, "tenant.renamed",
                  "tenant " + quoted(put.spec.name) + " is new, but comes under the number of another one",
                  "a tenant keeps its name: create a new one");
    }
    return {};
  }

  Result<void> check_move(const TenantPut& put, TenantId parent) const {
    const TenantTree& tenants = state_.tenants;
    const bool is_new = !tenants.exists(put.id);
    if (!is_new && parent.valid() && tenants.is_below(parent, put.id)) return cycle(put.spec);
    const std::int32_t depth =
        (parent.valid() ? tenants.depth(parent) : 0) + (is_new ? 1 : tenants.height(put.id));
    if (depth > TenantTree::kDepthMax) {
      return fail(Code::kInvalidArgument, "tenant.too_deep",
                  "tenant " + quoted(put.spec.name) + " would make the tree " + std::to_string(depth) +
                      " levels deep",
                  "keep it within " + std::to_string(TenantTree::kDepthMax) + " levels");
    }
    if (is_new || tenants.parent(put.id) == parent || tenants.live_jobs(put.id) == 0) return {};
    return fail(Code::kFailedPrecondition, "tenant.busy",
                "tenant " + quoted(put.spec.name) + " has " + std::to_string(tenants.live_jobs(put.id)) +
                    " unfinished jobs and cannot be moved under another parent",
                "move it when they have ended (tangram queue --tenant " + put.spec.name + ")",
                {{"jobs", tenants.live_jobs(put.id)}});
  }

  static Result<void> cycle(const TenantSpec& spec) {
    return fail(Code::kInvalidArgument, "tenant.cycle",
                "tenant " + quoted(spec.name) + " cannot be below " + quoted(spec.parent) +
                    ", which is itself below it",
                "choose a parent outside of its own subtree");
  }

  static Result<void> unknown_tenant(const std::string& which, const char* role = "tenant ",
                                     Details details = {}) {
    return fail(Code::kNotFound, "tenant.unknown", role + which + " does not exist",
                "create it first (tangram apply -f), or choose one of those that exist (tangram quota)",
                std::move(details));
  }

  Result<void> known_job(JobId id) const {
    if (state_.queue.find_job(id)) return {};
    return fail(Code::kNotFound, "job.unknown",
                "job j-" + std::to_string(id.value) + " is not queued or running",
                "see which are (tangram queue --all)");
  }

  Result<void> check_attempt(JobId id, std::int32_t attempt) const {
    TG_TRY_VOID(known_job(id));
    const JobRecord& job = state_.queue.job(state_.queue.known_job(id));
    if (!job.is_queued() && job.attempt == attempt) return {};
    return wrong_attempt(id, attempt);
  }

  static Result<void> wrong_attempt(JobId id, std::int32_t attempt) {
    return fail(Code::kFailedPrecondition, "job.attempt",
                "job j-" + std::to_string(id.value) + " is not in attempt " + std::to_string(attempt),
                "report the attempt that was started last");
  }

  Result<void> over_limit(ReasonCode code, TenantId owner, Dimension dimension, std::int64_t asked,
                          std::int64_t limit) const {
    const std::string& name = state_.tenants.spec(owner).name;
    const std::string field(to_string(dimension));
    return fail(Code::kPolicyRefused, std::string(token(code)),
                "the job asks for " + amount_text(dimension, asked) + ", but tenant " + quoted(name) +
                    " is limited to " + amount_text(dimension, limit) + " (" + field + ")",
                "ask for at most " + amount_text(dimension, limit) + ", or have " + field + " of tenant " +
                    quoted(name) + " raised (tangram quota " + name + ")",
                {{"tenant", name}, {"dimension", field}, {"requested", asked}, {"limit", limit}});
  }

  // Limits of one job: priority, memory per NPU, run time.
  Result<void> check_static_limits(const JobSpec& spec) const {
    for (TenantId at = spec.tenant; at.valid(); at = state_.tenants.parent(at)) {
      const TenantSpec& owner = state_.tenants.spec(at);
      if (!owner.quota.priorities.contains(spec.priority)) return forbidden_priority(spec.priority, owner);
      if (spec.request.memory_per_npu > owner.quota.memory_per_npu) {
        return over_limit(ReasonCode::kQuotaMemoryPerNpu, at, Dimension::kMemoryPerNpu,
                          spec.request.memory_per_npu.count, owner.quota.memory_per_npu.count);
      }
      if (spec.time_limit_ms > owner.quota.run_time_ms) {
        return over_limit(ReasonCode::kQuotaRunTime, at, Dimension::kRunTime, spec.time_limit_ms,
                          owner.quota.run_time_ms);
      }
    }
    return {};
  }

  static Result<void> forbidden_priority(Priority priority, const TenantSpec& owner) {
    std::string allowed;
    for (const Priority other : {Priority::kHigh, Priority::kNormal, Priority::kLow}) {
      if (!owner.quota.priorities.contains(other)) continue;
      allowed += (allowed.empty() ? "" : ", ") + std::string(to_string(other));
    }
    if (allowed.empty()) allowed = "none";
    const std::string name(to_string(priority));
    return fail(
        Code::kPolicyRefused, std::string(token(ReasonCode::kQuotaPriority)),
        "tenant " + quoted(owner.name) + " may not use priority " + name + "; allowed: " + allowed,
        "submit with an allowed priority, or have priorities of tenant " + quoted(owner.name) + " extended",
        {{"tenant", owner.name}, {"requested", name}, {"allowed", allowed}});
  }

  // Limits on what is held at once: never passable when one job alone breaks them.
  Result<void> check_whole_limits(const JobSpec& spec, const Amounts& least) const {
    for (TenantId at = spec.tenant; at.valid(); at = state_.tenants.parent(at)) {
      for (const Countable countable : kCountables) {
        const std::int64_t asked = least[index_of(countable)];
        const std::int64_t limit = state_.tenants.limit(at)[index_of(countable)];
        if (asked > 0 && asked > limit) {
          return over_limit(never_reason(countable), at, dimension_of(countable), asked, limit);
        }
      }
    }
    return {};
  }

  Result<void> check_capacity(const JobSpec& spec) const {
    const Need need = need_of(state_.fleet, spec.request);
    const ReasonCode reason = Judge(state_, state_.clock).impossible(need);
    switch (reason) {
      case ReasonCode::kMemoryNever:
        return need.is_slice() ? slice_too_large(spec.request, reason) : memory_never(spec.request);
      case ReasonCode::kAiCoresNever:
        return slice_too_large(spec.request, reason);
      case ReasonCode::kSliceUnsupported:
        return fail(Code::kPolicyRefused, std::string(token(reason)),
                    "no NPU here can be cut into slices, so none can be given",
                    "ask for whole NPUs (--npus)");
      case ReasonCode::kNpusNever:
        return npus_never(spec.request, need.first_kind);
        // clang-format off
      case ReasonCode::kNone: case ReasonCode::kQuotaNpus: case ReasonCode::kQuotaMemoryTotal:
      case ReasonCode::kQuotaAiCores: case ReasonCode::kQuotaRunningJobs: case ReasonCode::kQuotaBandwidth:
      case ReasonCode::kQuotaKept: case ReasonCode::kQuotaMemoryPerNpu: case ReasonCode::kQuotaRunTime:
      case ReasonCode::kQuotaPriority: case ReasonCode::kQuotaNpusNever: case ReasonCode::kQuotaMemoryTotalNever:
      case ReasonCode::kQuotaAiCoresNever: case ReasonCode::kQuotaRunningJobsNever:
      case ReasonCode::kQuotaBandwidthNever: case ReasonCode::kNpusBusy: case ReasonCode::kNpusUnhealthy:
      case ReasonCode::kNpusKept: case ReasonCode::kNoDevices: case ReasonCode::kShareUnsupported:
      case ReasonCode::kSlotsBusy: case ReasonCode::kMemoryBusy: case ReasonCode::kSlicesResidual:
        return {};
        // clang-format on
    }
    return {};
  }

  Result<void> memory_never(const Request& request) const {
    const Fleet& fleet = state_.fleet;
    Bytes most;
    for (std::uint32_t kind = 0; kind < fleet.kind_count(); ++kind) {
      if (fleet.kind(kind).present > 0) most = std::max(most, fleet.kind(kind).memory);
    }
    return fail(Code::kPolicyRefused, std::string(token(ReasonCode::kMemoryNever)),
                "the job needs " + format_bytes(request.memory_per_npu) +
                    " per NPU, but no NPU has more than " + format_bytes(most),
                "ask for at most --memory " + format_bytes(most),
                {{"requested", request.memory_per_npu.count}, {"limit", most.count}});
  }

  Result<void> npus_never(const Request& request, std::uint32_t first_kind) const {
    const Fleet& fleet = state_.fleet;
    std::int32_t most = 0;
    for (std::uint32_t kind = first_kind; kind < fleet.kind_count(); ++kind) {
      most = std::max(most, fleet.kind(kind).present_on_node_max);
    }
    return fail(Code::kPolicyRefused, std::string(token(ReasonCode::kNpusNever)),
                "the job asks for " + std::to_string(request.npus) + " NPUs of at least " +
                    format_bytes(request.memory_per_npu) + ", but no node has more than " +
                    std::to_string(most) + " of one model",
                "ask for at most --npus " + std::to_string(most),
                {{"requested", std::int64_t{request.npus}}, {"limit", std::int64_t{most}}});
  }

  // Whether there is an NPU with that much that is not cut: whole NPUs would do then.
  bool whole_has(const Request& request) const {
    const Fleet& fleet = state_.fleet;
    for (std::uint32_t kind = 0; kind < fleet.kind_count(); ++kind) {
      const Fleet::Kind& one = fleet.kind(kind);
      if (one.present > 0 && one.memory >= request.memory_per_npu && one.ai_cores >= request.ai_cores)
        return true;
    }
    return false;
  }

  // Above all that any NPU has which can be cut: a slice is never of two.
  Result<void> slice_too_large(const Request& request, ReasonCode reason) const {
    const Fleet& fleet = state_.fleet;
    Bytes memory;
    std::int32_t cores = 0;
    for (std::uint32_t kind = 0; kind < fleet.kind_count(); ++kind) {
      if (fleet.kind(kind).chips.empty()) continue;
      const bool holds = fleet.kind(kind).memory >= request.memory_per_npu;
      memory = std::max(memory, fleet.kind(kind).memory);
      if (holds || reason == ReasonCode::kMemoryNever) cores = std::max(cores, fleet.kind(kind).ai_cores);
    }
    if (reason == ReasonCode::kMemoryNever) {
      return fail(Code::kPolicyRefused, std::string(token(reason)),
                  "a slice is of one NPU, and none that can be cut has more than " + format_bytes(memory) +
                      "; the job asks for " + format_bytes(request.memory_per_npu),
                  whole_has(request)
                      ? "ask for at most --slice " + format_bytes(memory) + ", or for whole NPUs (--npus)"
                      : "ask for at most --slice " + format_bytes(memory),
                  {{"requested", request.memory_per_npu.count}, {"limit", memory.count}});
    }
    return fail(Code::kPolicyRefused, std::string(token(reason)),
                (request.memory_per_npu.count > 0
                     ? "a slice is of one NPU, and none that can be cut and has " +
                           format_bytes(request.memory_per_npu) + " has more than "
                     : std::string("a slice is of one NPU, and none that can be cut has more than ")) +
                    std::to_string(cores) + " AI cores; the job asks for " + std::to_string(request.ai_cores),
                whole_has(request)
                    ? "ask for at most " + std::to_string(cores) + " AI cores, or for whole NPUs (--npus)"
                    : "ask for at most " + std::to_string(cores) + " AI cores",
                {{"requested", std::int64_t{request.ai_cores}}, {"limit", std::int64_t{cores}}});
  }

  const CoreState& state_;
};

}  // namespace

Result<void> check_new_job(const CoreState& state, const JobSpec& spec) {
  return CheckInput(state).check_new_job(spec);
}

Result<void> check_job(const CoreState& state, const JobSpec& spec) {
  return CheckInput(state).check_spec(spec);
}

Result<void> check_own_limits(const CoreState& state, const JobSpec& spec, const Amounts& least) {
  return CheckInput(state).check_own_limits(spec, least);
}

Result<void> Scheduler::check(const Input& input) const {
  return std::visit(CheckInput(*state_), input);
}

Result<void> Scheduler::check_recorded(const Input& input) const {
  const CheckInput check(*state_);
  if (const auto* submitted = std::get_if<JobSubmitted>(&input)) return check.check_new_job(submitted->spec);
  if (const auto* ended = std::get_if<AttemptEnded>(&input); ended != nullptr && ended->requeue) {
    TG_TRY_VOID(check(*ended));
    const JobRecord& job = state_->queue.job(state_->queue.known_job(ended->job));
    if (!job.cancel_requested) return {};
    return fail(
        Code::kFailedPrecondition, "job.attempt",
        "job j-" + std::to_string(ended->job.value) + " was cancelled and cannot go back into the queue");
  }
  return std::visit(check, input);
}

bool Scheduler::restarts_after(JobId id, Outcome outcome) const {
  const std::optional<Handle> found = state_->queue.find_job(id);
  if (!found) return false;
  const JobRecord& job = state_->queue.job(*found);
  if (job.cancel_requested) return false;
  const bool is_lost = outcome == Outcome::kLost || outcome == Outcome::kDeviceLost;
  switch (job.spec.restart) {
    case RestartPolicy::kNever:
      return false;
    case RestartPolicy::kOnLost:
      return is_lost;
    case RestartPolicy::kOnFailure:
      return is_lost || (outcome == Outcome::kFailed && job.failures < job.spec.restarts_max);
  }
  return false;
}

}  // namespace tangram
