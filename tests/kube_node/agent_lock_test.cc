#include "kube/node/agent_lock.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

namespace tangram::kube::node {
namespace {

// Without it an agent that is started by hand beside the DaemonSet's would give away what that one has given.
TEST(AgentLock, IsOneAgentsAtATime) {
  const auto directory = std::filesystem::temp_directory_path() / ("agent-lock-" + std::to_string(getpid()));
  std::filesystem::create_directories(directory);
  {
    Result<AgentLock> first = AgentLock::take(directory.string());
    ASSERT_TRUE(first);
    const AgentLock held = std::move(*first);
    const auto second = AgentLock::take(directory.string());
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().reason, "node.agent.twice");
  }
  EXPECT_TRUE(AgentLock::take(directory.string()));
  EXPECT_FALSE(AgentLock::take((directory / "nowhere").string()));
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace tangram::kube::node
