// Parts of a job on one node: where they go, and that what is remembered of nodes is what is found there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "placement/node_fit.h"
#include "placement/place_index.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;

NodeReported node(const std::string& name, std::uint32_t cuttable, std::uint32_t whole_only = 0) {
  NodeReported reported;
  reported.node = name;
  for (std::uint32_t i = 0; i < cuttable + whole_only; ++i) {
    NpuReport npu{i, "310P3", Bytes::mib(21'527), 8, Health::kOk};
    npu.cuttable = i < cuttable;
    npu.template_set = "310P (24 GiB)";
    reported.npus.push_back(npu);
  }
  return reported;
}

Part slice(std::int64_t mib, std::int32_t cores = 0) {
  return {RequestKind::kSlice, 1, Bytes::mib(mib), cores, "310P3"};
}

Part whole(std::int32_t npus) {
  return {RequestKind::kWhole, npus, Bytes(), 0, "310P3"};
}

class NodeFitTest : public ::testing::Test {
 protected:
  NodeFit judge(const std::vector<Part>& parts, const NpuChoice& choice = {}) {
    offers_.clear();
    for (const Part& part : parts) offers_.push_back(offers_of(fleet, part));
    NodeFitter fitter(fleet, offers_);
    const NodeFit fit = fitter.judge(NodeIndex(0), choice);
    places.clear();
    if (!fit.fits) return fit;
    for (const PartPlace& place : fitter.places()) {
      std::string text = place.slice ? place.slice->template_name : "whole";
      for (const NpuIndex npu : place.npus) text += "@" + std::to_string(npu.value);
      places.push_back(text);
    }
    return fit;
  }

  Fleet fleet;
  std::vector<std::string> places;

 private:
  std::vector<PartOffers> offers_;
};

// Without this, a slice would take an NPU that a whole part of the same job needs.
TEST_F(NodeFitTest, WholePartsComeFirst) {
  fleet.report(node("a", 3));
  EXPECT_TRUE(judge({slice(3072), whole(2)}).fits);
  EXPECT_THAT(places, ElementsAre("vir01@2", "whole@0@1"));
  EXPECT_FALSE(judge({slice(3072), whole(3)}).fits);
  EXPECT_TRUE(judge({whole(1), whole(2)}).fits);
  EXPECT_THAT(places, ElementsAre("whole@2", "whole@0@1"));
}

// Without this, a job whose parts fit in one way only would be turned away because the first way was another
// one.
TEST_F(NodeFitTest, LeavesACornerAgain) {
  fleet.report(node("a", 1, 1));  // NPU 0 may be cut, NPU 1 is given whole only
  EXPECT_TRUE(judge({whole(1)}).fits);
  EXPECT_THAT(places, ElementsAre("whole@0")) << "the lowest, if it is all the same";
  EXPECT_TRUE(judge({whole(1), slice(3072)}).fits);
  EXPECT_THAT(places, ElementsAre("whole@1", "vir01@0"));
  // Above every template: a whole NPU as well.
  EXPECT_TRUE(judge({slice(13'000), slice(3072)}).fits);
  EXPECT_THAT(places, ElementsAre("whole@1", "vir01@0"));
  EXPECT_FALSE(judge({whole(1), slice(13'000), slice(3072)}).fits);
}

// Without this, two slices that fit as variants only would not stand on one NPU.
TEST_F(NodeFitTest, VariantsLeaveRoomForEachOther) {
  fleet.report(node("a", 1));
  EXPECT_TRUE(judge({slice(12'288), slice(12'288)}).fits);
  EXPECT_THAT(places, ElementsAre("vir04@0", "vir04_3c@0"));
  EXPECT_TRUE(judge({slice(6144), slice(6144), slice(6144), slice(6144)}).fits) << "eight cores in all";
  EXPECT_FALSE(judge({slice(12'288), slice(12'288), slice(3072)}).fits);
}

// Without this, a node that can never hold the parts could not be told from one that is busy.
TEST_F(NodeFitTest, TellsNeverFromNotNow) {
  fleet.report(node("a", 1, 1));
  EXPECT_EQ(judge({whole(3)}).reason, ReasonCode::kNpusNever);
  EXPECT_EQ(judge({slice(30'000)}).reason, ReasonCode::kSliceUnsupported) << "NPU 1; NPU 0 is too small";
  EXPECT_EQ(judge({slice(3072, 9)}).refusing[6], 1) << "no NPU has nine cores";
  Part large = whole(1);
  large.memory_per_npu = Bytes::gib(32);
  EXPECT_EQ(judge({large}).reason, ReasonCode::kMemoryNever);
  NodeReported residual = node("a", 2);
  residual.npus[0].strays = {{100, "vir04", 0, true}, {101, "vir04_3c", 1, true}};
  residual.npus[1].health = Health::kUnknown;
  fleet.report(residual);
  EXPECT_EQ(judge({whole(1)}).reason, ReasonCode::kSlicesResidual);
  EXPECT_EQ(judge({slice(3072)}).reason, ReasonCode::kSlicesResidual);
  residual.npus[0].strays = {{100, "", 0, false}};
  fleet.report(residual);
  EXPECT_EQ(judge({slice(3072)}).reason, ReasonCode::kMemoryBusy) << "a mix that nobody knows";
}

// Without this, a change on one node would not be seen, or would make all others be looked at again.
TEST(PlaceIndexTest, SeesEveryChange) {
  Fleet fleet;
  PlaceIndex index;
  const std::vector<Part> parts = {whole(1)};
  const auto fits = [&](std::uint32_t at) {
    return index.shape(fleet, 7, parts).fit(fleet, NodeIndex(at)).fits;
  };
  fleet.report(node("a", 1));
  EXPECT_TRUE(fits(0));
  fleet.take(JobId(1), {NpuIndex(0)}, true);
  EXPECT_FALSE(fits(0));
  fleet.report(node("b", 2));
  EXPECT_TRUE(fits(1));
  fleet.release(JobId(1), NpuIndex(0));
  EXPECT_TRUE(fits(0));
  NodeReported broken = node("b", 2);
  broken.npus[0].health = broken.npus[1].health = Health::kAlarm;
  fleet.report(broken);
  EXPECT_FALSE(fits(1));
  fleet.take_slice(JobId(2), NpuIndex(0), {"vir01", 0, Bytes::gib(3), Bytes::gib(2), 1}, true);
  EXPECT_FALSE(fits(0));
  fleet.report({"a", {}});
  EXPECT_EQ(index.shape(fleet, 7, parts).fit(fleet, NodeIndex(0)).reason, ReasonCode::kNoDevices);
}

// Without this, what a slice comes to would be remembered from before NPUs could be cut.
TEST(PlaceIndexTest, SeesThatNpusCanBeCut) {
  Fleet fleet;
  fleet.report(node("a", 0, 1));
  PlaceIndex index;
  EXPECT_EQ(index.shape(fleet, 1, {slice(3072)}).fit(fleet, NodeIndex(0)).reason,
            ReasonCode::kSliceUnsupported);
  fleet.report(node("a", 1));
  EXPECT_TRUE(index.shape(fleet, 1, {slice(3072)}).fit(fleet, NodeIndex(0)).fits);
}

// Without this, more lists of parts than are remembered would be mixed up.
TEST(PlaceIndexTest, ForgetsAndAsksAgain) {
  Fleet fleet;
  fleet.report(node("a", 2));
  PlaceIndex index;
  for (int round = 0; round < 2; ++round) {
    for (std::uint64_t serial = 0; serial < 3 * PlaceIndex::kShapesMax; ++serial) {
      const std::vector<Part> parts = {whole(1 + static_cast<std::int32_t>(serial % 3))};
      EXPECT_EQ(index.shape(fleet, serial, parts).fit(fleet, NodeIndex(0)).fits, serial % 3 < 2);
    }
  }
}

}  // namespace
}  // namespace tangram
