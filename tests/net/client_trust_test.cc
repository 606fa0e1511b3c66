#include "net/client_trust.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "net/certificates.h"
#include "net/support.h"

namespace tangram::net {
namespace {

class ClientTrustTest : public ::testing::Test {
 protected:
  ClientTrustTest() {
    authority.write(file("ca.pem"));
    authority.issue(file("me.pem"), file("me.key"), "DNS:me");
    authority.issue(file("other.pem"), file("other.key"), "DNS:other");
    options.host = "127.0.0.1";
  }
  std::string file(std::string_view name) const { return directory.file(name); }
  std::string text(std::string_view name) const {
    std::ostringstream all;
    all << std::ifstream(file(name)).rdbuf();
    return all.str();
  }
  std::string reason() const {
    const auto good = check_trust(options);
    return good ? "" : good.error().reason;
  }

  TemporaryDirectory directory;
  Authority authority;
  ClientOptions options;
};

// Without this, certificates that stand in a configuration itself could not be used.
TEST_F(ClientTrustTest, TakesTextsWhereThereAreNoFiles) {
  options.ca_pem = text("ca.pem");
  EXPECT_EQ(reason(), "");
  options.certificate_pem = text("me.pem") + text("ca.pem");
  options.key_pem = text("me.key");
  EXPECT_EQ(reason(), "") << "with the chain behind it";
}

// Without this, a mistake in the files would show at the first connection only, as a riddle of TLS.
TEST_F(ClientTrustTest, NamesWhatCannotBeUsed) {
  options.ca_pem = "no PEM at all";
  EXPECT_EQ(reason(), "client.certificate.invalid");
  options.ca_pem = text("ca.pem");
  options.certificate_pem = text("me.pem");
  EXPECT_EQ(reason(), "client.certificate.invalid") << "no key";
  options.key_pem = text("other.key");
  EXPECT_EQ(reason(), "client.certificate.invalid") << "another one's key";
  options.key_pem = text("me.pem");
  EXPECT_EQ(reason(), "client.certificate.invalid") << "not a key";
  options.certificate_pem.clear();
  options.key_pem = text("me.key");
  EXPECT_EQ(reason(), "client.certificate.invalid") << "a key alone";
  options.certificate_pem = std::string((1U << 20U) + 1, '-');
  EXPECT_EQ(reason(), "client.certificate.invalid") << "too large";
}

// Without this, a key with a password would make a daemon wait for somebody at a terminal.
TEST_F(ClientTrustTest, NeverAsksForAPassword) {
  const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  Authority::write_key(file("locked.key"), key.get(), "secret");
  options.ca_pem = text("ca.pem");
  options.certificate_pem = text("me.pem");
  options.key_pem = text("locked.key");
  EXPECT_EQ(reason(), "client.certificate.invalid");
}

}  // namespace
}  // namespace tangram::net
