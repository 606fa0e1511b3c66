// What the API says arrives on the page, and goes from it.
#include "kube/metrics/cluster_feed.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kube_api/api_server.h"
#include "net/support.h"

namespace tangram::kube::metrics {
namespace {

constexpr std::string_view kNode =
    R"({"kind":"Node","apiVersion":"v1","metadata":{"name":"n1","resourceVersion":"5","annotations":)"
    R"({"tangram.dev/npus":"{\"npus\":[{\"uuid\":\"AA\",\"index\":0}]}"}}})";
constexpr std::string_view kPod =
    R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"team-a","uid":"u",)"
    R"("resourceVersion":"6"},"spec":{}})";

// Without this, metrics would tell of what was there at the start, or of nothing.
TEST(ClusterFeed, FollowsNodesPodsAndTenants) {
  net::Mailbox<Conversation*> pods;
  ApiServer server([&pods](const SeenRequest& request, Conversation& conversation) {
    const bool watches = request.parameter("watch") == "true" || request.parameter("watch") == "1";
    const bool of_pods = request.path.ends_with("/pods");
    if (!watches) {
      if (request.path.ends_with("/nodes"))
        return conversation.answer(200, list_body({std::string(kNode)}, "9"));
      if (of_pods) return conversation.answer(200, list_body({std::string(kPod)}, "9"));
      return conversation.answer(200, list_body({R"({"metadata":{"name":"a"},"status":{"queued":3}})"}, "9"));
    }
    conversation.begin_stream();
    if (of_pods) pods.put(&conversation);
    conversation.wait_gone();
  });
  const auto client = ApiClient::open(server.config()).value();
  ClusterFeed feed(*client, false);
  ASSERT_TRUE(net::eventually([&] { return feed.ready(); }));
  feed.read([](const ClusterRows& rows) {
    EXPECT_EQ(rows.nodes.at("n1").npus.size(), 1U);
    EXPECT_TRUE(rows.pods.contains("team-a/a"));
    EXPECT_EQ(rows.tenants.at("a").queued, 3);
  });
  pods.take()->line(event_line("DELETED", kPod));
  EXPECT_TRUE(net::eventually([&] {
    bool gone = false;
    feed.read([&](const ClusterRows& rows) { gone = rows.pods.empty(); });
    return gone;
  }));
  const auto requests = server.requests();
  const bool narrow = std::all_of(requests.begin(), requests.end(), [](const SeenRequest& request) {
    return !request.path.ends_with("/pods") ||
           request.parameter("labelSelector") == "tangram.dev/managed=true";
  });
  EXPECT_TRUE(narrow) << "Pods without NPUs are nobody's business here";
}

}  // namespace
}  // namespace tangram::kube::metrics
