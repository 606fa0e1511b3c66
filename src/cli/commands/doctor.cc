#include "cli/commands/all.h"
#include "cli/render.h"
#include "cli/session.h"
#include "wire/command_texts.h"
#include "wire/doctor_texts.h"
#include "wire/errors.h"
#include "wire/sentences.h"
#include "wire/texts.h"

namespace tangram::cli {
namespace {

// What is found where nobody can be asked.
wire::DoctorView without_daemon(const Error& error, wire::Language language) {
  const Error told = wire::localised(error, language);
  wire::FindingView finding;
  finding.severity = wire::Severity::kError;
  finding.code = "doctor.daemon.away";
  finding.message = wire::fill(wire::doctor::kNoDaemon, language, {{"why", told.message}});
  if (const wire::ReasonText* text = wire::find_reason(finding.code))
    finding.hint = language == wire::Language::kChinese ? text->chinese_hint : text->english_hint;
  finding.command = wire::doctor::kRestartDaemon;
  wire::DoctorView view;
  view.findings = {finding};
  return view;
}

int run(Session& session, const Arguments& /*arguments*/) {
  Result<wire::DoctorView> view = session.api().diagnose();
  const bool away = !view && view.error().code == Code::kUnavailable;
  if (!view && !away) return session.report(view.error());
  if (away) view = without_daemon(view.error(), session.language());
  const int code =
      session.emit(wire::write(*view), [&](const Canvas& canvas) { return render_doctor(*view, canvas); });
  if (code != wire::kExitOk) return code;
  return away ? wire::kExitUnavailable : view->findings.empty() ? wire::kExitOk : wire::kExitNo;
}

}  // namespace

const Command kDoctor{
    .name = "doctor",
    .summary = wire::help::kDoctor,
    .run = run,
    .columns = doctor_columns,
    .examples = "tangram doctor\ntangram doctor -o json\n",
    .more = &wire::help::kDoctorMore,
};

}  // namespace tangram::cli
