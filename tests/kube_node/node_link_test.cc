#include "kube/node/node_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "kube_api/api_server.h"
#include "kube_node/fakes.h"

namespace tangram::kube::node {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

// One line, as an event of a watch is.
constexpr const char* kNode =
    R"({"kind":"Node","apiVersion":"v1","metadata":{"name":"n1","uid":"u","resourceVersion":"5",)"
    R"("labels":{"pool":"large"},)"
    R"("annotations":{"hami.io/node-handshake-Ascend310P":"Requesting_2026-01-31 08:00:00",)"
    R"("hami.io/node-handshake-Ascend910B4":"Reported_2026.01.31 08:00:00",)"
    R"("hami.io/node-register-Ascend310P":"Requesting"}}})";

std::string node_config(const std::string& name, const std::string& pool) {
  return R"({"kind": "NodeConfig", "apiVersion": "tangram.dev/v1", "metadata": {"name": ")" + name +
         R"(", "uid": "u-)" + name +
         R"(", "resourceVersion": "6"}, "spec": {"nodeSelector": {"matchLabels": {"pool": ")" + pool +
         R"("}}, "sharesPerNpu": 4, "excludedNpus": [2]}})";
}

class NodeLinkTest : public testing::Test {
 protected:
  NodeLinkTest()
      : server_([this](const SeenRequest& request, Conversation& conversation) {
          answer(request, conversation);
        }),
        client_(*ApiClient::open(server_.config())),
        link_(*client_, "n1") {}

  void answer(const SeenRequest& request, Conversation& conversation) const {
    if (request.path == "/api/v1/nodes") {
      if (silent_) return conversation.wait_gone();
      conversation.begin_stream();
      conversation.line(event_line("ADDED", kNode));
    } else if (!kind_known_) {
      return conversation.answer(404, status_body(404, "NotFound", "no such kind"));
    } else {
      conversation.begin_stream();
      conversation.line(event_line("ADDED", node_config("a", "large")));
      conversation.line(event_line("ADDED", node_config("b", "small")));
    }
    conversation.line(bookmark_line("10", true));
    conversation.wait_gone();
  }

  std::atomic<bool> silent_ = false;
  std::atomic<bool> kind_known_ = true;
  ApiServer server_;
  const std::unique_ptr<ApiClient> client_;
  NodeLink link_;
};

// Without it an NPU that is to be left alone would be offered until the agent has heard of that.
TEST_F(NodeLinkTest, ConfigsAreNoneUntilAllIsKnown) {
  EXPECT_FALSE(link_.configs());
  link_.start();
  ASSERT_TRUE(eventually([this] { return link_.configs().has_value(); }));
  const auto configs = *link_.configs();
  ASSERT_THAT(configs, SizeIs(1));
  EXPECT_EQ(configs[0].name, "a");
  EXPECT_EQ(configs[0].shares_per_npu, 4);
  EXPECT_THAT(configs[0].excluded_npus, ElementsAre(2));
}

// Without it every NodeConfig, or none, would hold for a node whose labels have not come yet.
TEST_F(NodeLinkTest, WithoutItsLabelsANodeIsNotKnown) {
  silent_ = true;
  link_.start();
  ASSERT_TRUE(eventually([this] {
    for (const SeenRequest& request : server_.requests()) {
      if (request.path.find("nodeconfigs") != std::string::npos) return true;
    }
    return false;
  }));
  EXPECT_FALSE(link_.configs());
}

// Without it no NPU would be offered on a cluster without Tangram's custom resources.
TEST_F(NodeLinkTest, AClusterThatDoesNotKnowTheKindHasNone) {
  kind_known_ = false;
  link_.start();
  ASSERT_TRUE(eventually([this] { return link_.configs().has_value(); }));
  EXPECT_TRUE(link_.configs()->empty());
}

// Without it a scheduler of HAMi's, still there while its nodes move, would take them for dead.
TEST_F(NodeLinkTest, WhoWaitsForAReportIsSeen) {
  link_.start();
  ASSERT_TRUE(eventually([this] { return !link_.asked().empty(); }));
  EXPECT_THAT(link_.asked(), ElementsAre("Ascend310P"));
  for (const SeenRequest& request : server_.requests()) {
    if (request.path == "/api/v1/nodes") {
      EXPECT_EQ(request.parameter("fieldSelector"), "metadata.name=n1");
    }
  }
}

}  // namespace
}  // namespace tangram::kube::node
