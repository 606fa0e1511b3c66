// Events: their words, cursors and tables.
#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <string>
#include <utility>

#include "wire/codecs.h"
#include "wire/event.h"
#include "wire/tables.h"

namespace tangram::wire {
namespace {

constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();

constexpr std::array kTypes{
    std::pair{EventType::kJobSubmitted, std::string_view("job.submitted")},
    std::pair{EventType::kJobWaiting, std::string_view("job.waiting")},
    std::pair{EventType::kJobStarting, std::string_view("job.starting")},
    std::pair{EventType::kJobRunning, std::string_view("job.running")},
    std::pair{EventType::kJobStopping, std::string_view("job.stopping")},
    std::pair{EventType::kJobRequeued, std::string_view("job.requeued")},
    std::pair{EventType::kJobEnded, std::string_view("job.ended")},
    std::pair{EventType::kJobRefused, std::string_view("job.refused")},
    std::pair{EventType::kJobForgotten, std::string_view("job.forgotten")},
    std::pair{EventType::kTenantCreated, std::string_view("tenant.created")},
    std::pair{EventType::kTenantChanged, std::string_view("tenant.changed")},
    std::pair{EventType::kTenantDeleted, std::string_view("tenant.deleted")},
    std::pair{EventType::kNpuAppeared, std::string_view("npu.appeared")},
    std::pair{EventType::kNpuGone, std::string_view("npu.gone")},
    std::pair{EventType::kNpuHealth, std::string_view("npu.health")},
    std::pair{EventType::kNpuAllocated, std::string_view("npu.allocated")},
    std::pair{EventType::kNpuReleased, std::string_view("npu.released")},
    std::pair{EventType::kSliceMade, std::string_view("slice.made")},
    std::pair{EventType::kSliceReturned, std::string_view("slice.returned")},
    std::pair{EventType::kDaemonStarted, std::string_view("daemon.started")},
};

constexpr auto kTypeList = [] {
  std::array<EventType, kTypes.size()> types{};
  for (std::size_t i = 0; i < types.size(); ++i) types[i] = kTypes[i].first;
  return types;
}();

constexpr std::array<std::string_view, 5> kGroups{"job.*", "tenant.*", "npu.*", "slice.*", "daemon.*"};

template <class Number>
bool read_number(std::string_view& text, Number& into) {
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, into);
  if (problem != std::errc{} || stop == text.data()) return false;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return true;
}

Codec<std::int64_t> count() {
  return int64_range(0, kIntegerMax);
}
Codec<std::uint32_t> any_uint32() {
  return uint32_range(0, std::numeric_limits<std::uint32_t>::max());
}

}  // namespace

std::string_view to_string(EventType type) {
  return kTypes.at(static_cast<std::size_t>(type)).second;
}

std::span<const EventType> event_types() {
  return kTypeList;
}

std::span<const std::string_view> event_groups() {
  return kGroups;
}

Result<void> check_event_type(std::string_view text, std::string_view field) {
  if (std::find(kGroups.begin(), kGroups.end(), text) != kGroups.end()) return {};
  std::vector<std::string_view> known(kGroups.begin(), kGroups.end());
  for (const auto& [type, name] : kTypes) {
    if (name == text) return {};
    known.push_back(name);
  }
  const std::string_view near = did_you_mean(text, known);
  std::string all;
  for (const std::string_view name : known) all.append(all.empty() ? "" : ", ").append(name);
  return fail(Code::kInvalidArgument, "input.bad_value",
              std::string(field) + ": " + quoted(text, 64) + " is no type of event",
              near.empty() ? "write one of " + all : "did you mean " + std::string(near) + "?",
              {{"field", std::string(field)}});
}

