#include "kube/node/rebuild.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace tangram::kube::node {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Progress = PodContainer::Progress;

// Two NPUs, 0 and 3, with these slices: ids with their templates.
DeviceScan machine(const std::vector<std::pair<std::uint32_t, std::string>>& slices) {
  DeviceScan scan;
  for (const std::uint32_t npu : {0U, 3U}) {
    DeviceNpu one;
    one.physical_id = npu;
    one.slicing.slices.valid = true;
    for (const auto& [id, name] : slices) {
      if (!is_slice_id(npu, id)) continue;
      DeviceSlice slice;
      slice.id = id;
      if (!name.empty()) slice.template_name = Sample<std::string>::known(name);
      one.slicing.slices.value.push_back(slice);
    }
    scan.npus.push_back(std::move(one));
  }
  return scan;
}

Grant slice(const std::string& name) {
  return {true, name, {{"A", 0}}};
}

NodePod pod_of(const std::string& name, std::vector<PodContainer> containers) {
  return {"team-a", name, "u-" + name, false, std::move(containers), ""};
}

void give(KubeletView& view, const NodePod& pod, const std::string& container, const ShareIds& ids) {
  if (!view.recorded) view.recorded.emplace();
  view.recorded->push_back({pod.uid, container, ids});
  view.listed.push_back({pod.space, pod.name, container, ids});
}

// Without it a container would lose the slice in which it runs because a file is damaged.
TEST(Rebuild, WhoHasWhatIsToldByPlacesAndHardware) {
  const NodePod one = pod_of("one", {{"main", false, {}, slice("vir02")}});
  const NodePod two = pod_of("two", {{"main", false, {}, Grant{false, "", {{"B", 3}}}}});
  KubeletView view;
  give(view, one, "main", {"A-1"});
  give(view, two, "main", {"B-0"});
  const Rebuilt rebuilt =
      rebuild(view, {one, two}, {{"A-1", {"davinci102"}}, {"B-0", {"davinci3"}}}, machine({{102, "vir02"}}));
  EXPECT_THAT(rebuilt.unclear, IsEmpty());
  const Handed first{
      {"u-one", "team-a", "one", "main"}, {"A-1"}, true, {0}, "vir02", 102, Handed::State::kHeld};
  const Handed second{{"u-two", "team-a", "two", "main"}, {"B-0"}, false, {3}, "", 0, Handed::State::kHeld};
  EXPECT_THAT(rebuilt.entries, ElementsAre(first, second));
}

// Without it a Pod that is deleted and still ends would lose its slice before it has ended.
TEST(Rebuild, APodThatTheApiServerDoesNotShowAnyMoreIsKnownByTheKubelet) {
  const NodePod gone = pod_of("gone", {});
  KubeletView view;
  give(view, gone, "main", {"A-1"});
  const Rebuilt rebuilt = rebuild(view, {}, {{"A-1", {"davinci102"}}}, machine({{102, "vir02"}}));
  ASSERT_THAT(rebuilt.entries, SizeIs(1));
  EXPECT_EQ(rebuilt.entries[0].who.to_string(), "container main of Pod team-a/gone");
  EXPECT_EQ(rebuilt.entries[0].who.uid, "u-gone");
  // Without its record the kubelet has no UIDs: what nobody can name is nobody's.
  view.recorded.reset();
  EXPECT_THAT(rebuild(view, {}, {{"A-1", {"davinci102"}}}, machine({{102, "vir02"}})).entries, IsEmpty());
  const NodePod there = pod_of("gone", {{"main", false, {}, slice("vir02")}});
  EXPECT_THAT(rebuild(view, {there}, {{"A-1", {"davinci102"}}}, machine({{102, "vir02"}})).entries,
              SizeIs(1));
}

// Without it a container that was never started would be said to have what another has left in its place, and
// a slice that is gone would be counted.
TEST(Rebuild, OneWitnessIsNotEnough) {
  const NodePod pod = pod_of("one", {{"main", false, {}, slice("vir02")}});
  KubeletView view;
  give(view, pod, "main", {"A-1"});
  const auto with = [&](const PlaceContents& contents, const DeviceScan& scan) {
    return rebuild(view, {pod}, contents, scan);
  };
  EXPECT_THAT(with({}, machine({{102, "vir02"}})).entries, IsEmpty());
  EXPECT_THAT(with({}, machine({{102, "vir02"}})).unclear, IsEmpty());
  EXPECT_THAT(with({{"A-1", {"davinci102"}}}, machine({})).unclear, ElementsAre(HasSubstr("does not show")));
  EXPECT_THAT(with({{"A-1", {"davinci102"}}}, machine({{102, "vir04"}})).unclear,
              ElementsAre(HasSubstr("not as it was given")));
  EXPECT_THAT(with({{"A-1", {"davinci0"}}}, machine({})).unclear, ElementsAre(HasSubstr("other NPUs")));
  EXPECT_THAT(with({{"A-1", {"davinci102", "davinci103"}}}, machine({{102, "vir02"}})).entries, IsEmpty());
  EXPECT_THAT(with({{"A-1", {"manager"}}}, machine({})).entries, IsEmpty());
  EXPECT_THAT(rebuild({}, {pod}, {{"A-1", {"davinci102"}}}, machine({{102, "vir02"}})).entries, IsEmpty());
  // A driver that does not tell templates: the Pod's own word stands in.
  EXPECT_THAT(with({{"A-1", {"davinci102"}}}, machine({{102, ""}})).entries, SizeIs(1));
}

// Without it an init container that has ended would be said to have the slice of the one that runs.
TEST(Rebuild, OfContainersWithTheSameSharesItIsTheOneThatCanRun) {
  const auto holder = [](Progress progress, const std::string& init_template) {
    const NodePod pod = pod_of("one", {{"setup", true, progress, slice(init_template)},
                                       {"main", false, Progress::kUnknown, slice("vir02")}});
    KubeletView view;
    give(view, pod, "setup", {"A-1"});
    give(view, pod, "main", {"A-1"});
    const Rebuilt rebuilt = rebuild(view, {pod}, {{"A-1", {"davinci102"}}}, machine({{102, "vir02"}}));
    return rebuilt.entries.size() == 1 ? rebuilt.entries[0].who.container : "not one";
  };
  EXPECT_EQ(holder(Progress::kRunning, "vir02"), "setup");
  EXPECT_EQ(holder(Progress::kDone, "vir02"), "main");
  EXPECT_EQ(holder(Progress::kUnknown, "vir01"), "main");  // by its template
}

// Without it two Pods would be said to have one slice, and the end of the one take it from the other.
TEST(Rebuild, NoSliceIsTwos) {
  const NodePod one = pod_of("one", {{"main", false, {}, slice("vir02")}});
  const NodePod two = pod_of("two", {{"main", false, {}, slice("vir02")}});
  KubeletView view;
  give(view, one, "main", {"A-1"});
  give(view, two, "main", {"A-2"});
  const Rebuilt rebuilt = rebuild(view, {one, two}, {{"A-1", {"davinci102"}}, {"A-2", {"davinci102"}}},
                                  machine({{102, "vir02"}}));
  EXPECT_THAT(rebuilt.entries, SizeIs(1));
  EXPECT_THAT(rebuilt.unclear, ElementsAre(HasSubstr("another has, too")));
}

}  // namespace
}  // namespace tangram::kube::node
