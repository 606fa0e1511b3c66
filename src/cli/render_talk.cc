#include "cli/render.h"

namespace tangram::cli {

std::string render_apply(const wire::ApplyAnswer& answer, const Canvas& canvas) {
  std::string text;
  for (const wire::ApplyItem& item : answer.items) {
    const Tone tone = item.result == "unchanged" ? Tone::kDim : Tone::kGood;
    text += printable(item.kind) + "/" + printable(item.name) + " " +
            paint(canvas, tone, printable(item.result)) + '\n';
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
  if (!error.hint.empty()) text += "  hint: " + printable(error.hint) + '\n';
  return text;
}

}  // namespace tangram::cli
