#include "scheduler/lockstep.h"

#include <rapidcheck.h>

#include <algorithm>

namespace tangram::testing {
namespace {

constexpr std::uint32_t kNodes = 4;
constexpr std::int64_t kKeepAfter = 60'000;

bool is_quota_wait(ReasonCode reason) {
  return reason == ReasonCode::kQuotaNpus || reason == ReasonCode::kQuotaMemoryTotal ||
         reason == ReasonCode::kQuotaAiCores || reason == ReasonCode::kQuotaRunningJobs ||
         reason == ReasonCode::kQuotaBandwidth;
}

bool is_quota_never(ReasonCode reason) {
  return reason == ReasonCode::kQuotaNpusNever || reason == ReasonCode::kQuotaMemoryTotalNever ||
         reason == ReasonCode::kQuotaAiCoresNever || reason == ReasonCode::kQuotaRunningJobsNever ||
         reason == ReasonCode::kQuotaBandwidthNever || reason == ReasonCode::kQuotaMemoryPerNpu ||
         reason == ReasonCode::kQuotaPriority;
}

std::string text_of(const Decision& decision) {
  if (const auto* started = std::get_if<JobStarted>(&decision)) {
    std::string text = "j-" + std::to_string(started->job.value) + " starts on";
    for (const NpuIndex npu : started->npus) text += " " + std::to_string(npu.value);
    if (started->slice)
      text += " " + started->slice->template_name + "." + std::to_string(started->slice->vgroup);
    return text;
  }
  if (const auto* waits = std::get_if<JobWaits>(&decision)) {
    return "j-" + std::to_string(waits->job.value) + " waits: " + std::string(token(waits->reason));
  }
  const auto& refused = std::get<JobRefused>(decision);
  return "j-" + std::to_string(refused.job.value) + " is refused: " + std::string(token(refused.reason));
}

// What one needs to see why core and oracle disagree.
std::string describe(const Scheduler& core) {
  std::string text;
  for (const JobId id : core.queue()) {
    const JobStatus job = *core.job(id);
    text += "queued j-" + std::to_string(id.value) + " tenant " + std::to_string(job.spec.tenant.value) +
            " npus " + std::to_string(job.spec.request.npus) + " " +
            std::string(to_string(job.spec.priority)) + " since " + std::to_string(job.queued_at.value) +
            " " + std::string(token(job.reason)) + "\n";
  }
  for (const JobId id : core.active()) {
    const JobStatus job = *core.job(id);
    text += "active j-" + std::to_string(id.value) + " tenant " + std::to_string(job.spec.tenant.value) +
            " npus " + std::to_string(job.spec.request.npus) + " " +
            std::string(to_string(job.spec.priority)) + " since " + std::to_string(job.queued_at.value) +
            "\n";
  }
  for (const TenantView& view : core.tenants()) {
    text += "tenant " + std::to_string(view.id.value) + " below \"" + view.spec.parent + "\" holds " +
            std::to_string(view.used.npus) + " of " + std::to_string(view.spec.quota.npus) + " NPUs, " +
            std::to_string(view.used.running_jobs) + " of " + std::to_string(view.spec.quota.running_jobs) +
            " jobs\n";
  }
  return text;
}

}  // namespace

Lockstep::Lockstep(Hardware hardware) : hardware_(hardware) {
  input(SettingsChanged{kKeepAfter});
  const std::vector<std::pair<const char*, const char*>> tree = {{"org", ""},         {"team-a", "org"},
                                                                 {"team-b", "org"},   {"a-one", "team-a"},
                                                                 {"a-two", "team-a"}, {"free", ""}};
  for (const auto& [name, parent] : tree) input(TenantPut{core_.next_tenant_id(), {name, parent, {}}});
  for (std::uint32_t node = 0; node + 1 < kNodes; ++node) input(report(node));
}

NodeReported Lockstep::report(std::uint32_t node) const {
  NodeReported reported;
  reported.node = "node-" + std::to_string(node);
  if (node_is_away_.contains(node) && node_is_away_.at(node)) return reported;
  const bool mixed = hardware_ == Hardware::kMixed;
  const std::uint32_t count = hardware_ == Hardware::kOneKind ? 4 : mixed ? 2 + node * 2 : 2;
  for (std::uint32_t i = 0; i < count; ++i) {
    NpuReport npu{i, "910B4", Bytes::gib(32), 20, Health::kOk};
    if (mixed && (node == 1 || (node == 2 && i < 3))) npu = {i, "910B3", Bytes::gib(64), 20, Health::kOk};
    if (hardware_ == Hardware::kCut) npu = cut_npu(node, i);
    if (mixed && node == 3) npu = {i, "910C", Bytes::gib(64), 24, Health::kOk};
    const auto broken = health_.find(node * 100 + i);
    if (broken != health_.end()) npu.health = broken->second;
    reported.npus.push_back(npu);
  }
  return reported;
}

NpuReport Lockstep::cut_npu(std::uint32_t node, std::uint32_t id) const {
  NpuReport npu{id, "310P3", Bytes::mib(21'527), 8, Health::kOk};
  npu.template_set = "310P (24 GiB)";
  if (node == 2) npu = {id, "910B4", Bytes::gib(32), 20, Health::kOk, false, "910B4"};
  const auto not_cut = is_not_cut_.find(node * 100 + id);
  npu.cuttable = not_cut == is_not_cut_.end() || !not_cut->second;
  const auto strays = strays_.find(node * 100 + id);
  if (strays != strays_.end()) npu.strays = strays->second;
  return npu;
}

void Lockstep::ask_slice(JobSpec& job, const Step& step) const {
  if (step.b % 8 == 0) {
    job.request.npus = 1 + static_cast<std::int32_t>(step.b / 8 % 2);
    return;
  }
  job.request.kind = RequestKind::kSlice;
  job.request.npus = 1;
  const std::int64_t sizes[] = {0, 1024, 4096, 7000, 12'288, 13'000, 20'000, 30'000};
  job.request.memory_per_npu = Bytes::mib(sizes[step.b / 8 % 8]);
  job.request.ai_cores = step.b / 64 % 4 == 0 ? static_cast<std::int32_t>(step.c % 10) : 0;
}

void Lockstep::observe_slice(const Step& step) {
  AllocationObserved observed;
  observed.spec = random_job(step);
  observed.spec.request.npus = 1;
  const std::vector<NpuView> npus = core_.npus();
  if (npus.empty()) return;
  observed.npus = {npus[step.a % npus.size()].index};
  observed.slice = SlicePlacement{step.c % 2 == 0 ? "vir01" : "vir02", static_cast<std::int32_t>(step.c % 4),
                                  Bytes::gib(3), Bytes::gib(2), 1};
  input(observed);
}

JobSpec Lockstep::random_job(const Step& step) {
  JobSpec job;
  job.id = JobId(next_job_++);
  job.tenant = TenantId(step.a % 6);
  job.priority = static_cast<Priority>(step.a / 8 % 3);
  const std::int32_t sizes[] = {1, 1, 1, 2, 2, 3, 4, 4};
  job.request.npus = sizes[step.b % 8];
  job.request.memory_per_npu = Bytes::gib(step.b / 8 % 4 == 0 ? 48 : 16);
  if (hardware_ != Hardware::kMixed) job.request.memory_per_npu = Bytes::gib(16);
  if (hardware_ == Hardware::kCut) ask_slice(job, step);
  job.bandwidth_bps = step.b / 64 % 4 == 0 ? 10 : 0;
  job.time_limit_ms = step.c % 2 == 0 ? kUnlimited : std::int64_t{1000} * (1 + step.c % 100);
  job.no_wait = step.c / 2 % 8 == 0;
  job.restart = static_cast<RestartPolicy>(step.c / 16 % 3);
  job.restarts_max = 1;
  return job;
}

Quota Lockstep::random_quota(const Step& step) const {
  Quota quota;
  switch (step.b % 8) {
    case 0:
      quota.npus = 1 + step.c % 6;
      break;
    case 1:
      quota.running_jobs = 1 + step.c % 3;
      break;
    case 2:
      quota.memory_total = Bytes::gib(64 + std::int64_t{32} * (step.c % 6));
      break;
    case 3:
      quota.ai_cores = 40 + 20 * (step.c % 6);
      break;
    case 4:
      quota.bandwidth_bps = 10 + 10 * (step.c % 3);
      break;
    case 5:
      quota.npus = 2 + step.c % 4, quota.running_jobs = 2;
      break;
    case 6:
      quota.priorities.bits = static_cast<std::uint8_t>(1 + step.c % 7);
      break;
    default:
      break;
  }
  return quota;
}

void Lockstep::take(const Step& step) {
  const std::vector<JobId> active = core_.active();
  const std::vector<JobId> queued = core_.queue();
  switch (step.kind % 20) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
    case 5:
      input(JobSubmitted{random_job(step)});
      return;
    case 6:
    case 7:
    case 8:
    case 9: {
      if (active.empty()) return;
      const JobId job = active[step.a % active.size()];
      const Outcome outcomes[] = {Outcome::kSucceeded, Outcome::kSucceeded, Outcome::kFailed, Outcome::kLost};
      const Outcome outcome = outcomes[step.b % 4];
      input(AttemptEnded{job, core_.job(job)->attempt, outcome, core_.restarts_after(job, outcome)});
      return;
    }
    case 10: {
      const std::vector<JobId>& from = step.b % 3 == 0 ? active : queued;
      if (!from.empty()) input(JobCancelled{from[step.a % from.size()]});
      return;
    }
    case 11:
      change_node(step);
      return;
    case 12: {
      const TenantId tenant(step.a % 6);
      if (!core_.tenant(tenant)) return;
      TenantSpec spec = core_.tenant(tenant)->spec;
      spec.quota = random_quota(step);
      input(TenantPut{tenant, spec});
      return;
    }
    case 13:
    case 14: {
      now_ += std::int64_t{1000} * (step.a % 45);
      settle();
      return;
    }
    case 16:
      input(SettingsChanged{step.a % 4 == 0 ? 0 : kKeepAfter / (1 + step.a % 3), step.b % 4 != 0,
                            step.c % 3 == 0 ? SliceCount::kNone : SliceCount::kOne});
      return;
    case 17:
      change_tree(step);
      return;
    case 18:
      observe(step);
      return;
    default: {
      if (active.empty()) return;
      const JobId job = active[step.a % active.size()];
      input(AttemptRunning{job, core_.job(job)->attempt});
      return;
    }
  }
}

void Lockstep::change_node(const Step& step) {
  const std::uint32_t node = step.a % kNodes;
  const Health states[] = {Health::kOk, Health::kOk, Health::kCritical, Health::kAbsent};
  const std::uint64_t npu = node * 100 + step.b % 4;
  health_[npu] = states[step.c % 4];
  if (step.c / 4 % 3 == 0) strays_[npu].clear();
  if (step.c / 4 % 3 == 1) {
    const char* names[] = {"vir01", "vir04", "vir05_1c_8g", ""};
    strays_[npu] = {{100, names[step.c / 12 % 4], static_cast<std::int32_t>(step.a % 4), step.c % 5 < 3}};
  }
  if (step.c % 7 == 0) is_not_cut_[npu] = !is_not_cut_[npu];
  if (step.c % 11 == 0) node_is_away_[node] = !node_is_away_[node];
  input(report(node));
}

void Lockstep::change_tree(const Step& step) {
  const std::vector<TenantView> tenants = core_.tenants();
  if (tenants.empty() || step.b % 5 == 0) {
    input(TenantPut{core_.next_tenant_id(), {"new-" + std::to_string(step.a % 3), "", {}}});
    return;
  }
  const TenantView& some = tenants[step.a % tenants.size()];
  if (step.b % 5 == 1) {
    input(TenantDeleted{some.id});
    return;
  }
  TenantSpec moved = some.spec;
  moved.parent = step.c % 4 == 0 ? "" : tenants[step.c % tenants.size()].spec.name;
  input(TenantPut{some.id, moved});
}

void Lockstep::observe(const Step& step) {
  if (hardware_ == Hardware::kCut && step.a % 2 == 0) {
    observe_slice(step);
    return;
  }
  AllocationObserved observed;
  observed.spec = random_job(step);
  for (const NpuView& npu : core_.npus()) {
    if (npu.index.value % 5 == step.b % 5 && observed.npus.size() < 2) observed.npus.push_back(npu.index);
  }
  observed.spec.request.npus = static_cast<std::int32_t>(std::max<std::size_t>(observed.npus.size(), 1));
  input(observed);
}

void Lockstep::input(const Input& input) {
  const std::string before = core_.to_bytes();
  const Result<void> checked = core_.check(input);
  RC_ASSERT(core_.to_bytes() == before);
  if (!checked) {
    RC_ASSERT(!checked.error().reason.empty());
    RC_ASSERT(!checked.error().message.empty());
    return;
  }
  core_.apply(input, TimeMs(now_));
  oracle_.apply(input, now_);
  history_.emplace_back(input, now_);
  // Only a lower limit, or what is booked because it exists, leads above a limit.
  limits_may_break_ =
      std::holds_alternative<TenantPut>(input) || std::holds_alternative<AllocationObserved>(input);
  settle();
}

void Lockstep::settle() {
  bool ambiguous = false;
  Oracle expected_oracle = oracle_;
  const std::vector<JobStarted> expected = expected_oracle.starts(now_, ambiguous);
  std::vector<JobStarted> actual;
  for (std::size_t rounds = 0;; ++rounds) {
    RC_ASSERT(rounds < 1000U);
    const std::vector<Decision> batch = core_.decide(TimeMs(now_), 1 + rounds % 3 * 7);
    RC_ASSERT(core_.decide(TimeMs(now_), 1 + rounds % 3 * 7) == batch);
    if (batch.empty()) break;
    for (const Decision& decision : batch) {
      if (const auto* started = std::get_if<JobStarted>(&decision)) actual.push_back(*started);
      const auto* cut = std::get_if<JobStarted>(&decision);
      if (cut != nullptr && cut->slice) ++slices_seen;
      if (const auto* waits = std::get_if<JobWaits>(&decision))
        RC_ASSERT(core_.job(waits->job)->npus.empty());
      core_.apply(decision, TimeMs(now_));
      oracle_.apply(decision, now_);
      if (cut != nullptr && cut->slice)
        RC_ASSERT(oracle_.is_legal_mix(oracle_.npus[cut->npus.front().value]));
      history_.emplace_back(decision, now_);
    }
  }
  starts_seen += static_cast<std::int64_t>(actual.size());
  bool unsure = ambiguous;
  const std::map<std::uint64_t, Oracle::Verdict> verdicts = oracle_.verdicts(now_, unsure);
  if (!unsure) {
    ++strict_rounds;
    if (actual != expected) {
      RC_LOG() << "at " << now_ << "\n" << describe(core_);
      for (const JobStarted& start : actual) RC_LOG() << "core: " << text_of(start) << "\n";
      for (const JobStarted& start : expected) RC_LOG() << "oracle: " << text_of(start) << "\n";
    }
    RC_ASSERT(actual == expected);
    for (const auto& [id, verdict] : verdicts) RC_ASSERT(verdict.fate != Oracle::Fate::kStart);
    check_reasons(verdicts);
  }
  for (const JobId id : core_.queue()) {
    RC_ASSERT(core_.job(id)->state == JobState::kWaiting);
    RC_ASSERT(!core_.job(id)->spec.no_wait || core_.job(id)->attempt > 0);
  }
  // Above a limit only after it was lowered, and then only falling.
  std::map<std::pair<std::uint32_t, std::size_t>, std::int64_t> excess;
  for (const auto& [tenant, spec] : oracle_.tenants) {
    const std::array<std::int64_t, 5> used = oracle_.usage(tenant);
    const std::array<std::int64_t, 5> limit = Oracle::limits(spec.quota);
    for (std::size_t i = 0; i < used.size(); ++i) {
      if (used[i] > limit[i]) excess[{tenant, i}] = used[i];
    }
  }
  for (const auto& [key, used] : excess) {
    const auto before = excess_.find(key);
    RC_ASSERT(limits_may_break_ || (before != excess_.end() && used <= before->second));
  }
  limits_may_break_ = false;
  excess_ = std::move(excess);
}

// Each reason shown must be true, if not always the only one.
void Lockstep::check_reasons(const std::map<std::uint64_t, Oracle::Verdict>& verdicts) const {
  std::map<std::tuple<std::uint32_t, Priority, Request, std::int64_t>, Oracle::Fate>
      best;  // fate of a group's best
  for (const JobId id : core_.queue()) {
    const JobSpec spec = core_.job(id)->spec;
    best.try_emplace({spec.tenant.value, spec.priority, spec.request, spec.bandwidth_bps},
                     verdicts.at(id.value).fate);
  }
  for (const JobId id : core_.queue()) {
    const JobStatus status = *core_.job(id);
    const JobSpec& spec = status.spec;
    const Oracle::Fate fate = best.at({spec.tenant.value, spec.priority, spec.request, spec.bandwidth_bps});
    const ReasonCode reason = status.reason;
    if (is_quota_wait(reason)) RC_ASSERT(fate == Oracle::Fate::kQuota);
    if (is_quota_never(reason)) RC_ASSERT(fate == Oracle::Fate::kNever);
    if (fate == Oracle::Fate::kImpossible) {
      RC_ASSERT(reason == ReasonCode::kNoDevices || reason == ReasonCode::kMemoryNever ||
                reason == ReasonCode::kNpusNever || reason == ReasonCode::kAiCoresNever ||
                reason == ReasonCode::kSliceUnsupported);
    }
    if (fate == Oracle::Fate::kNpusKept) RC_ASSERT(reason == ReasonCode::kNpusKept);
    if (fate == Oracle::Fate::kBusy) {
      RC_ASSERT(reason == ReasonCode::kNpusBusy || reason == ReasonCode::kNpusUnhealthy ||
                reason == ReasonCode::kNpusKept || reason == ReasonCode::kSlotsBusy ||
                reason == ReasonCode::kMemoryBusy || reason == ReasonCode::kSlicesResidual);
    }
    if (reason == ReasonCode::kSlicesResidual)
      RC_ASSERT(oracle_.fits_without_residual(oracle_.jobs.at(id.value)));
    if (reason == ReasonCode::kSlotsBusy) RC_ASSERT(spec.request.kind == RequestKind::kSlice);
    RC_ASSERT(reason != ReasonCode::kNone);
  }
}

void Lockstep::check_books() const {
  for (const TenantView& view : core_.tenants()) {
    const std::array<std::int64_t, 5> used = oracle_.usage(view.id.value);
    RC_ASSERT(view.used.npus == used[0]);
    RC_ASSERT(view.used.memory_total.count == used[1]);
    RC_ASSERT(view.used.ai_cores == used[2]);
    RC_ASSERT(view.used.running_jobs == used[3]);
    RC_ASSERT(view.used.bandwidth_bps == used[4]);
  }
  const std::vector<NpuView> npus = core_.npus();
  RC_ASSERT(npus.size() == oracle_.npus.size());
  for (std::size_t i = 0; i < npus.size(); ++i) {
    RC_ASSERT(npus[i].job.valid() == oracle_.npus[i].job.has_value());
    if (npus[i].job.valid()) RC_ASSERT(npus[i].job.value == *oracle_.npus[i].job);
    RC_ASSERT(!npus[i].job.valid() || npus[i].slices.empty());
    RC_ASSERT(npus[i].slices.size() == oracle_.npus[i].slices.size());
    for (const NpuView::Slice& slice : npus[i].slices) {
      RC_ASSERT(oracle_.npus[i].slices.at(slice.job.value) == slice.placement);
    }
  }
  for (const auto& [id, job] : oracle_.jobs) {
    RC_ASSERT(core_.job(JobId(id))->npus == job.npus);
    RC_ASSERT(core_.job(JobId(id))->slice == job.slice);
    RC_ASSERT(core_.job(JobId(id))->attempt == job.attempt);
  }
}

void Lockstep::check_bytes() const {
  const std::string bytes = core_.to_bytes();
  const Result<Scheduler> copy = Scheduler::from_bytes(bytes);
  RC_ASSERT(copy.has_value());
  RC_ASSERT(copy->to_bytes() == bytes);
  RC_ASSERT(copy->decide(TimeMs(now_)) == core_.decide(TimeMs(now_)));
  const Scheduler twin = core_;  // what was asked about the future moves its idea of "now"
  RC_ASSERT(copy->decide(TimeMs(now_ + 2 * kKeepAfter)) == twin.decide(TimeMs(now_ + 2 * kKeepAfter)));
  RC_ASSERT(core_.to_bytes() == bytes);
}

// Applying what was recorded, without deciding, gives the same state.
void Lockstep::check_recovery() const {
  Scheduler recovered;
  for (const auto& [record, at] : history_) {
    std::visit([&recovered, then = TimeMs(at)](const auto& one) { recovered.apply(one, then); }, record);
  }
  RC_ASSERT(recovered.to_bytes() == core_.to_bytes());
}

// Deciding again from the inputs alone gives the same decisions, also when every state on the way is a copy
// that was read from bytes.
void Lockstep::check_redecision() const {
  Scheduler again;
  std::size_t at = 0;
  while (at < history_.size()) {
    const auto& [record, when] = history_[at];
    if (std::holds_alternative<Input>(record)) {
      again.apply(std::get<Input>(record), TimeMs(when));
      ++at;
    } else {
      const std::vector<Decision> batch = again.decide(TimeMs(when), 1);
      if (batch.empty() || batch.front() != std::get<Decision>(record)) {
        RC_LOG() << "record " << at << " of " << history_.size() << " at " << when << ": "
                 << text_of(std::get<Decision>(record))
                 << "\n now: " << (batch.empty() ? "nothing" : text_of(batch.front())) << "\n"
                 << describe(again);
        for (std::size_t i = at < 12 ? 0 : at - 12; i < std::min(at + 12, history_.size()); ++i) {
          RC_LOG() << i << " @" << history_[i].second << " "
                   << (std::holds_alternative<Input>(history_[i].first)
                           ? "input " + std::to_string(std::get<Input>(history_[i].first).index())
                           : text_of(std::get<Decision>(history_[i].first)))
                   << "\n";
        }
      }
      RC_ASSERT(batch.size() == 1U);
      RC_ASSERT(batch.front() == std::get<Decision>(record));
      again.apply(batch.front(), TimeMs(when));
      ++at;
    }
    if (at % 16 == 0) again = *Scheduler::from_bytes(again.to_bytes());
  }
  RC_ASSERT(again.to_bytes() == core_.to_bytes());
}

bool Lockstep::starts_in(Scheduler fork, JobId job, TimeMs at) const {
  for (int rounds = 0; rounds < 1000; ++rounds) {
    const std::vector<Decision> batch = fork.decide(at);
    if (batch.empty()) break;
    for (const Decision& decision : batch) fork.apply(decision, at);
  }
  return fork.job(job) && !fork.job(job)->npus.empty();
}

namespace {

// Takes away the slices that nobody holds and nothing uses.
void return_leftovers(Scheduler& core, TimeMs now) {
  std::map<std::uint32_t, NodeReported> reports;
  for (const NpuView& npu : core.npus()) {
    NodeReported& report = reports[npu.node.value];
    report.node = core.node_name(npu.node);
    if (npu.report.health == Health::kAbsent) continue;
    report.npus.push_back(npu.report);
    std::erase_if(report.npus.back().strays, [](const StraySlice& stray) { return stray.residual; });
  }
  for (const auto& [node, report] : reports) core.apply(Input(report), now);
}

}  // namespace

void Lockstep::check_remedy(JobId job, const Remedy& remedy) const {
  Scheduler fork = core_;
  const TimeMs now(now_);
  RC_ASSERT(remedy.starts);
  bool ambiguous = false;
  Oracle oracle = oracle_;
  switch (remedy.kind) {
    case Remedy::Kind::kJobsEnd:
      RC_ASSERT(!remedy.jobs.empty());
      for (const JobId other : remedy.jobs) {
        fork.apply(Input(AttemptEnded{other, fork.job(other)->attempt, Outcome::kSucceeded, false}), now);
      }
      RC_ASSERT(starts_in(fork, job, now));
      return;
    case Remedy::Kind::kSlicesReturned: {
      RC_ASSERT(!remedy.slices.empty());
      return_leftovers(fork, now);
      RC_ASSERT(starts_in(fork, job, now));
      return;
    }
    case Remedy::Kind::kRaiseQuota: {
      TenantSpec spec = fork.tenant(remedy.tenant)->spec;
      if (remedy.dimension == Dimension::kNpus) spec.quota.npus = remedy.limit;
      if (remedy.dimension == Dimension::kMemoryPerNpu) spec.quota.memory_per_npu = Bytes(remedy.limit);
      if (remedy.dimension == Dimension::kMemoryTotal) spec.quota.memory_total = Bytes(remedy.limit);
      if (remedy.dimension == Dimension::kAiCores) spec.quota.ai_cores = remedy.limit;
      if (remedy.dimension == Dimension::kRunningJobs) spec.quota.running_jobs = remedy.limit;
      if (remedy.dimension == Dimension::kBandwidth) spec.quota.bandwidth_bps = remedy.limit;
      fork.apply(Input(TenantPut{remedy.tenant, spec}), now);
      RC_ASSERT(starts_in(fork, job, now));
      return;
    }
    case Remedy::Kind::kFewerNpus:
    case Remedy::Kind::kLessMemory: {
      Request& request = oracle.jobs.at(job.value).spec.request;
      if (remedy.kind == Remedy::Kind::kFewerNpus)
        RC_ASSERT(std::exchange(request.npus, remedy.npus) > remedy.npus);
      if (remedy.kind == Remedy::Kind::kLessMemory) {
        RC_ASSERT(std::exchange(request.memory_per_npu, remedy.memory_per_npu) > remedy.memory_per_npu);
      }
      const std::vector<JobStarted> started = oracle.starts(now_, ambiguous);
      const bool starts =
          std::any_of(started.begin(), started.end(), [job](const auto& s) { return s.job == job; });
      RC_ASSERT(ambiguous || starts);
      return;
    }
    case Remedy::Kind::kWaitForLimit: {
      RC_ASSERT(remedy.at >= now);
      // All jobs end when their limits say so, and nobody else does.
      for (int ends = 0; ends < 300 && fork.job(job)->npus.empty(); ++ends) {
        std::pair<std::int64_t, JobId> next{kUnlimited, JobId()};
        for (const JobId other : fork.active()) {
          const JobStatus status = *fork.job(other);
          if (status.spec.time_limit_ms >= kUnlimited) continue;
          next = std::min(next, {status.started_at.value + status.spec.time_limit_ms, other});
        }
        RC_ASSERT(next.second.valid());
        const TimeMs at(std::max(now_, next.first));
        fork.apply(
            Input(AttemptEnded{next.second, fork.job(next.second)->attempt, Outcome::kTimedOut, false}), at);
        for (auto batch = fork.decide(at); !batch.empty(); batch = fork.decide(at)) {
          for (const Decision& decision : batch) fork.apply(decision, at);
        }
        if (!fork.job(job)->npus.empty()) RC_ASSERT(at == remedy.at);
      }
      RC_ASSERT(!fork.job(job)->npus.empty());
      return;
    }
  }
}

void Lockstep::check_explanations(std::uint32_t pick) const {
  const std::vector<JobId> queue = core_.queue();
  if (queue.empty()) return;
  const std::size_t position = pick % queue.size();
  const std::string before = core_.to_bytes();
  const Result<Explanation> explanation = core_.explain(queue[position], TimeMs(now_));
  RC_ASSERT(explanation.has_value());
  RC_ASSERT(core_.to_bytes() == before);
  RC_ASSERT(explanation->state == JobState::kWaiting);
  RC_ASSERT(!explanation->blockers.empty());
  RC_ASSERT(explanation->position == static_cast<std::int64_t>(position) + 1);
  RC_ASSERT(explanation->queue_length == static_cast<std::int64_t>(queue.size()));
  RC_ASSERT(explanation->remedies.size() <= 5U);
  for (const Blocker& blocker : explanation->blockers) RC_ASSERT(blocker.reason != ReasonCode::kNone);
  for (const Remedy& remedy : explanation->remedies) check_remedy(queue[position], remedy);
}

}  // namespace tangram::testing
