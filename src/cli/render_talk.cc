#include "cli/render.h"
#include "wire/texts.h"
#include "wire/view_texts.h"

namespace tangram::cli {
namespace {

namespace say = wire::view;

std::string result_word(const std::string& result, wire::Language language) {
  for (const wire::Text* text : {&say::kCreated, &say::kChanged, &say::kUnchanged}) {
    if (text->in(wire::Language::kEnglish) == result) return std::string(text->in(language));
  }
  return printable(result);
}

}  // namespace

std::string render_apply(const wire::ApplyAnswer& answer, const Canvas& canvas) {
  std::string text;
  for (const wire::ApplyItem& item : answer.items) {
    const Tone tone = item.result == "unchanged" ? Tone::kDim : Tone::kGood;
    text += printable(item.kind) + "/" + printable(item.name) + " " +
            paint(canvas, tone, result_word(item.result, canvas.language)) + '\n';
  }
  return text;
}

std::string render_version(const wire::VersionView& client, const std::optional<wire::VersionView>& server,
                           const Canvas&) {
  const auto line = [](std::string_view side, const std::string& version, const std::string& api) {
    return std::string(side) + printable(version) + " (API " + printable(api) + ")\n";
  };
  std::string text = line("tangram   ", client.version, client.api);
  text += server ? line("tangramd  ", server->version, server->api) : "tangramd  -\n";
  return text;
}

std::string render_error(const Error& error, const Canvas& canvas) {
  std::string text = paint(canvas, Tone::kBad, "tangram:") + " " + printable(error.to_string()) + '\n';
  const auto add = [&](const wire::Text& line, std::string_view place, const std::string& value) {
    text += "  " + wire::fill(line, canvas.language, {{place, value}}) + '\n';
  };
  if (!error.hint.empty()) add(say::kHint, "hint", printable(error.hint));
  // What is wrong with the line itself needs no further words.
  const bool more = !error.reason.starts_with("cli.") && wire::find_reason(error.reason) != nullptr;
  if (more) add(say::kSeeExplain, "code", error.reason);
  return text;
}

}  // namespace tangram::cli
