#include "catalog/slice_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "catalog/catalog.h"
#include "catalog/written_rules.h"

namespace tangram {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Catalog::Chip& chip_named(const std::string& name) {
  for (const Catalog::Chip& chip : Catalog::builtin()->chips()) {
    if (chip.model.name == name) return chip;
  }
  ADD_FAILURE() << "no chip is called " << name;
  return Catalog::builtin()->chip(0);
}

testing::WrittenMix as_written(const ChipModel& chip, const SliceMix& mix) {
  testing::WrittenMix written(mix.counts.begin(),
                              mix.counts.begin() + static_cast<std::ptrdiff_t>(chip.templates.size()));
  written.push_back(mix.half_vgroups);
  return written;
}

SliceMix mix_of(const ChipModel& chip, const std::vector<std::string>& slices) {
  SliceMix mix;
  for (const std::string& name : slices) {
    const std::uint32_t shape = find_template(chip, name);
    EXPECT_LT(shape, chip.templates.size()) << name;
    mix = with_slice(chip, mix, shape);
  }
  return mix;
}

std::vector<std::string> times(std::size_t count, const std::string& name) {
  return std::vector<std::string>(count, name);
}

class EveryChip : public ::testing::TestWithParam<testing::WrittenChip> {};

// Without this, a wrong number or rule would let a job wait for ever, or be placed where the device refuses.
TEST_P(EveryChip, TheTableEqualsAllMixesThatTheWrittenRulesAllow) {
  const Catalog::Chip& chip = chip_named(GetParam().name);
  std::set<testing::WrittenMix> in_table;
  for (SliceState state = 0; state < chip.table.size(); ++state)
    in_table.insert(as_written(chip.model, chip.table.mix(state)));
  EXPECT_EQ(in_table.size(), chip.table.size()) << "no state twice";
  const std::vector<testing::WrittenMix> list = testing::all_legal_mixes(GetParam());
  const std::set<testing::WrittenMix> by_rules(list.begin(), list.end());
  EXPECT_EQ(in_table, by_rules);
  std::vector<std::string> names;
  for (const SliceTemplate& shape : chip.model.templates) names.push_back(shape.name);
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(names[i], GetParam().templates[i].name);
}

// Without this, a book that follows the transitions would part from the mix that really stands there.
TEST_P(EveryChip, EachCutAndHealLeadsWhereTheRulesSay) {
  const Catalog::Chip& chip = chip_named(GetParam().name);
  const SliceTable& table = chip.table;
  for (SliceState state = 0; state < table.size(); ++state) {
    const SliceMix& mix = table.mix(state);
    EXPECT_EQ(table.find(mix), state);
    EXPECT_EQ(table.free_ai_cores(state), GetParam().cores - taken(chip.model, mix, ChipResource::kAiCores));
    for (std::uint32_t shape = 0; shape < table.templates(); ++shape) {
      const SliceMix more = with_slice(chip.model, mix, shape);
      const SliceState next = table.cut(state, shape);
      ASSERT_EQ(next != kNoState, is_legal(chip.model, more));
      EXPECT_EQ(table.room(state, shape), next == kNoState ? 0 : 1 + table.room(next, shape));
      if (next != kNoState) {
        EXPECT_EQ(table.mix(next), more);
        // A single core that joined another goes without its partner going.
        const bool joined = shares_vgroup(chip.model, shape) && mix.half_vgroups > 0;
        EXPECT_EQ(table.heal(next, shape, joined), state);
      }
      for (const bool partner_stays : {false, true}) {
        const SliceState less = table.heal(state, shape, partner_stays);
        if (less == kNoState) continue;
        EXPECT_EQ(table.mix(less), without_slice(chip.model, mix, shape, partner_stays));
      }
      if (mix.counts[shape] > 0) {
        EXPECT_TRUE(table.heal(state, shape, false) != kNoState || table.heal(state, shape, true) != kNoState)
            << "what stands there can go";
      }
    }
  }
}

std::string test_name(const ::testing::TestParamInfo<testing::WrittenChip>& info) {
  std::string name;
  for (const char c : info.param.name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) name += c;
  }
  return name + (info.param.name == "910B4-1" ? "x" : "");
}

