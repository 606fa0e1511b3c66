#include "kube/api/failure.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/quote.h"

namespace tangram::kube {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kRetryMost = std::chrono::minutes(5);
constexpr std::string_view kRetryDetail = "retry_after_ms";

struct Known {
  Failure failure;
  Code code;
  std::string_view reason;
  std::string_view hint;
};

// `Code::…, "kube.…"` stand side by side for tools/check_tree.py, which wants a sentence for each.
constexpr std::array kKnown = {
    Known{Failure::kUnauthorized, Code::kUnauthenticated, "kube.unauthorized",
          "check the token or the client certificate"},
    Known{Failure::kForbidden, Code::kPermissionDenied, "kube.forbidden",
          "check the role of the service account"},
    Known{Failure::kNotFound, Code::kNotFound, "kube.not_found", ""},
    Known{Failure::kAlreadyExists, Code::kAlreadyExists, "kube.already_exists", ""},
    Known{Failure::kConflict, Code::kAborted, "kube.conflict", "read the object again, then try again"},
    Known{Failure::kGone, Code::kAborted, "kube.gone", "list anew"},
    Known{Failure::kInvalid, Code::kInvalidArgument, "kube.invalid", ""},
    Known{Failure::kTooManyRequests, Code::kResourceExhausted, "kube.too_many_requests", "try again later"},
    Known{Failure::kBudget, Code::kNotNow, "kube.disruption_budget", "wait until more of its Pods are ready"},
    Known{Failure::kUnavailable, Code::kUnavailable, "kube.unavailable", "look at the log of the API server"},
    Known{Failure::kTimeout, Code::kDeadlineExceeded, "kube.timeout", "try again, or allow more time"},
    Known{Failure::kConnection, Code::kUnavailable, "kube.connection",
          "check the address of the API server and its certificate"},
    Known{Failure::kInterrupted, Code::kAborted, "kube.interrupted", ""},
    Known{Failure::kUnreadable, Code::kInternal, "kube.answer.invalid", ""},
    Known{Failure::kOther, Code::kInvalidArgument, "kube.refused", ""},
};

const Known& known(Failure failure) {
  return *std::find_if(kKnown.begin(), kKnown.end(),
                       [failure](const Known& one) { return one.failure == failure; });
}

Error make(Failure failure, std::string message) {
  const Known& one = known(failure);
  return {one.code, std::string(one.reason), std::move(message), std::string(one.hint), {}, nullptr};
}

bool has_cause(const json::object& status, std::string_view reason) {
  const json::array* const causes = array_at(status, {"details", "causes"});
  if (causes == nullptr) return false;
  return std::any_of(causes->begin(), causes->end(), [reason](const json::value& cause) {
    return cause.is_object() && text_at(cause.get_object(), {"reason"}) == reason;
  });
}

Failure classify(std::int64_t code, const json::object& status) {
  switch (code) {
    case 401:
      return Failure::kUnauthorized;
    case 403:
      return Failure::kForbidden;
    case 404:
      return Failure::kNotFound;
    case 409:
      return text_at(status, {"reason"}) == "AlreadyExists" ? Failure::kAlreadyExists : Failure::kConflict;
    case 410:
      return Failure::kGone;
    case 422:
      return Failure::kInvalid;
    case 429:
      return has_cause(status, "DisruptionBudget") ? Failure::kBudget : Failure::kTooManyRequests;
    case 504:
      return Failure::kTimeout;
    default:
      return code >= 500 && code <= 599 ? Failure::kUnavailable : Failure::kOther;
  }
}

std::optional<milliseconds> bounded_seconds(std::int64_t seconds) {
  if (seconds < 0) return std::nullopt;
  return std::min<milliseconds>(std::chrono::seconds(std::min<std::int64_t>(seconds, 86'400)), kRetryMost);
}

// Seconds only: the API server never sends a date.
std::optional<milliseconds> header_retry_after(const net::Headers& headers) {
  const auto text = headers.get("Retry-After");
  if (!text) return std::nullopt;
  std::int64_t seconds = 0;
  const auto [end, problem] = std::from_chars(text->data(), text->data() + text->size(), seconds);
  if (problem != std::errc() || end != text->data() + text->size()) return std::nullopt;
  return bounded_seconds(seconds);
}

Error failure_from(std::int64_t code, const json::object& status, std::string_view what,
                   std::string_view said) {
  std::string message = "the API server refused to " + std::string(what) + " (" + std::to_string(code) + ")";
  if (!said.empty()) message += ": " + printable(said);
  Error error = make(classify(code, status), std::move(message));
  error.details.emplace_back("status", code);
  if (const auto seconds = number_at(status, {"details", "retryAfterSeconds"}); seconds && *seconds > 0) {
    if (const auto rest = bounded_seconds(*seconds)) error.details.emplace_back(kRetryDetail, rest->count());
  }
  return error;
}

}  // namespace

Failure failure_of(const Error& error) {
  const auto* const found = std::find_if(kKnown.begin(), kKnown.end(),
                                         [&](const Known& one) { return one.reason == error.reason; });
  return found != kKnown.end() ? found->failure : Failure::kOther;
}

std::string_view reason_of(Failure failure) {
  return known(failure).reason;
}

bool is_transient(Failure failure) {
  switch (failure) {
    case Failure::kTooManyRequests:
    case Failure::kBudget:
    case Failure::kUnavailable:
    case Failure::kTimeout:
    case Failure::kConnection:
      return true;
    case Failure::kUnauthorized:
    case Failure::kForbidden:
    case Failure::kNotFound:
    case Failure::kAlreadyExists:
    case Failure::kConflict:
    case Failure::kGone:
    case Failure::kInvalid:
    case Failure::kInterrupted:
    case Failure::kUnreadable:
    case Failure::kOther:
      return false;
  }
  return false;
}

std::optional<milliseconds> retry_after(const Error& error) {
  for (const auto& [name, value] : error.details) {
    const auto* const number = std::get_if<std::int64_t>(&value);
    if (name == kRetryDetail && number != nullptr) return milliseconds(*number);
  }
  return std::nullopt;
}

Error failure_from_answer(const net::Response& answer, std::string_view what) {
  // A proxy or a load balancer answers with a page of its own; its text is shown, whatever it is.
  const auto body = parse_object(answer.body);
  const bool is_status = body && text_at(*body, {"kind"}) == "Status";
  const json::object none;
  const std::string_view said = is_status ? text_at(*body, {"message"}) : std::string_view(answer.body);
  Error error = failure_from(answer.status, is_status ? *body : none, what, said);
  if (const auto rest = header_retry_after(answer.headers)) {
    std::erase_if(error.details, [](const auto& detail) { return detail.first == kRetryDetail; });
    error.details.emplace_back(kRetryDetail, rest->count());
  }
  return error;
}

Error failure_from_status(const json::object& status, std::string_view what) {
  std::int64_t code = number_at(status, {"code"}).value_or(500);
  const std::string_view reason = text_at(status, {"reason"});
  if (reason == "Expired" || reason == "Gone") code = 410;
  return failure_from(code, status, what, text_at(status, {"message"}));
}

Error failure_from_way(const Error& error, std::string_view what, std::string_view where) {
  Failure failure = Failure::kConnection;
  std::string why = " was cut off";
  if (error.reason == "client.timeout") {
    failure = Failure::kTimeout;
    why = " took too long";
  } else if (error.reason == "client.interrupted") {
    failure = Failure::kInterrupted;
    why = " was given up";
  } else if (error.reason.starts_with("client.answer.")) {
    failure = Failure::kUnreadable;
    why = " brought an answer that cannot be read";
  } else if (error.reason == "client.unreachable" || error.reason.starts_with("client.tls.")) {
    why = " found no way";
  } else if (error.reason != "client.connection_lost") {
    failure = Failure::kOther;
    why = " could not be sent";
  }
  Error made =
      make(failure, "the request to " + std::string(what) + why + " (API server " + std::string(where) + ")");
  made.cause = std::make_shared<const Error>(error);
  return made;
}

}  // namespace tangram::kube
