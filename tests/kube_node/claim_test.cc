#include "kube/node/claim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace tangram::kube::node {
namespace {

using testing::ElementsAre;
using Progress = PodContainer::Progress;

constexpr const char* kResource = "huawei.com/Ascend310P";

Grant slice(const std::string& name) {
  return {true, name, {{"A", 0}}};
}

NodePod pod_of(const std::string& name, const std::string& uid, std::vector<PodContainer> containers) {
  return {"team-a", name, uid, false, std::move(containers), ""};
}

NodePod plain(const std::string& name, const std::string& uid) {
  return pod_of(name, uid, {{"main", false, Progress::kUnknown, slice("vir01")}});
}

bool is_own(std::string_view resource) {
  return resource == kResource;
}

bool never(const ContainerRef& /*who*/) {
  return false;
}
bool always(const ContainerRef& /*who*/) {
  return true;
}

std::string reason_of(const Result<ContainerRef>& result) {
  return result ? "" : result.error().reason;
}

// Without it two Pods that arrive together would be told apart by order or age.
TEST(Claim, ThePodIsTheOneThatTheKubeletHasWrittenDown) {
  const std::vector<NodePod> pods{plain("old", "u-1"), plain("new", "u-2")};
  KubeletView view{{{"team-a", "new", "main", {"A-3"}}, {"team-a", "old", "main", {"A-5"}}},
                   {{{"u-1", "main", {"A-5"}}, {"u-2", "main", {"A-3"}}}}};
  EXPECT_EQ(who_starts({"A-3"}, view, pods, never)->pod, "new");
  EXPECT_EQ(who_starts({"A-5"}, view, pods, never)->pod, "old");
  view.recorded.reset();  // pod-resources alone knows it as well
  EXPECT_EQ(who_starts({"A-3"}, view, pods, never)->uid, "u-2");
  EXPECT_EQ(who_starts({"A-5"}, view, pods, never)->to_string(), "container main of Pod team-a/old");
}

// Without it a Pod that nobody has written down would be given what is meant for another.
TEST(Claim, IdsThatTheKubeletGivesToNobodyAreRefused) {
  const std::vector<NodePod> pods{plain("only", "u-1")};
  EXPECT_EQ(reason_of(who_starts({"A-1"}, {{}, std::vector<Recorded>()}, pods, never)), "node.pod.unknown");
  EXPECT_EQ(reason_of(who_starts({"A-1"}, {}, pods, never)), "node.pod.unknown");
  const KubeletView more{{{"team-a", "only", "main", {"A-1", "A-2"}}}, {{{"u-1", "main", {"A-1", "A-2"}}}}};
  EXPECT_EQ(reason_of(who_starts({"A-1"}, more, pods, never)), "node.pod.unknown");
}

// Without it a Pod that was made anew under its old name would be given what the old one had.
TEST(Claim, AUidThatTheApiServerDoesNotShowIsUnknown) {
  const KubeletView view{{{"team-a", "web-0", "main", {"A-1"}}}, {{{"u-old", "main", {"A-1"}}}}};
  EXPECT_EQ(reason_of(who_starts({"A-1"}, view, {plain("web-0", "u-new")}, never)), "node.pod.unknown");
}

// Without it a record that is wrong, or is read wrongly, would be believed against the kubelet's own word.
TEST(Claim, PodResourcesMustConfirmIt) {
  const std::vector<NodePod> pods{plain("one", "u-1"), plain("two", "u-2")};
  const std::vector<Recorded> recorded{{"u-1", "main", {"A-1"}}};
  EXPECT_EQ(reason_of(who_starts({"A-1"}, {{}, recorded}, pods, never)), "node.pod.mismatch");
  EXPECT_EQ(reason_of(who_starts({"A-1"}, {{{"team-a", "two", "main", {"A-1"}}}, recorded}, pods, never)),
            "node.pod.mismatch");
  EXPECT_EQ(
      reason_of(who_starts({"A-1"}, {{{"team-a", "one", "main", {"A-1", "A-2"}}}, recorded}, pods, never)),
      "node.pod.mismatch");
  EXPECT_TRUE(who_starts({"A-1"}, {{{"team-a", "one", "main", {"A-1"}}}, recorded}, pods, never));
}

// Without it one of two Pods would be chosen where the kubelet names both.
TEST(Claim, TwoPodsWithTheSameIdsAreRefused) {
  const std::vector<NodePod> pods{plain("one", "u-1"), plain("two", "u-2")};
  const KubeletView view{{}, {{{"u-1", "main", {"A-1"}}, {"u-2", "main", {"A-1"}}}}};
  EXPECT_EQ(reason_of(who_starts({"A-1"}, view, pods, never)), "node.pod.ambiguous");
}

// Without it a Pod that has ended would be started again in what is another's by now.
TEST(Claim, APodThatHasEndedDoesNotStart) {
  NodePod pod = plain("one", "u-1");
  pod.ended = true;
  const KubeletView view{{{"team-a", "one", "main", {"A-1"}}}, {{{"u-1", "main", {"A-1"}}}}};
  EXPECT_EQ(reason_of(who_starts({"A-1"}, view, {pod}, never)), "node.pod.unknown");
}

class InitContainers : public testing::Test {
 protected:
  InitContainers()
      : pod_(pod_of("one", "u-1",
                    {{"setup", true, Progress::kUnknown, slice("vir01")},
                     {"main", false, Progress::kUnknown, slice("vir04")}})),
        view_{{{"team-a", "one", "main", {"A-1"}}}, {{{"u-1", "main", {"A-1"}}, {"u-1", "setup", {"A-1"}}}}} {
  }

