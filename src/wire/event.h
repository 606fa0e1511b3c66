// Events: what changed, one document each, in the order in which it became durable. Their cursor is the
// journal's sequence and the place among the events of that record: "1042.0". Thread-safe: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/job.h"
#include "model/npu.h"
#include "model/tenant.h"
#include "ports/store.h"
#include "wire/types.h"

namespace tangram::wire {

enum class EventType : std::uint8_t {
  kJobSubmitted,
  kJobWaiting,   // a group of like jobs waits, or waits for another reason
  kJobStarting,  // NPUs are given
  kJobRunning,   // the program runs
  kJobStopping,  // cancelled while it starts or runs
  kJobRequeued,  // the attempt is over, the job is back in the queue
  kJobEnded,
  kJobRefused,    // --no-wait, and not startable at once: also an end
  kJobForgotten,  // logs and entry are gone
  kTenantCreated,
  kTenantChanged,
  kTenantDeleted,
  kNpuAppeared,
  kNpuGone,
  kNpuHealth,
  kNpuAllocated,
  kNpuReleased,
  kSliceMade,      // cut for a job
  kSliceReturned,  // gone; its place is free
  kDaemonStarted,
};

std::string_view to_string(EventType type);  // "job.submitted"
std::span<const EventType> event_types();
// "job.*": all whose words begin so.
std::span<const std::string_view> event_groups();
// A word or a group; kInvalidArgument "input.bad_value" for what is none of them.
Result<void> check_event_type(std::string_view text, std::string_view field);

// One event. What does not belong to its type is absent.
struct EventView {
  std::string cursor;
  TimeMs at;
  std::string type;  // to_string(EventType), or one that a newer daemon knows
  std::string tenant;
  std::string job;  // id
  std::string job_name;
  std::optional<JobKind> kind;  // kJobSubmitted
  std::optional<JobState> state;
  std::int32_t attempt = 0;
  std::optional<Priority> priority;
  std::int64_t npus_requested = 0;
  std::optional<SliceRequest> slice_requested;  // of one NPU, instead
  std::int64_t jobs = 0;                        // kJobWaiting: how many wait alike; `job` is one of them
  std::optional<ReasonView> reason;
  std::vector<std::uint32_t> npus;     // physical ids, of a job
  std::optional<std::uint32_t> npu;    // physical id, of an NPU's own event, and of a slice's
  std::optional<std::uint32_t> slice;  // vNPU id of the driver
  std::string template_name;           // of the slice; also where a job starts, or an NPU is given, in part
  std::string node;
  std::string chip;
  std::optional<Health> health;
  std::optional<Health> health_before;
  std::optional<Outcome> outcome;  // of the attempt
  std::optional<std::int64_t> exit_status;
  std::optional<std::int64_t> signal;
  std::string message;
  std::optional<std::uint32_t> by_uid;  // who cancelled it
  std::string by_token;                 // "t-3": the same, when it was a token
  std::optional<Quota> quota;
  std::vector<std::string> changed;  // kTenantChanged: fields of the tenant's spec
  std::string version;               // kDaemonStarted

  friend bool operator==(const EventView&, const EventView&) = default;
};

// A page of the past.
struct EventList {
  std::vector<EventView> items;
  std::string next;  // go on from here; empty: that was all

  friend bool operator==(const EventList&, const EventList&) = default;
};

// "1042.0"; "1042" behind all events of a record.
std::string format_cursor(const EventCursor& cursor);
// kInvalidArgument "input.bad_value" for anything else.
Result<EventCursor> parse_cursor(std::string_view text, std::string_view field);

std::string write(const EventView& view);
std::string write(const EventList& list);
// The same as EventList, of events that are written already.
std::string write_event_list(std::span<const std::string> events, std::string_view next);

Result<EventView> read_event_view(std::string_view json);
Result<EventList> read_event_list(std::string_view json);

}  // namespace tangram::wire
