// The files that the HTTPS address is served with.
#include "kube/process/keeping.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <boost/json/serialize.hpp>
#include <filesystem>

#include "kube/process/client_authority.h"
#include "kube_api/api_server.h"
#include "net/certificates.h"
#include "net/issue.h"
#include "net/support.h"

namespace tangram::kube::process {
namespace {

// An API server without a Secret yet, that publishes `authority` for clients.
class KeepingTest : public ::testing::Test {
 protected:
  KeepingTest() {
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    authority = net::make_authority("clients", {now - std::chrono::hours(1), now + std::chrono::hours(1)})
                    .value()
                    .certificate;
  }

  void answer(const SeenRequest& request, Conversation& conversation) {
    if (!up) return conversation.answer(500, status_body(500, "InternalError", "not yet"));
    if (request.path.ends_with("extension-apiserver-authentication")) {
      json::object map{{"kind", "ConfigMap"}};
      map["data"] = publishes ? json::object{{"client-ca-file", authority}} : json::object{};
      return conversation.answer(200, json::serialize(map));
    }
    if (request.method == "GET" && request.path.ends_with("/tangram-webhook")) {
      return conversation.answer(404, status_body(404, "NotFound", "no such Secret"));
    }
    conversation.answer(200, "{}");
  }

  CertificateKeeping::Options options() const {
    CertificateKeeping::Options made;
    made.keeper.space = "kube-system";
    made.keeper.secret = "tangram-webhook";
    made.keeper.configuration = "tangram";
    made.keeper.directory = directory.file("");
    made.keeper.terms.dns_names = {"tangram-webhook.kube-system.svc"};
    made.again = std::chrono::milliseconds(1);
    return made;
  }

  std::string authority;
  std::atomic<bool> up = true;
  std::atomic<bool> publishes = true;
  net::TemporaryDirectory directory;
  ApiServer server{
      [this](const SeenRequest& request, Conversation& conversation) { answer(request, conversation); }};
  static ClientSettings once() {
    ClientSettings settings;
    settings.tries_max = 1;
    return settings;
  }
  std::unique_ptr<ApiClient> client = ApiClient::open(server.config(), once()).value();
};

// Without this, the server could not know the scheduler, or would need a file that nobody has to write.
TEST_F(KeepingTest, TheClustersOwnAuthorityVouchesForTheScheduler) {
  CertificateKeeping keeping(*client, options());
  const auto context = keeping.start();
  ASSERT_NE(context, nullptr);
  EXPECT_TRUE(std::filesystem::exists(directory.file("tls.crt")));
  EXPECT_TRUE(std::filesystem::exists(directory.file("scheduler-ca.crt")));
  EXPECT_EQ(context->files().client_authority, directory.file("") + "/scheduler-ca.crt");
}

// Without this, an operator's own authority would be overruled by the cluster's.
TEST_F(KeepingTest, AFileOfTheOperatorsComesFirst) {
  publishes = false;
  net::Authority own;
  own.write(directory.file("own.pem"));
  CertificateKeeping::Options made = options();
  made.scheduler_ca = directory.file("own.pem");
  CertificateKeeping keeping(*client, made);
  const auto context = keeping.start();
  ASSERT_NE(context, nullptr);
  EXPECT_EQ(context->files().client_authority, directory.file("own.pem"));
  EXPECT_FALSE(std::filesystem::exists(directory.file("scheduler-ca.crt")));
}

// Without this, a cluster without certificates of clients would have an extender that nobody may call, and no
// word of it.
TEST_F(KeepingTest, AClusterThatPublishesNoneIsNamed) {
  publishes = false;
  const auto pem = cluster_client_authority(*client);
  ASSERT_FALSE(pem);
  EXPECT_NE(pem.error().hint.find("--scheduler-ca"), std::string::npos);
}

// Without this, a process whose API server is away could not be stopped, or would give up before it comes
// back.
TEST_F(KeepingTest, WaitsForTheApiServerUntilItIsInterrupted) {
  up = false;
  CertificateKeeping keeping(*client, options());
  std::shared_ptr<net::TlsContext> context;
  std::thread starting([&] { context = keeping.start(); });
  EXPECT_TRUE(net::eventually([&] { return !server.requests().empty(); }));
  keeping.interrupt();
  starting.join();
  EXPECT_EQ(context, nullptr);
}

}  // namespace
}  // namespace tangram::kube::process
