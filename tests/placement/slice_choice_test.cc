#include "placement/slice_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

namespace tangram {
namespace {

using ::testing::ElementsAre;

constexpr std::int64_t kMib = std::int64_t{1024} * 1024;

const ChipModel& chip_of(const ChipIdentity& npu) {
  return Catalog::builtin()->chip(Catalog::builtin()->find(npu)).model;
}

const ChipModel& chip_310p3() {
  return chip_of({"310P3", {}, 8, Bytes::mib(21'527)});
}

SliceGrant on_310p3(std::int64_t memory_mib, std::int32_t cores = 0) {
  return grant_slice(slice_sizes(chip_310p3(), true), Bytes::mib(21'527), 8, {Bytes::mib(memory_mib), cores});
}

// "vir02 6144", "whole 21527", "never"
std::string text(const SliceGrant& grant, const ChipModel& chip) {
  switch (grant.kind) {
    case SliceGrant::Kind::kNever:
      return "never";
    case SliceGrant::Kind::kWhole:
      return "whole " + std::to_string(grant.memory.count / kMib);
    case SliceGrant::Kind::kSlice:
      break;
  }
  return chip.templates[slice_sizes(chip, true)[grant.size].variants.front()].name + " " +
         std::to_string(grant.memory.count / kMib);
}

// Without this, what an article's reader tries first would come out differently, or a request would silently
// be given less than it asked for.
TEST(SliceChoice, EveryEdgeOfThe310PIsGivenWhatIsPromised) {
  const std::vector<std::pair<std::int64_t, std::string>> edges = {
      {1024, "vir01 3072"},       {4096, "vir02 6144"},  {7000, "vir04 12288"},   {13'000, "whole 21527"},
      {0, "vir01 3072"},          {1, "vir01 3072"},     {3072, "vir01 3072"},    {3073, "vir02 6144"},
      {6144, "vir02 6144"},       {6145, "vir04 12288"}, {12'288, "vir04 12288"}, {12'289, "whole 21527"},
      {21'527, "whole 21527"},    {21'528, "never"},     {24'576, "never"},       {24'577, "never"},
      {16 * 1024, "whole 21527"},
  };
  for (const auto& [asked, granted] : edges) EXPECT_EQ(text(on_310p3(asked), chip_310p3()), granted) << asked;
}

// Without this, one byte more than a template would be rounded away.
TEST(SliceChoice, OneByteCounts) {
  const std::vector<SliceSize> sizes = slice_sizes(chip_310p3(), true);
  const auto granted = [&](Bytes memory) {
    return text(grant_slice(sizes, Bytes::mib(21'527), 8, {memory, 0}), chip_310p3());
  };
  EXPECT_EQ(granted(Bytes(Bytes::mib(3072).count + 1)), "vir02 6144");
  EXPECT_EQ(granted(Bytes(Bytes::mib(21'527).count + 1)), "never");
}

// Without this, a job would get too few cores, or a slice where it needs the whole NPU.
TEST(SliceChoice, CoresAreAskedForAsMemoryIs) {
  EXPECT_EQ(text(on_310p3(1024, 1), chip_310p3()), "vir01 3072");
  EXPECT_EQ(text(on_310p3(1024, 2), chip_310p3()), "vir02 6144");
  EXPECT_EQ(text(on_310p3(1024, 3), chip_310p3()), "vir04 12288");
  EXPECT_EQ(text(on_310p3(7000, 1), chip_310p3()), "vir04 12288");
  EXPECT_EQ(text(on_310p3(1024, 5), chip_310p3()), "whole 21527");
  EXPECT_EQ(text(on_310p3(1024, 9), chip_310p3()), "never");
}

// Without this, a user would not learn that more or other than asked was given, and why.
TEST(SliceChoice, TheGrantSaysWhy) {
  EXPECT_EQ(on_310p3(3072).why, SliceGrant::Why::kAsAsked);
  EXPECT_EQ(on_310p3(3072, 1).why, SliceGrant::Why::kAsAsked);
  EXPECT_EQ(on_310p3(1024).why, SliceGrant::Why::kRoundedUp);
  EXPECT_EQ(on_310p3(12'289).why, SliceGrant::Why::kAboveLargestTemplate);
  EXPECT_EQ(on_310p3(21'528).why, SliceGrant::Why::kAboveNpu);
  EXPECT_EQ(grant_slice({}, Bytes::gib(32), 20, {Bytes::gib(1), 0}).why, SliceGrant::Why::kNotCut);
}

// Without this, a program that asks for 6000 MiB would find 5381 and nobody would have told it.
TEST(SliceChoice, UsableMemoryBelowWhatWasAskedIsSaid) {
  const SliceGrant grant = on_310p3(6000);
  EXPECT_EQ(grant.memory, Bytes::mib(6144));
  EXPECT_EQ(grant.usable_memory, Bytes::mib(5381));
  EXPECT_TRUE(grant.usable_is_below({Bytes::mib(6000), 0}));
  EXPECT_FALSE(on_310p3(5381).usable_is_below({Bytes::mib(5381), 0}));
  EXPECT_FALSE(on_310p3(13'000).usable_is_below({Bytes::mib(13'000), 0})) << "a whole NPU has what it says";
}

// Without this, the sizes of other boards could go wrong unseen.
TEST(SliceChoice, OtherBoardsHaveTheirOwnSizes) {
  const auto names = [](const ChipModel& chip, bool variants) {
    std::vector<std::string> list;
    for (const SliceSize& size : slice_sizes(chip, variants)) {
      std::string name;
      for (const std::uint32_t shape : size.variants)
        name += (name.empty() ? "" : "|") + chip.templates[shape].name;
      list.push_back(name);
    }
    return list;
  };
  EXPECT_THAT(names(chip_310p3(), true), ElementsAre("vir01", "vir02|vir02_1c", "vir04|vir04_3c"));
  EXPECT_THAT(names(chip_310p3(), false), ElementsAre("vir01", "vir02", "vir04"));
  const ChipModel& b4 = chip_of({"910B4", {}, 20, Bytes::gib(32)});
  EXPECT_THAT(names(b4, true), ElementsAre("vir05_1c_8g", "vir10_3c_16g"))
      << "not those without media engines";
  const ChipModel& b41 = chip_of({"910B4-1", {}, 20, Bytes::gib(64)});
  EXPECT_EQ(text(grant_slice(slice_sizes(b41, true), Bytes::gib(64), 20, {Bytes::gib(16), 0}), b41),
            "vir05_1c_16g 16384")
      << "the template whose real size is what was asked";
}

}  // namespace
}  // namespace tangram
