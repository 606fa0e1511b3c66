// State <-> snapshot text: one JSON document. The core's part is its own bytes, in hexadecimal.
#include <algorithm>
#include <boost/json.hpp>
#include <limits>

#include "base/quote.h"
#include "ports/device_slices.h"
#include "service/state.h"

namespace tangram::service {
namespace {

namespace json = boost::json;

constexpr std::int64_t kFormat = 1;

std::string to_hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text.push_back(kDigits[value >> 4]);
    text.push_back(kDigits[value & 15]);
  }
  return text;
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  throw std::invalid_argument("not a hexadecimal digit");
}

std::string from_hex(std::string_view text) {
  if (text.size() % 2 != 0) throw std::invalid_argument("odd number of hexadecimal digits");
  std::string bytes;
  bytes.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    bytes.push_back(static_cast<char>(digit(text[i]) * 16 + digit(text[i + 1])));
  }
  return bytes;
}

json::value optional_number(const std::optional<std::int64_t>& value) {
  return value ? json::value(*value) : json::value(nullptr);
}

std::optional<std::int64_t> optional_number(const json::value& value) {
  if (value.is_null()) return std::nullopt;
  return value.to_number<std::int64_t>();
}

TimeMs time_of(const json::value& value) {
  const TimeMs time(value.to_number<std::int64_t>());
  if (time.value < 0 || time >= TimeMs::never()) throw std::invalid_argument("a time is impossible");
  return time;
}

std::string text(const json::value& value) {
  return json::value_to<std::string>(value);
}

template <class Value>
Value unwrap(Result<Value> result) {
  if (!result) throw std::invalid_argument(result.error().to_string());
  return std::move(result).value();
}

json::object encode_status(const JobStatus& status) {
  const JobSpec& spec = status.spec;
  json::array npus;
  for (const NpuIndex npu : status.npus) npus.push_back(npu.value);
  json::object out{{"id", spec.id.value},
                   {"tenant", spec.tenant.value},
                   {"priority", static_cast<int>(spec.priority)},
                   {"kind", static_cast<int>(spec.request.kind)},
                   {"npus", spec.request.npus},
                   {"memory", spec.request.memory_per_npu.count},
                   {"aiCores", spec.request.ai_cores},
                   {"corePercent", spec.request.core_percent},
                   {"bandwidth", spec.bandwidth_bps},
                   {"timeLimit", spec.time_limit_ms},
                   {"noWait", spec.no_wait},
                   {"restart", static_cast<int>(spec.restart)},
                   {"restartsMax", spec.restarts_max},
                   {"attempt", status.attempt},
                   {"restarts", status.restarts},
                   {"submittedAt", status.submitted_at.value},
                   {"queuedAt", status.queued_at.value},
                   {"startedAt", status.started_at.value},
                   {"cancelRequested", status.cancel_requested},
                   {"held", std::move(npus)}};
  if (status.slice) out["slice"] = wire::encode_slice(*status.slice);
  return out;
}

// An enumerator by its number; `last` is the highest one.
template <class Enum>
Enum enumerator(const json::value& value, Enum last) {
  const auto number = value.to_number<int>();
  if (number < 0 || number > static_cast<int>(last)) throw std::invalid_argument("enumerator out of range");
  return static_cast<Enum>(number);
}

JobStatus decode_status(const json::object& from) {
  JobStatus status;
  JobSpec& spec = status.spec;
  spec.id = JobId(from.at("id").to_number<std::uint64_t>());
  spec.tenant = TenantId(from.at("tenant").to_number<std::uint32_t>());
  spec.priority = enumerator(from.at("priority"), Priority::kLow);
  spec.request.kind = enumerator(from.at("kind"), RequestKind::kShare);
  spec.request.npus = from.at("npus").to_number<std::int32_t>();
  spec.request.memory_per_npu = Bytes(from.at("memory").to_number<std::int64_t>());
  spec.request.ai_cores = from.at("aiCores").to_number<std::int32_t>();
  spec.request.core_percent = from.at("corePercent").to_number<std::int32_t>();
  spec.bandwidth_bps = from.at("bandwidth").to_number<std::int64_t>();
  spec.time_limit_ms = from.at("timeLimit").to_number<std::int64_t>();
  spec.no_wait = from.at("noWait").as_bool();
  spec.restart = enumerator(from.at("restart"), RestartPolicy::kOnFailure);
  spec.restarts_max = from.at("restartsMax").to_number<std::int32_t>();
  status.state = JobState::kEnded;
  status.attempt = from.at("attempt").to_number<std::int32_t>();
  status.restarts = from.at("restarts").to_number<std::int32_t>();
  status.submitted_at = time_of(from.at("submittedAt"));
  status.queued_at = time_of(from.at("queuedAt"));
  status.started_at = time_of(from.at("startedAt"));
  status.cancel_requested = from.at("cancelRequested").as_bool();
  for (const json::value& npu : from.at("held").as_array()) {
    status.npus.emplace_back(npu.to_number<std::uint32_t>());
  }
  if (const json::value* slice = from.if_contains("slice")) {
    status.slice = unwrap(wire::decode_slice(slice->as_string()));
  }
  return status;
}

