#include "kube/node/cluster_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "kube_api/api_server.h"
#include "kube_node/fakes.h"

namespace tangram::kube::node {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

// An API server with one Pod on node n1, one on another, and the Node itself.
class ClusterLinkTest : public testing::Test {
 protected:
  ClusterLinkTest()
      : server_([this](const SeenRequest& request, Conversation& conversation) {
          answer(request, conversation);
        }),
        client_(*ApiClient::open(server_.config())),
        link_(*client_, "n1") {}

  void answer(const SeenRequest& request, Conversation& conversation) const {
    if (request.method == "PATCH") {
      if (refuse_) return conversation.answer(409, status_body(409, "Conflict", "another uid"));
      return conversation.answer(200, "{}");
    }
    if (request.path == "/api/v1/nodes/n1") {
      return conversation.answer(200, R"({"kind": "Node", "metadata": {"name": "n1"}, "status": {}})");
    }
    if (request.parameter("watch").empty()) {
      return conversation.answer(200,
                                 list_body({pod("a", "1", "n1", "u-a"), pod("b", "2", "n2", "u-b")}, "10"));
    }
    conversation.begin_stream();
    conversation.line(event_line("ADDED", pod("a", "1", "n1", "u-a")));
    conversation.line(bookmark_line("10", true));
    conversation.wait_gone();
  }

  std::vector<SeenRequest> patches() const {
    std::vector<SeenRequest> patches;
    for (const SeenRequest& request : server_.requests()) {
      if (request.method == "PATCH") patches.push_back(request);
    }
    return patches;
  }

  bool refuse_ = false;
  ApiServer server_;
  const std::unique_ptr<ApiClient> client_;
  ClusterLink link_;
};

// Without it an agent that has just started would take Pods that it has not heard of yet for gone.
TEST_F(ClusterLinkTest, PodsAreAnErrorUntilAllAreKnown) {
  const auto before = link_.pods();
  ASSERT_FALSE(before);
  EXPECT_EQ(before.error().reason, "node.pods.unknown");
  link_.start();
  ASSERT_TRUE(eventually([this] { return link_.pods().has_value(); }));
  ASSERT_THAT(*link_.pods(), SizeIs(1));
  EXPECT_EQ(link_.pods()->front().uid, "u-a");
  EXPECT_EQ(server_.requests()[0].parameter("fieldSelector"), "spec.nodeName=n1");
}

// Without it a Pod that the watch is late with would be refused, or another node's be taken for ours.
TEST_F(ClusterLinkTest, AskedAnewItIsTheServersOwnWord) {
  const auto pods = link_.fresh();
  ASSERT_TRUE(pods) << pods.error().to_string();
  ASSERT_THAT(*pods, SizeIs(1));
  EXPECT_EQ(pods->front().name, "a");
  EXPECT_EQ(server_.requests()[0].parameter("fieldSelector"), "spec.nodeName=n1");
}

// Without it the cluster would not know what the node has, or a Pod of the same name be marked as another.
TEST_F(ClusterLinkTest, WritesAnnotationsAndNothingElse) {
  ASSERT_TRUE(link_.write_facts(MachineFacts()));
  ASSERT_TRUE(link_.write_note({"u-a", "team-a", "a", "main"}, {R"({"containers":[]})", ""}));
  ASSERT_TRUE(link_.write_note({"u-a", "team-a", "a", "main"}, {"{}", "success"}));
  const auto seen = patches();
  ASSERT_THAT(seen, SizeIs(3));
  EXPECT_THAT(seen[2].body, HasSubstr(R"("hami.io/bind-phase":"success")"));
  EXPECT_EQ(seen[0].path, "/api/v1/nodes/n1");
  EXPECT_EQ(seen[0].body, R"({"metadata":{"annotations":{"tangram.dev/npus":"{\"npus\":[]}"}}})");
  EXPECT_EQ(seen[1].path, "/api/v1/namespaces/team-a/pods/a");
  EXPECT_EQ(seen[1].body,
            R"({"metadata":{"uid":"u-a","annotations":{"tangram.dev/allocated":"{\"containers\":[]}"}}})");
  EXPECT_THAT(seen[0].header("Content-Type"), HasSubstr("merge-patch"));
  EXPECT_EQ(text_at(*link_.node(), {"metadata", "name"}), "n1");
}

// Without it the agent would try for ever to mark a Pod that is not there any more.
TEST_F(ClusterLinkTest, APodThatIsAnotherByNowIsAConflict) {
  refuse_ = true;
  const auto written = link_.write_note({"u-old", "team-a", "a", "main"}, {"{}", ""});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().reason, "kube.conflict");
}

}  // namespace
}  // namespace tangram::kube::node
