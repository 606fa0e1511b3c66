#include "service/state.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "base/invariant.h"
#include "wire/texts.h"

namespace tangram::service {
namespace {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

std::vector<std::uint32_t> physical_ids(const Scheduler& core, const std::vector<NpuIndex>& held) {
  std::vector<std::uint32_t> ids;
  if (held.empty()) return ids;
  const std::vector<NpuView> npus = core.npus();
  for (const NpuIndex index : held) {
    const auto found =
        std::find_if(npus.begin(), npus.end(), [&](const NpuView& n) { return n.index == index; });
    TG_ASSERT(found != npus.end(), "a job holds an NPU that the core does not know");
    ids.push_back(found->report.physical_id);
  }
  return ids;
}

// What a text takes beside its characters, in a vector or in the node of a map.
constexpr std::int64_t kTextBytes = 64;
// A job without its program, in the core, the indexes and the queue, as an unfinished or an ended one.
constexpr std::int64_t kJobBytes = 1'024;

std::int64_t bytes_of(const std::string& text) {
  return kTextBytes + static_cast<std::int64_t>(text.size());
}

std::int64_t bytes_of(const std::map<std::string, std::string>& texts) {
  std::int64_t bytes = 0;
  for (const auto& [key, value] : texts) bytes += bytes_of(key) + bytes_of(value);
  return bytes;
}

}  // namespace

std::int64_t bytes_of(const wire::JobProgram& program) {
  std::int64_t bytes = kJobBytes + bytes_of(program.env) + bytes_of(program.labels);
  for (const std::string& argument : program.command) bytes += bytes_of(argument);
  for (const std::string* const text : {&program.name, &program.workdir, &program.idempotency_key,
                                        &program.request_hash, &program.token_hash}) {
    bytes += bytes_of(*text);
  }
  return bytes;
}

void State::apply(const wire::JournalRecord& record, TimeMs at) {
  last_time_ = std::max(last_time_, at);
  ++version_;
  std::visit(Overloaded{
                 [&](const SettingsChanged& r) { core_.apply(Input(r), at); },
                 [&](const NodeReported& r) { core_.apply(Input(r), at); },
                 [&](const wire::TenantPutRecord& r) { put_tenant(r, at); },
                 [&](const TenantDeleted& r) {
                   unindex_tenant(r.id);
                   extras_.erase(r.id);
                   revoke_tokens_of(r.id, at);
                   core_.apply(Input(r), at);
                 },
                 [&](const wire::JobSubmittedRecord& r) { submit(r, at); },
                 [&](const wire::JobCancelledRecord& r) { cancel(r, at); },
                 [&](const AttemptRunning& r) { core_.apply(Input(r), at); },
                 [&](const wire::AttemptEndedRecord& r) { end_attempt(r, at); },
                 [&](const AllocationObserved& r) { core_.apply(Input(r), at); },
                 [&](const JobStarted& r) {
                   const auto live = live_.find(r.job);
                   if (live != live_.end()) {
                     live->second.supervisor.reset();
                     live->second.slice.reset();
                   }
                   core_.apply(Decision(r), at);
                 },
                 [&](const JobWaits& r) { core_.apply(Decision(r), at); },
                 [&](const JobRefused& r) { refuse(r, at); },
                 [&](const wire::AttemptPrepared& r) {
                   const auto live = live_.find(r.job);
                   if (live != live_.end()) live->second.supervisor = r.supervisor;
                 },
                 [&](const wire::JobForgotten& r) { forget(r.job); },
                 [&](const wire::IdempotentAnswer& r) { keep_answer(r, at); },
                 [&](const wire::DaemonStarted&) {},
                 [&](const wire::TokenCreated& r) { create_token(r, at); },
                 [&](const wire::TokenRotated& r) { rotate_token(r, at); },
                 [&](const wire::TokenRevoked& r) { revoke_token(r.id, at); },
                 [&](const wire::SliceOrdered& r) { order_slice(r); },
                 [&](const wire::SliceMade& r) { slices_.at(r.slice).made = true; },
                 [&](const wire::SliceReturned& r) { slices_.erase(r.slice); },
             },
             record);
}

void State::put_tenant(const wire::TenantPutRecord& record, TimeMs at) {
  const TenantId id = record.input.id;
  unindex_tenant(id);
  core_.apply(Input(record.input), at);
  extras_[id] = record.extras;
  if (record.extras.allocated_uid) uid_mark_ = std::max(uid_mark_, *record.extras.allocated_uid + 1);
  index_tenant(id);
}

void State::submit(const wire::JobSubmittedRecord& record, TimeMs at) {
  const JobSpec& spec = record.input.spec;
  core_.apply(Input(record.input), at);
  next_job_ = std::max(next_job_, spec.id.value + 1);
  live_[spec.id].program = std::make_shared<const wire::JobProgram>(record.program);
  live_names_[{record.program.name, spec.tenant}] = spec.id;
  ++live_counts_[spec.tenant];
  count_bytes(spec.tenant, bytes_of(record.program));
}

void State::count_bytes(TenantId tenant, std::int64_t difference) {
  std::int64_t& bytes = bytes_[tenant];
  bytes += difference;
  if (bytes == 0) bytes_.erase(tenant);
}

void State::cancel(const wire::JobCancelledRecord& record, TimeMs at) {
  const JobId job = record.input.job;
  EndedJob ended = ending(job, Outcome::kCancelled, at);
  core_.apply(Input(record.input), at);
  if (core_.job(job)) return;  // runs: ends when its attempt does
  ended.message = record.message.empty() ? "cancelled before it started" : record.message;
  finish(std::move(ended));
}

void State::end_attempt(const wire::AttemptEndedRecord& record, TimeMs at) {
  const JobId job = record.input.job;
  EndedJob ended = ending(job, record.input.outcome, at);
  core_.apply(Input(record.input), at);
  const auto live = live_.find(job);
  if (live != live_.end()) {
    live->second.supervisor.reset();
    live->second.last_message = record.message;
    if (const auto slice = std::exchange(live->second.slice, std::nullopt)) {
      SliceEntry& entry = slices_.at(*slice);
      entry.ended = true;
      entry.failed = !entry.made && record.input.outcome == Outcome::kNotStarted;
    }
  }
  if (core_.job(job)) return;  // goes back into the queue
  ended.exit_status = record.exit_status;
  ended.signal = record.signal;
  ended.message = record.message;
  finish(std::move(ended));
}

void State::refuse(const JobRefused& record, TimeMs at) {
  EndedJob ended = ending(record.job, Outcome::kRefused, at);
  ended.refusal = record.reason;
  ended.message = wire::describe(record.reason, wire::Language::kEnglish);
  core_.apply(Decision(record), at);
  finish(std::move(ended));
}

EndedJob State::ending(JobId job, Outcome outcome, TimeMs at) const {
  const std::optional<JobStatus> status = core_.job(job);
  TG_ASSERT(status.has_value(), "a record speaks of a job that the core does not have");
  EndedJob ended;
  ended.status = *status;
  ended.outcome = outcome;
  ended.ended_at = at;
  if (const auto tenant = core_.tenant(status->spec.tenant)) ended.tenant = tenant->spec.name;
  ended.npus = physical_ids(core_, status->npus);
  return ended;
}

void State::finish(EndedJob ended) {
  const JobId job = ended.status.spec.id;
  const TenantId tenant = ended.status.spec.tenant;
  const auto live = live_.find(job);
  TG_ASSERT(live != live_.end(), "an unfinished job has no program");
  ended.status.state = JobState::kEnded;
  ended.program = live->second.program;
  const NameKey key{ended.program->name, tenant};
  live_.erase(live);
  live_names_.erase(key);
  ended_names_[key] = job;
  if (--live_counts_[tenant] == 0) live_counts_.erase(tenant);
  ended_[job] = std::make_shared<const EndedJob>(std::move(ended));
}

void State::forget(JobId job) {
  const auto found = ended_.find(job);
  if (found == ended_.end()) return;
  const auto name = ended_names_.find({found->second->program->name, found->second->status.spec.tenant});
  if (name != ended_names_.end() && name->second == job) ended_names_.erase(name);
  count_bytes(found->second->status.spec.tenant, -bytes_of(*found->second->program));
  ended_.erase(found);
}

void State::order_slice(const wire::SliceOrdered& record) {
  const std::optional<JobStatus> status = core_.job(record.job);
  const auto live = live_.find(record.job);
  TG_ASSERT(status && status->npus.size() == 1 && live != live_.end(), "a slice is of one NPU of its job");
  live->second.slice = record.slice;
  slices_[record.slice] = {
      record.job, record.attempt, status->npus.front(), record.npu, record.template_name, record.vgroup,
      false,      false};
}

std::optional<std::uint32_t> State::slice_of(JobId job) const {
  const LiveJob* found = live(job);
  return found == nullptr ? std::nullopt : found->slice;
}

void State::drop_answer(const AnswerKey& key) {
  const auto found = answers_.find(key);
  if (found == answers_.end()) return;
  answers_bytes_ -= found->second.answer->body.size();
  answers_by_time_.erase({found->second.at, key});
  answers_.erase(found);
}

void State::keep_answer(const wire::IdempotentAnswer& answer, TimeMs at) {
  const AnswerKey key{answer.caller_uid, answer.caller_token, answer.key};
  drop_answer(key);
  answers_[key] = KeptAnswer{at, std::make_shared<const wire::IdempotentAnswer>(answer)};
  answers_by_time_.insert({at, key});
  answers_bytes_ += answer.body.size();
  // Not `at`: the clock may have been set back, and a snapshot brings them in the order of their times.
  const TimeMs newest = answers_by_time_.rbegin()->first;
  while (!answers_by_time_.empty()) {
    const auto oldest = *answers_by_time_.begin();
    const bool fits = answers_.size() <= kAnswersMax && answers_bytes_ <= kAnswersBytesMax;
    if (fits && oldest.first.value + kAnswerKeepMs >= newest.value) break;
    drop_answer(oldest.second);
  }
}

void State::index_tenant(TenantId id) {
  const wire::TenantExtras& extras = extras_.at(id);
  if (extras.uid) uids_[*extras.uid] = id;
  if (extras.allocated_uid) uids_[*extras.allocated_uid] = id;
  for (const std::uint32_t member : extras.members) uids_[member] = id;
}

void State::unindex_tenant(TenantId id) {
  std::erase_if(uids_, [id](const auto& entry) { return entry.second == id; });
}

const LiveJob* State::live(JobId job) const {
  const auto found = live_.find(job);
  return found == live_.end() ? nullptr : &found->second;
}

std::shared_ptr<const EndedJob> State::ended(JobId job) const {
  const auto found = ended_.find(job);
  return found == ended_.end() ? nullptr : found->second;
}

wire::JobKind State::kind(JobId job) const {
  const LiveJob* found = live(job);
  return found == nullptr ? wire::JobKind::kProgram : found->program->kind;
}

std::int64_t State::live_count(TenantId tenant) const {
  const auto found = live_counts_.find(tenant);
  return found == live_counts_.end() ? 0 : found->second;
}

std::optional<JobId> State::find_job(TenantId tenant, std::string_view name) const {
  const NameKey key{std::string(name), tenant};
  if (const auto live = live_names_.find(key); live != live_names_.end()) return live->second;
  if (const auto ended = ended_names_.find(key); ended != ended_names_.end()) return ended->second;
  return std::nullopt;
}

std::vector<std::pair<JobId, TenantId>> State::jobs_named(std::string_view name, bool unfinished) const {
  const auto& names = unfinished ? live_names_ : ended_names_;
  std::vector<std::pair<JobId, TenantId>> jobs;
  const NameKey first{std::string(name), TenantId(0)};
  for (auto at = names.lower_bound(first); at != names.end() && at->first.first == name; ++at)
    jobs.emplace_back(at->second, at->first.second);
  return jobs;
}

const wire::TenantExtras* State::extras(TenantId tenant) const {
  const auto found = extras_.find(tenant);
  return found == extras_.end() ? nullptr : &found->second;
}

std::optional<TenantId> State::tenant_of_uid(std::uint32_t uid) const {
  const auto found = uids_.find(uid);
  if (found == uids_.end()) return std::nullopt;
  return found->second;
}

std::optional<std::uint32_t> State::uid_of(TenantId tenant) const {
  const wire::TenantExtras* found = extras(tenant);
  if (found == nullptr) return std::nullopt;
  return found->uid ? found->uid : found->allocated_uid;
}

std::optional<std::uint32_t> State::next_uid(std::uint32_t first, std::uint32_t count) const {
  const std::uint64_t end = std::uint64_t{first} + count;
  for (const std::uint64_t from : {std::uint64_t{std::max(first, uid_mark_)}, std::uint64_t{first}}) {
    for (std::uint64_t uid = from; uid < end; ++uid) {
      if (!uids_.contains(static_cast<std::uint32_t>(uid))) return static_cast<std::uint32_t>(uid);
    }
  }
  return std::nullopt;
}

bool State::is_within(TenantId tenant, TenantId ancestor) const {
  if (tenant == ancestor) return true;
  const std::vector<TenantId> path = path_of(tenant);
  return std::find(path.begin(), path.end(), ancestor) != path.end();
}

std::vector<TenantId> State::path_of(TenantId tenant) const {
  std::vector<TenantId> path;
  // Bounded by the depth of the tree, which the core keeps free of cycles.
  for (std::optional<TenantId> at = tenant; at;) {
    const std::optional<TenantView> view = core_.tenant(*at);
    if (!view) break;
    path.push_back(*at);
    at = view->spec.parent.empty() ? std::nullopt : core_.find_tenant(view->spec.parent);
  }
  return path;
}

const wire::IdempotentAnswer* State::answer(std::uint32_t uid, std::uint64_t token,
                                            const std::string& key) const {
  const auto found = answers_.find({uid, token, key});
  return found == answers_.end() ? nullptr : found->second.answer.get();
}

}  // namespace tangram::service