json::object encode_live(JobId id, const LiveJob& live) {
  json::object out{{"id", id.value}, {"program", wire::encode_program(*live.program)}};
  if (live.supervisor) {
    out["pid"] = live.supervisor->pid;
    out["startTicks"] = live.supervisor->start_ticks;
    out["bootId"] = live.supervisor->boot_id;
  }
  if (!live.last_message.empty()) out["lastMessage"] = live.last_message;
  return out;
}

LiveJob decode_live(const json::object& from) {
  LiveJob live;
  live.program =
      std::make_shared<const wire::JobProgram>(unwrap(wire::decode_program(from.at("program").as_string())));
  if (from.contains("pid")) {
    live.supervisor =
        SupervisorIdentity{from.at("pid").to_number<pid_t>(),
                           from.at("startTicks").to_number<std::uint64_t>(), text(from.at("bootId"))};
  }
  if (from.contains("lastMessage")) live.last_message = text(from.at("lastMessage"));
  return live;
}

json::object encode_ended(const EndedJob& ended) {
  return {{"status", encode_status(ended.status)},
          {"tenant", ended.tenant},
          {"program", wire::encode_program(*ended.program)},
          {"outcome", static_cast<int>(ended.outcome)},
          {"exitStatus", optional_number(ended.exit_status)},
          {"signal", optional_number(ended.signal)},
          {"message", ended.message},
          {"refusal", static_cast<int>(ended.refusal)},
          {"npus", json::array(ended.npus.begin(), ended.npus.end())},
          {"endedAt", ended.ended_at.value}};
}

EndedJob decode_ended(const json::object& from) {
  EndedJob ended;
  ended.status = decode_status(from.at("status").as_object());
  ended.tenant = text(from.at("tenant"));
  ended.program =
      std::make_shared<const wire::JobProgram>(unwrap(wire::decode_program(from.at("program").as_string())));
  ended.outcome = enumerator(from.at("outcome"), Outcome::kRefused);
  ended.exit_status = optional_number(from.at("exitStatus"));
  ended.signal = optional_number(from.at("signal"));
  ended.message = text(from.at("message"));
  ended.refusal = enumerator(from.at("refusal"), kReasonLast);
  for (const json::value& npu : from.at("npus").as_array()) {
    ended.npus.push_back(npu.to_number<std::uint32_t>());
  }
  ended.ended_at = time_of(from.at("endedAt"));
  return ended;
}

json::object encode_slice_entry(std::uint32_t id, const SliceEntry& entry) {
  return {{"id", id},
          {"job", entry.job.value},
          {"attempt", entry.attempt},
          {"npuIndex", entry.npu.value},
          {"npu", entry.physical_id},
          {"template", entry.template_name},
          {"vgroup", entry.vgroup},
          {"made", entry.made},
          {"ended", entry.ended},
          {"failed", entry.failed}};
}

SliceEntry decode_slice_entry(const json::object& from) {
  SliceEntry entry;
  entry.job = JobId(from.at("job").to_number<std::uint64_t>());
  entry.attempt = from.at("attempt").to_number<std::int32_t>();
  entry.npu = NpuIndex(from.at("npuIndex").to_number<std::uint32_t>());
  entry.physical_id = from.at("npu").to_number<std::uint32_t>();
  entry.template_name = text(from.at("template"));
  entry.vgroup = from.at("vgroup").to_number<std::int32_t>();
  entry.made = from.at("made").as_bool();
  entry.ended = from.at("ended").as_bool();
  entry.failed = from.at("failed").as_bool();
  return entry;
}

json::value optional_time(const std::optional<TimeMs>& time) {
  return time ? json::value(time->value) : json::value(nullptr);
}

std::optional<TimeMs> optional_time(const json::value& value) {
  if (value.is_null()) return std::nullopt;
  return time_of(value);
}

