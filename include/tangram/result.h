// What a call of the Tangram client answers: a value, or an Error. Only the standard library is needed
// (C++20).
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace tangram::api {

// The classes of errors; what each means to HTTP and to the shell stands in docs/api.md.
enum class ErrorCode : std::uint8_t {
  kInvalidArgument,  // the request itself is wrong; sending it again changes nothing
  kNotFound,
  kAlreadyExists,
  kPermissionDenied,    // the caller is known, and may not
  kUnauthenticated,     // the caller is not known
  kFailedPrecondition,  // right request, wrong state (a tenant that still has jobs)
  kPolicyRefused,       // refused by quota or policy, and would always be
  kNotNow,              // would be possible later (JobRequest::no_wait)
  kResourceExhausted,   // a limit of the service itself (queue length, rate, body size)
  kAborted,             // given up, or lost a race: try again
  kUnavailable,         // the daemon, the driver or the disk is away
  kDeadlineExceeded,
  kDataLoss,
  kUnimplemented,
  kInternal,  // a bug
};

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string reason;   // stable token for programs: "quota.npus.above_limit", "client.unreachable"
  std::string message;  // one sentence with names and numbers
  std::string hint;     // what to do next; may be empty
};

// The exception of Result::value(), for programs that prefer those.
class Failure : public std::runtime_error {
 public:
  explicit Failure(Error error)
      : std::runtime_error(error.message + (error.hint.empty() ? "" : " (" + error.hint + ")")),
        error_(std::move(error)) {}
  const Error& error() const noexcept { return error_; }

 private:
  Error error_;
};

// A value or an Error, like std::expected<T, Error> of C++23. Looking at what is not there is a bug of the
// caller: operator* and error() throw std::bad_variant_access; value() throws Failure.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : content_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const noexcept { return content_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  T& operator*() & { return std::get<0>(content_); }
  const T& operator*() const& { return std::get<0>(content_); }
  T&& operator*() && { return std::get<0>(std::move(content_)); }
  T* operator->() { return &std::get<0>(content_); }
  const T* operator->() const { return &std::get<0>(content_); }

  T& value() & {
    require();
    return std::get<0>(content_);
  }
  const T& value() const& {
    require();
    return std::get<0>(content_);
  }
  T value() && {
    require();
    return std::get<0>(std::move(content_));
  }
  const Error& error() const { return std::get<1>(content_); }

 private:
  void require() const {
    if (!has_value()) throw Failure(error());
  }

  std::variant<T, Error> content_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : content_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const noexcept { return content_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  void value() const {
    if (!has_value()) throw Failure(error());
  }
  const Error& error() const { return std::get<1>(content_); }

 private:
  std::variant<std::monostate, Error> content_;
};

}  // namespace tangram::api
