#include "cli/session.h"

#include <chrono>
#include <ostream>

#include "cli/render.h"
#include "wire/errors.h"

namespace tangram::cli {

Session::Session(Streams& streams, client::ApiClient& api, OutputFormat format)
    : streams_(streams), api_(api), format_(format) {}

Canvas Session::canvas() const {
  return {streams_.width, streams_.colour_out, wall_clock_now()};
}

int Session::emit(const std::string& json, const std::function<std::string(const Canvas&)>& table) {
  Result<std::string> text = std::string();
  switch (format_) {
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
  if (format_ == OutputFormat::kTable) streams_.err << sentence << std::endl;
}

int Session::report(const Error& error) {
  streams_.err << render_error(error, {streams_.width, streams_.colour_err, {}}) << std::flush;
  // A bug of the daemon's is to a script a daemon that cannot be used; 70 is for bugs of this program.
  return error.code == Code::kInternal ? wire::kExitUnavailable : wire::exit_code(error);
}

client::Patience patience_of(Session& session) {
  return client::Patience(
      [&session] { session.say("tangramd does not answer; waiting for it to come back"); });
}

TimeMs wall_clock_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return TimeMs(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

}  // namespace tangram::cli
