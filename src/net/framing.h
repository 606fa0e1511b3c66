// Where a request ends, told strictly. Whatever two readers of the same bytes could read differently is
// refused (RFC 9112, 2.2, 5.2 and 6): behind a proxy that reads it the other way, the rest of one request
// would be taken for the beginning of the next, which may be another caller's. The parser below forgives some
// of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "net/http.h"

namespace tangram::net {

// Finds the end of a head, and lines that end or go on in a way that is not beyond doubt. Not thread-safe.
class HeadScanner {
 public:
  enum class Verdict : std::uint8_t { kMore, kWhole, kMalformed };

  // `so_far`: all that has come of the head, and perhaps of what follows it. It only grows from call to call;
  // what was looked at before is not looked at again. No more calls after another verdict than kMore.
  Verdict scan(std::string_view so_far);

  std::size_t length() const { return at_; }         // kWhole: of the head with its empty line
  std::string_view fault() const { return fault_; }  // kMalformed: "a control character"

 private:
  std::string_view fault_at(std::string_view text) const;

  std::size_t at_ = 0;    // bytes looked at
  std::size_t line_ = 0;  // where the line began
  std::string_view fault_;
};

// The answer to a request whose head leaves open how long its body is, who asks, or what is asked: 400
// "http.request.invalid" (also when HTTP/1.1 names no host), or 501 "http.transfer_coding.unsupported" for a
// coding beside chunked, or 417 "http.expectation.unsupported" when its sender may wait for something before
// it sends the body. The connection must be closed behind it. `version`: 10 or 11.
std::optional<Response> framing_problem(const Headers& headers, unsigned version);

// Whether the sender waits for 100 before it sends its body. HTTP/1.0 knows no such answer.
bool wants_continue(const Headers& headers, unsigned version);

}  // namespace tangram::net
