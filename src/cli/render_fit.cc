#include "cli/render.h"
#include "wire/view_texts.h"

namespace tangram::cli {
namespace {

namespace say = wire::view;

std::string granted_line(const wire::FitView& view, const Canvas& canvas) {
  if (view.granted.empty()) return {};
  const std::string line = wire::fill(say::kWouldGet, canvas.language, {{"what", printable(view.granted)}});
  return "  " + hang_text(line, canvas.width, 2) + '\n';
}

std::string render_refusal(const wire::FitView& view, const Canvas& canvas) {
  std::string text = paint(canvas, Tone::kBad, wrap_text(printable(view.verdict), canvas.width, 2)) + '\n';
  for (const wire::ReasonView& reason : view.blockers) {
    if (!reason.hint.empty()) {
      const std::string hint = wire::fill(say::kHint, canvas.language, {{"hint", printable(reason.hint)}});
      text += "  " + hang_text(hint, canvas.width, 2) + '\n';
    }
    text += "  " + wire::fill(say::kSeeExplain, canvas.language, {{"code", printable(reason.code)}}) + '\n';
  }
  return text;
}

}  // namespace

std::string render_fit(const wire::FitView& view, const Canvas& canvas) {
  switch (view.answer) {
    case wire::FitAnswer::kNow:
      return paint(canvas, Tone::kGood, wrap_text(printable(view.verdict), canvas.width, 2)) + '\n' +
             granted_line(view, canvas);
    case wire::FitAnswer::kNever:
      return render_refusal(view, canvas);
    case wire::FitAnswer::kLater:
      break;
  }
  wire::WhyView why;
  why.job.tenant = view.tenant;
  why.verdict = view.verdict;
  why.blockers = view.blockers;
  why.remedies = view.remedies;
  why.position = view.position;
  why.queue_length = view.queue_length;
  why.estimated_start = view.estimated_start;
  why.assumption = view.assumption;
  return render_why(why, canvas) + granted_line(view, canvas);
}

}  // namespace tangram::cli