  Result<ContainerRef> ask(Progress progress, const GivenBefore& given) {
    pod_.containers[0].progress = progress;
    return who_starts({"A-1"}, view_, {pod_}, given);
  }

  NodePod pod_;
  KubeletView view_;
};

// Without it an init container would be given the main one's slice, or the other way round: they share ids.
TEST_F(InitContainers, ComeBeforeTheContainersThatReuseTheirIds) {
  EXPECT_EQ(ask(Progress::kUnknown, never)->container, "setup");
  EXPECT_EQ(ask(Progress::kNotStarted, never)->container, "setup");
  EXPECT_EQ(ask(Progress::kFailed, always)->container, "setup");  // it starts again
  EXPECT_EQ(ask(Progress::kDone, always)->container, "main");
}

// Without it the main container would be cut the small slice of the init container whose end is not told yet.
TEST_F(InitContainers, ThatWereStartedAreWaitedForUntilTheirEndIsKnown) {
  for (const Progress progress : {Progress::kUnknown, Progress::kNotStarted, Progress::kRunning}) {
    EXPECT_EQ(reason_of(ask(progress, always)), "node.pod.unsettled");
  }
}

// Without it a Pod whose containers all get the same would wait for nothing.
TEST_F(InitContainers, WithTheSameGrantNeedNotBeToldApart) {
  pod_.containers[1].grant = slice("vir01");
  EXPECT_EQ(ask(Progress::kRunning, always)->container, "setup");
}

// Without it an init container that alone has NPUs could never start: pod-resources does not list it.
TEST_F(InitContainers, AreFoundByTheRecordAlone) {
  view_ = {{}, {{{"u-1", "setup", {"A-1"}}}}};
  EXPECT_EQ(ask(Progress::kUnknown, never)->container, "setup");
  view_.listed.push_back({"team-b", "other", "main", {"A-1"}});
  EXPECT_EQ(reason_of(ask(Progress::kUnknown, never)), "node.pod.mismatch");
}

// Without it a kubelet whose record cannot be read would have its init containers given what is not theirs.
TEST_F(InitContainers, AreThoughtOfWithoutARecord) {
  view_.recorded.reset();
  EXPECT_EQ(ask(Progress::kUnknown, never)->container, "setup");
  EXPECT_EQ(ask(Progress::kDone, always)->container, "main");
  EXPECT_EQ(reason_of(ask(Progress::kRunning, always)), "node.pod.unsettled");
}

// Without it the kubelet's record of today could not be read, or one of another resource would be taken for
// it.
TEST(KubeletRecord, IsReadAsTheKubeletWritesIt) {
  const std::string text = R"({"Data": {"PodDeviceEntries": [
      {"PodUID": "u-1", "ContainerName": "main", "ResourceName": "huawei.com/Ascend310P",
       "DeviceIDs": {"-1": ["A-3"], "0": ["A-1"]}, "AllocResp": "CgA="},
      {"PodUID": "u-1", "ContainerName": "main", "ResourceName": "example.com/other",
       "DeviceIDs": {"-1": ["x"]}, "AllocResp": ""}],
    "RegisteredDevices": {"huawei.com/Ascend310P": ["A-0"]}}, "Checksum": 42})";
  const auto recorded = parse_kubelet_record(text, is_own);
  ASSERT_TRUE(recorded);
  EXPECT_THAT(*recorded, ElementsAre(Recorded{"u-1", "main", {"A-1", "A-3"}}));
  const auto empty = parse_kubelet_record(R"({"Data": {"PodDeviceEntries": null}, "Checksum": 1})", is_own);
  ASSERT_TRUE(empty);
  EXPECT_TRUE(empty->empty());
}

// Without it a record of another form would read as one that is empty, and everybody as nobody.
TEST(KubeletRecord, OfAnotherFormIsNotReadAsAnEmptyOne) {
  for (const char* const text : {"", "{}", "[]", R"({"Data": 3})",
                                 R"({"Data": {"PodDeviceEntries": [{"PodUID": "u", "ContainerName": "c",
            "ResourceName": "huawei.com/Ascend310P", "DeviceIDs": ["A-1"]}]}})"}) {
    const auto recorded = parse_kubelet_record(text, is_own);
    ASSERT_FALSE(recorded) << text;
    EXPECT_EQ(recorded.error().reason, "node.record.unreadable");
  }
}

// Without it a slice would be returned that the kubelet still counts as somebody's.
TEST(Held, IsWhatEitherOfTheTwoSays) {
  const ContainerRef who{"u-1", "team-a", "one", "main"};
  EXPECT_FALSE(is_held({"A-1"}, who, {}));
  EXPECT_TRUE(is_held({"A-1"}, who, {{{"team-a", "one", "main", {"A-1"}}}, {}}));
  EXPECT_FALSE(is_held({"A-1"}, who, {{{"team-a", "two", "main", {"A-1"}}}, {}}));
  EXPECT_TRUE(is_held({"A-1"}, who, {{}, {{{"u-1", "setup", {"A-1", "A-2"}}}}}));
  EXPECT_FALSE(is_held({"A-1"}, who, {{}, {{{"u-2", "main", {"A-1"}}}}}));
}

}  // namespace
}  // namespace tangram::kube::node
