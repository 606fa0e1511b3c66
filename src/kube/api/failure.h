// What the API server says when it says no. Its `Status` becomes an Error whose reason is one of a closed
// set, so that a caller switches over what to do instead of comparing numbers. Pure functions. Source:
// k8s.io/apimachinery meta/v1 Status, StatusReason, StatusDetails; API concepts, "Resource versions".
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/api/json.h"
#include "net/http.h"

namespace tangram::kube {

enum class Failure : std::uint8_t {
  kUnauthorized,     // 401: the token or certificate is not accepted (any more)
  kForbidden,        // 403: the role does not allow it, or admission refused it
  kNotFound,         // 404: the object, or the whole resource (a CRD that is not installed)
  kAlreadyExists,    // 409 on create
  kConflict,         // 409 otherwise: another resource version, uid or field manager
  kGone,             // 410: the resource version or the continue token is too old; list anew
  kInvalid,          // 422: the object breaks a rule of its kind
  kTooManyRequests,  // 429: later; see retry_after()
  kBudget,           // 429 of an eviction: a PodDisruptionBudget stands against it
  kUnavailable,      // 5xx: the server or what stands behind it is not well
  kTimeout,          // the server (504) or the way to it took too long
  kConnection,       // no answer: nobody there, cut off, not trusted
  kInterrupted,      // given up by the caller's Interrupt
  kUnreadable,       // the answer is no HTTP, no JSON, or larger than allowed
  kOther,            // any other refusal: the request itself is wrong
};

// Of an Error that this folder returned; kOther for any other.
Failure failure_of(const Error& error);
std::string_view reason_of(Failure failure);  // "kube.conflict"

// Whether the same request may succeed later without anybody doing anything.
bool is_transient(Failure failure);

// How long the server asks to wait: of its header Retry-After or its Status, at most five minutes.
std::optional<std::chrono::milliseconds> retry_after(const Error& error);

// Of an answer outside 200-299. `what` was asked: "get pods team-a/train-0".
Error failure_from_answer(const net::Response& answer, std::string_view what);
// Of a `Status` that came as an object, as in an ERROR event of a watch.
Error failure_from_status(const json::object& status, std::string_view what);
// Of an Error of net::HttpClient. `where`: the server, for the message.
Error failure_from_way(const Error& error, std::string_view what, std::string_view where);

}  // namespace tangram::kube
