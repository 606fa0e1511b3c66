#include <array>

#include "cli/commands/all.h"
#include "cli/render.h"
#include "cli/session.h"
#include "wire/command_texts.h"

namespace tangram::cli {
namespace {

namespace help = wire::help;

constexpr Option kJob{
    .name = "JOB", .about = help::kJob, .required = true, .completes = Completes::kUnfinishedJob};
constexpr std::array kOptions{kJob};

int run(Session& session, const Arguments& arguments) {
  const Result<wire::WhyView> view = session.api().why(arguments.text(kJob));
  if (!view) return session.report(view.error());
  return session.emit(wire::write(*view), [&](const Canvas& canvas) { return render_why(*view, canvas); });
}

}  // namespace

const Command kWhy{
    .name = "why",
    .summary = help::kWhy,
    .run = run,
    .options = kOptions,
    .examples = "tangram why train-017\n",
};

}  // namespace tangram::cli
