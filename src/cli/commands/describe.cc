#include <array>

#include "cli/commands/all.h"
#include "cli/render.h"
#include "cli/session.h"
#include "wire/command_texts.h"

namespace tangram::cli {
namespace {

namespace help = wire::help;

constexpr Option kJob{.name = "JOB", .about = help::kJob, .required = true, .completes = Completes::kAnyJob};
constexpr std::array kOptions{kJob};

int run(Session& session, const Arguments& arguments) {
  const Result<wire::JobView> view = session.api().job(arguments.text(kJob));
  if (!view) return session.report(view.error());
  return session.emit(wire::write(*view), [&](const Canvas& canvas) { return render_job(*view, canvas); });
}

}  // namespace

const Command kDescribe{
    .name = "describe",
    .summary = help::kDescribe,
    .run = run,
    .options = kOptions,
    .examples = "tangram describe j-17\n",
};

}  // namespace tangram::cli