json::object encode_token(const Token& token) {
  return {{"id", token.id},
          {"name", token.name},
          {"role", static_cast<int>(token.role)},
          {"tenant", token.tenant ? json::value(token.tenant->value) : json::value(nullptr)},
          {"tenantName", token.tenant_name},
          {"secretHash", token.secret_hash},
          {"oldSecretHash", token.old_secret_hash},
          {"oldSecretUntil", optional_time(token.old_secret_until)},
          {"lifetime", token.lifetime.ms},
          {"expiresAt", optional_time(token.expires_at)},
          {"revokedAt", optional_time(token.revoked_at)},
          {"createdAt", token.created_at.value},
          {"rotatedAt", optional_time(token.rotated_at)},
          {"createdBy", token.created_by}};
}

Token decode_token(const json::object& from) {
  Token token;
  token.id = from.at("id").to_number<std::uint64_t>();
  token.name = text(from.at("name"));
  token.role = enumerator(from.at("role"), wire::Role::kViewer);
  if (!from.at("tenant").is_null()) token.tenant = TenantId(from.at("tenant").to_number<std::uint32_t>());
  token.tenant_name = text(from.at("tenantName"));
  token.secret_hash = text(from.at("secretHash"));
  token.old_secret_hash = text(from.at("oldSecretHash"));
  token.old_secret_until = optional_time(from.at("oldSecretUntil"));
  token.lifetime.ms = from.at("lifetime").to_number<std::int64_t>();
  token.expires_at = optional_time(from.at("expiresAt"));
  token.revoked_at = optional_time(from.at("revokedAt"));
  token.created_at = time_of(from.at("createdAt"));
  token.rotated_at = optional_time(from.at("rotatedAt"));
  token.created_by = text(from.at("createdBy"));
  return token;
}

}  // namespace

struct SnapshotCodec {
  static json::object encode(const State& state);
  static void decode(const json::object& from, State& state, const std::shared_ptr<const Catalog>& catalog);
  static void decode_slices(const json::object& from, State& state);
  static void check(const State& state);
};

json::object SnapshotCodec::encode(const State& state) {
  json::array tenants;
  for (const auto& [id, extras] : state.extras_) {
    tenants.push_back(json::object{{"id", id.value}, {"extras", wire::encode_extras(extras)}});
  }
  json::array live;
  for (const auto& [id, job] : state.live_) live.push_back(encode_live(id, job));
  json::array ended;
  for (const auto& [id, job] : state.ended_) ended.push_back(encode_ended(*job));
  json::array answers;
  for (const auto& [at, key] : state.answers_by_time_) {
    const State::KeptAnswer& kept = state.answers_.at(key);
    answers.push_back(json::object{{"at", at.value}, {"record", wire::encode_record(*kept.answer)}});
  }
  json::array tokens;
  for (const auto& [id, token] : state.tokens_) tokens.push_back(encode_token(*token));
  json::array slices;
  for (const auto& [id, entry] : state.slices_) slices.push_back(encode_slice_entry(id, entry));
  return {{"format", kFormat},
          {"core", to_hex(state.core_.to_bytes())},
          {"lastTime", state.last_time_.value},
          {"nextJob", state.next_job_},
          {"uidMark", state.uid_mark_},
          {"tenants", std::move(tenants)},
          {"live", std::move(live)},
          {"ended", std::move(ended)},
          {"answers", std::move(answers)},
          {"nextToken", state.next_token_},
          {"tokens", std::move(tokens)},
          {"slices", std::move(slices)}};
}

