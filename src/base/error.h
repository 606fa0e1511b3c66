// What went wrong, in a form that serves a machine (code, reason), a person (message, hint) and a log
// (cause).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tangram {

// Closed set, on the scale of google.rpc.Code. One table in `wire` maps it to an HTTP status and an exit
// code.
enum class Code : std::uint8_t {
  kInvalidArgument,  // the request itself is wrong; sending it again changes nothing
  kNotFound,
  kAlreadyExists,
  kPermissionDenied,    // known caller, not allowed
  kUnauthenticated,     // caller not known
  kFailedPrecondition,  // right request, wrong state (tenant still has jobs)
  kPolicyRefused,       // refused by quota or policy, and would always be
  kNotNow,              // would be possible later (--no-wait)
  kResourceExhausted,   // a limit of the service itself (queue length, rate, body size)
  kAborted,             // lost a race; try again
  kUnavailable,         // the thing asked is away (daemon, device, store)
  kDeadlineExceeded,
  kDataLoss,
  kUnimplemented,
  kInternal,  // a bug
};

std::string_view to_string(Code code);

// A typed number or text that the message also speaks of: requested, used, limit, free, node, npu.
using DetailValue = std::variant<std::int64_t, std::string>;
using Details = std::vector<std::pair<std::string, DetailValue>>;

struct Error {
  Code code = Code::kInternal;
  std::string reason;   // stable token for machines, "quota.npus.exceeded"
  std::string message;  // one sentence, lower case, names the object and the numbers
  std::string hint;     // what to do next; may be empty; holds a command that can be run where there is one
  Details details;
  std::shared_ptr<const Error> cause;

  // The message with the causes behind it: "cannot open journal: disk I/O error".
  std::string to_string() const;
};

// Adds context: the new message comes first, `error` becomes its cause; code and reason are kept.
Error wrap(std::string message, Error error);

// The text of an errno value, thread-safe.
std::string errno_text(int error_number);

// An Error for a failed system call: "cannot open /x/y: permission denied".
Error system_error(std::string what, int error_number);

}  // namespace tangram
