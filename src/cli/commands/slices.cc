#include <array>
#include <limits>

#include "cli/commands/all.h"
#include "cli/render.h"
#include "cli/session.h"
#include "cli/submission.h"
#include "wire/command_texts.h"
#include "wire/errors.h"

namespace tangram::cli {
namespace {

namespace help = wire::help;

constexpr Option kNpu{.name = "NPU", .about = help::kSlicesNpu};
constexpr Option kCut{.name = "--cut", .about = help::kSlicesCut, .value = "TEMPLATE", .repeatable = true};
constexpr std::array kOptions{kNpu, kCut};

int run(Session& session, const Arguments& arguments) {
  client::SlicesRequest request;
  request.cut = arguments.list(kCut);
  if (arguments.has(kNpu)) {
    const auto npu = parse_count(arguments.text(kNpu), kNpu.name, 0);
    if (!npu) return session.report(npu.error());
    if (*npu > std::numeric_limits<std::uint32_t>::max()) {
      return session.report({Code::kNotFound,
                             "npu.unknown",
                             "no NPU " + std::to_string(*npu),
                             "`tangram status` lists them",
                             {},
                             nullptr});
    }
    request.npu = static_cast<std::uint32_t>(*npu);
  }
  const Result<wire::SlicesView> view = session.api().slices(request);
  if (!view) return session.report(view.error());
  const int code =
      session.emit(wire::write(*view), [&](const Canvas& canvas) { return render_slices(*view, canvas); });
  if (code != wire::kExitOk) return code;
  // Asked about a cut, the answer is no when no NPU can have it.
  bool legal = request.cut.empty();
  for (const wire::NpuSlicesView& npu : view->npus) legal = legal || (npu.asked && npu.asked->legal);
  return legal ? wire::kExitOk : wire::kExitNo;
}

}  // namespace

const Command kSlices{
    .name = "slices",
    .summary = help::kSlices,
    .run = run,
    .options = kOptions,
    .columns = slices_columns,
    .examples = "tangram slices\ntangram slices 0 --cut vir04_3c --cut vir01\n",
    .more = &help::kSlicesMore,
};

}  // namespace tangram::cli
