// How a bearer token is written: "tgt_<id>_<64 hexadecimal digits>". The prefix lets tools that look for lost
// secrets find one, the id names the token without telling the secret.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tangram::service {

struct TokenText {
  std::uint64_t id = 0;
  std::string secret;  // 64 hexadecimal digits; see service/secret.h

  std::string to_string() const;
  // None: this is no token at all.
  static std::optional<TokenText> parse(std::string_view text);
};

// "t-3".
std::string format_token_id(std::uint64_t id);

}  // namespace tangram::service
