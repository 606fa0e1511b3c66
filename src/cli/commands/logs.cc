#include <algorithm>
#include <array>
#include <chrono>
#include <ostream>
#include <thread>

#include "cli/commands/all.h"
#include "cli/job_end.h"
#include "cli/render.h"
#include "cli/submission.h"
#include "wire/cli_texts.h"
#include "wire/command_texts.h"
#include "wire/errors.h"

namespace tangram::cli {
namespace {

namespace help = wire::help;

constexpr std::chrono::milliseconds kBetweenLooks(250);

constexpr Option kJob{.name = "JOB", .about = help::kJob, .required = true, .completes = Completes::kAnyJob};
constexpr Option kFollow{.name = "--follow", .about = help::kLogsFollow, .letter = 'f'};
constexpr Option kAttempt{.name = "--attempt", .about = help::kLogsAttempt, .value = "NUMBER"};
constexpr std::array kOptions{kJob, kFollow, kAttempt};

// Copies one attempt's log to `out`. A connection that breaks is taken up again where it broke.
Result<void> copy_attempt(Session& session, const std::string& job, client::LogRequest request) {
  std::ostream& out = session.streams().out;
  while (true) {
    Result<void> copied = session.api().logs(job, request, [&](std::string_view chunk) {
      session.patience().answered();
      out.write(chunk.data(), static_cast<std::streamsize>(chunk.size()));
      if (request.follow) out.flush();
      return out.good();
    });
    out.flush();
    if (!out) return fail(Code::kUnavailable, "cli.output.failed", "cannot write the log to standard output");
    if (copied || !request.follow || !session.patience().again_after(copied.error())) return copied;
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
    if (!said) session.say(render_state(view, session.language()));
    said = true;
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

Result<void> follow(Session& session, const std::string& job, std::optional<std::int32_t> only) {
  TG_TRY(wire::JobView view, patiently<wire::JobView>(session, [&] { return session.api().job(job); }));
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
  session.say(render_state(view, session.language()));
  return {};
}

// Nothing, and nothing yet, look alike.
void say_if_not_started(Session& session, const std::string& job) {
  const Result<wire::JobView> view = session.api().job(job);
  const bool queued = view && (view->state == JobState::kReady || view->state == JobState::kWaiting);
  if (queued && view->attempt == 0) session.say(render_state(*view, session.language()));
}

Result<void> copy_once(Session& session, const std::string& job, std::optional<std::int32_t> attempt) {
  TG_TRY_VOID(copy_attempt(session, job, {attempt, 0, false}));
  if (!attempt) say_if_not_started(session, job);
  return {};
}

int run(Session& session, const Arguments& arguments) {
  const std::string job = arguments.text(kJob);
  std::optional<std::int32_t> attempt;
  if (arguments.has(kAttempt)) {
    const Result<std::int64_t> number = parse_count(arguments.text(kAttempt), kAttempt.name, 1);
    if (!number) return session.report(number.error());
    attempt = static_cast<std::int32_t>(std::min<std::int64_t>(*number, INT32_MAX));
  }
  const Result<void> done =
      arguments.has(kFollow) ? follow(session, job, attempt) : copy_once(session, job, attempt);
  return done ? wire::kExitOk : session.report(done.error());
}

}  // namespace

const Command kLogs{
    .name = "logs",
    .summary = help::kLogs,
    .run = run,
    .options = kOptions,
    .examples =
        "tangram logs j-17\n"
        "tangram logs -f team-a/train-001\n",
};

}  // namespace tangram::cli
