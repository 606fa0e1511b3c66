#include "catalog/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string found(const ChipIdentity& npu) {
  const std::shared_ptr<const Catalog> catalog = Catalog::builtin();
  const std::uint32_t chip = catalog->find(npu);
  return chip == kNoChip ? "" : catalog->chip(chip).model.name;
}

ChipModel own_chip() {
  ChipModel chip;
  chip.name = "own";
  chip.match.chips = {"910B2"};
  chip.has.fill(kUnlimited);
  chip.has[index_of(ChipResource::kAiCores)] = 24;
  SliceTemplate shape;
  shape.name = "half";
  shape.memory = Bytes::gib(32);
  shape.usable_memory = Bytes::gib(30);
  shape.takes[index_of(ChipResource::kAiCores)] = 12;
  chip.templates = {shape};
  return chip;
}

// Without this, a board would be cut by the templates of another: the name alone does not settle it.
TEST(Catalog, BoardsAreFoundByNameBoardCoresAndMemory) {
  EXPECT_EQ(found({"310P3", {}, 8, Bytes::mib(21'527)}), "310P (24 GiB)");
  EXPECT_EQ(found({"310P3", {}, 8, Bytes::mib(43'054)}), "310P (48 GiB)");
  EXPECT_EQ(found({"310P3", {}, 8, Bytes::mib(21'527), 1}), "310P (24 GiB)");
  EXPECT_EQ(found({"310P3", {}, 8, Bytes::mib(21'527), 2}), "300I Duo (24 GiB a chip)");
  EXPECT_EQ(found({"310P3", {}, 8, Bytes::mib(43'054), 2}), "300I Duo (48 GiB a chip)");
  EXPECT_EQ(found({"910A", {}, 30, Bytes::gib(32)}), "910A, 30 cores (32 GiB)");
  EXPECT_EQ(found({"910A", {}, 32, Bytes::gib(16)}), "910A, 32 cores (16 GiB)");
  EXPECT_EQ(found({"910B4", {}, 20, Bytes::gib(32)}), "910B4");
  EXPECT_EQ(found({"910B4", 0x33, 20, Bytes::gib(32)}), "910B4 (by board)");
  EXPECT_EQ(found({"910B4-1", 0x38, 20, Bytes::gib(64)}), "910B4-1 (by board)");
  EXPECT_EQ(found({"910B4-1", 0x41, 20, Bytes::gib(64)}), "910B4 (by board)")
      << "64 GiB, yet 8g and 16g templates";
  EXPECT_EQ(found({"910B4-1", 0x9999, 20, Bytes::gib(64)}), "910B4-1")
      << "a board that is not listed: by its name";
  EXPECT_EQ(found({"910B1", 0x30, 24, Bytes::gib(64)}), "910B, 24 cores (by board)");
  EXPECT_EQ(found({"Ascend910", 0xb0, 24, Bytes::gib(64)}), "A3, 24 cores");
}

// Without this, a chip that cannot be cut, or a slice seen from inside, would be cut by guesswork.
TEST(Catalog, WhatIsNotKnownIsNotFound) {
  for (const char* chip : {"310", "310B4", "950", "310Pvir02", "Ascend910", ""})
    EXPECT_EQ(found({chip, {}, 8, Bytes::mib(21'527)}), "") << chip;
}

// Without this, a program would be promised memory that it does not find: nominal and usable both count.
TEST(Catalog, NominalAndUsableMemoryAreBothKnown) {
  const std::shared_ptr<const Catalog> catalog = Catalog::builtin();
  const ChipModel& chip = catalog->chip(catalog->find({"310P3", {}, 8, Bytes::mib(21'527)})).model;
  std::vector<std::int64_t> nominal, usable;
  for (const char* name : {"vir01", "vir02", "vir04"}) {
    const SliceTemplate& shape = chip.templates[find_template(chip, name)];
    nominal.push_back(shape.memory.count / Bytes::mib(1).count);
    usable.push_back(shape.usable_memory.count / Bytes::mib(1).count);
  }
  EXPECT_THAT(nominal, ElementsAre(3072, 6144, 12'288));
  EXPECT_THAT(usable, ElementsAre(2690, 5381, 10'763));
}

// Without this, an operator's correction of a built-in chip would have no effect.
TEST(Catalog, AnOperatorsChipComesBeforeABuiltInOne) {
  const Result<std::shared_ptr<const Catalog>> catalog = Catalog::with({own_chip()});
  ASSERT_TRUE(catalog);
  const std::uint32_t chip = (*catalog)->find({"910B2", {}, 24, Bytes::gib(64)});
  EXPECT_EQ((*catalog)->chip(chip).model.name, "own");
  EXPECT_EQ((*catalog)->find({"310P3", {}, 8, Bytes::mib(21'527)}),
            Catalog::builtin()->find({"310P3", {}, 8, Bytes::mib(21'527)}) + 1);
  EXPECT_THAT((*catalog)->operators(), ElementsAre(own_chip()));
}

// Without this, a mistake in a chip's description would become a wrong table instead of a message.
TEST(Catalog, AChipThatMakesNoSenseIsRefusedWithTheFieldNamed) {
  const std::vector<std::pair<std::string, std::function<void(ChipModel&)>>> mistakes = {
      {"name", [](ChipModel& c) { c.name = ""; }},
      {"match.chips", [](ChipModel& c) { c.match.chips.clear(); }},
      {"match.chips", [](ChipModel& c) { c.match.chips = {"a b"}; }},
      {"match.chipsOnCard", [](ChipModel& c) { c.match.chips_on_card = 9; }},
      {"notCut", [](ChipModel& c) { c.not_cut = std::string(201, 'x'); }},
      {"match.memoryAbove", [](ChipModel& c) { c.match.memory_above = c.match.memory_most; }},
      {"aiCores", [](ChipModel& c) { c.has[0] = 0; }},
      {"slicesMax", [](ChipModel& c) { c.slices_max = 17; }},
      {"vgroups", [](ChipModel& c) { c.vgroups = -1; }},
      {"templates", [](ChipModel& c) { c.templates.resize(17, c.templates[0]); }},
      {"templates[1].name", [](ChipModel& c) { c.templates.push_back(c.templates[0]); }},
      {"templates[0].aiCores", [](ChipModel& c) { c.templates[0].takes[0] = 0; }},
      {"templates[0].aiCores", [](ChipModel& c) { c.templates[0].takes[0] = 25; }},
      {"templates[0].vpc", [](ChipModel& c) { c.templates[0].takes[index_of(ChipResource::kVpc)] = -1; }},
      {"templates[0].memory", [](ChipModel& c) { c.templates[0].memory = Bytes(); }},
      {"templates[0].deviceMemory is 2147483648, more than the chip has",
       [](ChipModel& c) {
         c.has[index_of(ChipResource::kMemory)] = Bytes::gib(1).count;
         c.templates[0].takes[index_of(ChipResource::kMemory)] = Bytes::gib(2).count;
       }},
      {"templates[0].usableMemory", [](ChipModel& c) { c.templates[0].usable_memory = Bytes::gib(33); }},
      {"templates[0].countMax", [](ChipModel& c) { c.templates[0].count_max = 17; }},
      {"templates[0].ownsDvpp", [](ChipModel& c) { c.templates[0].owns_dvpp = true; }},
  };
  for (const auto& [field, spoil] : mistakes) {
    ChipModel chip = own_chip();
    ASSERT_TRUE(check_chip(chip));
    spoil(chip);
    const Result<void> checked = check_chip(chip);
    ASSERT_FALSE(checked) << field;
    EXPECT_EQ(checked.error().reason, "chip.invalid");
    EXPECT_THAT(checked.error().message, HasSubstr(field));
    EXPECT_FALSE(Catalog::with({chip})) << field;
  }
  EXPECT_EQ(Catalog::with({own_chip(), own_chip()}).error().reason, "chip.repeated");
}

// Without this, a board that is not what the catalogue says would be found out by failing creates.
TEST(Catalog, WhatTheDeviceReportsIsComparedWithTheCatalogue) {
  const ChipModel& chip =
      Catalog::builtin()->chip(Catalog::builtin()->find({"910B4", {}, 20, Bytes::gib(32)})).model;
  ReportedTotals reported;
  EXPECT_THAT(differences(chip, reported), IsEmpty()) << "nothing is reported";
  reported[index_of(ChipResource::kAiCpus)] = 6;
  reported[index_of(ChipResource::kVpc)] = 9;
  EXPECT_THAT(differences(chip, reported), IsEmpty()) << "six AICPU until the first cut";
  reported[index_of(ChipResource::kAiCpus)] = 7;
  EXPECT_THAT(differences(chip, reported), IsEmpty());
  reported[index_of(ChipResource::kVpc)] = 12;
  EXPECT_THAT(differences(chip, reported), ElementsAre(ChipDifference{ChipResource::kVpc, 9, 12}));
  EXPECT_THAT(shortfalls(chip, reported), IsEmpty()) << "more than is promised";
  reported[index_of(ChipResource::kJpegd)] = 20;
  EXPECT_THAT(shortfalls(chip, reported), ElementsAre(ChipDifference{ChipResource::kJpegd, 24, 20}));
  reported[index_of(ChipResource::kAiCpus)] = 5;
  EXPECT_THAT(shortfalls(chip, reported), ElementsAre(ChipDifference{ChipResource::kAiCpus, 7, 5},
                                                      ChipDifference{ChipResource::kJpegd, 24, 20}));
}

// Without this, every 310P would be called wrong, whose driver tells less memory than slices are named for;
// or one that is too small would promise what no program finds.
TEST(Catalog, OfMemoryCountsWhatProgramsArePromised) {
  const auto lacks = [](const ChipIdentity& npu, Bytes told) {
    const std::shared_ptr<const Catalog> catalog = Catalog::builtin();
    ReportedTotals reported;
    reported[index_of(ChipResource::kMemory)] = told.count;
    return shortfalls(catalog->chip(catalog->find(npu)).model, reported);
  };
  const ChipIdentity small{"310P3", {}, 8, Bytes::mib(21'527)};
  for (const std::int64_t mib : {21'525, 21'527, 21'534, 24'576})
    EXPECT_THAT(lacks(small, Bytes::mib(mib)), IsEmpty()) << mib;
  EXPECT_THAT(
      lacks(small, Bytes::gib(16)),
      ElementsAre(ChipDifference{ChipResource::kMemory, Bytes::mib(21'526).count, Bytes::gib(16).count}));
  const ChipIdentity b4{"910B4", {}, 20, Bytes::gib(32)};
  for (const std::int64_t gib : {28, 32}) EXPECT_THAT(lacks(b4, Bytes::gib(gib)), IsEmpty()) << gib;
  EXPECT_THAT(lacks(b4, Bytes::gib(24)),
              ElementsAre(ChipDifference{ChipResource::kMemory, Bytes::gib(28).count, Bytes::gib(24).count}));
}

}  // namespace
}  // namespace tangram
