#include "base/error.h"

#include <cerrno>
#include <system_error>

namespace tangram {

std::string_view to_string(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
      return "invalid_argument";
    case Code::kNotFound:
      return "not_found";
    case Code::kAlreadyExists:
      return "already_exists";
    case Code::kPermissionDenied:
      return "permission_denied";
    case Code::kUnauthenticated:
      return "unauthenticated";
    case Code::kFailedPrecondition:
      return "failed_precondition";
    case Code::kPolicyRefused:
      return "policy_refused";
    case Code::kNotNow:
      return "not_now";
    case Code::kResourceExhausted:
      return "resource_exhausted";
    case Code::kAborted:
      return "aborted";
    case Code::kUnavailable:
      return "unavailable";
    case Code::kDeadlineExceeded:
      return "deadline_exceeded";
    case Code::kDataLoss:
      return "data_loss";
    case Code::kUnimplemented:
      return "unimplemented";
    case Code::kInternal:
      return "internal";
  }
  return "internal";
}

std::string Error::to_string() const {
  std::string text = message;
  for (const Error* at = cause.get(); at != nullptr; at = at->cause.get()) {
    text += ": ";
    text += at->message;
  }
  return text;
}

Error wrap(std::string message, Error error) {
  Error outer;
  outer.code = error.code;
  outer.reason = error.reason;
  outer.hint = error.hint;
  outer.details = error.details;
  outer.message = std::move(message);
  outer.cause = std::make_shared<const Error>(std::move(error));
  return outer;
}

std::string errno_text(int error_number) {
  return std::system_category().message(error_number);
}

Error system_error(std::string what, int error_number) {
  Error error;
  switch (error_number) {
    case ENOENT:
      error.code = Code::kNotFound;
      break;
    case EACCES:
    case EPERM:
      error.code = Code::kPermissionDenied;
      break;
    case EEXIST:
      error.code = Code::kAlreadyExists;
      break;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EAGAIN:  // of fork(2) and clone(2): no process is left to give
      error.code = Code::kResourceExhausted;
      break;
    default:
      error.code = Code::kUnavailable;
      break;
  }
  error.reason = "system.errno";
  error.message = std::move(what) + ": " + errno_text(error_number);
  error.details.emplace_back("errno", static_cast<std::int64_t>(error_number));
  return error;
}

}  // namespace tangram
