// State <-> snapshot text: one JSON document. The core's part is its own bytes, in hexadecimal.
#include <boost/json.hpp>
#include <limits>

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
  return {{"id", spec.id.value},
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
  status.submitted_at = TimeMs(from.at("submittedAt").to_number<std::int64_t>());
  status.queued_at = TimeMs(from.at("queuedAt").to_number<std::int64_t>());
  status.started_at = TimeMs(from.at("startedAt").to_number<std::int64_t>());
  status.cancel_requested = from.at("cancelRequested").as_bool();
  for (const json::value& npu : from.at("held").as_array()) {
    status.npus.emplace_back(npu.to_number<std::uint32_t>());
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
  ended.refusal = enumerator(from.at("refusal"), ReasonCode::kShareUnsupported);
  for (const json::value& npu : from.at("npus").as_array()) {
    ended.npus.push_back(npu.to_number<std::uint32_t>());
  }
  ended.ended_at = TimeMs(from.at("endedAt").to_number<std::int64_t>());
  return ended;
}

}  // namespace

struct SnapshotCodec {
  static json::object encode(const State& state);
  static void decode(const json::object& from, State& state);
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
  return {{"format", kFormat},
          {"core", to_hex(state.core_.to_bytes())},
          {"lastTime", state.last_time_.value},
          {"nextJob", state.next_job_},
          {"uidMark", state.uid_mark_},
          {"tenants", std::move(tenants)},
          {"live", std::move(live)},
          {"ended", std::move(ended)},
          {"answers", std::move(answers)}};
}

void SnapshotCodec::decode(const json::object& from, State& state) {
  if (from.at("format").to_number<std::int64_t>() != kFormat) throw std::invalid_argument("unknown format");
  state.core_ = unwrap(Scheduler::from_bytes(from_hex(from.at("core").as_string())));
  state.last_time_ = TimeMs(from.at("lastTime").to_number<std::int64_t>());
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
    state.live_names_[{status->spec.tenant, live.program->name}] = id;
    ++state.live_counts_[status->spec.tenant];
    state.live_[id] = std::move(live);
  }
  for (const json::value& entry : from.at("ended").as_array()) {
    EndedJob ended = decode_ended(entry.as_object());
    const JobId id = ended.status.spec.id;
    JobId& latest = state.ended_names_[{ended.status.spec.tenant, ended.program->name}];
    // Several jobs of one name: the index means the one that ended last.
    const auto before = state.ended_.find(latest);
    if (before == state.ended_.end() || before->second->ended_at <= ended.ended_at) latest = id;
    state.ended_[id] = std::make_shared<const EndedJob>(std::move(ended));
  }
  const std::string_view kind = wire::record_kind(wire::IdempotentAnswer{});
  for (const json::value& entry : from.at("answers").as_array()) {
    auto record = unwrap(wire::decode_record(kind, entry.at("record").as_string()));
    const auto* answer = std::get_if<wire::IdempotentAnswer>(&record);
    if (answer == nullptr) throw std::invalid_argument("an answer is no answer");
    state.keep_answer(*answer, TimeMs(entry.at("at").to_number<std::int64_t>()));
  }
}

void SnapshotCodec::check(const State& state) {
  const std::size_t in_core = state.core_.queue().size() + state.core_.active().size();
  if (in_core != state.live_.size()) throw std::invalid_argument("the core has jobs without a program");
}

std::string State::to_snapshot() const {
  return json::serialize(SnapshotCodec::encode(*this));
}

Result<State> State::from_snapshot(std::string_view text) {
  try {
    const json::value parsed = json::parse(text);
    State state;
    SnapshotCodec::decode(parsed.as_object(), state);
    SnapshotCodec::check(state);
    return state;
  } catch (const std::exception& problem) {
    return fail(Code::kDataLoss, "snapshot.unreadable",
                std::string("the snapshot of the journal cannot be read: ") + problem.what());
  }
}

}  // namespace tangram::service
