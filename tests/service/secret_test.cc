#include "service/secret.h"

#include <gtest/gtest.h>

#include <set>

namespace tangram::service {
namespace {

// Without this, a token could be guessed, or two holders could have the same one.
TEST(Secret, IsLongAndNeverTheSame) {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    const std::string secret = make_secret("tgl_");
    EXPECT_EQ(secret.size(), 4U + 64U);
    EXPECT_TRUE(secret.starts_with("tgl_"));
    EXPECT_TRUE(seen.insert(secret).second);
  }
}

// Without this, what is kept would give the secret away, or would not recognise it.
TEST(Secret, IsRecognisedByItsHashAlone) {
  const std::string secret = make_secret("tgl_");
  const std::string hash = hash_of_secret(secret);
  EXPECT_EQ(hash.find(secret.substr(4)), std::string::npos);
  EXPECT_TRUE(is_secret_of(secret, hash));
  EXPECT_FALSE(is_secret_of(secret + "0", hash));
  EXPECT_FALSE(is_secret_of("", hash));
  EXPECT_FALSE(is_secret_of("", ""));
  EXPECT_FALSE(is_secret_of(secret, ""));
  // The published digest of "abc" (FIPS 180-2, appendix B.1).
  EXPECT_EQ(hash_of_secret("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace tangram::service
