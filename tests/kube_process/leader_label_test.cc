#include "kube/process/leader_label.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "kube/process/keeping.h"
#include "kube_api/api_server.h"
#include "kube_api/fake_timing.h"
#include "net/support.h"

namespace tangram::kube::process {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class LeaderLabelTest : public ::testing::Test {
 protected:
  // "pod body" of each patch since the last look.
  std::vector<std::string> patches() {
    std::vector<std::string> all;
    const auto requests = server.requests();
    for (; looked < requests.size(); ++looked) {
      const SeenRequest& one = requests[looked];
      if (one.method == "PATCH") all.push_back(one.path.substr(one.path.rfind('/') + 1) + " " + one.body);
    }
    return all;
  }

  std::atomic<int> patch_status = 200;
  std::size_t looked = 0;
  ApiServer server{[this](const SeenRequest& request, Conversation& conversation) {
    if (request.method == "GET") {
      return conversation.answer(200, list_body({pod("old", "1"), pod("mine", "2")}, "9"));
    }
    if (patch_status == 200) return conversation.answer(200, "{}");
    conversation.answer(patch_status, status_body(patch_status, "Spoilt", "as the test wants it"));
  }};
  std::shared_ptr<FakeTiming> timing = std::make_shared<FakeTiming>();
  std::unique_ptr<ApiClient> client = ApiClient::open(server.config(), {}, timing).value();
  LeaderLabel label{*client, "kube-system", "mine"};
};

constexpr const char* kTaken = R"(old {"metadata":{"labels":{"tangram.dev/leader":null}}})";
constexpr const char* kMine = R"(mine {"metadata":{"labels":{"tangram.dev/leader":"true"}}})";
constexpr const char* kGiven = R"(mine {"metadata":{"labels":{"tangram.dev/leader":null}}})";

// Without this, a Service would lead the scheduler to nobody, or on to a process that was killed as a leader.
TEST_F(LeaderLabelTest, IsTheLeadersAlone) {
  ASSERT_TRUE(label.pass(true));
  EXPECT_THAT(patches(), ElementsAre(kTaken, kMine));
  const SeenRequest list = server.requests().front();
  EXPECT_EQ(list.path, "/api/v1/namespaces/kube-system/pods");
  EXPECT_EQ(list.parameter("labelSelector"), "tangram.dev/leader=true");
  ASSERT_TRUE(label.pass(true));
  EXPECT_THAT(patches(), IsEmpty()) << "nothing has changed";
  ASSERT_TRUE(label.pass(false));
  EXPECT_THAT(patches(), ElementsAre(kGiven));
}

// Without this, a label that could not be written once would stay wrong for as long as the process leads.
TEST_F(LeaderLabelTest, AFailureIsTriedAgain) {
  patch_status = 403;
  const auto refused = label.pass(true);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "kube.forbidden");
  patches();
  patch_status = 200;
  ASSERT_TRUE(label.pass(true));
  EXPECT_THAT(patches(), ElementsAre(kTaken, kMine));
}

// Without this, a process that runs outside of the cluster would complain for ever.
TEST_F(LeaderLabelTest, WithoutAPodThereIsNothingToDo) {
  patch_status = 404;
  EXPECT_TRUE(label.pass(true));
  patches();
  EXPECT_TRUE(label.pass(true));
  EXPECT_THAT(patches(), IsEmpty());
}

// Without this, a Service would go on leading to a process that leads no more, or that has ended.
TEST_F(LeaderLabelTest, FollowsTheLeadershipAndIsGivenBack) {
  std::atomic<bool> leads = false;
  std::vector<std::string> all;
  const auto says = [&](const std::string& wanted) {
    return net::eventually([&] {
      for (std::string& one : patches()) all.push_back(std::move(one));
      return !all.empty() && all.back() == wanted;
    });
  };
  {
    const LabelKeeping keeping(*client, LeaderLabel(*client, "kube-system", "mine"),
                               [&] { return leads.load(); });
    EXPECT_TRUE(says(kGiven)) << "a restarted container may still have it";
    leads = true;
    EXPECT_TRUE(says(kMine));
    leads = false;
    EXPECT_TRUE(says(kGiven));
    leads = true;
    EXPECT_TRUE(says(kMine));
  }
  EXPECT_TRUE(says(kGiven));
}

}  // namespace
}  // namespace tangram::kube::process
