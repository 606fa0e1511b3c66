#include "service/secret.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <array>
#include <span>

#include "base/invariant.h"

namespace tangram::service {
namespace {

constexpr std::size_t kSecretBytes = 32;

std::string to_hex(std::span<const unsigned char> bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const unsigned char byte : bytes) {
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

}  // namespace

std::string make_secret(std::string_view prefix) {
  std::array<unsigned char, kSecretBytes> bytes{};
  TG_ASSERT(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1,
            "the system gives no random numbers");
  return std::string(prefix) + to_hex(bytes);
}

std::string hash_of_secret(std::string_view secret) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  const int done = EVP_Digest(secret.data(), secret.size(), digest.data(), &size, EVP_sha256(), nullptr);
  TG_ASSERT(done == 1, "the library has no SHA-256");
  return to_hex(std::span(digest).first(size));
}

bool is_secret_of(std::string_view secret, std::string_view hash) {
  const std::string found = hash_of_secret(secret);
  return found.size() == hash.size() && CRYPTO_memcmp(found.data(), hash.data(), hash.size()) == 0;
}

}  // namespace tangram::service
