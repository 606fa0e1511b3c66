#include "kube/manager/pod_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube_manager/support.h"

namespace tangram::kube::manager {
namespace {

using ::testing::HasSubstr;

ContainerNeed slice_need(std::string container, std::string word, std::string name, std::int64_t mib) {
  ContainerNeed need;
  need.container = std::move(container);
  need.word = std::move(word);
  need.slice = true;
  need.template_name = std::move(name);
  need.granted_mib = mib;
  return need;
}

// Without this, a 910A's vir02 would be asked for with HAMi's size, which is more than it has.
TEST(PodParts, ASliceIsAskedForAsTheDeviceHasIt) {
  const auto chips = Chips::builtin();
  const PodParts parts = parts_of({slice_need("a", "Ascend910A", "vir02", 2184)}, *chips);
  ASSERT_EQ(parts.parts.size(), 1U);
  EXPECT_EQ(parts.parts[0].kind, RequestKind::kSlice);
  EXPECT_EQ(parts.parts[0].memory_per_npu, Bytes::gib(2));
  EXPECT_EQ(parts.parts[0].ai_cores, 2);
  EXPECT_EQ(parts.parts[0].chip, "Ascend910A");
}

// Without this, a Pod with a template that is gone would be queued for what nobody can cut; one that runs
// must be counted all the same.
TEST(PodParts, AnUnknownTemplateIsSaidAndCounted) {
  const auto chips = Chips::builtin();
  const std::vector<ContainerNeed> needs{slice_need("a", "Ascend310P", "vir99", 5000)};
  EXPECT_THAT(why_unfit(needs, *chips), HasSubstr("vir99"));
  EXPECT_EQ(parts_of(needs, *chips).parts[0].memory_per_npu, Bytes::mib(5000));
  EXPECT_EQ(why_unfit({slice_need("a", "Ascend310P", "vir01", 3072)}, *chips), "");
}

// Without this, NPUs of one model that report a little less than others would never be given whole.
TEST(PodParts, AWholeNpuNeedsWhatWasAskedForAlone) {
  ContainerNeed need;
  need.container = "a";
  need.word = "Ascend310P";
  need.count = 2;
  need.granted_mib = 21'527;
  need.asked_mib = 13'000;
  const PodParts parts = parts_of({need}, *Chips::builtin());
  EXPECT_EQ(parts.parts[0].kind, RequestKind::kWhole);
  EXPECT_EQ(parts.parts[0].npus, 2);
  EXPECT_EQ(parts.parts[0].memory_per_npu, Bytes::mib(13'000));
}

// Without this, a Pod whose allocation is spoilt in part would hold NPUs that are nowhere, or none.
TEST(PodParts, APlaceIsKnownAsAWholeOrNotAtAll) {
  const auto chips = Chips::builtin();
  std::vector<ContainerNeed> needs{slice_need("a", "Ascend310P", "vir01", 3072),
                                   slice_need("b", "Ascend310P", "vir02", 6144)};
  const PodParts parts = parts_of(needs, *chips);
  Scheduler core(chips->catalog());
  Allocation allocation{"n1", "", {{"a", GrantKind::kSlice, "vir01", {{"u", 0}}, 2}}};
  const auto find = [](const AllocatedNpu& npu) {
    return npu.uuid == "u" ? std::optional(NpuIndex(7)) : std::nullopt;
  };
  const Places places = places_of(allocation, needs, parts, *chips, core, find);
  ASSERT_EQ(places.places.size(), 2U);
  EXPECT_EQ(places.places[0].npus, std::vector<NpuIndex>{NpuIndex(7)});
  ASSERT_TRUE(places.places[0].slice);
  EXPECT_EQ(places.places[0].slice->vgroup, 2);
  EXPECT_EQ(places.places[0].slice->memory, Bytes::mib(3072));
  EXPECT_TRUE(places.places[1].npus.empty());
  EXPECT_TRUE(places.unresolved);
}

}  // namespace
}  // namespace tangram::kube::manager