const Table<EventView>& event_view_table() {
  using E = EventView;
  static const Table<E> table{
      "Event",
      "One change. Fields that do not belong to its type are left out.",
      {
          required("cursor", &E::cursor, text(), "\"1042.0\": go on behind it with after=<this>"),
          required("at", &E::at, time_text(), "when it became part of the journal"),
          required("type", &E::type, text(), "\"job.running\"; a client skips types that it does not know"),
          optional("tenant", &E::tenant, text(), "whose it is; left out: everybody's"),
          optional("job", &E::job, text(), "\"j-17\""),
          optional("jobName", &E::job_name, text(), "its name"),
          optional("kind", &E::kind, job_kind_word(), "of job.submitted: what the job is"),
          optional("state", &E::state, job_state_word(), "where the job stands since then"),
          optional("attempt", &E::attempt, int32_range(0, std::numeric_limits<std::int32_t>::max()),
                   "which try of the job"),
          optional("priority", &E::priority, priority_word(), "class of service"),
          optional("npusRequested", &E::npus_requested, count(), "NPUs asked for"),
          optional("sliceRequested", &E::slice_requested, object(slice_request_table()),
                   "of job.submitted: a slice of one NPU; left out: whole NPUs"),
          optional("jobs", &E::jobs, count(), "of job.waiting: how many wait alike; job is one of them"),
          optional("reason", &E::reason, object(reason_view_table()), "why it waits or was refused"),
          optional("npus", &E::npus, list(any_uint32(), kAny), "physical ids that the job holds, or held"),
          optional("npu", &E::npu, any_uint32(), "physical id, of npu.* and slice.* events"),
          optional("slice", &E::slice, any_uint32(), "vNPU id of the driver, of slice.* events"),
          optional("template", &E::template_name, text(),
                   "of the slice, \"vir04\"; of job.* and npu.* events, left out: whole NPUs"),
          optional("node", &E::node, text(), "the NPU's machine"),
          optional("chip", &E::chip, text(), "model, \"910B4\""),
          optional("health", &E::health, health_word(), "of the NPU since then"),
          optional("healthBefore", &E::health_before, health_word(), "and before"),
          optional("outcome", &E::outcome, outcome_word(), "how the attempt ended"),
          optional("exitStatus", &E::exit_status, int64_range(kIntegerMin, kIntegerMax), "of the program"),
          optional("signal", &E::signal, count(), "that ended the program"),
          optional("message", &E::message, text(), "how it ended, one sentence"),
          optional("byUid", &E::by_uid, any_uint32(),
                   "who cancelled the job; left out: a token, or the daemon"),
          optional("byToken", &E::by_token, text(), "the token that cancelled the job, \"t-3\""),
          optional("quota", &E::quota, object(quota_table()), "the tenant's limits since then"),
          optional("changed", &E::changed, list(text(), kAny), "of tenant.changed: which fields of its spec"),
          optional("version", &E::version, text(), "of the daemon that started"),
      },
      nullptr};
  return table;
}

const Table<EventList>& event_list_table() {
  static const Table<EventList> table{
      "EventList",
      "Answer of GET /v1/history.",
      {
          required("items", &EventList::items, list(object(event_view_table()), kAny),
                   "the events; may be empty although there are more"),
          optional("next", &EventList::next, text(),
                   "go on with after=<this>, or before=<this> with newest; left out: that was all"),
      },
      nullptr};
  return table;
}

std::string format_cursor(const EventCursor& cursor) {
  std::string text = std::to_string(cursor.sequence);
  if (cursor.item != EventCursor::kItemMax) text += "." + std::to_string(cursor.item);
  return text;
}

Result<EventCursor> parse_cursor(std::string_view text, std::string_view field) {
  EventCursor cursor;
  std::string_view rest = text;
  bool good = read_number(rest, cursor.sequence);
  if (good && rest.starts_with('.')) {
    rest.remove_prefix(1);
    good = read_number(rest, cursor.item) && cursor.item < EventCursor::kItemMax;
  }
  if (good && rest.empty()) return cursor;
  return fail(Code::kInvalidArgument, "input.bad_value",
              std::string(field) + ": " + quoted(text, 64) + " is no cursor of an event",
              "a cursor looks like 1042.0; take one from the id of an event");
}

std::string write(const EventView& view) {
  return to_json(write_fields(event_view_table(), view));
}

std::string write(const EventList& list) {
  return to_json(write_fields(event_list_table(), list));
}

std::string write_event_list(std::span<const std::string> events, std::string_view next) {
  std::string text = R"({"items":[)";
  for (const std::string& event : events) {
    if (text.back() != '[') text += ',';
    text += event;
  }
  text += ']';
  if (!next.empty()) text.append(R"(,"next":)").append(to_json(Node::of(std::string(next))));
  return text + '}';
}

Result<EventView> read_event_view(std::string_view json) {
  return read_answer(event_view_table(), json);
}

Result<EventList> read_event_list(std::string_view json) {
  return read_answer(event_list_table(), json);
}

}  // namespace tangram::wire
