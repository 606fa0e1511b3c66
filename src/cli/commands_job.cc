#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "cli/commands.h"
#include "cli/find_program.h"
#include "cli/render.h"
#include "wire/errors.h"

namespace tangram::cli {
namespace {

constexpr std::int64_t kPollMs = 30'000;

bool has_ended(const wire::JobView& view) {
  return view.state == JobState::kEnded;
}

// The job runs elsewhere, with another PATH, unless it is told where.
std::string program_of(const wire::JobSubmission& job) {
  const std::string& word = job.command[0];
  const bool bare = word.find('/') == std::string::npos;
  if (bare ? job.env.contains("PATH") : !job.workdir.empty()) return word;
  const char* search_path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): nothing changes it
  std::error_code unknown;
  const std::string directory = std::filesystem::current_path(unknown).string();
  return unknown ? word : find_program(word, search_path == nullptr ? "" : search_path, directory);
}

// The view when the job has ended or `deadline` has come. The daemon may go and come back meanwhile.
Result<wire::JobView> wait_for_end(Session& session, const std::string& job, TimeMs deadline) {
  // The name could mean another job by the time this one has ended: the id is asked for once.
  TG_TRY(wire::JobView view, once_reached<wire::JobView>(session, [&] { return session.api().job(job); }));
  while (!has_ended(view)) {
    const std::int64_t left = deadline.value - wall_clock_now().value;
    if (left <= 0) break;
    const std::chrono::milliseconds round(std::min(left, kPollMs));
    TG_TRY(view, patiently<wire::JobView>(session, [&] { return session.api().wait(view.id, round); }));
  }
  return view;
}

// One job as itself, several as a list.
int emit_jobs(Session& session, const std::vector<wire::JobView>& views,
              const std::function<std::string(const wire::JobView&)>& line) {
  const std::string json = views.size() == 1 ? wire::write(views[0]) : wire::write(wire::JobList{views, ""});
  return session.emit(json, [&](const Canvas&) {
    std::string text;
    for (const wire::JobView& view : views) text += line(view) + '\n';
    return text;
  });
}

int submit_and_wait(Session& session, const wire::JobView& submitted) {
  const Result<wire::JobView> ended = wait_for_end(session, submitted.id, TimeMs::never());
  if (!ended) return session.report(ended.error());
  if (exit_code_of(*ended) != wire::kExitOk) session.say(render_state(*ended));
  if (session.format() != OutputFormat::kTable) {
    const int code = session.emit(wire::write(*ended), nullptr);
    if (code != wire::kExitOk) return code;
  }
  return exit_code_of(*ended);
}

}  // namespace

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

int run_submit(Session& session, const SubmitOptions& options) {
  Result<wire::JobSubmission> submission = parse_submission(options.job);
  if (!submission) return session.report(submission.error());
  submission->command[0] = program_of(*submission);
  const std::string key =
      options.idempotency_key.empty() ? client::make_idempotency_key("cli-") : options.idempotency_key;
  // The daemon may have taken the job and gone before it said so; with the same key it cannot take it twice.
  Result<wire::JobView> view =
      once_reached<wire::JobView>(session, [&] { return session.api().submit(*submission, key); });
  if (!view) return session.report(view.error());
  const bool refused = has_ended(*view) && view->outcome == Outcome::kRefused;
  if (session.format() == OutputFormat::kTable || !options.wait || refused) {
    const int code =
        session.emit(wire::write(*view), [&](const Canvas&) { return printable(view->id) + '\n'; });
    if (code != wire::kExitOk) return code;
  }
  // The answer comes when the job is durable; where it goes is decided right after that.
  if (session.format() == OutputFormat::kTable && view->state == JobState::kReady) {
    if (auto decided = session.api().job(view->id)) view = std::move(decided);
  }
  session.say(render_state(*view));
  if (refused) return exit_code_of(*view);
  return options.wait ? submit_and_wait(session, *view) : wire::kExitOk;
}

int run_wait(Session& session, const WaitOptions& options) {
  TimeMs deadline = TimeMs::never();
  if (!options.timeout.empty()) {
    const Result<std::int64_t> timeout = parse_duration_ms(options.timeout, "--timeout");
    if (!timeout) return session.report(timeout.error());
    deadline = TimeMs(wall_clock_now().value + *timeout);
  }
  std::vector<wire::JobView> views;
  int code = wire::kExitOk;
  for (const std::string& job : options.jobs) {
    const Result<wire::JobView> view = wait_for_end(session, job, deadline);
    if (!view) return session.report(view.error());
    if (code == wire::kExitOk) code = has_ended(*view) ? exit_code_of(*view) : wire::kExitNo;
    views.push_back(*view);
  }
  const int emitted = emit_jobs(session, views, render_state);
  return emitted == wire::kExitOk ? code : emitted;
}

int run_cancel(Session& session, const std::vector<std::string>& jobs) {
  std::vector<wire::JobView> views;
  int code = wire::kExitOk;
  for (const std::string& job : jobs) {
    const Result<wire::JobView> view = session.api().cancel(job);
    if (view) {
      views.push_back(*view);
    } else {
      // The others are still wanted gone.
      const int failed = session.report(view.error());
      if (code == wire::kExitOk) code = failed;
    }
  }
  if (views.empty()) return code;
  const int emitted = emit_jobs(session, views, [](const wire::JobView& view) {
    return has_ended(view) ? render_state(view) : "job " + job_title(view) + " is being stopped";
  });
  return code == wire::kExitOk ? emitted : code;
}

int run_why(Session& session, const std::string& job) {
  const Result<wire::WhyView> view = session.api().why(job);
  if (!view) return session.report(view.error());
  return session.emit(wire::write(*view), [&](const Canvas& canvas) { return render_why(*view, canvas); });
}

int run_describe(Session& session, const std::string& job) {
  const Result<wire::JobView> view = session.api().job(job);
  if (!view) return session.report(view.error());
  return session.emit(wire::write(*view), [&](const Canvas& canvas) { return render_job(*view, canvas); });
}

}  // namespace tangram::cli
