// Result<T>: a value or an Error. The one alias, so that a later move to std::expected is one line.
#pragma once

#include <utility>

#include <tl/expected.hpp>

#include "base/error.h"

namespace tangram {

template <class T>
using Result = tl::expected<T, Error>;

// `return fail(...)` from any function that returns a Result.
inline tl::unexpected<Error> fail(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

inline tl::unexpected<Error> fail(Code code, std::string reason, std::string message, std::string hint = {},
                                  Details details = {}) {
  return fail(
      Error{code, std::move(reason), std::move(message), std::move(hint), std::move(details), nullptr});
}

}  // namespace tangram

#define TG_CONCAT_INNER(a, b) a##b
#define TG_CONCAT(a, b) TG_CONCAT_INNER(a, b)

// TG_TRY(auto file, open(path)); returns the error to the caller, or goes on with the value.
#define TG_TRY(declaration, expression)                                      \
  auto TG_CONCAT(tg_try_, __LINE__) = (expression);                          \
  if (!TG_CONCAT(tg_try_, __LINE__))                                         \
    return ::tangram::fail(std::move(TG_CONCAT(tg_try_, __LINE__)).error()); \
  declaration = std::move(TG_CONCAT(tg_try_, __LINE__)).value()

// The same for Result<void>.
#define TG_TRY_VOID(expression)                                               \
  do {                                                                        \
    auto tg_try_void = (expression);                                          \
    if (!tg_try_void) return ::tangram::fail(std::move(tg_try_void).error()); \
  } while (false)
