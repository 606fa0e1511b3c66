#include "kube/node/pod.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <string>
#include <utility>
#include <vector>

namespace tangram::kube::node {
namespace {

using testing::HasSubstr;
using Progress = PodContainer::Progress;

json::object pod_with(const std::string& allocation, const std::string& status = "{}") {
  const std::string text = R"({"metadata": {"namespace": "team-a", "name": "train-0", "uid": "u-1",
      "annotations": {"tangram.dev/allocation": )" +
                           json::serialize(json::value(allocation)) + R"(}},
    "spec": {"nodeName": "n1",
      "initContainers": [{"name": "setup"}, {"name": "proxy", "restartPolicy": "Always"}],
      "containers": [{"name": "main"}, {"name": "side"}]},
    "status": )" + status + "}";
  return *parse_object(text);
}

constexpr const char* kGood = R"({"node": "n1", "containers": [
  {"container": "setup", "kind": "slice", "template": "vir01", "npus": [{"uuid": "A", "index": 0}], "vgroup": 2},
  {"container": "main", "kind": "whole", "npus": [{"uuid": "B", "index": 1}, {"uuid": "C", "index": 2}]}]})";

// Without it a container would get another's NPU, or none.
TEST(Pod, EachContainerHasItsOwnGrant) {
  const auto pod = read_pod(pod_with(kGood), "n1");
  ASSERT_TRUE(pod);
  EXPECT_EQ(pod->problem, "");
  EXPECT_EQ(pod->uid, "u-1");
  EXPECT_EQ(name_of(*pod), "Pod team-a/train-0");
  ASSERT_EQ(pod->containers.size(), 4U);
  EXPECT_TRUE(find_container(*pod, "setup")->init);
  EXPECT_FALSE(find_container(*pod, "proxy")->init);
  EXPECT_EQ(find_container(*pod, "setup")->grant, (Grant{true, "vir01", {{"A", 0}}, 2}));
  EXPECT_EQ(find_container(*pod, "main")->grant, (Grant{false, "", {{"B", 1}, {"C", 2}}}));
  EXPECT_FALSE(find_container(*pod, "side")->grant);
  EXPECT_EQ(find_container(*pod, "nobody"), nullptr);
}

// Without it a mistake in the annotation would end the agent, or be carried out in part.
TEST(Pod, AnAllocationOutOfBoundsIsRefused) {
  for (const char* const npu : {R"({"uuid": "A", "index": -1})", R"({"uuid": "A", "index": 5000000000})",
                                R"({"uuid": 7})", R"("A")"}) {
    const auto pod = read_pod(
        pod_with(R"({"node": "n1", "containers": [{"container": "main", "kind": "whole", "npus": [)" +
                 std::string(npu) + "]}]}"),
        "n1");
    EXPECT_NE(pod->problem, "") << npu;
    EXPECT_FALSE(find_container(*pod, "main")->grant) << npu;
  }
}

// Without it Pods of other nodes would be swept and started here.
TEST(Pod, OneThatIsNotBoundHereIsNone) {
  EXPECT_FALSE(read_pod(pod_with(kGood), "n2"));
  EXPECT_FALSE(read_pod(*parse_object(R"({"metadata": {"name": "x"}, "spec": {}})"), "n1"));
}

// Without it half of a broken or forged allocation would be carried out.
TEST(Pod, AnAllocationThatCannotBeUsedGivesNothingAndSaysWhy) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"[", "a JSON object"},
      {R"({"node": "n2", "containers": []})", "of node \"n2\""},
      {R"({"node": "n1"})", "\"containers\""},
      {R"({"node": "n1", "containers": [{"container": "x", "kind": "whole", "npus": [{"uuid": "A"}]}]})",
       "no container \"x\""},
      {R"({"node": "n1", "containers": [{"container": "main", "kind": "half", "npus": [{"uuid": "A"}]}]})",
       "\"slice\" or \"whole\""},
      {R"({"node": "n1", "containers": [{"container": "main", "kind": "slice", "npus": [{"uuid": "A"}]}]})",
       "there for a slice alone"},
      {R"({"node": "n1", "containers": [{"container": "main", "kind": "whole", "npus": []}]})",
       "at least one"},
      {R"({"node": "n1", "containers": [{"container": "main", "kind": "whole", "npus": [{}]}]})", "\"uuid\""},
      {R"({"node": "n1", "containers": [{"container": "main", "kind": "slice", "template": "vir01",
           "npus": [{"uuid": "A"}, {"uuid": "B"}]}]})",
       "of a slice exactly one"},
      {R"({"node": "n1", "containers": [{"container": "main", "kind": "whole", "npus": [{"uuid": "A"}]},
                                        {"container": "main", "kind": "whole", "npus": [{"uuid": "B"}]}]})",
       "twice"},
      {R"({"node": "n1", "containers": [{"container": "main", "kind": "whole",
           "npus": [{"uuid": "A"}, {"uuid": "A"}]}]})",
       "an NPU twice"},
  };
  for (const auto& [allocation, why] : cases) {
    const auto pod = read_pod(pod_with(allocation), "n1");
    ASSERT_TRUE(pod) << allocation;
    EXPECT_THAT(pod->problem, HasSubstr(why)) << allocation;
    for (const PodContainer& container : pod->containers) EXPECT_FALSE(container.grant) << allocation;
  }
}

// Without it an init container and the one after it could not be told apart.
TEST(Pod, ProgressOfAnInitContainerIsReadFromTheStatus) {
  const auto progress = [](const std::string& state) {
    const std::string status =
        R"({"phase": "Pending", "initContainerStatuses": [{"name": "setup", )" + state + "}]}";
    return find_container(*read_pod(pod_with(kGood, status), "n1"), "setup")->progress;
  };
  EXPECT_EQ(progress(R"("state": {"running": {}})"), Progress::kRunning);
  EXPECT_EQ(progress(R"("state": {"terminated": {"exitCode": 0}})"), Progress::kDone);
  EXPECT_EQ(progress(R"("state": {"terminated": {"exitCode": 1}})"), Progress::kFailed);
  EXPECT_EQ(progress(R"("state": {"waiting": {}})"), Progress::kNotStarted);
  EXPECT_EQ(progress(R"("state": {"waiting": {}}, "lastState": {"terminated": {"exitCode": 3}})"),
            Progress::kFailed);
  EXPECT_EQ(find_container(*read_pod(pod_with(kGood), "n1"), "setup")->progress, Progress::kUnknown);
}

// Without it slices of ended Pods would stand until somebody deletes those.
TEST(Pod, OneThatHasEndedIsKnownByItsPhase) {
  for (const char* const phase : {"Pending", "Running", "Unknown", ""}) {
    EXPECT_FALSE(read_pod(pod_with(kGood, R"({"phase": ")" + std::string(phase) + "\"}"), "n1")->ended)
        << phase;
  }
  EXPECT_TRUE(read_pod(pod_with(kGood, R"({"phase": "Succeeded"})"), "n1")->ended);
  EXPECT_TRUE(read_pod(pod_with(kGood, R"({"phase": "Failed"})"), "n1")->ended);
}

}  // namespace
}  // namespace tangram::kube::node
