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
constexpr std::array kOptions{kJobs};

int run(Session& session, const Arguments& arguments) {
  std::vector<wire::JobView> views;
  int code = wire::kExitOk;
  for (const std::string& job : arguments.list(kJobs)) {
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
  const int emitted = emit_jobs(session, views, [&](const wire::JobView& view) {
    return has_ended(view) ? render_state(view, session.language())
                           : render_stopping(view, session.language());
  });
  return code == wire::kExitOk ? emitted : code;
}

}  // namespace

const Command kCancel{
    .name = "cancel",
    .summary = help::kCancel,
    .run = run,
    .options = kOptions,
    .examples = "tangram cancel j-17 j-18\n",
};

}  // namespace tangram::cli
