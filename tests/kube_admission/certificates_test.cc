#include "kube/admission/certificates.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>

#include "kube_api/api_server.h"
#include "net/base64.h"
#include "net/support.h"

namespace tangram::kube::admission {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_seconds;

const sys_seconds kNow = std::chrono::sys_days(std::chrono::year(2026) / 6 / 1);

CertificateTerms terms() {
  CertificateTerms made;
  made.dns_names = {"tangram-webhook.kube-system.svc", "tangram-webhook.kube-system.svc.cluster.local"};
  made.client_name = "tangram-scheduler";
  return made;
}

std::string read_file(const std::string& path) {
  const std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The book after a look at it; as it was when it is good.
CertificateBook after(const CertificateBook& book, sys_seconds now, bool* changed = nullptr) {
  auto next = advance(book, terms(), now);
  EXPECT_TRUE(next) << next.error().message;
  if (changed != nullptr) *changed = next->has_value();
  return next->value_or(book);
}

bool is_trusted(const CertificateBook& book) {
  return net::is_signed_by(book.serving.certificate, book.authority.certificate);
}

// Without this, a new installation would have nothing to show, or make it anew every time.
TEST(Certificates, BeginWithWhatIsNeeded) {
  const CertificateBook book = after({}, kNow);
  EXPECT_FALSE(book.authority.empty() || book.serving.empty());
  EXPECT_TRUE(is_trusted(book));
  EXPECT_EQ(net::facts_of(book.serving.certificate)->dns_names, terms().dns_names);
  EXPECT_EQ(book.bundle(), book.authority.certificate);
  bool changed = true;
  EXPECT_EQ(after(book, kNow + hours(1), &changed), book);
  EXPECT_FALSE(changed);
}

// Without this, the API server would refuse the webhook, and with it every Pod with NPUs, after three months.
TEST(Certificates, TheServersIsRenewedInTime) {
  const CertificateBook book = after({}, kNow);
  EXPECT_EQ(after(book, kNow + days(59)), book);
  const CertificateBook renewed = after(book, kNow + days(61));
  EXPECT_NE(renewed.serving, book.serving);
  EXPECT_EQ(renewed.authority, book.authority);
  EXPECT_TRUE(is_trusted(renewed));
  EXPECT_GE(net::facts_of(renewed.serving.certificate)->validity.until, kNow + days(61) + days(90));
}

// Without this, a certificate for another name, of another authority or without a key would be served.
TEST(Certificates, WhatDoesNotFitIsMadeAnew) {
  const CertificateBook book = after({}, kNow);
  CertificateTerms other = terms();
  other.dns_names = {"elsewhere.kube-system.svc"};
  const auto renamed = advance(book, other, kNow);
  ASSERT_TRUE(renamed && *renamed);
  EXPECT_EQ(net::facts_of((*renamed)->serving.certificate)->dns_names, other.dns_names);
  CertificateBook stranger = book;
  stranger.serving = after({}, kNow).serving;
  EXPECT_TRUE(is_trusted(after(stranger, kNow)));
  for (std::string net::Identity::* const part : {&net::Identity::certificate, &net::Identity::key}) {
    CertificateBook spoilt = book;
    spoilt.serving.*part = "";
    EXPECT_TRUE(is_trusted(after(spoilt, kNow)));
    spoilt.authority.*part = "";
    const CertificateBook mended = after(spoilt, kNow);
    EXPECT_NE(mended.authority, book.authority);
    EXPECT_TRUE(is_trusted(mended));
  }
}

// Without this, a scheduler could not ask the extender, or any other process could in its name.
TEST(Certificates, TheSchedulerHasOneOfItsOwn) {
  const CertificateBook book = after({}, kNow);
  const auto facts = net::facts_of(book.client.certificate);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->name, "tangram-scheduler");
  EXPECT_TRUE(net::is_signed_by(book.client.certificate, book.authority.certificate));
  EXPECT_NE(book.client.key, book.serving.key);
  EXPECT_EQ(after(book, kNow + days(59)).client, book.client);
  EXPECT_NE(after(book, kNow + days(61)).client, book.client);
  CertificateTerms other = terms();
  other.client_name = "another";
  const auto renamed = advance(book, other, kNow);
  ASSERT_TRUE(renamed && *renamed);
  EXPECT_EQ(net::facts_of((*renamed)->client.certificate)->name, "another");
  EXPECT_EQ((*renamed)->serving, book.serving);
  other.client_name = "";
  const auto without = advance(book, other, kNow);
  ASSERT_TRUE(without && *without);
  EXPECT_TRUE((*without)->client.empty());
  const auto still_without = advance(**without, other, kNow);
  ASSERT_TRUE(still_without);
  EXPECT_FALSE(*still_without) << "nothing is written again and again";
}

// Without this, API servers that do not know a new authority yet would refuse the webhook.
TEST(Certificates, AnAuthorityIsAnnouncedBeforeItSigns) {
  const sys_seconds late = kNow + days(3'650 * 2 / 3 + 2);
  const CertificateBook book = after(after({}, kNow), late);
  ASSERT_FALSE(book.announced.empty());
  EXPECT_TRUE(is_trusted(book)) << "the old one still signs";
  EXPECT_EQ(book.bundle(), book.authority.certificate + book.announced.certificate);
  EXPECT_EQ(after(book, late + minutes(59)), book);
  const CertificateBook promoted = after(book, late + minutes(61));
  EXPECT_EQ(promoted.authority, book.announced);
  EXPECT_EQ(promoted.before, book.authority.certificate);
  EXPECT_TRUE(promoted.announced.empty());
  EXPECT_TRUE(is_trusted(promoted));
  EXPECT_EQ(promoted.bundle(), promoted.authority.certificate + promoted.before);
  // A replica that is behind still shows the old certificate: it stays trusted until it ends.
  EXPECT_TRUE(after(promoted, kNow + days(3'651)).before.empty());
}

// Without this, some hour in a cluster's life would find an untrusted or ended certificate.
TEST(Certificates, StayGoodOverALife) {
  CertificateBook book = after({}, kNow);
  int authorities = 0;
  for (sys_seconds now = kNow; now < kNow + days(3'650 * 3); now += days(7)) {
    for (const sys_seconds moment : {now, now + hours(2)}) {
      const CertificateBook next = after(book, moment);
      authorities += next.authority == book.authority ? 0 : 1;
      // Nobody who trusts what was announced before is surprised.
      ASSERT_NE(book.bundle().find(next.authority.certificate), std::string::npos);
      book = next;
      ASSERT_TRUE(is_trusted(book));
      ASSERT_TRUE(net::is_signed_by(book.client.certificate, book.authority.certificate));
      ASSERT_GT(net::facts_of(book.serving.certificate)->validity.until, moment + days(7));
    }
  }
  EXPECT_GE(authorities, 3);
}

// An API server with one Secret and one configuration, which compares versions as the real one does.
class Keeping : public ::testing::Test {
 protected:
  Keeping()
      : server([this](const SeenRequest& request, Conversation& conversation) {
          answer(request, conversation);
        }) {}

  // On the server's threads.
  void answer(const SeenRequest& request, Conversation& conversation) {
    const std::lock_guard lock(mutex);
    const bool of_secret = request.path.find("/secrets") != std::string::npos;
    if (request.method == "GET") {
      if (of_secret && secret.empty()) {
        return conversation.answer(404, status_body(404, "NotFound", "not found"));
      }
      return conversation.answer(200, of_secret ? secret : configuration);
    }
    ++writes;
    if (request.method == "POST") {
      json::object made = *parse_object(request.body);
      made.at("metadata").as_object()["resourceVersion"] = "1";
      secret = json::serialize(made);
      return conversation.answer(201, secret);
    }
    if (of_secret) return conversation.answer(409, status_body(409, "Conflict", "another version"));
    patch = request.body;
    conversation.answer(200, configuration);
  }

  CertificateKeeper::Options options() const {
    CertificateKeeper::Options made;
    made.space = "kube-system";
    made.secret = "tangram-webhook";
    made.configuration = "tangram";
    made.directory = directory.file("");
    made.terms = terms();
    return made;
  }

  net::TemporaryDirectory directory;
  std::string secret;
  std::string configuration =
      R"({"metadata":{"name":"tangram","resourceVersion":"7"},"webhooks":[{"name":"a","clientConfig":{}},)"
      R"({"name":"b","clientConfig":{"caBundle":"b2xk"}}]})";
  std::string patch;
  int writes = 0;
  std::mutex mutex;
  ApiServer server;
};

// Without this, the API server would not trust the webhook, or every pass would write everything again.
TEST_F(Keeping, APassMakesTellsAndWrites) {
  const auto client = ApiClient::open(server.config());
  ASSERT_TRUE(client);
  CertificateKeeper keeper(**client, options());
  const auto first = keeper.pass();
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_TRUE(*first);
  std::unique_lock lock(mutex);
  EXPECT_EQ(writes, 2) << "the Secret and the configuration";
  const std::string bundle(text_at(*parse_object(secret), {"data", "ca.crt"}));
  EXPECT_NE(patch.find("/webhooks/0/clientConfig/caBundle"), std::string::npos);
  EXPECT_NE(patch.find("/webhooks/1/clientConfig/caBundle"), std::string::npos);
  EXPECT_NE(patch.find(bundle), std::string::npos);
  EXPECT_TRUE(net::TlsContext::load(keeper.files()));
  EXPECT_EQ(net::encode_base64(read_file(keeper.authority_file())), bundle);
  configuration = R"({"metadata":{"name":"tangram","resourceVersion":"8"},"webhooks":[{"name":"a",)"
                  R"("clientConfig":{"caBundle":")" +
                  bundle + R"("}}]})";
  lock.unlock();
  const auto second = keeper.pass();
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_FALSE(*second);
  // Another replica serves the same.
  CertificateKeeper other(**client, options());
  EXPECT_TRUE(other.pass().value_or(false));
  lock.lock();
  EXPECT_EQ(writes, 2) << "as before";
}

// Without this, two replicas that renew at once would each serve what the other has overwritten.
TEST_F(Keeping, WhoComesSecondStartsAnew) {
  const auto client = ApiClient::open(server.config());
  CertificateKeeper keeper(**client, options());
  {
    const std::lock_guard lock(mutex);
    secret = R"({"metadata":{"name":"tangram-webhook","resourceVersion":"3"},"data":{}})";
  }
  const auto pass = keeper.pass();
  ASSERT_FALSE(pass);
  EXPECT_EQ(failure_of(pass.error()), Failure::kConflict);
  EXPECT_FALSE(std::filesystem::exists(keeper.files().key));
}

}  // namespace
}  // namespace tangram::kube::admission
