#include "net/base64.h"

#include <openssl/evp.h>

#include <algorithm>

#include "base/invariant.h"

namespace tangram::net {
namespace {

constexpr std::size_t kBytesMax = std::size_t{1} << 30;

const unsigned char* unsigned_bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

unsigned char* unsigned_bytes(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}

}  // namespace

std::string encode_base64(std::string_view bytes) {
  TG_ASSERT(bytes.size() <= kBytesMax, "too much to encode at once");
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // the library writes a NUL behind it
  const int length =
      EVP_EncodeBlock(unsigned_bytes(text), unsigned_bytes(bytes), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(length));
  return text;
}

Result<std::string> decode_base64(std::string_view text) {
  std::string bytes(text.size() / 4 * 3, '\0');
  const bool fits = text.size() % 4 == 0 && text.size() <= kBytesMax;
  const int length =
      fits ? EVP_DecodeBlock(unsigned_bytes(bytes), unsigned_bytes(text), static_cast<int>(text.size())) : -1;
  // The library takes padding as zeros, and skips spaces at the ends: only what encodes to the same text was
  // right.
  if (length >= 0) {
    const auto padding = text.size() - (text.find_last_not_of('=') + 1);
    bytes.resize(static_cast<std::size_t>(length) -
                 std::min<std::size_t>(padding, static_cast<std::size_t>(length)));
    if (encode_base64(bytes) == text) return bytes;
  }
  return fail(Code::kInvalidArgument, "input.bad_value", "the text is no base64");
}

}  // namespace tangram::net
