// The few answers that the HTTP layer gives by itself, as problem+json (RFC 9457) like every other error of
// the API.
#pragma once

#include <string>
#include <string_view>

#include "net/http.h"

namespace tangram::net {

// `reason` is a stable token, `detail` one sentence, `hint` may be empty.
Response problem(int status, std::string_view reason, std::string_view detail, std::string_view hint = {});

// As a JSON string with its quotes. What a stranger sent may be no UTF-8 at all: each byte beyond ASCII is
// shown as the code point of its number.
std::string json_quoted(std::string_view text);

// The standard's phrase for a status that this project uses, "Unknown" otherwise.
std::string_view status_phrase(int status);

}  // namespace tangram::net
