#include "kube/extender/bind_patch.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <map>

#include "kube_extender/support.h"

namespace tangram::kube::extender {
namespace {

const std::chrono::system_clock::time_point kNow{std::chrono::seconds(1'769'846'400)};

PodNote note_of_train() {
  return {{"side", "main"}, granted_slice()};
}

// path -> value of what is added.
std::map<std::string, std::string> added(const json::array& patch) {
  std::map<std::string, std::string> all;
  for (const json::value& value : patch) {
    const json::object& one = value.as_object();
    if (text_at(one, {"op"}) == "add") all.emplace(text_at(one, {"path"}), text_at(one, {"value"}));
  }
  return all;
}

ContainerGrant grant(std::string container, std::int64_t memory, std::string template_name) {
  ContainerGrant made;
  made.request.container = std::move(container);
  made.request.resource = "huawei.com/Ascend310P";
  made.request.memory_mib = memory;
  made.kind = template_name.empty() ? GrantKind::kWhole : GrantKind::kSlice;
  made.template_name = std::move(template_name);
  return made;
}

// Without this, the node agent, HAMi's tools or the container's runtime would not find what was given, or
// another Pod of the name be given it.
TEST(BindPatch, SaysEverythingInOneGuardedPatch) {
  EXPECT_EQ(
      json::serialize(bind_patch(train(), slice_reservation(), note_of_train(), kNow)),
      R"([{"op":"test","path":"/metadata/uid","value":"u-1"},)"
      R"({"op":"move","from":"/metadata/annotations/tangram.dev~1admitted",)"
      R"("path":"/metadata/annotations/tangram.dev~1admitted"},)"
      R"({"op":"add","path":"/metadata/annotations/hami.io~1Ascend310P-devices-allocated",)"
      R"("value":";AA-BB,Ascend310P,6144,0:;"},)"
      R"({"op":"add","path":"/metadata/annotations/hami.io~1Ascend310P-devices-to-allocate",)"
      R"("value":";AA-BB,Ascend310P,6144,0:;"},)"
      R"({"op":"add","path":"/metadata/annotations/hami.io~1bind-phase","value":"allocating"},)"
      R"({"op":"add","path":"/metadata/annotations/hami.io~1bind-time","value":"1769846400"},)"
      R"({"op":"add","path":"/metadata/annotations/hami.io~1vgpu-node","value":"n1"},)"
      R"({"op":"add","path":"/metadata/annotations/hami.io~1vgpu-time","value":"1769846400"},)"
      R"({"op":"add","path":"/metadata/annotations/huawei.com~1Ascend310P",)"
      R"("value":"[{\"UUID\":\"AA-BB\",\"temp\":\"vir02_1c\",\"memory\":6144}]"},)"
      R"({"op":"add","path":"/metadata/annotations/predicate-time","value":"1769846400"},)"
      R"({"op":"add","path":"/metadata/annotations/tangram.dev~1allocation","value":)"
      R"("{\"node\":\"n1\",\"time\":\"2026-01-31T08:00:00.000Z\",\"containers\":[{\"container\":\"main\",)"
      R"(\"kind\":\"slice\",\"template\":\"vir02_1c\",\"npus\":[{\"uuid\":\"AA-BB\",\"index\":3}]}]}"},)"
      R"({"op":"add","path":"/metadata/annotations/tangram.dev~1template-0","value":"vir02_1c"},)"
      R"({"op":"add","path":"/metadata/labels/hami.io~1vgpu-node","value":"n1"}])");
}

// Without this, two containers of a Pod would get each other's template, as with a map by UUID; or a whole
// NPU a template.
TEST(BindPatch, EachContainerHasItsOwn) {
  PodNote note;
  note.containers = {"init", "side", "small", "large", "all"};
  note.granted =
      write_grants(std::vector<ContainerGrant>{grant("init", 3072, "vir01"), grant("small", 3072, "vir01"),
                                               grant("large", 12288, "vir04"), grant("all", 21527, "")});
  Reservation reservation;
  reservation.chip_word = "Ascend310P";
  reservation.allocation.node = "n1";
  reservation.allocation.containers = {{"init", GrantKind::kSlice, "vir01", {{"A", 0}}},
                                       {"small", GrantKind::kSlice, "vir01", {{"A", 0}}},
                                       {"large", GrantKind::kSlice, "vir04_3c", {{"A", 0}}},
                                       {"all", GrantKind::kWhole, "", {{"B", 1}, {"C", 2}}}};
  const auto all = added(bind_patch(train(), reservation, note, kNow));
  EXPECT_EQ(all.at("/metadata/annotations/hami.io~1Ascend310P-devices-allocated"),
            "A,Ascend310P,3072,0:;;A,Ascend310P,3072,0:;A,Ascend310P,12288,0:;"
            "B,Ascend310P,21527,0:C,Ascend310P,21527,0:;");
  EXPECT_EQ(all.at("/metadata/annotations/huawei.com~1Ascend310P"),
            R"([{"UUID":"A","temp":"vir01","memory":3072},{"UUID":"A","temp":"vir01","memory":3072},)"
            R"({"UUID":"A","temp":"vir04_3c","memory":12288},{"UUID":"B","memory":21527},)"
            R"({"UUID":"C","memory":21527}])");
  EXPECT_EQ(all.at("/metadata/annotations/tangram.dev~1template-0"), "vir01");
  EXPECT_EQ(all.at("/metadata/annotations/tangram.dev~1template-1"), "vir01");
  EXPECT_EQ(all.at("/metadata/annotations/tangram.dev~1template-2"), "vir04_3c");
  EXPECT_FALSE(all.contains("/metadata/annotations/tangram.dev~1template-3"));
}

// Without this, no Pod with NPUs could be bound to a node whose name is longer than a label may be; a fault
// of HAMi's.
TEST(BindPatch, ALongNodeNameIsNoLabel) {
  for (const std::size_t length : {63U, 64U, 253U}) {
    Reservation reservation = slice_reservation();
    reservation.allocation.node = std::string(length, 'n');
    const auto all = added(bind_patch(train(), reservation, note_of_train(), kNow));
    EXPECT_EQ(all.contains("/metadata/labels/hami.io~1vgpu-node"), length <= 63) << length;
    EXPECT_EQ(all.at("/metadata/annotations/hami.io~1vgpu-node"), reservation.allocation.node);
  }
}

// Without this, a Pod that was not bound would go on holding its place for whoever leads next; and without
// the guard a newer allocation would be taken away.
TEST(BindPatch, IsTakenBackWhereItIsStillTheSame) {
  EXPECT_EQ(
      json::serialize(unbind_patch(train(), slice_reservation())),
      R"([{"op":"test","path":"/metadata/uid","value":"u-1"},)"
      R"({"op":"test","path":"/metadata/annotations/tangram.dev~1allocation","value":)"
      R"("{\"node\":\"n1\",\"time\":\"2026-01-31T08:00:00.000Z\",\"containers\":[{\"container\":\"main\",)"
      R"(\"kind\":\"slice\",\"template\":\"vir02_1c\",\"npus\":[{\"uuid\":\"AA-BB\",\"index\":3}]}]}"},)"
      R"({"op":"remove","path":"/metadata/annotations/tangram.dev~1allocation"}])");
}

// Without this, a Pod whose marks cannot be read would be bound by half, or end the process.
TEST(BindPatch, UnreadableGrantsLeaveTheAllocation) {
  const auto all = added(bind_patch(train(), slice_reservation(), {{}, "nothing"}, kNow));
  EXPECT_NE(all.at("/metadata/annotations/tangram.dev~1allocation").find("AA-BB"), std::string::npos);
  EXPECT_EQ(all.at("/metadata/annotations/hami.io~1Ascend310P-devices-allocated"), "");
}

}  // namespace
}  // namespace tangram::kube::extender
