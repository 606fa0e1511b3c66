#include <array>
#include <cstdlib>
#include <filesystem>

#include "cli/commands/all.h"
#include "cli/find_program.h"
#include "cli/job_end.h"
#include "cli/render.h"
#include "cli/request_options.h"
#include "cli/submission.h"
#include "wire/command_texts.h"
#include "wire/errors.h"

namespace tangram::cli {
namespace {

namespace help = wire::help;

constexpr Option kEnv{.name = "--env", .about = help::kSubmitEnv, .value = "NAME=VALUE", .repeatable = true};
constexpr Option kWorkdir{.name = "--workdir",
                          .about = help::kSubmitWorkdir,
                          .value = "DIRECTORY",
                          .completes = Completes::kDirectory};
constexpr Option kRestart{.name = "--restart", .about = help::kSubmitRestart, .value = "POLICY"};
constexpr Option kHostCpus{.name = "--host-cpus", .about = help::kSubmitHostCpus, .value = "CORES"};
constexpr Option kHostMemory{.name = "--host-memory", .about = help::kSubmitHostMemory, .value = "SIZE"};
constexpr Option kHostProcesses{
    .name = "--host-processes", .about = help::kSubmitHostProcesses, .value = "COUNT"};
constexpr Option kWaitForEnd{.name = "--wait", .about = help::kSubmitWait};
constexpr Option kIdempotencyKey{
    .name = "--idempotency-key", .about = help::kSubmitIdempotencyKey, .value = "KEY"};

constexpr std::array kOwnOptions{kEnv,        kWorkdir,       kRestart,    kHostCpus,
                                 kHostMemory, kHostProcesses, kWaitForEnd, kIdempotencyKey};
constexpr auto kOptions = joined(kRequestOptions, kOwnOptions);

SubmitArguments job_arguments(const Arguments& arguments) {
  SubmitArguments job = request_arguments(arguments);
  job.restart = arguments.text(kRestart);
  job.workdir = arguments.text(kWorkdir);
  job.host_cpus = arguments.text(kHostCpus);
  job.host_memory = arguments.text(kHostMemory);
  job.host_processes = arguments.text(kHostProcesses);
  job.env = arguments.list(kEnv);
  job.command = arguments.program();
  return job;
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

int await_end(Session& session, const wire::JobView& submitted) {
  const Result<wire::JobView> ended = wait_for_end(session, submitted.id, TimeMs::never());
  if (!ended) return session.report(ended.error());
  if (exit_code_of(*ended) != wire::kExitOk) session.say(render_state(*ended, session.language()));
  if (session.format() != OutputFormat::kTable) {
    const int code = session.emit(wire::write(*ended), nullptr);
    if (code != wire::kExitOk) return code;
  }
  return exit_code_of(*ended);
}

int run(Session& session, const Arguments& arguments) {
  Result<wire::JobSubmission> submission = parse_submission(job_arguments(arguments));
  if (!submission) return session.report(submission.error());
  submission->command[0] = program_of(*submission);
  const bool wait = arguments.has(kWaitForEnd);
  std::string key = arguments.text(kIdempotencyKey);
  // So that a lost answer can be asked for again.
  if (key.empty()) key = client::make_idempotency_key("cli-");
  // The daemon may have taken the job and gone before it said so; with the same key it cannot take it twice.
  Result<wire::JobView> view =
      patiently<wire::JobView>(session, [&] { return session.api().submit(*submission, key); });
  if (!view) return session.report(view.error());
  const bool refused = has_ended(*view) && view->outcome == Outcome::kRefused;
  if (session.format() == OutputFormat::kTable || !wait || refused) {
    const int code =
        session.emit(wire::write(*view), [&](const Canvas&) { return printable(view->id) + '\n'; });
    if (code != wire::kExitOk) return code;
  }
  // The answer comes when the job is durable; where it goes is decided right after that.
  if (session.format() == OutputFormat::kTable && view->state == JobState::kReady) {
    if (auto decided = session.api().job(view->id)) view = std::move(decided);
  }
  session.say(render_state(*view, session.language()));
  if (const std::string granted = render_granted(*view, session.language()); !granted.empty())
    session.say(granted);
  if (refused) return exit_code_of(*view);
  return wait ? await_end(session, *view) : wire::kExitOk;
}

}  // namespace

const Command kSubmit{
    .name = "submit",
    .summary = help::kSubmit,
    .run = run,
    .options = kOptions,
    .examples =
        "tangram submit --tenant team-a --npus 2 -- python3 train.py --epochs 3\n"
        "tangram submit --tenant team-b --memory 16GiB --time-limit 1h --wait -- ./infer\n"
        "tangram submit --tenant inference --slice 4GiB -- ./serve\n",
    .more = &help::kSubmitMore,
    .program = &help::kSubmitProgram,
};

}  // namespace tangram::cli
