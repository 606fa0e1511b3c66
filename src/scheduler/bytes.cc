// The state as bytes: fixed order, little-endian, versioned. Nothing derived is written, so that equal states
// give equal bytes however they came about; from_bytes() believes nothing it reads.
#include <algorithm>
#include <utility>

#include "base/invariant.h"
#include "scheduler/bytes_io.h"
#include "scheduler/state.h"
#include "scheduler/values.h"

namespace tangram {
namespace {

constexpr std::string_view kMagic = "TGCORE";
constexpr std::uint32_t kVersion = 3;
constexpr std::uint32_t kWithoutParts = 2;   // still read, and written where it can say everything
constexpr std::uint32_t kWithoutSlices = 1;  // still read

void write_spec(Writer& out, const JobSpec& spec) {
  out.u64(spec.id.value);
  out.u32(spec.tenant.value);
  out.u8(static_cast<std::uint8_t>(spec.priority));
  out.u8(static_cast<std::uint8_t>(spec.request.kind));
  out.i32(spec.request.npus);
  out.i64(spec.request.memory_per_npu.count);
  out.i32(spec.request.ai_cores);
  out.i32(spec.request.core_percent);
  out.i64(spec.bandwidth_bps);
  out.i64(spec.time_limit_ms);
  out.u8(spec.no_wait ? 1 : 0);
  out.u8(static_cast<std::uint8_t>(spec.restart));
  out.i32(spec.restarts_max);
}

JobSpec read_spec(Reader& in) {
  JobSpec spec;
  spec.id = JobId(in.u64());
  spec.tenant = TenantId(in.u32());
  spec.priority = in.enumerator(Priority::kLow);
  spec.request.kind = in.enumerator(RequestKind::kShare);
  spec.request.npus = in.i32();
  spec.request.memory_per_npu = Bytes(in.i64());
  spec.request.ai_cores = in.i32();
  spec.request.core_percent = in.i32();
  spec.bandwidth_bps = in.i64();
  spec.time_limit_ms = in.i64();
  spec.no_wait = in.flag();
  spec.restart = in.enumerator(RestartPolicy::kOnFailure);
  spec.restarts_max = in.i32();
  return spec;
}

void write_strays(Writer& out, const std::vector<StraySlice>& strays) {
  out.u32(static_cast<std::uint32_t>(strays.size()));
  for (const StraySlice& stray : strays) {
    out.u32(stray.id);
    out.text(stray.template_name);
    out.i32(stray.vgroup);
    out.u8(stray.residual ? 1 : 0);
  }
}

std::vector<StraySlice> read_strays(Reader& in) {
  std::vector<StraySlice> strays;
  for (std::uint32_t left = in.count(); left > 0 && in.ok(); --left) {
    StraySlice& stray = strays.emplace_back();
    stray.id = in.u32();
    stray.template_name = in.text();
    stray.vgroup = in.i32();
    stray.residual = in.flag();
  }
  return strays;
}

void write_tenants(Writer& out, const TenantTree& tenants) {
  out.u32(static_cast<std::uint32_t>(tenants.size()));
  for (std::uint32_t i = 0; i < tenants.size(); ++i) {
    const bool exists = tenants.exists(TenantId(i));
    out.u8(exists ? 1 : 0);
    if (!exists) continue;
    const TenantSpec& spec = tenants.spec(TenantId(i));
    out.text(spec.name);
    out.text(spec.parent);
    out.i64(spec.quota.npus);
    out.i64(spec.quota.memory_per_npu.count);
    out.i64(spec.quota.memory_total.count);
    out.i64(spec.quota.ai_cores);
    out.i64(spec.quota.running_jobs);
    out.i64(spec.quota.run_time_ms);
    out.u8(spec.quota.priorities.bits);
    out.i64(spec.quota.bandwidth_bps);
  }
}

Result<TenantTree> read_tenants(Reader& in) {
  std::vector<std::optional<TenantSpec>> specs;
  for (std::uint32_t left = in.count(); left > 0 && in.ok(); --left) {
    specs.emplace_back();
    if (!in.flag()) continue;
    TenantSpec spec;
    spec.name = in.text();
    spec.parent = in.text();
    spec.quota.npus = in.i64();
    spec.quota.memory_per_npu = Bytes(in.i64());
    spec.quota.memory_total = Bytes(in.i64());
    spec.quota.ai_cores = in.i64();
    spec.quota.running_jobs = in.i64();
    spec.quota.run_time_ms = in.i64();
    spec.quota.priorities.bits = in.u8();
    spec.quota.bandwidth_bps = in.i64();
    if (!in.ok()) return damaged("it ends among the tenants");
    TG_TRY_VOID(check_values(spec));
    specs.back() = std::move(spec);
  }
  std::optional<TenantTree> tree = TenantTree::restore(specs);
  if (!tree) return damaged("its tenants are no tree");
  return *std::move(tree);
}

void write_fleet(Writer& out, const Fleet& fleet) {
  out.u32(static_cast<std::uint32_t>(fleet.node_count()));
  for (std::uint32_t i = 0; i < fleet.node_count(); ++i) out.text(fleet.node_name(NodeIndex(i)));
  out.u32(static_cast<std::uint32_t>(fleet.npu_count()));
  for (std::uint32_t i = 0; i < fleet.npu_count(); ++i) {
    const Fleet::Npu& npu = fleet.npu(NpuIndex(i));
    out.u32(npu.node.value);
    out.u32(npu.report.physical_id);
    out.text(npu.report.chip);
    out.i64(npu.report.memory.count);
    out.i32(npu.report.ai_cores);
    out.u8(static_cast<std::uint8_t>(npu.report.health));
    out.u8(npu.report.cuttable ? 1 : 0);
    out.text(npu.report.template_set);
    write_strays(out, npu.report.strays);
  }
}

Result<Fleet> read_fleet(Reader& in, Fleet fleet) {
  for (std::uint32_t left = in.count(); left > 0; --left) {
    std::string name = in.text();
    if (!in.ok() || fleet.find_node(name)) return damaged("a node is listed twice");
    fleet.restore_node(std::move(name));
  }
  for (std::uint32_t left = in.count(); left > 0; --left) {
    const NodeIndex node(in.u32());
    NpuReport report;
    report.physical_id = in.u32();
    report.chip = in.text();
    report.memory = Bytes(in.i64());
    report.ai_cores = in.i32();
    report.health = in.enumerator(Health::kAbsent);
    if (in.has_slices) {
      report.cuttable = in.flag();
      report.template_set = in.text();
      report.strays = read_strays(in);
    }
    if (!in.ok() || node.value >= fleet.node_count()) return damaged("an NPU is on no node");
    TG_TRY_VOID(check_values(report));
    if (fleet.find_npu(node, report.physical_id)) return damaged("an NPU is listed twice");
    fleet.restore_npu(node, report);
  }
  if (!in.ok()) return damaged("it ends among the NPUs");
  return fleet;
}

// Whether the state has what the format without parts cannot say: then, and only then, an older version must
// not read it.
bool needs_parts(const CoreState& state) {
  if (state.settings.places_elsewhere) return true;
  for (Handle handle = 0; handle < state.queue.job_slots(); ++handle) {
    if (state.queue.job(handle).over_limit) return true;
  }
  return false;
}

void write_jobs(Writer& out, const CoreState& state, bool with_parts) {
  const std::vector<Handle> jobs = state.queue.jobs();
  out.u32(static_cast<std::uint32_t>(jobs.size()));
  for (const Handle handle : jobs) {
    const JobRecord& job = state.queue.job(handle);
    write_spec(out, job.spec);
    out.u8(static_cast<std::uint8_t>(job.state));
    out.u8(job.cancel_requested ? 1 : 0);
    out.i32(job.attempt);
    out.i32(job.restarts);
    out.i32(job.failures);
    out.i64(job.submitted_at.value);
    out.i64(job.queued_at.value);
    out.i64(job.started_at.value);
    for (const std::int64_t amount : job.charge) out.i64(amount);
    const bool has_own_list = job.held != kNoHandle;
    const std::vector<NpuIndex> npus =
        has_own_list ? std::vector<NpuIndex>{} : state.fleet.held_from(job.first_npu);
    out.u32(static_cast<std::uint32_t>(npus.size()));
    for (const NpuIndex npu : npus) out.u32(npu.value);
    const std::optional<SlicePlacement> slice = has_own_list ? std::nullopt : slice_of(state.fleet, job);
    out.u8(slice ? 1 : 0);
    if (slice) write_slice(out, *slice);
    if (with_parts) write_parts(out, state, job);
  }
}

class JobReader {
 public:
  JobReader(Reader& in, CoreState& state) : in_(in), state_(state) {}

