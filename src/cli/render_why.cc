#include "cli/render.h"
#include "wire/view_texts.h"

namespace tangram::cli {
namespace {

namespace say = wire::view;

// "quota" of "quota.npus.exceeded": what kind of thing stands in the way.
std::string reason_class(std::string_view code, wire::Language language) {
  const std::string_view kind = code.substr(0, code.find('.'));
  for (const wire::Text* text : {&say::kClassQuota, &say::kClassCapacity, &say::kClassRequest}) {
    if (text->in(wire::Language::kEnglish) == kind) return std::string(text->in(language));
  }
  return printable(kind);
}

std::string render_blockers(std::span<const wire::ReasonView> blockers, const Canvas& canvas) {
  std::size_t class_width = 0;
  for (const wire::ReasonView& blocker : blockers) {
    class_width = std::max(class_width, display_width(reason_class(blocker.code, canvas.language)));
  }
  std::string text;
  for (std::size_t i = 0; i < blockers.size(); ++i) {
    std::string head = "  " + std::to_string(i + 1) + " ";
    const std::string word = reason_class(blockers[i].code, canvas.language);
    head += word + std::string(class_width - display_width(word) + 2, ' ');
    text += head + hang_text(printable(blockers[i].message), canvas.width, display_width(head)) + '\n';
  }
  return text;
}

std::string render_remedies(std::span<const wire::RemedyView> remedies, const Canvas& canvas) {
  std::string text = "  " + std::string(say::kWouldStartIf.in(canvas.language)) + '\n';
  for (std::size_t i = 0; i < remedies.size(); ++i) {
    const wire::RemedyView& remedy = remedies[i];
    std::string line = i < 26 ? std::string(1, static_cast<char>('a' + i)) : std::to_string(i + 1);
    line.append(") ").append(printable(remedy.text));
    line.append(" ").append((remedy.starts ? say::kReplayedStarts : say::kReplayedWaits).in(canvas.language));
    const std::string wrapped = wrap_text(line, canvas.width > 8 ? canvas.width - 4 : 4, 3);
    std::string body = "    ";
    for (const char c : wrapped) {
      body += c;
      if (c == '\n') body += "    ";
    }
    text += paint(canvas, remedy.starts ? Tone::kGood : Tone::kPlain, body) + '\n';
    if (!remedy.command.empty()) text += "       $ " + printable(remedy.command) + '\n';
  }
  return text;
}

}  // namespace

std::string render_why(const wire::WhyView& view, const Canvas& canvas) {
  const wire::Language language = canvas.language;
  const std::string verdict =
      view.verdict.empty() ? render_state(view.job, language) : printable(view.verdict);
  std::string text = paint(canvas, Tone::kBold, wrap_text(verdict, canvas.width, 2)) + '\n';
  text += render_blockers(view.blockers, canvas);
  if (!view.remedies.empty()) text += render_remedies(view.remedies, canvas);
  if (!view.position && view.blockers.empty()) return text;
  if (view.estimated_start && !view.assumption.empty()) {
    const std::string wait = format_age(view.estimated_start->value - canvas.now.value);
    text +=
        "  " +
        wire::fill(say::kEstimate, language, {{"time", format_time(*view.estimated_start)}, {"wait", wait}}) +
        '\n';
    const std::string assumption = printable(view.assumption);
    text +=
        "  " +
        wrap_text(wire::fill(say::kAssumes, language, {{"assumption", assumption}}), canvas.width - 2, 4) +
        '\n';
  } else {
    text += "  " + std::string(say::kEstimateUnknown.in(language)) + '\n';
  }
  const std::string commands = "tangram queue" + std::string(say::kListComma.in(language)) +
                               "tangram quota " + printable(view.job.tenant);
  const std::string position = view.position ? std::to_string(*view.position) : "-";
  text +=
      "  " +
      wire::fill(
          say::kPositionOf, language,
          {{"position", position}, {"length", std::to_string(view.queue_length)}, {"commands", commands}}) +
      '\n';
  if (view.blockers.empty()) return text;
  const std::string code = printable(view.blockers.front().code);
  return text + "  " + wire::fill(say::kSeeExplain, language, {{"code", code}}) + '\n';
}

}  // namespace tangram::cli
