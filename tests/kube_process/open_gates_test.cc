#include "kube/process/open_gates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>

#include "kube_api/api_server.h"
#include "kube_api/fake_timing.h"

namespace tangram::kube::process {
namespace {

using ::testing::HasSubstr;

// An API server with Pods whose gates can be taken away.
class OpenGatesTest : public ::testing::Test {
 protected:
  std::string listed() {
    const std::lock_guard lock(mutex);
    std::string items;
    for (const auto& [name, gates] : pods) {
      if (!items.empty()) items += ',';
      items += R"({"metadata":{"name":")" + name + R"(","namespace":"team-a","uid":"u-)" + name +
               R"("},"spec":{"schedulingGates":)" + gates + "}}";
    }
    return R"({"metadata":{"resourceVersion":"5"},"items":[)" + items + "]}";
  }
  void answer(const SeenRequest& request, Conversation& conversation) {
    if (request.method == "GET") return conversation.answer(200, listed());
    if (patch_status != 200) {
      return conversation.answer(patch_status, status_body(patch_status, "Spoilt", "as the test wants it"));
    }
    {
      const std::lock_guard lock(mutex);
      pods[request.path.substr(request.path.rfind('/') + 1)] = "[]";
    }
    conversation.answer(200, "{}");
  }

  std::mutex mutex;
  std::map<std::string, std::string> pods = {{"a", R"([{"name":"tangram.dev/quota"}])"},
                                             {"b", R"([{"name":"other/gate"},{"name":"tangram.dev/quota"}])"},
                                             {"c", R"([{"name":"other/gate"}])"},
                                             {"d", "null"}};
  std::atomic<int> patch_status = 200;
  ApiServer server{
      [this](const SeenRequest& request, Conversation& conversation) { answer(request, conversation); }};
  std::shared_ptr<FakeTiming> timing = std::make_shared<FakeTiming>();
  std::unique_ptr<ApiClient> client = ApiClient::open(server.config(), {}, timing).value();
};

// Without this, Pods would be held for ever by a gate that nobody is left to open; or others' gates be
// opened.
TEST_F(OpenGatesTest, TakesItsOwnGateFromEveryPod) {
  const auto opened = open_gates(*client);
  ASSERT_TRUE(opened) << opened.error().to_string();
  EXPECT_EQ(*opened, 2U);
  std::vector<std::string> bodies;
  for (const SeenRequest& request : server.requests()) {
    if (request.method == "PATCH") bodies.push_back(request.body);
  }
  ASSERT_EQ(bodies.size(), 2U);
  EXPECT_EQ(bodies[1], R"([{"op":"test","path":"/metadata/uid","value":"u-b"},)"
                       R"({"op":"test","path":"/spec/schedulingGates/1/name","value":"tangram.dev/quota"},)"
                       R"({"op":"remove","path":"/spec/schedulingGates/1"}])");
  EXPECT_EQ(server.requests().front().parameter("labelSelector"), "tangram.dev/managed=true");
}

// Without this, whoever takes Tangram away would believe that all are open.
TEST_F(OpenGatesTest, SaysWhenSomeStay) {
  patch_status = 422;
  const auto left = open_gates(*client, 2);
  ASSERT_FALSE(left);
  EXPECT_EQ(left.error().reason, "kube.gates.stay");
  EXPECT_THAT(left.error().message, HasSubstr("2 Pods"));
  patch_status = 403;
  const auto refused = open_gates(*client);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "kube.forbidden");
}

}  // namespace
}  // namespace tangram::kube::process
