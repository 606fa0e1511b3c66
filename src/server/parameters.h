// What stands behind the '?' and in the headers of a request, read as strictly as a body, by the table of the
// call.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "net/http.h"
#include "wire/api_table.h"

namespace tangram::server {

// The values of one request. A name that the call's table does not have is a bug of the handler.
class Parameters {
 public:
  // kInvalidArgument names the parameter: "input.unknown_field", "input.duplicate_key", "input.bad_value",
  // "input.out_of_range". Unknown headers are no error.
  static Result<Parameters> read(const wire::Operation& operation, const net::Request& request);

  std::optional<std::int64_t> number(
      std::string_view name) const;                             // kInteger, kBytes, kRate; kDuration in ms
  bool flag(std::string_view name) const;                       // absent: false
  std::string text(std::string_view name) const;                // absent: ""
  std::vector<std::string> texts(std::string_view name) const;  // of a repeatable one

 private:
  using Value = std::variant<std::string, std::int64_t, bool>;

  Result<void> take(const wire::Parameter& parameter, std::string_view text);
  const std::vector<Value>& values(std::string_view name) const;

  std::map<std::string, std::vector<Value>, std::less<>> values_;
};

}  // namespace tangram::server