  Result<void> read_all() {
    for (std::uint32_t left = in_.count(); left > 0; --left) TG_TRY_VOID(read_one());
    if (!in_.ok()) return damaged("it ends among the jobs");
    state_.fleet.rebuild();
    // Only now is it known what hardware there is, and so what each job demands.
    for (const Handle handle : state_.queue.jobs()) {
      if (state_.queue.job(handle).is_queued()) enqueue(state_, handle);
    }
    return {};
  }

 private:
  Result<void> read_one() {
    JobRecord job;
    job.spec = read_spec(in_);
    job.state = in_.enumerator(JobState::kRunning);
    job.cancel_requested = in_.flag();
    job.attempt = in_.i32();
    job.restarts = in_.i32();
    job.failures = in_.i32();
    job.submitted_at = TimeMs(in_.i64());
    job.queued_at = TimeMs(in_.i64());
    job.started_at = TimeMs(in_.i64());
    for (std::int64_t& amount : job.charge) amount = in_.i64();
    std::vector<NpuIndex> npus(in_.count());
    for (NpuIndex& npu : npus) npu = NpuIndex(in_.u32());
    std::optional<SlicePlacement> slice;
    if (in_.has_slices && in_.flag()) slice = read_slice(in_);
    PartsOfJob parts;
    if (in_.has_parts) {
      TG_TRY(parts, read_parts(in_));
    }
    if (!in_.ok()) return damaged("it ends among the jobs");
    TG_TRY_VOID(check(job, npus, slice, parts));
    job.over_limit = parts.over_limit;
    if (!parts.parts.empty()) job.spec.request = request_of(parts.parts, state_.parts.use(parts.parts));
    last_ = job.spec.id;
    state_.tenants.count_jobs(job.spec.tenant, +1, job.is_queued() ? +1 : 0);
    if (job.is_queued()) {
      state_.queue.add_job(job);
      return {};
    }
    if (!npus.empty()) {
      job.first_npu = npus.front();
      take(state_.fleet, job.spec.id, npus, slice, false);
    }
    state_.tenants.charge(job.spec.tenant, job.charge);
    const Handle handle = state_.queue.add_job(job);
    if (!parts.held.empty()) hold_again(state_, handle, std::move(parts.held));
    return {};
  }

