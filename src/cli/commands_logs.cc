#include <chrono>
#include <ostream>
#include <thread>

#include "cli/commands.h"
#include "cli/render.h"
#include "wire/errors.h"

namespace tangram::cli {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks(250);

bool has_ended(const wire::JobView& view) {
  return view.state == JobState::kEnded;
}

// Copies one attempt's log to `out`. A connection that breaks is taken up again where it broke.
Result<void> copy_attempt(Session& session, const std::string& job, client::LogRequest request) {
  std::ostream& out = session.streams().out;
  client::Patience patience = patience_of(session);
  while (true) {
    const std::int64_t asked = request.offset;
    const Result<std::int64_t> first = session.api().logs(job, request, [&](std::string_view chunk) {
      out.write(chunk.data(), static_cast<std::streamsize>(chunk.size()));
      if (request.follow) out.flush();
      request.offset += static_cast<std::int64_t>(chunk.size());
      return out.good();
    });
    out.flush();
    if (!out) return fail(Code::kUnavailable, "cli.output.failed", "cannot write the log to standard output");
    if (first) {
      if (*first > asked)
        session.say("the first " + std::to_string(*first - asked) + " bytes are no longer kept");
      return {};
    }
    if (!request.follow || !patience.again_after(first.error())) return fail(first.error());
  }
}

// The view of the first moment at which the job has begun an attempt after `attempt`, or has ended.
Result<wire::JobView> wait_for_attempt(Session& session, const std::string& job, std::int32_t attempt) {
  bool said = false;
  while (true) {
    TG_TRY(wire::JobView view, patiently<wire::JobView>(session, [&] { return session.api().job(job); }));
    const bool begun =
        view.attempt > attempt && view.state != JobState::kReady && view.state != JobState::kWaiting;
    if (begun || has_ended(view)) return view;
    if (!said) session.say(render_state(view));
    said = true;
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

Result<void> follow(Session& session, const std::string& job, std::optional<std::int32_t> only) {
  TG_TRY(wire::JobView view, once_reached<wire::JobView>(session, [&] { return session.api().job(job); }));
  const std::string id = view.id;
  if (only) return copy_attempt(session, id, {only, 0, true});
  std::int32_t shown = 0;
  while (true) {
    TG_TRY(view, wait_for_attempt(session, id, shown));
    // A job that is lost or cancelled in the queue has no further log.
    if (view.attempt <= shown) break;
    // Attempts can be so short that several came and went between two looks.
    while (shown < view.attempt) {
      ++shown;
      const Result<void> copied = copy_attempt(session, id, {shown, 0, true});
      // One that was given up before it ran left nothing behind.
      const bool nothing_there = !copied && copied.error().code == Code::kNotFound && shown < view.attempt;
      if (!copied && !nothing_there) return copied;
    }
  }
  session.say(render_state(view));
  return {};
}

// Nothing, and nothing yet, look alike.
void say_if_not_started(Session& session, const std::string& job) {
  const Result<wire::JobView> view = session.api().job(job);
  const bool queued = view && (view->state == JobState::kReady || view->state == JobState::kWaiting);
  if (queued && view->attempt == 0) session.say(render_state(*view));
}

Result<void> copy_once(Session& session, const std::string& job, std::optional<std::int32_t> attempt) {
  TG_TRY_VOID(copy_attempt(session, job, {attempt, 0, false}));
  if (!attempt) say_if_not_started(session, job);
  return {};
}

}  // namespace

int run_logs(Session& session, const LogsOptions& options) {
  std::optional<std::int32_t> attempt;
  if (!options.attempt.empty()) {
    const Result<std::int64_t> number = parse_count(options.attempt, "--attempt", 1);
    if (!number) return session.report(number.error());
    attempt = static_cast<std::int32_t>(std::min<std::int64_t>(*number, INT32_MAX));
  }
  const Result<void> done =
      options.follow ? follow(session, options.job, attempt) : copy_once(session, options.job, attempt);
  return done ? wire::kExitOk : session.report(done.error());
}

}  // namespace tangram::cli
