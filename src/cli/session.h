// What every command works with: the API, the streams, and the form in which it answers.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/client_options.h"
#include "cli/text.h"
#include "client/api_client.h"
#include "client/patience.h"
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
  bool terminal_out = false;  // somebody looks at `out`, and it can be cleared
  bool unicode_out = false;   // who reads `out` reads UTF-8
};

struct SessionOptions {
  OutputFormat format = OutputFormat::kTable;
  wire::Language language = wire::Language::kEnglish;
  TableView table = {};
  client::ApiClientOptions client = {};  // how the API was reached
};

class Session {
 public:
  Session(Streams& streams, client::ApiClient& api, SessionOptions options);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  client::ApiClient& api() { return api_; }
  Streams& streams() { return streams_; }
  OutputFormat format() const { return options_.format; }
  wire::Language language() const { return options_.language; }
  Canvas canvas() const;

  // The answer on `out`: `table()` or the JSON text as it is asked for. The exit code: 0, or that of a
  // failure.
  int emit(const std::string& json, const std::function<std::string(const Canvas&)>& table);

  // A sentence on `err`; nothing with -o json or yaml, where a machine reads.
  void say(std::string_view sentence);
  void say(const wire::Text& sentence, wire::Places places = {});

  // For the calls of this command: waits for a daemon that is away or busy, and says so.
  client::Patience& patience() { return patience_; }

  // The error on `err`, with a suggestion where a name is near, and its exit code.
  int report(const Error& error);

 private:
  Error with_suggestion(Error error);
  void say_why_it_waits(const Error& error);

  Streams& streams_;
  client::ApiClient& api_;
  SessionOptions options_;
  client::Patience patience_;
  bool said_busy_ = false;
};

// A call of the command, until `end` at most: see client/patience.h.
template <class T>
Result<T> patiently(Session& session, const std::function<Result<T>()>& call,
                    client::Patience::Deadline end = {}) {
  return client::patiently<T>(session.patience(), call, end);
}

// Now, on the wall clock.
TimeMs wall_clock_now();

}  // namespace tangram::cli
