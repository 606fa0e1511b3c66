#include <array>
#include <chrono>
#include <ostream>
#include <thread>

#include "cli/commands/all.h"
#include "cli/render.h"
#include "cli/session.h"
#include "cli/submission.h"
#include "wire/command_texts.h"
#include "wire/errors.h"

namespace tangram::cli {
namespace {

namespace help = wire::help;

constexpr std::array<std::string_view, 5> kStates{"ready", "waiting", "starting", "running", "ended"};

constexpr Option kAll{.name = "--all", .about = help::kQueueAll};
constexpr Option kTenant{
    .name = "--tenant", .about = help::kQueueTenant, .value = "TENANT", .completes = Completes::kTenant};
constexpr Option kLabel{
    .name = "--label", .about = help::kQueueLabel, .value = "KEY=VALUE", .repeatable = true};
constexpr Option kState{.name = "--state",
                        .about = help::kQueueState,
                        .value = "STATE",
                        .completes = Completes::kChoice,
                        .choices = kStates};
constexpr Option kWatch{.name = "--watch", .about = help::kQueueWatch};
constexpr std::array kOptions{kAll, kTenant, kLabel, kState, kWatch};

constexpr std::chrono::milliseconds kBetweenLooks(200);
constexpr std::string_view kClearScreen = "\x1b[H\x1b[2J";

Result<client::JobFilter> read_filter(const Arguments& arguments) {
  client::JobFilter filter;
  filter.tenant = arguments.text(kTenant);
  filter.all = arguments.has(kAll);
  for (const std::string& label : arguments.list(kLabel)) {
    TG_TRY(auto pair, parse_pair(label, kLabel.name, "model=resnet50"));
    filter.labels.push_back(std::move(pair));
  }
  if (arguments.has(kState)) {
    TG_TRY(filter.state, wire::parse_job_state(arguments.text(kState), kState.name));
    filter.all = filter.all || filter.state == JobState::kEnded;
  }
  return filter;
}

QueueQuestion question_of(Session& session, const client::JobFilter& filter) {
  QueueQuestion question;
  question.all = filter.all;
  question.filtered = filter.state || !filter.labels.empty() || !filter.tenant.empty();
  if (session.format() == OutputFormat::kTable && !session.canvas().table.is_bare()) {
    // Only for the sentence about an empty queue; the list stands without it.
    if (const auto status = session.api().status(); status && status->devices_available) {
      question.npus_free = status->npus_free;
    }
  }
  return question;
}

// The queue as it is now, as one of many: a screen, rows, a line of JSON, or a document. False: nobody reads
// any more.
Result<bool> print_once(Session& session, const client::JobFilter& filter) {
  TG_TRY(const wire::JobList jobs, session.api().all_jobs(filter));
  std::ostream& out = session.streams().out;
  switch (session.format()) {
    case OutputFormat::kTable: {
      const bool is_screen = session.streams().terminal_out && !session.canvas().table.is_for_programs();
      if (is_screen) out << kClearScreen;
      out << render_queue(jobs.items, question_of(session, filter), session.canvas());
      // Between one and the next.
      if (!is_screen) out << '\n';
      break;
    }
    case OutputFormat::kJson:
      out << wire::write(jobs) << '\n';
      break;
    case OutputFormat::kYaml: {
      const std::string json = wire::write(jobs);
      out << "---\n" << wire::to_yaml(json).value_or(json);
      break;
    }
  }
  out.flush();
  return out.good();
}

// Shows the queue again whenever something has changed. What changes while one is shown is gathered for the
// next.
Result<void> watch(Session& session, const client::JobFilter& filter) {
  client::EventQuery query;
  query.types = {"job.*", "npu.*", "daemon.*"};
  while (true) {
    // From now on: the present state is read anyway.
    std::string cursor;
    bool is_first = true;
    Result<bool> shown = true;
    const Result<void> ended =
        session.api().follow_events(query, cursor, [&](std::span<const client::FollowedEvent> events) {
          if (!events.empty() || is_first) {
            shown = print_once(session, filter);
            std::this_thread::sleep_for(kBetweenLooks);
          }
          is_first = false;
          if (shown) session.patience().answered();
          return shown && *shown;
        });
    if (shown && ended) {
      return fail(Code::kUnavailable, "cli.output.failed", "cannot write the queue to standard output");
    }
    const Error& error = shown ? ended.error() : shown.error();
    if (error.reason == "events.cursor.gone") continue;
    if (!session.patience().again_after(error)) return fail(error);
  }
}

int run(Session& session, const Arguments& arguments) {
  const Result<client::JobFilter> filter = read_filter(arguments);
  if (!filter) return session.report(filter.error());
  if (arguments.has(kWatch)) {
    const Result<void> ended = watch(session, *filter);
    return ended ? wire::kExitOk : session.report(ended.error());
  }
  const Result<wire::JobList> jobs = session.api().all_jobs(*filter);
  if (!jobs) return session.report(jobs.error());
  const QueueQuestion question = question_of(session, *filter);
  return session.emit(wire::write(*jobs),
                      [&](const Canvas& canvas) { return render_queue(jobs->items, question, canvas); });
}

}  // namespace

const Command kQueue{
    .name = "queue",
    .summary = help::kQueue,
    .run = run,
    .options = kOptions,
    .columns = queue_columns,
    .examples =
        "tangram queue\n"
        "tangram queue --all --tenant team-a --label model=resnet50\n"
        "tangram queue --watch\n",
};

}  // namespace tangram::cli
