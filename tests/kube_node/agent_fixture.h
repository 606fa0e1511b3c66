// The agent with a machine, Pods and a kubelet that do as the test says.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "kube/node/agent.h"
#include "kube_node/fakes.h"

namespace tangram::kube::node {

class AgentTest : public testing::Test {
 protected:
  AgentTest() : devices_(place_.path("dev"), 2) {}

  void SetUp() override {
    if (!place_.makes_nodes()) GTEST_SKIP() << "making device nodes needs root";
    start();
  }

  void start() {
    AgentSink sink;
    sink.handed = [this](const ContainerRef& pod, const PodNote& note) -> Result<void> {
      const std::lock_guard lock(mutex_);
      told_[pod.pod] = note;
      return {};
    };
    sink.facts = [this](const MachineFacts&) -> Result<void> {
      const std::lock_guard lock(mutex_);
      ++facts_told_;
      return {};
    };
    AgentOptions options = test_options(place_);
    options.slices.foreign.reclaim = reclaim_;
    options.slices.foreign.grace_ms = 100;
    agent_ = std::make_unique<Agent>(std::move(options), devices_, pods_, kubelet_, std::move(sink));
    ASSERT_TRUE(agent_->start());
  }

  // As the kubelet does it: the ids are written down, then the container starts.
  Result<void> run(const NodePod& pod, const std::string& container, const ShareIds& ids) {
    kubelet_.give(pod, container, ids);
    return agent_->pre_start(ids);
  }
  void end(const NodePod& pod) {
    pods_.remove(pod.uid);
    kubelet_.forget(pod.uid);
  }
  std::string told(const std::string& pod) {
    const std::lock_guard lock(mutex_);
    return told_[pod].allocated;
  }
  std::string bind_phase(const std::string& pod) {
    const std::lock_guard lock(mutex_);
    return told_[pod].bind_phase;
  }
  int facts_told() {
    const std::lock_guard lock(mutex_);
    return facts_told_;
  }
  Offer offer() const { return agent_->offer(kTestResource); }
  std::string share(std::uint32_t npu, std::uint32_t number) { return id_of({test_uuid(npu), number}); }
  // The template of the slice whose node is in that share.
  std::string template_in(const std::string& id) {
    const auto nodes = nodes_of_share(place_, id);
    if (nodes.size() != 1 || !nodes[0].starts_with("davinci")) return "none";
    const auto slices = devices_.slices();
    const auto slice = slices.find(static_cast<std::uint32_t>(std::stoul(nodes[0].substr(7))));
    return slice == slices.end() ? "none" : slice->second;
  }

  Workplace place_;
  FakeDevices devices_;
  FakePods pods_;
  FakeKubelet kubelet_;
  std::mutex mutex_;
  std::map<std::string, PodNote> told_;
  int facts_told_ = 0;
  bool reclaim_ = false;
  std::unique_ptr<Agent> agent_;
};

}  // namespace tangram::kube::node
