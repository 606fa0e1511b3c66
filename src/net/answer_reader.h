// One answer of HTTP/1.1 as a client reads it: the head first, then the body piece by piece. Knows nothing of
// sockets.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/client_wait.h"
#include "net/http.h"

namespace tangram::net {

// The bytes of a connection in their order, and what was read of them beyond the last answer. One thread at a
// time.
class Incoming {
 public:
  // At least one byte, or 0 at the end of the stream.
  using Read = std::function<Result<std::size_t>(void* into, std::size_t size, ClientDeadline deadline)>;

  explicit Incoming(Read read) : read_(std::move(read)) {}

  std::string_view waiting() const { return std::string_view(bytes_).substr(begin_); }
  void consume(std::size_t count);
  // False at the end of the stream.
  Result<bool> read_more(ClientDeadline deadline);

  bool any_read = false;  // since it was set back

 private:
  Read read_;
  std::string bytes_;
  std::size_t begin_ = 0;  // what is before it was used
};

// For one answer; `incoming` must outlive it. Not thread-safe. Errors: kInternal "client.answer.invalid",
// kUnavailable "client.connection_lost" when the stream ends before the answer does, and those of the
// reading.
class AnswerReader {
 public:
  // `head_only`: the answer to HEAD, which has no body whatever its head says.
  AnswerReader(Incoming& incoming, bool head_only);
  ~AnswerReader();
  AnswerReader(const AnswerReader&) = delete;
  AnswerReader& operator=(const AnswerReader&) = delete;

  // Status and headers; at most 64 KiB. Interim answers (100 to 199) are skipped.
  Result<Response> read_head(ClientDeadline deadline);

  // The next piece of the body, valid until the next call; empty at its end. Its length is counted by whoever
  // collects it.
  Result<std::string_view> read_body(ClientDeadline deadline);

  // After the end of the body: whether another answer may follow on the connection.
  bool keeps_alive() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tangram::net