  Result<void> check(const JobRecord& job, const std::vector<NpuIndex>& npus,
                     const std::optional<SlicePlacement>& slice, const PartsOfJob& parts) {
    TG_TRY_VOID(check_values(job.spec));
    const std::string name = "job j-" + std::to_string(job.spec.id.value);
    if (last_.valid() && job.spec.id <= last_) return damaged(name + " is out of order");
    if (job.spec.id.value >= state_.next_job) return damaged(name + " is of the future");
    if (!state_.tenants.exists(job.spec.tenant)) return damaged(name + " has no tenant");
    if (job.state == JobState::kWaiting && !state_.settings.places_elsewhere)
      return damaged(name + " has an unknown state");
    TG_TRY_VOID(check_parts(state_, job, parts));
    if (job.attempt < 0 || job.restarts < 0 || job.failures < 0 || job.attempt > kAttemptMax) {
      return damaged(name + " has an impossible count of attempts");
    }
    if (job.queued_at > state_.clock || job.started_at > state_.clock || job.submitted_at > state_.clock ||
        job.queued_at.value < -kUnlimited) {
      return damaged(name + " is of the future");
    }
    if (job.submitted_at.value < 0 || job.started_at.value < 0) return damaged(name + " has a negative time");
    if (job.is_queued()) {
      if (!npus.empty() || slice || job.charge != Amounts{} || job.cancel_requested || parts.over_limit)
        return damaged(name + " holds something");
      if (job.is_requeued()) return {};
      if (job.queued_at < last_queued_at_) return damaged(name + " was queued before an older job");
      last_queued_at_ = job.queued_at;
      return {};
    }
    const bool has_own_list = !parts.parts.empty();
    const bool has_place = has_own_list ? !parts.held.empty() : !npus.empty();
    if (has_place == job.is_unplaced() || job.attempt == 0) return damaged(name + " runs nowhere");
    if ((has_own_list || job.is_unplaced()) && (!npus.empty() || slice))
      return damaged(name + " holds something twice");
    for (std::size_t i = 0; i < kCountableCount; ++i) {
      charged_[i] += job.charge[i] < 0 || job.charge[i] > kUnlimited ? kUnlimited : job.charge[i] / 2;
      if (charged_[i] >= kUnlimited) return damaged(name + " has an impossible charge");
    }
    for (std::size_t i = 0; i < npus.size(); ++i) {
      if (i > 0 && npus[i] <= npus[i - 1]) return damaged(name + " holds NPUs out of order");
      if (npus[i].value >= state_.fleet.npu_count()) return damaged(name + " holds an NPU that is not known");
      const Fleet::Npu& npu = state_.fleet.npu(npus[i]);
      if (slice ? npu.job.valid() : npu.is_held()) return damaged(name + " holds an NPU of another job");
    }
    if (!slice) return {};
    if (npus.size() != 1) return damaged(name + " has a slice of several NPUs");
    if (state_.fleet.npu(npus.front()).slices.size() >= static_cast<std::size_t>(kSlicesPerChipMax)) {
      return damaged(name + " has one slice too many of its NPU");
    }
    return check_values(*slice);
  }

