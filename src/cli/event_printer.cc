#include "cli/event_printer.h"

#include <algorithm>
#include <iterator>
#include <ostream>
#include <ranges>

#include "cli/render.h"
#include "cli/submission.h"
#include "wire/schema.h"

namespace tangram::cli {
namespace {

constexpr std::size_t kPage = 1'000;  // the most that the service gives at once
constexpr std::string_view kOldest = "oldest";

// One event as it is asked for. False: nobody reads any more.
bool print(Session& session, const wire::EventView& view, const std::string& json) {
  std::ostream& out = session.streams().out;
  switch (session.format()) {
    case OutputFormat::kTable:
      out << render_event(view, session.canvas());
      break;
    case OutputFormat::kJson:
      out << json << '\n';
      break;
    case OutputFormat::kYaml:
      out << "---\n" << wire::to_yaml(json).value_or(json);
      break;
  }
  return out.good();
}

bool print(Session& session, const wire::EventView& view) {
  return print(session, view, session.format() == OutputFormat::kTable ? std::string() : wire::write(view));
}

tl::unexpected<Error> output_failed() {
  return fail(Code::kUnavailable, "cli.output.failed", "cannot write the events to standard output");
}

Result<wire::EventList> page(Session& session, const client::HistoryRequest& request) {
  return patiently<wire::EventList>(session, [&] { return session.api().history(request); });
}

}  // namespace

Result<std::uint32_t> parse_npu(const std::string& text, std::string_view option) {
  TG_TRY(const std::int64_t number, parse_count(text, option, 0));
  return static_cast<std::uint32_t>(std::min<std::int64_t>(number, UINT32_MAX));
}

Result<std::optional<std::size_t>> parse_last(const std::string& text) {
  if (text.empty()) return std::optional<std::size_t>();
  TG_TRY(const std::int64_t number, parse_count(text, "--last", 1));
  return std::optional(static_cast<std::size_t>(number));
}

Result<void> print_all(Session& session, const client::EventQuery& query, std::string& after) {
  client::HistoryRequest request;
  request.query = query;
  if (after != kOldest) request.after = after;
  while (true) {
    TG_TRY(const wire::EventList list, page(session, request));
    for (const wire::EventView& view : list.items) {
      if (!print(session, view)) return output_failed();
      after = view.cursor;
    }
    if (list.next.empty()) break;
    after = request.after = list.next;
  }
  session.streams().out.flush();
  return {};
}

Result<void> print_last(Session& session, const client::EventQuery& query, std::size_t count,
                        std::string& after) {
  client::HistoryRequest request;
  request.query = query;
  request.newest = true;
  std::vector<wire::EventView> found;
  while (found.size() < count) {
    request.limit = std::min(count - found.size(), kPage);
    TG_TRY(wire::EventList list, page(session, request));
    std::ranges::move(list.items, std::back_inserter(found));
    if (list.next.empty()) break;
    request.before = list.next;
  }
  // Without one before it, everything that matches is new.
  after = found.empty() ? kOldest : found.front().cursor;
  for (const wire::EventView& view : found | std::views::reverse) {
    if (!print(session, view)) return output_failed();
  }
  session.streams().out.flush();
  return {};
}

Result<void> print_following(Session& session, const client::EventQuery& query, std::string cursor) {
  bool failed = false;
  while (true) {
    Result<void> ended =
        session.api().follow_events(query, cursor, [&](std::span<const client::FollowedEvent> events) {
          session.patience().answered();
          for (const client::FollowedEvent& event : events)
            failed = !print(session, event.view, event.json) || failed;
          session.streams().out.flush();
          failed = failed || !session.streams().out.good();
          return !failed;
        });
    if (failed) return output_failed();
    if (!ended && !session.patience().again_after(ended.error())) return ended;
  }
}

}  // namespace tangram::cli
