#include <array>

#include "cli/commands/all.h"
#include "cli/job_end.h"
#include "cli/render.h"
#include "wire/command_texts.h"
#include "wire/errors.h"

namespace tangram::cli {
namespace {

namespace help = wire::help;

constexpr Option kJobs{.name = "JOB",
                       .about = help::kJob,
                       .required = true,
                       .repeatable = true,
                       .completes = Completes::kUnfinishedJob};
constexpr Option kTimeout{.name = "--timeout", .about = help::kWaitTimeout, .value = "TIME"};
constexpr std::array kOptions{kJobs, kTimeout};

int run(Session& session, const Arguments& arguments) {
  TimeMs deadline = TimeMs::never();
  if (arguments.has(kTimeout)) {
    const Result<std::int64_t> timeout = parse_duration_ms(arguments.text(kTimeout), kTimeout.name);
    if (!timeout) return session.report(timeout.error());
    deadline = TimeMs(wall_clock_now().value + *timeout);
  }
  std::vector<wire::JobView> views;
  int code = wire::kExitOk;
  for (const std::string& job : arguments.list(kJobs)) {
    const Result<wire::JobView> view = wait_for_end(session, job, deadline);
    if (!view) return session.report(view.error());
    if (code == wire::kExitOk) code = has_ended(*view) ? exit_code_of(*view) : wire::kExitNo;
    views.push_back(*view);
  }
  const int emitted = emit_jobs(
      session, views, [&](const wire::JobView& view) { return render_state(view, session.language()); });
  return emitted == wire::kExitOk ? code : emitted;
}

}  // namespace

const Command kWait{
    .name = "wait",
    .summary = help::kWait,
    .run = run,
    .options = kOptions,
    .examples =
        "tangram wait j-17 j-18\n"
        "tangram wait team-a/train-001 --timeout 10m\n",
};

}  // namespace tangram::cli
