#include "service/service.h"

#include <algorithm>
#include <fstream>

#include "base/log.h"
#include "service/metrics.h"
#include "service/node_report.h"
#include "service/service_impl.h"
#include "wire/texts.h"

namespace tangram::service {
namespace {

constexpr std::size_t kForgottenPerSweep = 1'024;
// A sweep comes early when so many ended jobs are there above the bound.
constexpr std::size_t kEndedSlack = 4'096;
constexpr std::chrono::milliseconds kSweepPause{100};

std::string read_boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

}  // namespace

Service::Impl::Impl(Options given, Store& store, Executor& given_executor, Devices& devices,
                    Clock& given_clock)
    : options(std::move(given)),
      executor(given_executor),
      clock(given_clock),
      writer(store, cell, clock, options, meters, [this](auto records) { on_records(records); }),
      watch(devices, executor, options, [this](const DeviceLook& look) { on_look(look); }),
      attempts(executor, cell, writer, watch, timer, options),
      leases(cell, writer, timer, notifier, clock, options) {}

void Service::Impl::on_records(std::span<const wire::JournalRecord> records) {
  attempts.on_records(records);
  leases.on_records(records);
  meters.count(records);
  const auto wake = [this](JobId job) {
    const auto ended = cell.read([job](const State& state) { return state.ended(job); });
    if (!ended) return;
    meters.count_ended(ended->outcome);
    for (auto& call : waiters.take(job)) notifier.post(std::move(call));
  };
  sweep_early();
  for (const wire::JournalRecord& record : records) {
    if (const auto* ended = std::get_if<wire::AttemptEndedRecord>(&record)) wake(ended->input.job);
    if (const auto* cancelled = std::get_if<wire::JobCancelledRecord>(&record)) wake(cancelled->input.job);
    if (const auto* refused = std::get_if<JobRefused>(&record)) wake(refused->job);
    if (const auto* start = std::get_if<JobStarted>(&record)) measure_wait(start->job);
  }
}

void Service::Impl::measure_wait(JobId job) {
  const auto status = cell.read([job](const State& state) { return state.core().job(job); });
  if (!status) return;
  meters.job_wait.Observe(
      seconds(std::chrono::milliseconds(status->started_at.value - status->queued_at.value)));
}

void Service::Impl::on_look(const DeviceLook& look) {
  writer.report({[this, readings = look.readings](Transaction& transaction) {
                   auto report = make_node_report(transaction.state().core(), options.node, readings);
                   if (report) transaction.record(std::move(*report));
                 },
                 nullptr});
  const auto lost =
      cell.read([&](const State& state) { return lost_jobs(state, look, options.lost_after_ms); });
  attempts.on_lost(lost);
  leases.on_lost(lost);
}

void Service::Impl::introduce() {
  writer.report({[this](Transaction& transaction) {
                   transaction.record(wire::DaemonStarted{options.version, read_boot_id()});
                   const SettingsChanged settings{options.keep_after_ms};
                   if (transaction.state().core().settings() != settings) transaction.record(settings);
                 },
                 nullptr});
}

void Service::Impl::sweep_early() {
  const std::size_t ended = cell.read([](const State& state) { return state.ended_jobs().size(); });
  if (ended <= options.ended_max + kEndedSlack || sweeping_early.exchange(true)) return;
  timer.after(kSweepPause, [this] {
    sweeping_early = false;
    forget_old();
  });
}

void Service::Impl::sweep() {
  const bool more = forget_old();
  const std::chrono::milliseconds interval(options.sweep_interval_ms);
  timer.after(more ? std::min(kSweepPause, interval) : interval, [this] { sweep(); });
}

bool Service::Impl::forget_old() {
  const TimeMs now = clock.now();
  const auto old = cell.read([&](const State& state) {
    std::vector<std::pair<JobId, std::int32_t>> found;
    std::size_t above = state.ended_jobs().size() - std::min(state.ended_jobs().size(), options.ended_max);
    for (const auto& [job, ended] : state.ended_jobs()) {
      if (found.size() == kForgottenPerSweep) break;
      const bool expired = ended->ended_at.value + options.ended_keep_ms <= now.value;
      if (above == 0 && !expired) continue;
      if (above > 0) --above;
      found.emplace_back(job, ended->status.attempt);
    }
    return found;
  });
  for (const auto& [job, last_attempt] : old) attempts.forget(job, last_attempt);
  return old.size() == kForgottenPerSweep;
}

Service::Service(Options options, Store& store, Executor& executor, Devices& devices, Clock& clock)
    : impl_(std::make_unique<Impl>(std::move(options), store, executor, devices, clock)) {}

Service::~Service() {
  stop();
}

Result<void> Service::start() {
  TG_TRY_VOID(impl_->writer.recover());
  impl_->watch.expect(impl_->cell.read([](const State& state) {
    std::vector<std::uint32_t> ids;
    for (const NpuView& npu : state.core().npus()) ids.push_back(npu.report.physical_id);
    return ids;
  }));
  impl_->introduce();
  TG_TRY_VOID(impl_->attempts.recover());
  impl_->leases.recover();
  impl_->watch.start();
  impl_->writer.start();
  impl_->sweep();
  impl_->started = true;
  return {};
}

void Service::stop() {
  if (impl_->stopped) return;
  impl_->stopped = true;
  impl_->leases.freeze();
  for (auto& call : impl_->waiters.take_all()) call();
  impl_->timer.stop();
  impl_->watch.stop();
  impl_->attempts.stop();
  impl_->writer.stop();
  impl_->notifier.stop();
}

Result<Caller> Service::identify(uid_t uid) const {
  return impl_->cell.read([&](const State& state) { return service::identify(state, impl_->options, uid); });
}

wire::VersionView Service::version() const {
  wire::VersionView view;
  view.version = impl_->options.version;
  return view;
}

wire::StatusView Service::status(const Caller& caller) const {
  const auto state = impl_->cell.snapshot();
  return make_status(*state, impl_->options, caller, impl_->watch.last().readings,
                     impl_->executor.missing_walls());
}

Result<wire::QuotaList> Service::tenants(const Caller& caller) const {
  const auto state = impl_->cell.snapshot();
  wire::QuotaList list;
  for (const TenantView& tenant : state->core().tenants()) {
    if (may_see(*state, caller, tenant.id)) list.items.push_back(make_quota_view(*state, tenant.id));
  }
  return list;
}

Result<wire::QuotaView> Service::tenant(const Caller& caller, std::string_view name) const {
  return impl_->cell.read([&](const State& state) -> Result<wire::QuotaView> {
    TG_TRY(const TenantId id, find_tenant(state, caller, name));
    return make_quota_view(state, id);
  });
}

Result<wire::JobList> Service::jobs(const Caller& caller, const JobQuery& query) const {
  const auto state = impl_->cell.snapshot();
  JobFilter filter;
  filter.labels = query.labels;
  filter.states = query.states;
  filter.all = query.all;
  filter.limit = query.limit;
  if (!query.tenant.empty()) {
    TG_TRY(filter.tenant, find_tenant(*state, caller, query.tenant));
  }
  if (!query.after.empty()) {
    // An id whose job is gone still says where to go on.
    TG_TRY(filter.after, parse_job_id(query.after));
  }
  return make_job_list(*state, caller, filter);
}

Result<wire::JobView> Service::job(const Caller& caller, std::string_view reference) const {
  auto view = impl_->cell.read([&](const State& state) -> Result<wire::JobView> {
    TG_TRY(const JobId id, find_job(state, caller, reference));
    return make_job_view(state, id);
  });
  if (!view || (view->state != JobState::kReady && view->state != JobState::kWaiting)) return view;
  // Its place in the queue takes a walk over the queue: not under the lock.
  const auto state = impl_->cell.snapshot();
  TG_TRY(const JobId id, find_job(*state, caller, view->id));
  const std::vector<JobId> queue = state->core().queue();
  const auto place = std::find(queue.begin(), queue.end(), id);
  return make_job_view(*state, id, place == queue.end() ? 0 : place - queue.begin() + 1);
}

Result<wire::WhyView> Service::why(const Caller& caller, std::string_view reference) const {
  const auto state = impl_->cell.snapshot();
  TG_TRY(const JobId id, find_job(*state, caller, reference));
  return make_why_view(*state, caller, id, impl_->clock.now());
}

std::function<void()> Service::wait(const Caller& caller, std::string_view reference,
                                    std::chrono::milliseconds timeout, Done<wire::JobView> done) {
  auto found = impl_->cell.read([&](const State& state) { return find_job(state, caller, reference); });
  if (!found) {
    done(fail(std::move(found).error()));
    return [] {};
  }
  const JobId job = *found;
  // A job that ended and was forgotten in between is told as unknown.
  auto answer = [this, job, caller, done = std::move(done)] {
    done(impl_->cell.read([&](const State& state) -> Result<wire::JobView> {
      TG_TRY(const JobId id, find_job(state, caller, wire::format_job_id(job)));
      return make_job_view(state, id);
    }));
  };
  const std::uint64_t ticket = impl_->waiters.add(job, std::move(answer));
  auto answer_now = [this, job, ticket] {
    if (auto call = impl_->waiters.remove(job, ticket)) call();
  };
  // Seen only now, after the call was added: an end in between would have missed it.
  const bool ended = impl_->cell.read([job](const State& state) { return state.live(job) == nullptr; });
  if (ended || timeout.count() <= 0) {
    answer_now();
  } else {
    impl_->timer.after(timeout, answer_now);
  }
  return answer_now;
}

Result<AttemptLog> Service::log(const Caller& caller, std::string_view reference,
                                std::optional<std::int32_t> attempt) const {
  AttemptLog log;
  const auto last = impl_->cell.read([&](const State& state) -> Result<std::int32_t> {
    TG_TRY(log.job, find_job(state, caller, reference));
    const auto ended = state.ended(log.job);
    if ((ended ? ended->program->kind : state.kind(log.job)) == wire::JobKind::kLease) {
      return fail(Code::kFailedPrecondition, "job.no_log",
                  wire::format_job_id(log.job) + " is a lease: its holder's programs print elsewhere",
                  "look where the holder was started");
    }
    return ended ? ended->status.attempt : state.core().job(log.job)->attempt;
  });
  if (!last) return fail(last.error());
  log.attempt = attempt.value_or(*last);
  log.bytes_max = impl_->options.log_bytes_max;
  if (attempt && (*attempt < 1 || *attempt > *last)) {
    return fail(Code::kNotFound, "job.attempt.unknown",
                wire::format_job_id(log.job) + " has " + std::to_string(*last) + " attempts, no number " +
                    std::to_string(*attempt),
                "leave attempt out for the last one");
  }
  return log_again(log);
}

AttemptLog Service::log_again(const AttemptLog& log) const {
  AttemptLog now = log;
  impl_->cell.read([&](const State& state) {
    const auto status = state.core().job(log.job);
    if (!status) {
      // One that never started has no output at all.
      const auto ended = state.ended(log.job);
      if (now.attempt == 0 && ended) now.attempt = ended->status.attempt;
      now.ended = true;
      return;
    }
    if (now.attempt == 0) now.attempt = status->attempt;
    const bool queued = status->state == JobState::kReady || status->state == JobState::kWaiting;
    now.ended = now.attempt > 0 && (status->attempt > now.attempt || queued);
  });
  if (now.attempt > 0) now.path = impl_->executor.log_path({wire::format_job_id(now.job), now.attempt});
  return now;
}

std::vector<prometheus::MetricFamily> Service::metrics() const {
  const MetricsState state = impl_->cell.read(metrics_state);
  const DeviceLook look = impl_->watch.last();
  MetricFamilies families;
  add_metrics({impl_->options, state, look, impl_->meters, impl_->writer.backlog(),
               impl_->executor.missing_walls().size(), std::chrono::steady_clock::now(),
               std::chrono::system_clock::now()},
              families);
  add_process_metrics(families);
  return families.take();
}

void Service::call_after(std::chrono::milliseconds delay, std::function<void()> call) {
  impl_->timer.after(delay, std::move(call));
}

}  // namespace tangram::service
