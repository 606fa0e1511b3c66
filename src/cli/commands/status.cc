#include "cli/commands/all.h"
#include "cli/render.h"
#include "cli/session.h"
#include "wire/command_texts.h"

namespace tangram::cli {
namespace {

int run(Session& session, const Arguments& /*arguments*/) {
  const Result<wire::StatusView> view = session.api().status();
  if (!view) return session.report(view.error());
  return session.emit(wire::write(*view), [&](const Canvas& canvas) { return render_status(*view, canvas); });
}

}  // namespace

const Command kStatus{
    .name = "status",
    .summary = wire::help::kStatus,
    .run = run,
    .columns = status_columns,
    .examples = "tangram status\n",
};

}  // namespace tangram::cli
