// The agent behind its socket, called by a small kubelet over real gRPC.
#include "kube/node/kubelet_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "kube/node/plugin_life.h"
#include "kube/protocol/names.h"
#include "kube_node/fakes.h"
#include "kube_node/kubelet_server.h"

namespace tangram::kube::node {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class KubeletLinkTest : public testing::Test {
 protected:
  KubeletLinkTest() : devices_(place_.path("dev"), 2), kubelet_(make_kubelet_server(place_)) {}
  ~KubeletLinkTest() override {
    stop_.raise();
    if (serving_.joinable()) serving_.join();
  }

  void SetUp() override {
    if (!place_.makes_nodes()) GTEST_SKIP() << "making device nodes needs root";
    source_ = make_kubelet_source(
        {kubelet_->pod_resources(), kubelet_->record()},
        [](std::string_view resource) { return resource.starts_with(names::kResourcePrefix); });
    agent_ = std::make_unique<Agent>(test_options(place_), devices_, pods_, *source_, AgentSink());
    ASSERT_TRUE(agent_->start());
    const PluginLifeOptions options{place_.path("plugins"), std::chrono::milliseconds(50),
                                    std::chrono::milliseconds(200)};
    life_ = std::make_unique<PluginLife>(*agent_, options);
    serving_ = std::thread([this] { life_->run(stop_); });
  }

  void start_kubelet() {
    kubelet_->start();
    ASSERT_TRUE(eventually([this] { return kubelet_->devices().size() == 14; }));
  }

  std::string template_in(const std::string& id) {
    const auto nodes = nodes_of_share(place_, id);
    if (nodes.size() != 1) return "none";
    const auto slices = devices_.slices();
    const auto slice = slices.find(static_cast<std::uint32_t>(std::stoul(nodes[0].substr(7))));
    return slice == slices.end() ? "none" : slice->second;
  }

