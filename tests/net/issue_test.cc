#include "net/issue.h"

#include <gtest/gtest.h>

namespace tangram::net {
namespace {

using std::chrono::days;

const std::chrono::sys_seconds kFrom = std::chrono::sys_days(std::chrono::year(2026) / 6 / 1);
const Validity kValidity{kFrom, kFrom + days(90)};
const std::vector<std::string> kNames{"webhook.kube-system.svc", "webhook.kube-system.svc.cluster.local"};

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
