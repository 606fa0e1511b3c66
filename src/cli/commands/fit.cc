#include <array>

#include "cli/commands/all.h"
#include "cli/render.h"
#include "cli/request_options.h"
#include "cli/session.h"
#include "wire/command_texts.h"
#include "wire/errors.h"

namespace tangram::cli {
namespace {

namespace help = wire::help;

constexpr std::array kOptions{request::kTenant,    request::kNpus,     request::kMemory,   request::kSlice,
                              request::kBandwidth, request::kPriority, request::kTimeLimit};

int exit_code_of(wire::FitAnswer answer) {
  switch (answer) {
    case wire::FitAnswer::kNow:
      return wire::kExitOk;
    case wire::FitAnswer::kLater:
      return wire::kExitNo;
    case wire::FitAnswer::kNever:
      return wire::kExitRefused;
  }
  return wire::kExitNo;
}

int run(Session& session, const Arguments& arguments) {
  const Result<wire::LeaseRequest> request = parse_lease(request_arguments(arguments));
  if (!request) return session.report(request.error());
  const Result<wire::FitView> view = session.api().fit(*request);
  if (!view) return session.report(view.error());
  const int code =
      session.emit(wire::write(*view), [&](const Canvas& canvas) { return render_fit(*view, canvas); });
  return code == wire::kExitOk ? exit_code_of(view->answer) : code;
}

}  // namespace

const Command kFit{
    .name = "fit",
    .summary = help::kFit,
    .run = run,
    .options = kOptions,
    .examples =
        "tangram fit --tenant team-a --slice 4GiB\n"
        "tangram fit --tenant team-a --npus 2 --memory 24GiB --priority high\n",
    .more = &help::kFitMore,
};

}  // namespace tangram::cli
