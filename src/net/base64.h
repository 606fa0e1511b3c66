// Bytes as text, where a protocol takes only text (RFC 4648, with padding, in one line). Thread-safe: pure
// functions.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace tangram::net {

// At most 1 GiB.
std::string encode_base64(std::string_view bytes);

// kInvalidArgument "input.bad_value" for what encode_base64() never writes.
Result<std::string> decode_base64(std::string_view text);

}  // namespace tangram::net