  Reader& in_;
  CoreState& state_;
  JobId last_;
  TimeMs last_queued_at_{-kUnlimited};
  Amounts charged_{};  // halves, so that the sum cannot overflow
};

// Where the groups wait and why, each named by the least of its jobs.
void write_groups(Writer& out, const CoreState& state) {
  std::vector<Handle> groups;
  std::vector<JobId> names;
  std::vector<std::uint8_t> seen(state.queue.group_slots(), 0);
  for (const Handle handle : state.queue.jobs()) {
    const JobRecord& job = state.queue.job(handle);
    if (!job.is_queued() || std::exchange(seen[job.group], std::uint8_t{1}) != 0) continue;
    if (state.queue.group(job.group).reason == ReasonCode::kNone) continue;
    groups.push_back(job.group);
    names.push_back(job.spec.id);
  }
  out.u32(static_cast<std::uint32_t>(groups.size()));
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const Group& group = state.queue.group(groups[i]);
    out.u64(names[i].value);
    out.u8(static_cast<std::uint8_t>(group.reason));
    out.u32(group.parking.tenant.value);
    out.u8(static_cast<std::uint8_t>(group.parking.slot));
  }
}

Result<void> read_groups(Reader& in, CoreState& state) {
  JobId last;
  for (std::uint32_t left = in.count(); left > 0; --left) {
    const JobId id(in.u64());
    const ReasonCode reason = in.enumerator(kReasonLast);
    Parking parking;
    parking.tenant = TenantId(in.u32());
    parking.slot = in.enumerator(Slot::kCapacity);
    const std::optional<Handle> job = state.queue.find_job(id);
    if (!in.ok() || !job || !state.queue.job(*job).is_queued())
      return damaged("a reason is of no queued job");
    if (last.valid() && id <= last) return damaged("reasons are out of order");
    last = id;
    const Group& group = state.queue.group(state.queue.job(*job).group);
    const bool is_parked = parking.slot != Slot::kCapacity;
    if (reason == ReasonCode::kNone || group.reason != ReasonCode::kNone ||
        is_parked != parking.tenant.valid()) {
      return damaged("a reason does not fit its job");
    }
    if (is_parked && (!state.tenants.exists(parking.tenant) ||
                      !state.tenants.is_below(group.key.tenant, parking.tenant))) {
      return damaged("a job waits for the quota of a stranger");
    }
    state.queue.park(state.queue.job(*job).group, reason, parking);
  }
  return {};
}

}  // namespace

