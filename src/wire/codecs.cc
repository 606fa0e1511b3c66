#include "wire/codecs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "wire/patterns.h"

namespace tangram::wire {
namespace {

// Any text but NUL bytes.
constexpr std::string_view kTextSchema = R"("type":"string","pattern":"^[^\\u0000]*$")";

// One of a fixed set of words.
template <class E, std::size_t kCount>
Codec<E> word(std::array<E, kCount> values, std::string_view (*spell)(E)) {
  std::string all;
  std::string schema;
  for (std::size_t i = 0; i < kCount; ++i) {
    all += (i == 0 ? "" : i + 1 == kCount ? " or " : ", ") + std::string(spell(values[i]));
    schema += (i == 0 ? "\"" : ",\"") + std::string(spell(values[i])) + '"';
  }
  return {all,
          [values, spell, all](Reader& reader, const Node& node, E& into) {
            if (node.kind == Node::Kind::kText || node.plain) {
              for (const E value : values) {
                if (spell(value) == node.text) {
                  into = value;
                  return;
                }
              }
              std::vector<std::string_view> known;
              known.reserve(values.size());
              for (const E value : values) known.push_back(spell(value));
              const std::string_view near = did_you_mean(node.text, known);
              return reader.bad_value(
                  node, "input.bad_value", all,
                  near.empty() ? std::string() : "did you mean \"" + std::string(near) + "\"?");
            }
            reader.wrong_type(node, all);
          },
          [spell](const E& from) { return Node::of(std::string(spell(from))); },
          R"({"type":"string","enum":[)" + schema + "]}"};
}

std::string range_text(std::int64_t min, std::int64_t max) {
  if (min == kIntegerMin) return "a whole number";
  if (max == kIntegerMax) return "a whole number of at least " + std::to_string(min);
  return "a whole number from " + std::to_string(min) + " to " + std::to_string(max);
}

bool has_fraction(std::string_view spelling) {
  return spelling.find_first_of(".eE") != std::string_view::npos;
}

// A spelling with a fraction or an exponent that comes out as a whole number which a double holds exactly.
std::optional<std::int64_t> whole_number(const std::string& spelling) {
  constexpr double kExactMax = 9'007'199'254'740'992.0;
  const double value = std::strtod(spelling.c_str(), nullptr);
  if (!(std::fabs(value) < kExactMax) || std::trunc(value) != value) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

void read_integer(Reader& reader, const Node& node, std::int64_t min, std::int64_t max, std::int64_t& into) {
  switch (node.kind) {
    case Node::Kind::kInt:
      if (node.integer >= min && node.integer <= max) {
        into = node.integer;
        return;
      }
      return reader.bad_value(node, "input.out_of_range", range_text(min, max));
    case Node::Kind::kReal:
      // JSON knows one kind of number: 4.0 is 4.
      if (const auto whole = whole_number(node.text)) {
        if (*whole < min || *whole > max)
          return reader.bad_value(node, "input.out_of_range", range_text(min, max));
        into = *whole;
        return;
      }
      return reader.bad_value(node, has_fraction(node.text) ? "input.wrong_type" : "input.out_of_range",
                              range_text(min, max));
    case Node::Kind::kText:
      return reader.bad_value(node, "input.wrong_type", range_text(min, max), "write it without quotes");
    case Node::Kind::kNull:
    case Node::Kind::kBool:
    case Node::Kind::kList:
    case Node::Kind::kObject:
      return reader.wrong_type(node, range_text(min, max));
  }
}

template <class N>
Codec<N> ranged(N min, N max) {
  const auto low = static_cast<std::int64_t>(min);
  const auto high = static_cast<std::int64_t>(max);
  std::string type = "integer";
  if (low != kIntegerMin && high != kIntegerMax)
    type += ' ' + std::to_string(low) + ".." + std::to_string(high);
  return {
      type,
      [low, high](Reader& reader, const Node& node, N& into) {
        std::int64_t value = 0;
        read_integer(reader, node, low, high, value);
        into = static_cast<N>(value);
      },
      [](const N& from) { return Node::of(static_cast<std::int64_t>(from)); },
      R"({"type":"integer","minimum":)" + std::to_string(low) + ",\"maximum\":" + std::to_string(high) + "}"};
}

// A quantity written as a text with its unit.
template <class M>
Codec<M> quantity(std::string type, std::string wanted,
                  Result<M> (*parse)(std::string_view, std::string_view), M min, std::string (*format)(M),
                  std::string schema) {
  return {std::move(type),
          [wanted = std::move(wanted), parse, min, format](Reader& reader, const Node& node, M& into) {
            if (node.kind == Node::Kind::kInt || node.kind == Node::Kind::kReal) {
              return reader.bad_value(node, "input.wrong_type", wanted, "the unit is missing");
            }
            if (node.kind != Node::Kind::kText) return reader.wrong_type(node, wanted);
            Result<M> value = parse(node.text, reader.path());
            if (!value) return reader.bad_value(node, "input.bad_value", wanted);
            if (*value < min) return reader.bad_value(node, "input.out_of_range", "at least " + format(min));
            into = *value;
          },
          [format](const M& from) { return Node::of(format(from)); }, std::move(schema)};
}

std::string_view spell_request_kind(RequestKind kind) {
  switch (kind) {
    case RequestKind::kWhole:
      return "whole";
    case RequestKind::kSlice:
      return "slice";
    case RequestKind::kShare:
      return "share";
  }
  return "unknown";
}

// A text, or an unquoted YAML scalar as it is spelled. False when reported.
bool take_text(Reader& reader, const Node& node, std::size_t length_max, std::string& into) {
  const bool is_text = node.kind == Node::Kind::kText || (node.plain && node.kind != Node::Kind::kNull);
  if (!is_text) {
    reader.wrong_type(node, "a text");
    return false;
  }
  if (node.text.size() > length_max) {
    reader.problem(node, "input.too_long",
                   "has " + std::to_string(node.text.size()) + " bytes; at most " +
                       std::to_string(length_max) + " are allowed");
    return false;
  }
  if (node.text.find('\0') != std::string::npos) {
    reader.problem(node, "input.bad_value", "holds a NUL byte, which no program could be given", "remove it");
    return false;
  }
  into = node.text;
  return true;
}

void read_cpus(Reader& reader, const Node& node, std::int64_t& into) {
  constexpr std::string_view kWanted = "a number of cores from 0.001 to 1000000, in steps of 0.001";
  if (node.kind != Node::Kind::kInt && node.kind != Node::Kind::kReal)
    return reader.wrong_type(node, kWanted);
  const Result<std::int64_t> value = parse_cpus(node.text, reader.path());
  if (!value) return reader.bad_value(node, "input.out_of_range", kWanted);
  into = *value;
}

}  // namespace

Codec<std::string> text(std::size_t length_max) {
  const std::string bound = length_max == std::numeric_limits<std::size_t>::max()
                                ? std::string()
                                : ",\"maxLength\":" + std::to_string(length_max);
  return {"string",
          [length_max](Reader& reader, const Node& node, std::string& into) {
            take_text(reader, node, length_max, into);
          },
          [](const std::string& from) { return Node::of(from); },
          "{" + std::string(kTextSchema) + bound + "}"};
}

Codec<std::string> name_text() {
  return {"name",
          [](Reader& reader, const Node& node, std::string& into) {
            std::string value;
            if (!take_text(reader, node, kBodyBytesMax, value)) return;
            if (const Result<void> checked = check_name(value, reader.path()); !checked) {
              return reader.bad_value(node,
                                      value.size() > kNameLengthMax ? "input.too_long" : "input.bad_value",
                                      "lower-case letters, digits and inner '-', at most 63 characters");
            }
            into = std::move(value);
          },
          [](const std::string& from) { return Node::of(from); }, pattern_schema(kNamePattern, "team-a")};
}

Codec<std::string> absolute_path() {
  return {
      "path",
      [](Reader& reader, const Node& node, std::string& into) {
        std::string value;
        if (!take_text(reader, node, kPathLengthMax, value)) return;
        if (!value.empty() && value.front() != '/') {
          return reader.bad_value(node, "input.bad_value", "an absolute path", "start it with '/'");
        }
        into = std::move(value);
      },
      [](const std::string& from) { return Node::of(from); },
      R"({"type":"string","pattern":"^(/[^\u0000]*)?$","maxLength":)" + std::to_string(kPathLengthMax) + "}"};
}

Codec<std::int64_t> int64_range(std::int64_t min, std::int64_t max) {
  return ranged(min, max);
}
Codec<std::int32_t> int32_range(std::int32_t min, std::int32_t max) {
  return ranged(min, max);
}
Codec<std::uint32_t> uint32_range(std::uint32_t min, std::uint32_t max) {
  return ranged(min, max);
}
Codec<std::uint64_t> uint64_number() {
  return ranged<std::uint64_t>(0, static_cast<std::uint64_t>(kIntegerMax));
}

Codec<bool> boolean() {
  return {"boolean",
          [](Reader& reader, const Node& node, bool& into) {
            if (node.kind != Node::Kind::kBool) return reader.wrong_type(node, "true or false");
            into = node.truth;
          },
          [](const bool& from) { return Node::of(from); }, R"({"type":"boolean"})"};
}

Codec<Bytes> bytes_text(std::int64_t min) {
  return quantity<Bytes>("bytes (\"32GiB\")", "an amount with a unit, for example \"16GiB\" or \"512MiB\"",
                         parse_bytes, Bytes(min), format_bytes,
                         pattern_schema(bytes_pattern(min, {18, 15, 12, 9, 6}), "32GiB"));
}

Codec<std::int64_t> duration_text(std::int64_t min_ms) {
  return quantity<std::int64_t>("duration (\"24h\")",
                                "a duration with a unit, for example \"90s\", \"15m\" or \"24h\"",
                                parse_duration_ms, min_ms, format_duration_ms,
                                pattern_schema(duration_pattern(min_ms, kUnlimited), "24h"));
}

Codec<std::int64_t> rate_text() {
  return quantity<std::int64_t>(
      "rate (\"10Gbps\")", "a rate with a unit, for example \"10Gbps\" or \"500Mbps\"", parse_bits_per_second,
      0, format_bits_per_second, pattern_schema(rate_pattern({18, 15, 12, 9}), "10Gbps"));
}

Codec<std::int64_t> cpus_number() {
  return {"number of cores (0.5)", read_cpus,
          [](const std::int64_t& from) {
            Node node;
            node.kind = Node::Kind::kReal;
            node.text = format_cpus(from);
            return node;
          },
          R"({"type":"number","minimum":0.001,"maximum":1000000,"multipleOf":0.001})"};
}

Codec<TimeMs> time_text() {
  return {"time (RFC 3339)",
          [](Reader& reader, const Node& node, TimeMs& into) {
            constexpr std::string_view kWanted = "a time such as \"2026-01-31T08:00:00.000Z\"";
            if (node.kind != Node::Kind::kText) return reader.wrong_type(node, kWanted);
            const Result<TimeMs> value = parse_time(node.text, reader.path());
            if (!value) return reader.bad_value(node, "input.bad_value", kWanted);
            into = *value;
          },
          [](const TimeMs& from) { return Node::of(format_time(from)); },
          R"({"type":"string","format":"date-time"})"};
}

Codec<Bytes> bytes_number() {
  return {"integer",
          [](Reader& reader, const Node& node, Bytes& into) {
            read_integer(reader, node, kIntegerMin, kIntegerMax, into.count);
          },
          [](const Bytes& from) { return Node::of(from.count); }, R"({"type":"integer"})"};
}

Codec<TimeMs> time_number() {
  return {"integer",
          [](Reader& reader, const Node& node, TimeMs& into) {
            read_integer(reader, node, kIntegerMin, kIntegerMax, into.value);
          },
          [](const TimeMs& from) { return Node::of(from.value); }, R"({"type":"integer"})"};
}

Codec<Priority> priority_word() {
  return word(std::array{Priority::kHigh, Priority::kNormal, Priority::kLow}, to_string);
}

Codec<PrioritySet> priority_list() {
  const Codec<Priority> one = priority_word();
  return {"list of " + one.type,
          [one](Reader& reader, const Node& node, PrioritySet& into) {
            std::vector<Priority> values;
            list(one, kPriorityCount).read(reader, node, values);
            into = PrioritySet{0};
            for (const Priority value : values) into.insert(value);
          },
          [one](const PrioritySet& from) {
            Node node = Node::list();
            for (const Priority value : {Priority::kHigh, Priority::kNormal, Priority::kLow}) {
              if (from.contains(value)) node.items.push_back(one.write(value));
            }
            return node;
          },
          list(one, kPriorityCount).schema};
}

Codec<Health> health_word() {
  return word(std::array{Health::kUnknown, Health::kOk, Health::kWarning, Health::kAlarm, Health::kCritical,
                         Health::kAbsent},
              to_string);
}

Codec<NpuMode> npu_mode_word() {
  return word(std::array{NpuMode::kFree, NpuMode::kWhole, NpuMode::kSliced, NpuMode::kShared}, to_string);
}

Codec<JobState> job_state_word() {
  return word(std::array{JobState::kReady, JobState::kWaiting, JobState::kStarting, JobState::kRunning,
                         JobState::kEnded},
              to_string);
}

Codec<Outcome> outcome_word() {
  return word(std::array{Outcome::kSucceeded, Outcome::kFailed, Outcome::kTimedOut, Outcome::kCancelled,
                         Outcome::kNotStarted, Outcome::kLost, Outcome::kDeviceLost, Outcome::kRefused},
              to_string);
}

Codec<RestartPolicy> restart_policy_word() {
  return word(std::array{RestartPolicy::kNever, RestartPolicy::kOnLost, RestartPolicy::kOnFailure},
              to_string);
}

Codec<RequestKind> request_kind_word() {
  return word(std::array{RequestKind::kWhole, RequestKind::kSlice, RequestKind::kShare}, spell_request_kind);
}

Codec<SliceCount> slice_count_word() {
  return word(std::array{SliceCount::kOne, SliceCount::kNone}, to_string);
}

Codec<JobKind> job_kind_word() {
  return word(std::array{JobKind::kProgram, JobKind::kLease}, spell_job_kind);
}

Codec<ReasonCode> reason_token() {
  return word(std::array{ReasonCode::kNone,
                         ReasonCode::kQuotaNpus,
                         ReasonCode::kQuotaMemoryTotal,
                         ReasonCode::kQuotaAiCores,
                         ReasonCode::kQuotaRunningJobs,
                         ReasonCode::kQuotaBandwidth,
                         ReasonCode::kQuotaKept,
                         ReasonCode::kQuotaMemoryPerNpu,
                         ReasonCode::kQuotaRunTime,
                         ReasonCode::kQuotaPriority,
                         ReasonCode::kQuotaNpusNever,
                         ReasonCode::kQuotaMemoryTotalNever,
                         ReasonCode::kQuotaAiCoresNever,
                         ReasonCode::kQuotaRunningJobsNever,
                         ReasonCode::kQuotaBandwidthNever,
                         ReasonCode::kNpusBusy,
                         ReasonCode::kNpusUnhealthy,
                         ReasonCode::kNpusKept,
                         ReasonCode::kNpusNever,
                         ReasonCode::kMemoryNever,
                         ReasonCode::kNoDevices,
                         ReasonCode::kSliceUnsupported,
                         ReasonCode::kShareUnsupported,
                         ReasonCode::kSlotsBusy,
                         ReasonCode::kMemoryBusy,
                         ReasonCode::kSlicesResidual,
                         ReasonCode::kAiCoresNever},
              token);
}

Codec<std::map<std::string, std::string>> text_map(std::size_t count_max, std::string_view type,
                                                   EntryCheck check, const std::string& schema) {
  std::string whole = R"({"type":"object")";
  if (count_max != std::numeric_limits<std::size_t>::max()) {
    whole += ",\"maxProperties\":" + std::to_string(count_max);
  }
  whole +=
      schema.empty() ? ",\"additionalProperties\":{" + std::string(kTextSchema) + "}}" : "," + schema + "}";
  return {std::string(type),
          [count_max, check = std::move(check)](Reader& reader, const Node& node,
                                                std::map<std::string, std::string>& into) {
            if (node.kind != Node::Kind::kObject) return reader.wrong_type(node, "an object of texts");
            if (node.members.size() > count_max) {
              return reader.problem(node, "input.too_many",
                                    "has " + std::to_string(node.members.size()) + " entries; at most " +
                                        std::to_string(count_max) + " are allowed");
            }
            report_duplicate(reader, node.members);
            into.clear();
            for (const Member& member : node.members) {
              const PathScope scope(reader, member.key);
              std::string value;
              if (!take_text(reader, member.value, kBatchBytesMax, value)) continue;
              if (const Result<void> checked = check ? check(member.key, value) : Result<void>(); !checked) {
                reader.problem_at(member.line, member.column, checked.error().reason, checked.error().message,
                                  checked.error().hint);
                continue;
              }
              into.emplace(member.key, std::move(value));
            }
          },
          [](const std::map<std::string, std::string>& from) {
            Node node = Node::object();
            for (const auto& [key, value] : from) node.add(key, Node::of(value));
            return node;
          },
          std::move(whole)};
}

Codec<Details> details_map() {
  return {"object of strings and integers",
          [](Reader& reader, const Node& node, Details& into) {
            if (node.kind != Node::Kind::kObject) return reader.wrong_type(node, "an object");
            into.clear();
            for (const Member& member : node.members) {
              const PathScope scope(reader, member.key);
              if (member.value.kind == Node::Kind::kInt) {
                into.emplace_back(member.key, member.value.integer);
              } else if (member.value.kind == Node::Kind::kText) {
                into.emplace_back(member.key, member.value.text);
              } else {
                reader.wrong_type(member.value, "a text or a whole number");
              }
            }
          },
          [](const Details& from) {
            Node node = Node::object();
            for (const auto& [key, value] : from) {
              if (node.find(key) != nullptr) continue;  // the first of a name is the nearest to the cause
              if (const auto* number = std::get_if<std::int64_t>(&value)) {
                node.add(key, Node::of(*number));
              } else {
                node.add(key, Node::of(std::get<std::string>(value)));
              }
            }
            return node;
          },
          R"({"type":"object","additionalProperties":{"type":["string","integer"]}})"};
}

}  // namespace tangram::wire
