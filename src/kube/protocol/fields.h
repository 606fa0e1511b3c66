// Reading the fields of an annotation's JSON: each is what it has to be, or an error names it. Private to
// protocol. Thread-safe: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/api/json.h"

namespace tangram::kube::protocol {

inline constexpr std::size_t kTextBytesMax = 1024;

// "entry 3 of tangram.dev/granted": where a field stands, for messages.
tl::unexpected<Error> bad_field(std::string_view where, std::string_view field, std::string_view wanted);

// The list, of at most `most` entries. `name`: the annotation.
Result<json::array> read_list(std::string_view text, std::string_view name, std::size_t most);
Result<const json::object*> object_of(const json::value& value, std::string_view where);

// Empty when it is absent and not `required`.
Result<std::string> text_field(const json::object& object, std::string_view where, std::string_view field,
                               bool required);
// `absent` when it is not there.
Result<std::int64_t> number_field(const json::object& object, std::string_view where, std::string_view field,
                                  std::int64_t absent, std::int64_t most);
Result<bool> flag_field(const json::object& object, std::string_view where, std::string_view field);

}  // namespace tangram::kube::protocol
