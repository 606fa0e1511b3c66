// The agent on the simulated machine: the vendor's library and driver, and what npu-smi then shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "ascendsim_dcmi/simulated_machine.h"
#include "device/dcmi_devices.h"
#include "kube/node/agent.h"
#include "kube_node/fakes.h"
#include "slices/machine_file.h"

namespace tangram::kube::node {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

class SimulatedTest : public testing::Test {
 protected:
  SimulatedTest() : machine_(test::machine_file("one-310p3.yaml")) {}

  void SetUp() override {
    if (!place_.makes_nodes()) GTEST_SKIP() << "making device nodes needs root";
    machine_.start();
    device::DcmiOptions dcmi;
    dcmi.helper_path = HELPER_PATH;
    dcmi.library_path = machine_.library();
    devices_ = device::make_dcmi_devices(std::move(dcmi));
    start();
  }

  void start() {
    AgentOptions options = test_options(place_);
    options.devices = machine_.root() + "/dev";
    agent_ = std::make_unique<Agent>(options, *devices_, pods_, kubelet_, AgentSink());
    ASSERT_TRUE(agent_->start());
  }

  std::string npu_smi() const {
    return machine_.npu_smi({"info", "-t", "info-vnpu", "-i", "7", "-c", "0"}).output;
  }

  Workplace place_;
  test::SimulatedMachine machine_;
  std::unique_ptr<Devices> devices_;
  FakePods pods_;
  FakeKubelet kubelet_;
  std::unique_ptr<Agent> agent_;
};

// Without it what the agent does would hold for a driver of our own making only.
TEST_F(SimulatedTest, SlicesAreCutHandedOutAndReturnedByTheVendorsDriver) {
  EXPECT_THAT(agent_->resources(), ElementsAre(kTestResource));
  const Offer offer = agent_->offer(kTestResource);
  ASSERT_THAT(offer.shares, SizeIs(7));
  const std::string uuid = parse_share(offer.shares[0].id)->npu;
  const NpuFacts npu = agent_->facts().npus.at(0);
  EXPECT_EQ(npu.uuid, uuid);
  Grant grant{true, "vir02", {{uuid, npu.index}}};
  const NodePod pod = make_pod("one", {{"main", grant}});
  pods_.add(pod);
  kubelet_.give(pod, "main", {offer.shares[4].id});
  const Result<void> ready = agent_->pre_start({offer.shares[4].id});
  ASSERT_TRUE(ready) << ready.error().to_string();
  EXPECT_THAT(npu_smi(), HasSubstr("vir02"));
  EXPECT_THAT(nodes_of_share(place_, offer.shares[4].id), SizeIs(1));

  // The agent is away while the Pod goes: what it left is returned at its next start.
  agent_.reset();
  pods_.remove(pod.uid);
  kubelet_.forget(pod.uid);
  EXPECT_THAT(npu_smi(), HasSubstr("vir02"));
  start();
  EXPECT_TRUE(eventually([this] { return npu_smi().find("vir02") == std::string::npos; })) << npu_smi();
}

}  // namespace
}  // namespace tangram::kube::node
