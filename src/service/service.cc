#include "service/service.h"

#include <algorithm>
#include <fstream>

#include "base/log.h"
#include "service/cutting.h"
#include "service/doctor.h"
#include "service/fit.h"
#include "service/granted.h"
#include "service/job_listing.h"
#include "service/metrics.h"
#include "service/node_report.h"
#include "service/service_impl.h"
#include "wire/sentences.h"
#include "wire/texts.h"

namespace tangram::service {
namespace {

constexpr std::size_t kForgottenPerSweep = 1'024;
// A sweep comes early when so many ended jobs are there above the bound.
constexpr std::size_t kEndedSlack = 4'096;
constexpr std::chrono::milliseconds kSweepPause{100};
// Looked at before the writer may go first.
constexpr std::uint32_t kTenantsAtOnce = 64;

bool changes_identities(const wire::JournalRecord& record) {
  return std::holds_alternative<wire::TenantPutRecord>(record) ||
         std::holds_alternative<TenantDeleted>(record) ||
         std::holds_alternative<wire::TokenCreated>(record) ||
         std::holds_alternative<wire::TokenRotated>(record) ||
         std::holds_alternative<wire::TokenRevoked>(record);
}

std::string read_boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

// Half of the bytes that its tenant may have are in use: ended jobs make room before new ones are refused.
bool has_heavy_tenant(const State& state, const Options& options, const EndedJob& ended) {
  const auto bytes = state.bytes_by_tenant().find(ended.status.spec.tenant);
  return bytes != state.bytes_by_tenant().end() && bytes->second > options.bytes_per_tenant_max / 2;
}

// A job that somebody asks about; while it is queued, with a copy of the core of that instant.
struct Asked {
  JobId job;
  wire::JobView view;
  std::shared_ptr<const Scheduler> core;
  std::int64_t queue_length = 0;
  bool is_cancelled = false;  // and has not ended yet
};

Result<Asked> ask(const StateCell& cell, const Caller& caller, std::string_view reference) {
  return cell.read_with_core([&](const State& state, const auto& copy_core) -> Result<Asked> {
    TG_TRY(const JobId job, find_job(state, caller, reference));
    Asked asked{job, make_job_view(state, job, caller.language), nullptr};
    asked.queue_length = static_cast<std::int64_t>(state.core().queue_length());
    const bool queued = asked.view.state == JobState::kReady || asked.view.state == JobState::kWaiting;
    if (queued) asked.core = copy_core();
    const auto status = state.core().job(job);
    asked.is_cancelled = status && status->cancel_requested;
    return asked;
  });
}

// As names_of(), each name looked up when it is asked for; empty for what has gone since.
wire::Names names_in(const StateCell& cell, const Caller& caller) {
  const auto look_up = [&cell, caller](auto kind) {
    return [&cell, caller, kind](auto id) {
      return cell.read([&](const State& state) { return (names_of(state, caller).*kind)(id); });
    };
  };
  return {look_up(&wire::Names::tenant), look_up(&wire::Names::job), look_up(&wire::Names::npu)};
}

}  // namespace

Service::Impl::Impl(Options given, Store& given_store, Executor& given_executor, Devices& devices,
                    Clock& given_clock)
    : options(std::move(given)),
      store(given_store),
      executor(given_executor),
      clock(given_clock),
      seats(options.event_streams_max, options.event_streams_per_tenant_max),
      hub(store),
      writer(
          store, cell, clock, options, meters, [this](auto records) { on_records(records); },
          [this](auto events, auto sequence) { hub.publish(std::move(events), sequence); }),
      slices(devices, executor, cell, writer, timer, options,
             [this] { watch.look_soon([](const DeviceLook&) {}); }),
      watch(devices, executor, slices, options, [this](const DeviceLook& look) { on_look(look); }),
      attempts(executor, cell, writer, watch, timer, options),
      leases(cell, writer, timer, notifier, clock, options) {}

void Service::Impl::on_records(std::span<const wire::JournalRecord> records) {
  // Before acknowledgements: a token that was revoked opens nothing from then on.
  if (std::any_of(records.begin(), records.end(), changes_identities)) look_at_identities();
  slices.on_records(records);
  attempts.on_records(records);
  leases.on_records(records);
  meters.count(records);
  const auto wake = [this](JobId job) {
    bool is_heavy = false;
    const auto ended = cell.read([&](const State& state) {
      auto found = state.ended(job);
      if (found) is_heavy = has_heavy_tenant(state, options, *found);
      return found;
    });
    if (!ended) return;
    if (is_heavy) sweep_early();
    meters.count_ended(ended->outcome);
    for (auto& call : waiters.take(job)) notifier.post(std::move(call));
  };
  sweep_if_full();
  for (const wire::JournalRecord& record : records) {
    if (const auto* ended = std::get_if<wire::AttemptEndedRecord>(&record)) wake(ended->input.job);
    if (const auto* cancelled = std::get_if<wire::JobCancelledRecord>(&record)) wake(cancelled->input.job);
    if (const auto* refused = std::get_if<JobRefused>(&record)) wake(refused->job);
    if (const auto* start = std::get_if<JobStarted>(&record)) measure_wait(start->job);
  }
}

void Service::Impl::look_at_identities() {
  identities.replace(
      cell.read([this](const State& state) { return std::make_shared<const Identities>(state, options); }));
}

void Service::Impl::measure_wait(JobId job) {
  const auto status = cell.read([job](const State& state) { return state.core().job(job); });
  if (!status) return;
  meters.job_wait.Observe(
      seconds(std::chrono::milliseconds(status->started_at.value - status->queued_at.value)));
}

void Service::Impl::on_look(const DeviceLook& look) {
  writer.report({[this, readings = look.readings, began = look.began](Transaction& transaction) mutable {
                   readings.refusals = slices.refusals();
                   auto report = make_node_report(transaction.state(), options.node, readings,
                                                  executor.gives_private_devices(),
                                                  slices.returned_since(began), slices.resting());
                   if (report) transaction.record(std::move(*report));
                 },
                 nullptr});
  auto lost = cell.read([&](const State& state) { return lost_jobs(state, look, options.lost_after_ms); });
  for (LostJob& job : slices.lost()) lost.push_back(std::move(job));
  attempts.on_lost(lost);
  leases.on_lost(lost);
}

std::string Service::Impl::why_none_is_cut() {
  const auto catalog = cell.read([](const State& state) { return state.core().catalog(); });
  return service::why_none_is_cut(current_look().readings, {*catalog, executor.gives_private_devices()});
}

Error Service::Impl::reword_unsupported(Error error) {
  if (error.reason != token(ReasonCode::kSliceUnsupported)) return error;
  const std::string why = why_none_is_cut();
  if (!why.empty()) error.message += ": " + why;
  return error;
}

std::string Service::Impl::complete_unsupported(wire::ReasonView& reason, wire::Language language) {
  if (reason.code != token(ReasonCode::kSliceUnsupported)) return {};
  std::string why = why_none_is_cut();
  if (why.empty()) return {};
  why = (language == wire::Language::kChinese ? "：" : ": ") + wire::translated(why, language);
  reason.message += why;
  return why;
}

void Service::Impl::complete_unsupported(std::vector<wire::ReasonView>& blockers, std::string& verdict,
                                         wire::Language language) {
  for (std::size_t i = 0; i < blockers.size(); ++i) {
    const std::string why = complete_unsupported(blockers[i], language);
    if (i == 0) verdict += why;  // which ends with the decisive one
  }
}

void Service::Impl::tell_grant(const State& state, wire::JobView& view, wire::Language language) {
  const auto id = parse_job_id(view.id);
  const auto status = id ? state.core().job(*id) : std::nullopt;
  if (!status) return;
  const Request& request = status->spec.request;
  if (request.kind != RequestKind::kSlice && status->npus.empty())
    return;  // what it would get is what it asks for
  std::optional<DeviceReadings> readings;
  const auto usable = [&](NpuIndex npu) {
    if (!readings) readings = current_look().readings;
    return usable_by(state.core(), *readings)(npu);
  };
  view.granted = granted_text(state.core(), request, {status->npus, status->slice}, usable, language);
}

void Service::Impl::introduce() {
  writer.report({[this](Transaction& transaction) {
                   transaction.record(wire::DaemonStarted{options.version, read_boot_id()});
                   const SettingsChanged settings{options.keep_after_ms, options.slice_variants,
                                                  options.slice_count};
                   if (transaction.state().core().settings() != settings) transaction.record(settings);
                 },
                 nullptr});
}

DeviceLook Service::Impl::current_look() {
  DeviceLook look = watch.last();
  look.readings.refusals = slices.refusals();
  look.readings.unusable_file = slices.unusable_file();
  const std::set<std::uint32_t> gone = slices.returned_since(look.began);
  if (gone.empty()) return look;
  for (DeviceNpu& npu : look.readings.npus) {
    std::erase_if(npu.slicing.slices.value,
                  [&gone](const DeviceSlice& slice) { return gone.contains(slice.id); });
  }
  return look;
}

wire::DoctorView Service::Impl::diagnosis(wire::Language language) {
  const DeviceReadings readings = current_look().readings;
  MachineWalls walls{executor.missing_walls(), executor.gives_private_devices()};
  // The nodes in a /dev of its own belong to the job.
  if (!walls.private_devices) {
    std::vector<std::uint32_t> npus;
    npus.reserve(readings.npus.size());
    for (const DeviceNpu& npu : readings.npus) npus.push_back(npu.physical_id);
    // Without root jobs run as the daemon itself; with it, no user that jobs may have owns a node.
    const bool is_root = options.own_uid == 0;
    const JobUser user{is_root ? options.uids.first : options.own_uid,
                       is_root ? options.device_groups : own_groups()};
    walls.closed_devices = closed_devices(options.device_directory, npus, user);
    walls.closed_to = user.uid;
  }
  const DaemonTroubles troubles{writer.journal_problem()};
  return cell.read([&](const State& state) {
    return make_diagnosis(state, options, readings, walls, troubles, language);
  });
}

// Slices are chosen by the catalogue: a chip that is otherwise is to be known before the first job meets it.
void Service::Impl::check_catalogue() {
  // Behind what the first look has found.
  writer.report({[](Transaction&) {},
                 [this](const Result<void>&) {
                   for (const wire::FindingView& finding : diagnosis(wire::Language::kEnglish).findings) {
                     if (finding.code == kCatalogueDiffers) log::warn(finding.message + "; " + finding.hint);
                   }
                 }});
}

void Service::Impl::sweep_if_full() {
  const std::size_t ended = cell.read([](const State& state) { return state.ended_jobs().size(); });
  if (ended > options.ended_max + kEndedSlack) sweep_early();
}

void Service::Impl::sweep_early() {
  if (sweeping_early.exchange(true)) return;
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

// Ended jobs that are too old or too many, the oldest first. Those of a tenant make room for its new ones
// when half of its bytes are used.
bool Service::Impl::forget_old() {
  const TimeMs now = clock.now();
  const auto old = cell.read([&](const State& state) {
    std::vector<std::pair<JobId, std::int32_t>> found;
    std::map<TenantId, std::int64_t> bytes = state.bytes_by_tenant();
    std::size_t above = state.ended_jobs().size() - std::min(state.ended_jobs().size(), options.ended_max);
    for (const auto& [job, ended] : state.ended_jobs()) {
      if (found.size() == kForgottenPerSweep) break;
      const bool expired = ended->ended_at.value + options.ended_keep_ms <= now.value;
      std::int64_t& held = bytes[ended->status.spec.tenant];
      const bool is_heavy = held > options.bytes_per_tenant_max / 2;
      if (above == 0 && !expired && !is_heavy) continue;
      if (above > 0) --above;
      held -= bytes_of(*ended->program);
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
  impl_->look_at_identities();
  impl_->hub.start(impl_->writer.last_sequence());
  impl_->watch.expect(impl_->cell.read([](const State& state) {
    std::vector<std::uint32_t> ids;
    for (const NpuView& npu : state.core().npus()) ids.push_back(npu.report.physical_id);
    return ids;
  }));
  impl_->introduce();
  TG_TRY_VOID(impl_->attempts.recover());
  impl_->slices.start();
  impl_->watch.start();
  impl_->check_catalogue();
  // Their grace begins: after the first look, which may take long, because until then nobody is answered.
  impl_->leases.recover();
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
  impl_->slices.stop();
  impl_->attempts.stop();
  impl_->writer.stop();
  impl_->hub.stop();
  impl_->notifier.stop();
}

Result<Caller> Service::identify(uid_t uid) const {
  return impl_->identities.get()->of_uid(uid);
}

Result<Caller> Service::authenticate(std::string_view token) {
  const TimeMs now = impl_->clock.now();
  auto caller = impl_->identities.get()->of_token(token, now);
  if (caller) impl_->identities.used(caller->token, now);
  return caller;
}

wire::VersionView Service::version() const {
  wire::VersionView view;
  view.version = impl_->options.version;
  return view;
}

wire::StatusView Service::status(const Caller& caller) const {
  const DeviceReadings readings = impl_->watch.last().readings;
  const std::vector<std::string> walls = impl_->executor.missing_walls();
  return impl_->cell.read(
      [&](const State& state) { return make_status(state, impl_->options, caller, readings, walls); });
}

Result<wire::SlicesView> Service::slices(const Caller& caller, const SlicesQuery& query) const {
  const DeviceReadings readings = impl_->current_look().readings;
  const bool private_devices = impl_->executor.gives_private_devices();
  return impl_->cell.read([&](const State& state) {
    return make_slices(state, impl_->options, caller, readings, private_devices, query);
  });
}

Result<wire::FitView> Service::fit(const Caller& caller, const wire::LeaseRequest& request) const {
  TG_TRY(FitQuestion question, impl_->cell.read_with_core([&](const State& state, const auto& copy_core) {
    return resolve_fit(state, impl_->options, caller, request, copy_core);
  }));
  question.readings = impl_->current_look().readings;
  if (question.refusal) question.refusal = impl_->reword_unsupported(*std::move(question.refusal));
  wire::FitView view = make_fit(question, names_in(impl_->cell, caller), impl_->clock.now(), caller.language);
  if (!question.refusal) impl_->complete_unsupported(view.blockers, view.verdict, caller.language);
  return view;
}

wire::DoctorView Service::diagnose(const Caller& caller) const {
  return impl_->diagnosis(caller.language);
}

Result<wire::QuotaList> Service::tenants(const Caller& caller) const {
  wire::QuotaList list;
  // Ids ascend with age and are not used again, so that none is missed and none stands twice.
  std::uint32_t next = 0;
  const auto add_some = [&](const State& state) {
    const std::uint32_t end = state.core().next_tenant_id().value;
    for (std::uint32_t looked = 0; next < end && looked < kTenantsAtOnce; ++next, ++looked) {
      const TenantId id(next);
      if (state.core().tenant(id) && may_see(state, caller, id))
        list.items.push_back(make_quota_view(state, id, caller.language));
    }
    return next < end;
  };
  while (impl_->cell.read(add_some)) {
  }
  return list;
}

Result<wire::QuotaView> Service::tenant(const Caller& caller, std::string_view name) const {
  return impl_->cell.read([&](const State& state) -> Result<wire::QuotaView> {
    TG_TRY(const TenantId id, find_tenant(state, caller, name));
    return make_quota_view(state, id, caller.language);
  });
}

Result<wire::JobList> Service::jobs(const Caller& caller, const JobQuery& query) const {
  JobFilter filter;
  filter.labels = query.labels;
  filter.states = query.states;
  filter.all = query.all;
  filter.limit = query.limit;
  if (!query.tenant.empty()) {
    TG_TRY(filter.tenant,
           impl_->cell.read([&](const State& state) { return find_tenant(state, caller, query.tenant); }));
  }
  if (!query.after.empty()) {
    // An id whose job is gone still says where to go on.
    TG_TRY(filter.after, parse_job_id(query.after));
  }
  JobListing listing(caller, std::move(filter));
  while (impl_->cell.read([&](const State& state) { return listing.look(state); })) {
  }
  listing.arrange();
  while (impl_->cell.read([&](const State& state) { return listing.show(state); })) {
  }
  return std::move(listing).take();
}

Result<wire::JobView> Service::job(const Caller& caller, std::string_view reference) const {
  std::optional<std::uint64_t> rank;
  auto view = impl_->cell.read([&](const State& state) -> Result<wire::JobView> {
    TG_TRY(const JobId job, find_job(state, caller, reference));
    rank = state.core().rank(job);
    wire::JobView found = make_job_view(state, job, caller.language);
    impl_->tell_grant(state, found, caller.language);
    return found;
  });
  if (!view) return view;
  if (auto& reason = view->reason) impl_->complete_unsupported(*reason, caller.language);
  if (!rank) return view;
  QueuePlace place(*rank);
  while (impl_->cell.read([&](const State& state) { return place.look(state); })) {
  }
  view->position = place.position();
  return view;
}

Result<wire::WhyView> Service::why(const Caller& caller, std::string_view reference) const {
  TG_TRY(Asked asked, ask(impl_->cell, caller, reference));
  if (!asked.core)
    return make_settled_why(std::move(asked.view), asked.is_cancelled, asked.queue_length, caller.language);
  TG_TRY(const Explanation explanation, asked.core->explain(asked.job, impl_->clock.now()));
  const auto status = asked.core->job(asked.job);
  if (!status)
    return make_settled_why(std::move(asked.view), asked.is_cancelled, asked.queue_length, caller.language);
  if (explanation.position > 0) asked.view.position = explanation.position;
  wire::WhyView why = wire::make_why(std::move(asked.view), status->spec, explanation,
                                     names_in(impl_->cell, caller), caller.language);
  impl_->complete_unsupported(why.blockers, why.verdict, caller.language);
  return why;
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
      return make_job_view(state, id, caller.language);
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

void Service::add_metrics(MetricFamilies& families) const {
  const MetricsState state = impl_->cell.read(metrics_state);
  const DeviceLook look = impl_->current_look();
  service::add_metrics({impl_->options, state, look, impl_->meters, impl_->writer.backlog(),
                        impl_->executor.missing_walls().size(), std::chrono::steady_clock::now(),
                        std::chrono::system_clock::now()},
                       families);
  add_process_metrics(families);
}

bool Service::step(Part part) {
  switch (part) {
    case Part::kWriter:
      return impl_->writer.step();
    case Part::kEncoder:
      return impl_->writer.step_encoder();
    case Part::kSlices:
      return impl_->slices.step();
    case Part::kWatch:
      return impl_->watch.step();
    case Part::kEffects:
      return impl_->attempts.step_effects();
    case Part::kRemovals:
      return impl_->attempts.step_removals();
    case Part::kTimer:
      return impl_->timer.step();
    case Part::kNotifier:
      return impl_->notifier.step();
  }
  return false;
}

void Service::call_after(std::chrono::milliseconds delay, std::function<void()> call) {
  impl_->timer.after(delay, std::move(call));
}

}  // namespace tangram::service
