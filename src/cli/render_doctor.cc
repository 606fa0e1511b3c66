#include <algorithm>
#include <array>

#include "cli/render.h"
#include "wire/view_texts.h"
#include "wire/words.h"

namespace tangram::cli {
namespace {

namespace say = wire::view;
using wire::Severity;

constexpr std::array kColumns{
    Column{.key = "severity", .title = say::kSeverity},
    Column{.key = "code", .title = say::kCode, .is_id = true},
    Column{.key = "npu", .title = say::kNpu, .align = Align::kRight},
    Column{.key = "slice", .title = say::kSlice, .align = Align::kRight},
    Column{.key = "message", .title = say::kMessage},
    Column{.key = "command", .title = say::kCommand},
};

Tone tone_of(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return Tone::kBad;
    case Severity::kWarning:
      return Tone::kWarning;
    case Severity::kNotice:
      return Tone::kPlain;
  }
  return Tone::kPlain;
}

std::string table_of(const wire::DoctorView& view, const Canvas& canvas) {
  Table table(kColumns, canvas);
  for (const wire::FindingView& finding : view.findings) {
    const auto number = [](const std::optional<std::uint32_t>& value) {
      return value ? Table::Cell{std::to_string(*value)} : unknown_cell();
    };
    table.add_row({{std::string(wire::word(finding.severity, canvas.language)), tone_of(finding.severity)},
                   {printable(finding.code)},
                   number(finding.npu),
                   number(finding.slice),
                   {printable(finding.message)},
                   {or_dash(finding.command)}});
  }
  return table.render();
}

std::string render_finding(const wire::FindingView& finding, const Canvas& canvas) {
  const std::string word(wire::word(finding.severity, canvas.language));
  std::string text = paint(canvas, tone_of(finding.severity), word) + "  " +
                     hang_text(printable(finding.message), canvas.width, display_width(word) + 2) + '\n';
  const auto add = [&](const std::string& line) { text += "  " + hang_text(line, canvas.width, 2) + '\n'; };
  if (!finding.hint.empty())
    add(wire::fill(say::kHint, canvas.language, {{"hint", printable(finding.hint)}}));
  // To be copied: never broken.
  if (!finding.command.empty()) text += "  $ " + printable(finding.command) + '\n';
  return text;
}

}  // namespace

std::span<const Column> doctor_columns() {
  return kColumns;
}

std::string render_doctor(const wire::DoctorView& view, const Canvas& canvas) {
  if (canvas.table.is_bare() || canvas.table.wide) return table_of(view, canvas);
  const wire::Language language = canvas.language;
  if (view.findings.empty()) {
    return paint(canvas, Tone::kGood,
                 wire::fill(say::kNothingFound, language,
                            {{"node", or_dash(view.node)}, {"driver", or_dash(view.driver_version)}})) +
           '\n';
  }
  std::string text;
  for (const wire::FindingView& finding : view.findings) text += render_finding(finding, canvas);
  const auto count = [&](Severity severity) {
    return std::to_string(std::ranges::count(view.findings, severity, &wire::FindingView::severity));
  };
  return text +
         wire::fill(say::kFindings, language,
                    {{"errors", count(Severity::kError)},
                     {"warnings", count(Severity::kWarning)},
                     {"notices", count(Severity::kNotice)}}) +
         '\n';
}

}  // namespace tangram::cli