std::string Scheduler::to_bytes() const {
  const State& state = *state_;
  const bool with_parts = needs_parts(state);
  Writer out;
  out.raw(kMagic);
  out.u32(with_parts ? kVersion : kWithoutParts);
  out.i64(state.settings.keep_after_ms);
  out.u8(state.settings.slice_variants ? 1 : 0);
  out.u8(static_cast<std::uint8_t>(state.settings.slice_count));
  if (with_parts) out.u8(state.settings.places_elsewhere ? 1 : 0);
  out.i64(state.clock.value);
  out.u64(state.next_job);
  write_tenants(out, state.tenants);
  write_fleet(out, state.fleet);
  write_jobs(out, state, with_parts);
  write_groups(out, state);
  return out.take();
}

Result<Scheduler> Scheduler::from_bytes(std::string_view bytes, std::shared_ptr<const Catalog> catalog) {
  Reader in(bytes);
  if (in.raw(kMagic.size()) != kMagic) return damaged("it does not begin like one");
  const std::uint32_t version = in.u32();
  in.has_slices = version != kWithoutSlices;
  in.has_parts = in.has_slices && version != kWithoutParts;
  if (version != kVersion && version != kWithoutParts && version != kWithoutSlices) {
    return fail(Code::kFailedPrecondition, "snapshot.version",
                "the snapshot of the scheduler has format " + std::to_string(version) +
                    ", this program reads format " + std::to_string(kVersion),
                "start the version of Tangram that wrote it");
  }
  Scheduler scheduler(std::move(catalog));
  State& state = *scheduler.state_;
  state.settings.keep_after_ms = in.i64();
  if (in.has_slices) {
    state.settings.slice_variants = in.flag();
    state.settings.slice_count = in.enumerator(SliceCount::kNone);
  }
  if (in.has_parts) state.settings.places_elsewhere = in.flag();
  state.clock = TimeMs(in.i64());
  state.next_job = in.u64();
  TG_TRY_VOID(check_values(state.settings));
  if (!in.ok() || state.clock.value < 0 || state.clock >= TimeMs::never() || state.next_job > kJobIdMax + 1) {
    return damaged("its clock is impossible");
  }
  TG_TRY(state.tenants, read_tenants(in));
  TG_TRY(state.fleet, read_fleet(in, state.fleet));
  state.fleet.set_slice_variants(state.settings.slice_variants);
  TG_TRY_VOID(JobReader(in, state).read_all());
  TG_TRY_VOID(read_groups(in, state));
  if (!in.at_end()) return damaged("bytes follow its end");
  TG_ASSERT(state.queue.queued_count() <= state.queue.job_slots(), "queued jobs are jobs");
  return scheduler;
}

}  // namespace tangram
