// What stands behind the '?', read as strictly as a body.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http.h"

namespace tangram::server {

// Every parameter is one of `known` and only `repeatable` stands more than once: else kInvalidArgument
// "input.unknown_field" or "input.duplicate_key".
Result<void> check_parameters(const net::Query& query, std::initializer_list<std::string_view> known,
                              std::string_view repeatable = {});

// Absent parameters are nullopt; kInvalidArgument "input.bad_value" or "input.out_of_range" names the
// parameter.
Result<std::optional<std::int64_t>> number_parameter(const net::Query& query, std::string_view name,
                                                     std::int64_t least, std::int64_t most);
Result<bool> flag_parameter(const net::Query& query, std::string_view name);
std::string text_parameter(const net::Query& query, std::string_view name);

}  // namespace tangram::server
