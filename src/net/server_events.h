// Server-sent events (the HTML standard, section 9.2) as a client reads them.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tangram::net {

struct ServerEvent {
  std::string name;  // "event:"; empty when the server gave none
  std::string data;  // "data:", several lines joined by '\n'
  std::string id;    // "id:" of this event or of the last one before that had one
};

// Takes a stream apart, however it was cut into pieces. Not thread-safe.
class ServerEventReader {
 public:
  // An event that is larger is an error: a server must not fill a client's memory.
  static constexpr std::size_t kEventBytesMax = std::size_t{16} << 20;

  // False: `on_event` wanted no more. kInternal "client.answer.invalid" when the stream is none of events.
  // Comments, and blocks without data, are passed over.
  Result<bool> feed(std::string_view piece, const std::function<bool(const ServerEvent&)>& on_event);

  // The id of the last block that is whole, whether it had data or not: where to go on.
  const std::string& last_id() const { return last_id_; }

 private:
  void take_line(std::string_view line);

  std::string line_;  // the beginning of one that is not whole yet
  ServerEvent event_;
  std::string last_id_;
  bool has_data_ = false;
  bool after_return_ = false;  // the last character was '\r': a '\n' belongs to it
};

}  // namespace tangram::net
