#include "cli/render.h"

namespace tangram::cli {
namespace {

// "quota" of "quota.npus.exceeded": what kind of thing stands in the way.
std::string reason_class(std::string_view code) {
  return printable(code.substr(0, code.find('.')));
}

std::string render_blockers(std::span<const wire::ReasonView> blockers, const Canvas& canvas) {
  std::size_t class_width = 0;
  for (const wire::ReasonView& blocker : blockers) {
    class_width = std::max(class_width, display_width(reason_class(blocker.code)));
  }
  std::string text;
  for (std::size_t i = 0; i < blockers.size(); ++i) {
    std::string head = "  " + std::to_string(i + 1) + " ";
    const std::string word = reason_class(blockers[i].code);
    head += word + std::string(class_width - display_width(word) + 2, ' ');
    const std::size_t indent = display_width(head);
    const std::size_t room = canvas.width > indent ? canvas.width : indent + 1;
    text += head;
    // Spaces of the head must survive the wrapping, so only what comes behind it is wrapped.
    const std::string body = wrap_text(printable(blockers[i].message), room - indent, 0);
    for (const char c : body) {
      text += c;
      if (c == '\n') text += std::string(indent, ' ');
    }
    text += '\n';
  }
  return text;
}

std::string render_remedies(std::span<const wire::RemedyView> remedies, const Canvas& canvas) {
  std::string text = "  would start if:\n";
  for (std::size_t i = 0; i < remedies.size(); ++i) {
    const wire::RemedyView& remedy = remedies[i];
    std::string line = i < 26 ? std::string(1, static_cast<char>('a' + i)) : std::to_string(i + 1);
    line.append(") ").append(printable(remedy.text));
    line.append(remedy.starts ? " [replayed: starts]" : " [replayed: still waits]");
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
  const std::string verdict = view.verdict.empty() ? render_state(view.job) : printable(view.verdict);
  std::string text = paint(canvas, Tone::kBold, wrap_text(verdict, canvas.width, 2)) + '\n';
  text += render_blockers(view.blockers, canvas);
  if (!view.remedies.empty()) text += render_remedies(view.remedies, canvas);
  if (!view.position && view.blockers.empty()) return text;
  if (view.estimated_start && !view.assumption.empty()) {
    const std::int64_t wait_ms = view.estimated_start->value - canvas.now.value;
    text +=
        "  estimate: starts at " + format_time(*view.estimated_start) + " (in " + format_age(wait_ms) + ")\n";
    text += wrap_text("assumes: " + printable(view.assumption), canvas.width - 2, 4).insert(0, "  ") + '\n';
  } else {
    text += "  estimate: unknown\n";
  }
  text += "  position " + (view.position ? std::to_string(*view.position) : std::string("-")) + " of " +
          std::to_string(view.queue_length) + " · see also: tangram queue, tangram quota " +
          printable(view.job.tenant) + '\n';
  return text;
}

}  // namespace tangram::cli