INSTANTIATE_TEST_SUITE_P(SliceTable, EveryChip, ::testing::ValuesIn(testing::written_chips()), test_name);

// Without this, a chip could be added to the list and never be compared with its rules.
TEST(SliceTable, EveryBuiltInChipIsComparedWithItsRules) {
  std::vector<std::string> written;
  for (const testing::WrittenChip& chip : testing::written_chips()) written.push_back(chip.name);
  for (const Catalog::Chip& chip : Catalog::builtin()->chips())
    EXPECT_THAT(written, Contains(chip.model.name));
  EXPECT_EQ(written.size(), Catalog::builtin()->chips().size());
}

// Without this, the enumeration could be right by its own lights and miss the published count: 77 mixes of
// the five general templates of a 310P, 27 of them maximal, 21 of those using all eight cores (and the whole
// NPU).
TEST(SliceTable, The310PHasTheKnownNumberOfMixes) {
  const Catalog::Chip& chip = chip_named("310P (24 GiB)");
  const auto has_others = [&](const SliceMix& mix) { return mix.counts[5] + mix.counts[6] > 0; };
  int mixes = 0, maximal = 0, full = 0;
  for (SliceState state = 0; state < chip.table.size(); ++state) {
    const SliceMix& mix = chip.table.mix(state);
    if (has_others(mix) || mix != tightest(chip.model, mix.counts)) continue;
    ++mixes;
    bool more = false;
    for (std::uint32_t shape = 0; shape < 5; ++shape) more = more || chip.table.cut(state, shape) != kNoState;
    if (more) continue;
    ++maximal;
    if (chip.table.free_ai_cores(state) == 0) ++full;
  }
  EXPECT_EQ(mixes, 77);
  EXPECT_EQ(maximal, 27);
  EXPECT_EQ(full, 21);
}

// Without this, what operators see on real boards would be called illegal: documented and observed mixes.
TEST(SliceTable, DocumentedMixesAreLegal) {
  const ChipModel& p = chip_named("310P (24 GiB)").model;
  EXPECT_TRUE(is_legal(p, mix_of(p, times(7, "vir01"))));
  EXPECT_TRUE(is_legal(p, mix_of(p, {"vir01", "vir02", "vir04"})));
  EXPECT_TRUE(is_legal(p, mix_of(p, {"vir02", "vir02", "vir02", "vir02_1c"})));
  EXPECT_TRUE(is_legal(p, mix_of(p, {"vir04_3c", "vir04_3c"})));
  EXPECT_TRUE(is_legal(p, mix_of(p, {"vir04_3c_ndvpp", "vir04_4c_dvpp"})));
  std::vector<std::string> six = times(6, "vir01");
  six.push_back("vir02_1c");
  EXPECT_TRUE(is_legal(p, mix_of(p, six)));
  const ChipModel& a = chip_named("910A, 30 cores (32 GiB)").model;
  EXPECT_TRUE(is_legal(a, mix_of(a, {"vir16", "vir08", "vir04", "vir02"})));
  EXPECT_TRUE(is_legal(a, mix_of(a, times(15, "vir02"))));
  const ChipModel& b4 = chip_named("910B4").model;
  EXPECT_TRUE(is_legal(b4, mix_of(b4, {"vir10_4c_16g_m", "vir10_3c_16g_nm"})));
  EXPECT_TRUE(is_legal(b4, mix_of(b4, {"vir10_3c_16g", "vir05_1c_8g", "vir05_1c_8g"})));
}

// Without this, an operator could not be told why a mix is refused.
TEST(SliceTable, AnIllegalMixSaysWhichRuleItBreaksAndByHowMuch) {
  const ChipModel& p = chip_named("310P (24 GiB)").model;
  EXPECT_THAT(why_illegal(p, mix_of(p, {"vir04", "vir04"})),
              ElementsAre(SliceViolation{SliceRule::kResource, ChipResource::kAiCpus, 0, 8, 7},
                          SliceViolation{SliceRule::kResource, ChipResource::kVenc, 0, 4, 3}));
  EXPECT_THAT(why_illegal(p, mix_of(p, {"vir04_4c_dvpp", "vir01"})),
              Contains(SliceViolation{SliceRule::kDvppOwned, ChipResource::kAiCores, 6, 2, 1}));
  EXPECT_THAT(why_illegal(p, mix_of(p, times(8, "vir01"))),
              Contains(SliceViolation{SliceRule::kSlices, ChipResource::kAiCores, 0, 8, 7}));
  const ChipModel& a = chip_named("910A, 30 cores (32 GiB)").model;
  EXPECT_THAT(why_illegal(a, mix_of(a, {"vir16", "vir16"})),
              Contains(SliceViolation{SliceRule::kTemplateCount, ChipResource::kAiCores, 3, 2, 1}));
  EXPECT_THAT(why_illegal(p, mix_of(p, {"vir04", "vir02", "vir01"})), IsEmpty());
}

