#include "net/issue.h"

#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>

namespace tangram::net {
namespace {

using std::chrono::days;

const std::chrono::sys_seconds kFrom = std::chrono::sys_days(std::chrono::year(2026) / 6 / 1);
const Validity kValidity{kFrom, kFrom + days(90)};
const std::vector<std::string> kNames{"webhook.kube-system.svc", "webhook.kube-system.svc.cluster.local"};

std::shared_ptr<X509> parsed(const std::string& pem) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
  return {PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr), X509_free};
}

// As a peer judges that trusts the authority alone, in the middle of the certificate's life.
bool is_good_for(const std::string& certificate, const std::string& authority, int purpose) {
  const auto one = parsed(certificate);
  const std::unique_ptr<X509_STORE, decltype(&X509_STORE_free)> store(X509_STORE_new(), X509_STORE_free);
  X509_STORE_add_cert(store.get(), parsed(authority).get());
  const std::unique_ptr<X509_STORE_CTX, decltype(&X509_STORE_CTX_free)> check(X509_STORE_CTX_new(),
                                                                              X509_STORE_CTX_free);
  X509_STORE_CTX_init(check.get(), store.get(), one.get(), nullptr);
  X509_STORE_CTX_set_purpose(check.get(), purpose);
  X509_VERIFY_PARAM_set_time(X509_STORE_CTX_get0_param(check.get()),
                             (kFrom + days(45)).time_since_epoch().count());
  return X509_verify_cert(check.get()) == 1;
}

// Without this, a client would not find the name it called, or trust a certificate past its time.
TEST(Issue, ACertificateSaysWhatItIsFor) {
  const auto authority = make_authority("an authority", kValidity);
  ASSERT_TRUE(authority) << authority.error().message;
  const auto server = issue_certificate(*authority, kNames, kValidity);
  ASSERT_TRUE(server) << server.error().message;
  const auto facts = facts_of(server->certificate);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->dns_names, kNames);
  EXPECT_EQ(facts->validity, kValidity);
  EXPECT_TRUE(is_signed_by(server->certificate, authority->certificate));
  EXPECT_TRUE(is_signed_by(authority->certificate, authority->certificate));
  EXPECT_FALSE(is_signed_by(authority->certificate, server->certificate));
  EXPECT_FALSE(is_signed_by(server->certificate, make_authority("an authority", kValidity)->certificate));
}

// Without this, a scheduler could not show who it is, or a server's certificate would do for that.
TEST(Issue, AClientSaysWhoItIs) {
  const auto authority = make_authority("an authority", kValidity);
  ASSERT_TRUE(authority);
  const auto client = issue_client_certificate(*authority, "a-scheduler", kValidity);
  ASSERT_TRUE(client) << client.error().message;
  const auto facts = facts_of(client->certificate);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->name, "a-scheduler");
  EXPECT_TRUE(facts->dns_names.empty());
  EXPECT_TRUE(is_signed_by(client->certificate, authority->certificate));
  EXPECT_FALSE(issue_client_certificate(*authority, "", kValidity));
  EXPECT_FALSE(issue_client_certificate(*authority, std::string(65, 'a'), kValidity));
  const auto server = issue_certificate(*authority, kNames, kValidity);
  ASSERT_TRUE(server);
  EXPECT_TRUE(is_good_for(client->certificate, authority->certificate, X509_PURPOSE_SSL_CLIENT));
  EXPECT_FALSE(is_good_for(client->certificate, authority->certificate, X509_PURPOSE_SSL_SERVER));
  EXPECT_FALSE(is_good_for(server->certificate, authority->certificate, X509_PURPOSE_SSL_CLIENT));
  EXPECT_TRUE(is_good_for(server->certificate, authority->certificate, X509_PURPOSE_SSL_SERVER));
}

// Without this, two certificates of one authority would be one to clients that remember them.
TEST(Issue, EveryKeyAndNumberIsANewOne) {
  const auto authority = make_authority("an authority", kValidity);
  const auto a = issue_certificate(*authority, kNames, kValidity);
  const auto b = issue_certificate(*authority, kNames, kValidity);
  EXPECT_NE(a->key, b->key);
  EXPECT_NE(a->certificate, b->certificate);
}

// Without this, a spoilt Secret would end the process, or a certificate be signed by a stranger's key.
TEST(Issue, WhatIsNoAuthoritySignsNothing) {
  const auto authority = make_authority("an authority", kValidity);
  const auto other = make_authority("another", kValidity);
  EXPECT_EQ(issue_certificate({}, kNames, kValidity).error().reason, "net.tls.certificate.invalid");
  EXPECT_EQ(issue_certificate({authority->certificate, "x"}, kNames, kValidity).error().reason,
            "net.tls.key.invalid");
  EXPECT_EQ(issue_certificate({authority->certificate, other->key}, kNames, kValidity).error().reason,
            "net.tls.key.invalid");
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{}, std::vector<std::string>{""}, std::vector<std::string>{"a,IP:10.0.0.1"},
        std::vector<std::string>{std::string(254, 'a')}}) {
    EXPECT_FALSE(issue_certificate(*authority, names, kValidity));
  }
  EXPECT_FALSE(facts_of("no certificate"));
  EXPECT_FALSE(is_signed_by("", authority->certificate));
}

}  // namespace
}  // namespace tangram::net
