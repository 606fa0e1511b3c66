#include "cli/job_end.h"

#include <algorithm>
#include <chrono>

#include "wire/errors.h"
#include "wire/schema.h"

namespace tangram::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPoll{30'000};
constexpr milliseconds kPollLeast{1};
// As a moment of the steady clock it would not fit into its nanoseconds.
constexpr milliseconds kAsGoodAsNever = std::chrono::hours(24 * 36'500);

}  // namespace

bool has_ended(const wire::JobView& view) {
  return view.state == JobState::kEnded;
}

Result<wire::JobView> wait_for_end(Session& session, const std::string& job, TimeMs deadline) {
  const auto left = [&] { return milliseconds(deadline.value - wall_clock_now().value); };
  client::Patience::Deadline end;
  if (left() < kAsGoodAsNever) end = client::Patience::Clock::now() + left();
  // The name could mean another job by the time this one has ended: the id is asked for once.
  TG_TRY(wire::JobView view, patiently<wire::JobView>(session, [&] { return session.api().job(job); }, end));
  const auto wait = [&] { return session.api().wait(view.id, std::clamp(left(), kPollLeast, kPoll)); };
  while (!has_ended(view) && left().count() > 0) {
    TG_TRY(view, patiently<wire::JobView>(session, wait, end));
  }
  return view;
}

int exit_code_of(const wire::JobView& ended) {
  constexpr std::int64_t kSignalBase = 128;
  if (ended.outcome == Outcome::kSucceeded) return wire::kExitOk;
  if (ended.outcome == Outcome::kFailed) {
    if (ended.signal) return static_cast<int>((kSignalBase + *ended.signal) & 0xFF);
    const int status = static_cast<int>(ended.exit_status.value_or(wire::kExitNo) & 0xFF);
    return status == 0 ? wire::kExitNo : status;
  }
  const bool by_quota = ended.reason && ended.reason->code.starts_with("quota.");
  return ended.outcome == Outcome::kRefused && by_quota ? wire::kExitRefused : wire::kExitNo;
}

int emit_jobs(Session& session, const std::vector<wire::JobView>& views,
              const std::function<std::string(const wire::JobView&)>& line) {
  const std::string json = views.size() == 1 ? wire::write(views[0]) : wire::write(wire::JobList{views, ""});
  return session.emit(json, [&](const Canvas&) {
    std::string text;
    for (const wire::JobView& view : views) text += line(view) + '\n';
    return text;
  });
}

}  // namespace tangram::cli