// Without this, single cores left alone in their vGroups would be counted as room for a slice of two cores,
// which the device then refuses: four vGroups in use take single cores only.
TEST(SliceTable, SingleCoresThatLostTheirPartnersLeaveNoRoomForTwo) {
  const Catalog::Chip& chip = chip_named("310P (24 GiB)");
  SliceState state = kUncut;
  for (int i = 0; i < 7; ++i) state = chip.table.cut(state, 0);
  for (int i = 0; i < 3; ++i) state = chip.table.heal(state, 0, true);
  EXPECT_EQ(chip.table.mix(state).half_vgroups, 4);
  EXPECT_EQ(chip.table.free_ai_cores(state), 4);
  for (std::uint32_t shape = 1; shape < chip.table.templates(); ++shape)
    EXPECT_EQ(chip.table.room(state, shape), 0);
  EXPECT_EQ(chip.table.room(state, 0), 3) << "seven are the most";
  SliceMix mix = chip.table.mix(state);
  ++mix.counts[find_template(chip.model, "vir02")];
  EXPECT_THAT(why_illegal(chip.model, mix),
              ElementsAre(SliceViolation{SliceRule::kVgroups, ChipResource::kAiCores, 0, 5, 4},
                          SliceViolation{SliceRule::kVgroupCores, ChipResource::kAiCores, 0, 10, 8}));
}

// Without this, eight slices of a template with one AICPU each would be promised on a chip that has seven.
TEST(SliceTable, AicpuRunsOutBeforeCoresOnA910B2WithAnOperatorsTemplate) {
  ChipModel chip = chip_named("910B2").model;
  EXPECT_EQ(find_template(chip, "vir03_1c_8g"), chip.templates.size()) << "the board does not list it";
  SliceTemplate shape = chip.templates[0];
  shape.name = "vir03_1c_8g";
  shape.takes = {3, 1, Bytes::gib(7).count, 1, 0, 0, 3, 0, 0};
  shape.memory = Bytes::gib(8);
  shape.usable_memory = Bytes::gib(7);
  chip.templates.insert(chip.templates.begin(), shape);
  ASSERT_TRUE(check_chip(chip));
  const Result<SliceTable> table = SliceTable::build(chip);
  ASSERT_TRUE(table);
  EXPECT_EQ(table->room(kUncut, 0), 7);
  EXPECT_THAT(why_illegal(chip, mix_of(chip, times(8, "vir03_1c_8g"))),
              ElementsAre(SliceViolation{SliceRule::kResource, ChipResource::kAiCpus, 0, 8, 7}));
  std::vector<std::string> mix = times(4, "vir03_1c_8g");
  mix.push_back("vir12_3c_32g");
  EXPECT_TRUE(is_legal(chip, mix_of(chip, mix))) << "seven AICPU: six and the one that the first cut adds";
}

// Without this, a file that describes tiny templates would take the daemon's memory.
TEST(SliceTable, AChipThatCouldBeCutInTooManyWaysIsRefused) {
  ChipModel chip;
  chip.name = "grains";
  chip.match.chips = {"grains"};
  chip.has.fill(kUnlimited);
  chip.has[0] = 1000;
  for (int i = 0; i < 16; ++i) {
    SliceTemplate shape;
    shape.name = "grain" + std::to_string(i);
    shape.memory = shape.usable_memory = Bytes::gib(1);
    shape.takes[0] = 1;
    chip.templates.push_back(shape);
  }
  ASSERT_TRUE(check_chip(chip));
  const Result<SliceTable> table = SliceTable::build(chip);
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().reason, "chip.too_many_states");
}

}  // namespace
}  // namespace tangram