  Workplace place_;
  FakeDevices devices_;
  FakePods pods_;
  std::unique_ptr<KubeletServer> kubelet_;
  std::unique_ptr<KubeletSource> source_;
  std::unique_ptr<Agent> agent_;
  std::unique_ptr<PluginLife> life_;
  net::Interrupt stop_;
  std::thread serving_;
};

// Without it the kubelet would not know the plugin, or not what it offers.
TEST_F(KubeletLinkTest, RegistersAndListsItsShares) {
  start_kubelet();
  EXPECT_THAT(kubelet_->registered(), ElementsAre(std::string(kTestResource) + " tangram-Ascend310P.sock"));
  EXPECT_EQ(kubelet_->devices()[0].id, id_of({test_uuid(0), 0}));
  EXPECT_EQ(kubelet_->devices()[0].health, "Healthy");
  struct stat status{};
  ASSERT_EQ(stat(place_.path("plugins/tangram-Ascend310P.sock").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0077U, 0U);  // nobody but root
}

// Without it a machine with two kinds of chips would offer one of them alone, or both as one.
TEST_F(KubeletLinkTest, EachChipIsAPluginOfItsOwn) {
  devices_.set_chip(1, "910B4");
  kubelet_->start();
  const auto offered = [this](const std::string& resource) { return kubelet_->devices_of(resource).size(); };
  ASSERT_TRUE(
      eventually([&] { return offered(kTestResource) == 7 && offered("huawei.com/Ascend910B4") == 2; }));
  EXPECT_THAT(kubelet_->registered(),
              testing::UnorderedElementsAre(std::string(kTestResource) + " tangram-Ascend310P.sock",
                                            "huawei.com/Ascend910B4 tangram-Ascend910B4.sock"));
  EXPECT_EQ(endpoint_of("example.com/a/b"), "tangram-example.com-a-b.sock");
}

// Without it an ill NPU would be handed out until the plugin is restarted.
TEST_F(KubeletLinkTest, AChangeOfHealthComesOnTheStream) {
  start_kubelet();
  devices_.set_health(0, Health::kCritical);
  const auto ill = [this] {
    const auto devices = kubelet_->devices();
    return std::ranges::count(devices, "Unhealthy", &SeenDevice::health);
  };
  EXPECT_TRUE(eventually([&] { return ill() == 7; }));
  devices_.set_health(0, Health::kOk);
  EXPECT_TRUE(eventually([&] { return ill() == 0; }));
}

// Without it no Pod would get an NPU after a restart of the kubelet until somebody restarts the agent.
TEST_F(KubeletLinkTest, AKubeletThatStartsAgainIsServedAgain) {
  start_kubelet();
  const NodePod pod = make_pod("one", {{"main", slice_of(0, "vir01")}});
  pods_.add(pod);
  const ShareIds ids{id_of({test_uuid(0), 2})};
  ASSERT_THAT(kubelet_->allocate(pod, "main", ids), SizeIs(2));
  for (int round = 0; round < 2; ++round) {
    kubelet_->stop();
    start_kubelet();
  }
  EXPECT_THAT(kubelet_->registered(), SizeIs(3));
  // Between Allocate and start: the kubelet does not ask again.
  const PluginAnswer answer = kubelet_->pre_start(ids);
  EXPECT_TRUE(answer.ok) << answer.message;
  EXPECT_EQ(template_in(ids[0]), "vir01");
}

// Without it what the kubelet is answered would not be what the runtime needs.
TEST_F(KubeletLinkTest, AllocateNamesTheDirectoryOfTheShare) {
  start_kubelet();
  const NodePod pod = make_pod("one", {{"main", slice_of(1, "vir02")}});
  pods_.add(pod);
  const ShareIds ids = kubelet_->preferred({id_of({test_uuid(0), 0}), id_of({test_uuid(1), 4})}, 1);
  ASSERT_THAT(ids, ElementsAre(id_of({test_uuid(1), 4})));
  const auto devices = kubelet_->allocate(pod, "main", ids);
  ASSERT_THAT(devices, SizeIs(2));
  EXPECT_EQ(devices[1].host, place_.path("shares/" + ids[0]));
  EXPECT_EQ(devices[1].container, "/dev");
  EXPECT_EQ(devices[1].permissions, "rw");
}

// Without it a refusal would look like a fault of the plugin, and its reason be lost.
TEST_F(KubeletLinkTest, ARefusalSaysWhy) {
  start_kubelet();
  NodePod pod = make_pod("one", {});
  pod.containers.push_back({"main", false, {}, {}});
  pods_.add(pod);
  const ShareIds ids{id_of({test_uuid(0), 0})};
  kubelet_->allocate(pod, "main", ids);
  const PluginAnswer answer = kubelet_->pre_start(ids);
  EXPECT_FALSE(answer.ok);
  EXPECT_THAT(answer.message, HasSubstr("container main of Pod team-a/one was given no NPU"));
}

// Without it the order in which a kubelet starts two Pods would decide who gets which template.
TEST_F(KubeletLinkTest, TwoPodsBoundAtTheSameMomentHaveTheirOwn) {
  start_kubelet();
  std::mt19937 chance(7);
  const std::vector<std::string> templates{"vir01", "vir02", "vir04"};
  std::vector<std::string> free;
  for (const SeenDevice& device : kubelet_->devices()) free.push_back(device.id);
  for (int round = 0; round < 20; ++round) {
    std::ranges::shuffle(free, chance);
    const std::string one = templates[chance() % 3];
    const std::string two = templates[chance() % 3];
    const NodePod first = make_pod("a" + std::to_string(round), {{"main", slice_of(0, one)}});
    const NodePod second = make_pod("b" + std::to_string(round), {{"main", slice_of(1, two)}});
    pods_.add(second);
    pods_.add(first);
    kubelet_->allocate(second, "main", {free[0]});
    kubelet_->allocate(first, "main", {free[1]});
    std::thread other([&] { EXPECT_TRUE(kubelet_->pre_start({free[0]}).ok); });
    const PluginAnswer answer = kubelet_->pre_start({free[1]});
    other.join();
    ASSERT_TRUE(answer.ok) << answer.message;
    ASSERT_EQ(template_in(free[1]), one) << round;
    ASSERT_EQ(template_in(free[0]), two) << round;
    for (const NodePod& pod : {first, second}) {
      pods_.remove(pod.uid);
      kubelet_->forget(pod.uid);
    }
  }
}

}  // namespace
}  // namespace tangram::kube::node
