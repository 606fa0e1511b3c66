// Events: following them, and the past.
#include <functional>

#include "server/event_stream.h"
#include "server/exchange.h"
#include "server/parameters.h"
#include "wire/event.h"

namespace tangram::server {
namespace {

constexpr std::int64_t kPageMax = 1'000;

service::EventQuery read_query(const Parameters& parameters) {
  service::EventQuery events;
  events.tenant = parameters.text("tenant");
  events.job = parameters.text("job");
  if (const auto npu = parameters.number("npu")) events.npu = static_cast<std::uint32_t>(*npu);
  events.types = parameters.texts("type");
  return events;
}

Result<std::optional<EventCursor>> cursor(const Parameters& parameters, std::string_view name) {
  const std::string text = parameters.text(name);
  if (text.empty()) return std::optional<EventCursor>();
  TG_TRY(const EventCursor read, wire::parse_cursor(text, name));
  return std::optional(read);
}

// A reader that comes back says in the header where it was, and still has the address it first came with.
Result<service::EventStart> read_start(const Parameters& parameters) {
  service::EventStart start;
  TG_TRY(start.after, cursor(parameters, "Last-Event-ID"));
  if (start.after) return start;
  start.oldest = parameters.text("after") == "oldest";
  if (!start.oldest) {
    TG_TRY(start.after, cursor(parameters, "after"));
  }
  return start;
}

Result<service::HistoryRange> read_range(const Parameters& parameters) {
  service::HistoryRange range;
  TG_TRY(range.after, cursor(parameters, "after"));
  TG_TRY(range.before, cursor(parameters, "before"));
  range.newest = parameters.flag("newest");
  range.limit = static_cast<std::size_t>(parameters.number("limit").value_or(kPageMax));
  return range;
}

Result<std::unique_ptr<service::EventSubscription>> follow(const Exchange& exchange) {
  TG_TRY(const service::EventStart start, read_start(exchange.parameters));
  return exchange.service.follow_events(exchange.caller, read_query(exchange.parameters), start);
}

Result<service::EventHistory> look_back(const Exchange& exchange) {
  TG_TRY(const service::HistoryRange range, read_range(exchange.parameters));
  return exchange.service.history(exchange.caller, read_query(exchange.parameters), range);
}

}  // namespace

void get_events(Exchange& exchange) {
  auto subscription = follow(exchange);
  if (!subscription) {
    exchange.responder.send(problem_response(subscription.error(), exchange.caller.language));
    return;
  }
  stream_events(exchange.service, std::move(*subscription), still_the_same(exchange), exchange.responder,
                exchange.caller.language);
}

void get_history(Exchange& exchange) {
  const auto history = look_back(exchange);
  if (!history) {
    exchange.responder.send(problem_response(history.error(), exchange.caller.language));
    return;
  }
  const std::optional<EventCursor>& next = history->next;
  exchange.responder.send(json_response(
      200, wire::write_event_list(history->events, next ? wire::format_cursor(*next) : std::string()),
      exchange.caller.language));
}

}  // namespace tangram::server
