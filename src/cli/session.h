// What every command works with: the API, the streams, and the form in which it answers.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/text.h"
#include "client/api_client.h"
#include "wire/types.h"

namespace tangram::cli {

enum class OutputFormat : std::uint8_t { kTable, kJson, kYaml };

// The streams of the process: `out` carries data, `err` carries talk.
struct Streams {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  bool colour_out = false;
  bool colour_err = false;
  std::size_t width = 80;
};

class Session {
 public:
  Session(Streams& streams, client::ApiClient& api, OutputFormat format);

  client::ApiClient& api() { return api_; }
  Streams& streams() { return streams_; }
  OutputFormat format() const { return format_; }
  Canvas canvas() const;

  // The answer on `out`: `table()` or the JSON text as it is asked for. The exit code: 0, or that of a
  // failure.
  int emit(const std::string& json, const std::function<std::string(const Canvas&)>& table);

  // A sentence on `err`; nothing with -o json or yaml, where a machine reads.
  void say(std::string_view sentence);

  // The error on `err`, and its exit code.
  int report(const Error& error);

 private:
  Streams& streams_;
  client::ApiClient& api_;
  OutputFormat format_;
};

// How long a command waits for a daemon that went away, and what it says meanwhile.
class Patience {
 public:
  explicit Patience(Session& session) : session_(session) {}
  // Whether to try again after `error`: says once that it waits, and sleeps before it answers yes.
  bool again_after(const Error& error);

 private:
  Session& session_;
  TimeMs since_ = TimeMs::never();
};

// For a command that is under way: while the daemon is away, tries again until it answers or the patience is
// over.
template <class T>
Result<T> patiently(Session& session, const std::function<Result<T>()>& call) {
  Patience patience(session);
  while (true) {
    Result<T> result = call();
    if (result || !patience.again_after(result.error())) return result;
  }
}

// For a command's first call: a daemon that is not there is an error at once, one that goes away while it
// works on the call is waited for. The call must be one that may be sent twice.
template <class T>
Result<T> once_reached(Session& session, const std::function<Result<T>()>& call) {
  Result<T> result = call();
  if (result || result.error().reason != "client.connection_lost") return result;
  return patiently<T>(session, call);
}

// Whether the way to the daemon failed, as opposed to the daemon saying no.
bool is_connection_error(const Error& error);

// Now, on the wall clock.
TimeMs wall_clock_now();

}  // namespace tangram::cli
