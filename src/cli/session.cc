#include "cli/session.h"

#include <chrono>
#include <ostream>
#include <utility>

#include "cli/known_names.h"
#include "cli/render.h"
#include "wire/cli_texts.h"
#include "wire/errors.h"
#include "wire/sentences.h"

namespace tangram::cli {
namespace {

namespace say = wire::say;

}  // namespace

Session::Session(Streams& streams, client::ApiClient& api, SessionOptions options)
    : streams_(streams),
      api_(api),
      options_(std::move(options)),
      patience_({.on_wait = [this](const Error& error) { say_why_it_waits(error); }}) {}

Canvas Session::canvas() const {
  const bool for_programs = options_.table.is_for_programs();
  const wire::Language language = for_programs ? wire::Language::kEnglish : options_.language;
  return {streams_.width,   streams_.colour_out && !for_programs,
          wall_clock_now(), language,
          options_.table,   streams_.unicode_out};
}

int Session::emit(const std::string& json, const std::function<std::string(const Canvas&)>& table) {
  Result<std::string> text = std::string();
  switch (options_.format) {
    case OutputFormat::kTable:
      text = table(canvas());
      break;
    case OutputFormat::kJson:
      text = wire::to_pretty_json(json);
      break;
    case OutputFormat::kYaml:
      text = wire::to_yaml(json);
      break;
  }
  if (!text) return report(text.error());
  streams_.out << *text;
  if (!text->empty() && text->back() != '\n') streams_.out << '\n';
  streams_.out.flush();
  if (streams_.out) return wire::kExitOk;
  return report(Error{Code::kUnavailable,
                      "cli.output.failed",
                      "cannot write the answer to standard output",
                      "",
                      {},
                      nullptr});
}

void Session::say(std::string_view sentence) {
  if (options_.format == OutputFormat::kTable && !options_.table.ids) streams_.err << sentence << std::endl;
}

void Session::say(const wire::Text& sentence, wire::Places places) {
  say(wire::fill(sentence, options_.language, places));
}

// Of names only the daemon knows which there are, and of options only the command.
Error Session::with_suggestion(Error error) {
  if (error.reason == "token.missing") error.hint = say::kGiveToken.in(options_.language);
  if (error.code != Code::kNotFound) return error;
  client::ApiClient api(hasty(options_.client));
  const std::string meant = meant_name(api, error);
  if (!meant.empty())
    error.hint = wire::fill(say::kDidYouMean, options_.language, {{"text", printable(meant)}});
  return error;
}

int Session::report(const Error& error) {
  streams_.err << render_error(wire::localised(with_suggestion(error), options_.language),
                               {streams_.width, streams_.colour_err, {}, options_.language})
               << std::flush;
  // A bug of the daemon's is to a script a daemon that cannot be used; 70 is for bugs of this program.
  return error.code == Code::kInternal ? wire::kExitUnavailable : wire::exit_code(error);
}

// A tenant above its rate may be held back at every call: that is said once.
void Session::say_why_it_waits(const Error& error) {
  if (error.reason.starts_with("client.")) return say(say::kDaemonAway);
  if (!std::exchange(said_busy_, true)) {
    say(say::kDaemonBusy, {{"reason", printable(wire::localised(error, options_.language).message)}});
  }
}

TimeMs wall_clock_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return TimeMs(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

}  // namespace tangram::cli