void SnapshotCodec::decode(const json::object& from, State& state,
                           const std::shared_ptr<const Catalog>& catalog) {
  if (from.at("format").to_number<std::int64_t>() != kFormat) throw std::invalid_argument("unknown format");
  state.core_ = unwrap(Scheduler::from_bytes(from_hex(from.at("core").as_string()), catalog));
  state.last_time_ = time_of(from.at("lastTime"));
  state.next_job_ = from.at("nextJob").to_number<std::uint64_t>();
  state.uid_mark_ = from.at("uidMark").to_number<std::uint32_t>();
  for (const json::value& entry : from.at("tenants").as_array()) {
    const TenantId id(entry.at("id").to_number<std::uint32_t>());
    state.extras_[id] = unwrap(wire::decode_extras(entry.at("extras").as_string()));
    state.index_tenant(id);
  }
  for (const json::value& entry : from.at("live").as_array()) {
    const JobId id(entry.at("id").to_number<std::uint64_t>());
    const auto status = state.core_.job(id);
    if (!status) throw std::invalid_argument("a live job is not in the core");
    LiveJob live = decode_live(entry.as_object());
    state.live_names_[{live.program->name, status->spec.tenant}] = id;
    ++state.live_counts_[status->spec.tenant];
    state.count_bytes(status->spec.tenant, bytes_of(*live.program));
    state.live_[id] = std::move(live);
  }
  for (const json::value& entry : from.at("ended").as_array()) {
    EndedJob ended = decode_ended(entry.as_object());
    const JobId id = ended.status.spec.id;
    state.count_bytes(ended.status.spec.tenant, bytes_of(*ended.program));
    JobId& latest = state.ended_names_[{ended.program->name, ended.status.spec.tenant}];
    // Several jobs of one name: the index means the one that ended last.
    const auto before = state.ended_.find(latest);
    if (before == state.ended_.end() || before->second->ended_at <= ended.ended_at) latest = id;
    state.ended_[id] = std::make_shared<const EndedJob>(std::move(ended));
  }
  decode_slices(from, state);
  const std::string_view kind = wire::record_kind(wire::IdempotentAnswer{});
  for (const json::value& entry : from.at("answers").as_array()) {
    auto record = unwrap(wire::decode_record(kind, entry.at("record").as_string()));
    const auto* answer = std::get_if<wire::IdempotentAnswer>(&record);
    if (answer == nullptr) throw std::invalid_argument("an answer is no answer");
    state.keep_answer(*answer, time_of(entry.at("at")));
  }
  // A snapshot of before there were tokens.
  if (!from.contains("tokens")) return;
  state.next_token_ = from.at("nextToken").to_number<std::uint64_t>();
  for (const json::value& entry : from.at("tokens").as_array()) {
    auto token = std::make_shared<const Token>(decode_token(entry.as_object()));
    state.tokens_[token->id] = std::move(token);
  }
}

void SnapshotCodec::decode_slices(const json::object& from, State& state) {
  const json::value* slices = from.if_contains("slices");
  if (slices == nullptr) return;  // of before slices were cut
  for (const json::value& one : slices->as_array()) {
    const auto id = one.at("id").to_number<std::uint32_t>();
    SliceEntry entry = decode_slice_entry(one.as_object());
    const auto npu = state.core_.npu(entry.npu);
    if (!is_slice_id(entry.physical_id, id) || !npu || npu->report.physical_id != entry.physical_id) {
      throw std::invalid_argument("a slice is of no NPU");
    }
    if (!entry.ended) {
      const auto live = state.live_.find(entry.job);
      const auto status = state.core_.job(entry.job);
      const bool held = live != state.live_.end() && !live->second.slice && status && status->slice &&
                        status->attempt == entry.attempt && status->npus.size() == 1 &&
                        status->npus.front() == entry.npu;
      if (!held) throw std::invalid_argument("a slice is of no attempt");
      live->second.slice = id;
    }
    if (!state.slices_.emplace(id, std::move(entry)).second)
      throw std::invalid_argument("a slice stands twice");
  }
}

void SnapshotCodec::check(const State& state) {
  const std::size_t in_core = state.core_.queue().size() + state.core_.active().size();
  if (in_core != state.live_.size()) throw std::invalid_argument("the core has jobs without a program");
  const std::vector<TenantView> tenants = state.core_.tenants();
  const bool all_known = std::all_of(tenants.begin(), tenants.end(), [&](const TenantView& tenant) {
    return state.extras_.contains(tenant.id);
  });
  if (!all_known || tenants.size() != state.extras_.size()) {
    throw std::invalid_argument("the core has other tenants");
  }
  const auto is_old = [&state](const auto& job) { return job.first.value < state.next_job_; };
  if (!std::all_of(state.live_.begin(), state.live_.end(), is_old) ||
      !std::all_of(state.ended_.begin(), state.ended_.end(), is_old)) {
    throw std::invalid_argument("a job is of the future");
  }
  if (!state.tokens_.empty() && state.tokens_.rbegin()->first >= state.next_token_) {
    throw std::invalid_argument("a token is of the future");
  }
}

std::string State::to_snapshot() const {
  return json::serialize(SnapshotCodec::encode(*this));
}

Result<State> State::from_snapshot(std::string_view text, const std::shared_ptr<const Catalog>& catalog) {
  try {
    const json::value parsed = json::parse(text);
    State state(catalog);
    SnapshotCodec::decode(parsed.as_object(), state, catalog);
    SnapshotCodec::check(state);
    return state;
  } catch (const std::exception& problem) {
    return fail(Code::kDataLoss, "snapshot.unreadable",
                std::string("the snapshot of the journal cannot be read: ") + printable(problem.what()));
  }
}

}  // namespace tangram::service
