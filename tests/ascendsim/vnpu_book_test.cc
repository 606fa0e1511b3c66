// The rules by which a chip is cut, chip by chip.
#include "ascendsim/daemon/vnpu_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ascendsim {
namespace {

using testing::ElementsAre;

constexpr std::uint32_t k64Gb = 65536;

VnpuBook book_310p3() {
  return {0, vnpu_board("310P3", 0x64, 8, 7, 21527)};
}
VnpuBook book_910b(std::uint32_t board_id, std::uint32_t cores, std::uint32_t mb, std::uint32_t phy_id = 0) {
  return {phy_id, vnpu_board("910B", board_id, cores, 6, mb)};
}

VnpuRefusal add(VnpuBook& book, const char* name) {
  Vdev made;
  return book.create(name, std::nullopt, std::nullopt, &made);
}

// What the first refused one is refused for; kNone if all are made.
VnpuRefusal add_all(VnpuBook& book, const std::vector<const char*>& names) {
  for (const char* name : names) {
    if (const VnpuRefusal refusal = add(book, name); refusal != VnpuRefusal::kNone) return refusal;
  }
  return VnpuRefusal::kNone;
}

std::vector<std::uint32_t> vgroups(const VnpuBook& book) {
  std::vector<std::uint32_t> groups;
  for (const auto& [id, vdev] : book.vdevs()) groups.push_back(vdev.vgroup.value_or(99));
  return groups;
}

std::vector<std::string> names(const VnpuBoard& board) {
  std::vector<std::string> all;
  for (const VnpuTemplate& shape : board.templates) all.emplace_back(shape.name);
  return all;
}

// Without it a board would offer templates that its driver does not have: the id decides, not the chip's
// name.
TEST(VnpuBoards, TemplatesGoByBoardId) {
  EXPECT_THAT(names(vnpu_board("910B2", 0x30, 24, 6, k64Gb)), ElementsAre("vir12_3c_32g", "vir06_1c_16g"));
  EXPECT_THAT(names(vnpu_board("910B3", 0x32, 20, 6, k64Gb)), ElementsAre("vir10_3c_32g", "vir05_1c_16g"));
  EXPECT_THAT(names(vnpu_board("910B4-1", 0x38, 20, 6, k64Gb)), ElementsAre("vir10_3c_32g", "vir05_1c_16g"));
  // 64 GB and yet the templates of 32.
  EXPECT_THAT(names(vnpu_board("910B4-1", 0x41, 20, 6, k64Gb)),
              ElementsAre("vir10_3c_16g", "vir10_4c_16g_m", "vir10_3c_16g_nm", "vir05_1c_8g"));
  EXPECT_THAT(names(vnpu_board("910A", 0x28, 30, 14, 32768)),
              ElementsAre("vir02", "vir04", "vir08", "vir16"));
  EXPECT_THAT(names(vnpu_board("Ascend910", 0xb0, 20, 6, k64Gb)),
              ElementsAre("vir10_3c_32g", "vir05_1c_16g"));
  EXPECT_THAT(names(vnpu_board("Ascend910", 0xb1, 24, 6, k64Gb)),
              ElementsAre("vir12_3c_32g", "vir06_1c_16g"));
  EXPECT_EQ(vnpu_board("310P3", 0x64, 8, 7, 21527).templates.size(), 7U);
  EXPECT_EQ(vnpu_board("910B4", 0x99, 20, 6, 32768).family, VnpuFamily::kNone) << "an unknown board";
  EXPECT_EQ(vnpu_board("310B4", 0x33, 1, 1, 8192).family, VnpuFamily::kNone);
}

// Without it a program in a slice would be promised the size on the box: what it gets is less.
TEST(VnpuBoards, UsableMemoryIsLessThanNominal) {
  const VnpuBoard small = vnpu_board("310P3", 0x64, 8, 7, 21527);
  EXPECT_EQ(small.nominal_memory_mb(*small.find("vir01")), 3072U);
  EXPECT_EQ(small.usable_memory_mb(*small.find("vir01")), 2690U);
  EXPECT_EQ(small.usable_memory_mb(*small.find("vir02")), 5381U);
  EXPECT_EQ(small.usable_memory_mb(*small.find("vir04_3c_ndvpp")), 10763U);
  const VnpuBoard large = vnpu_board("310P3", 0x64, 8, 7, 43693);
  EXPECT_EQ(large.nominal_memory_mb(*large.find("vir04")), 24576U);
  const VnpuBoard a910 = vnpu_board("910A", 0x10, 30, 14, 32768);
  EXPECT_EQ(a910.nominal_memory_mb(*a910.find("vir16")), 16384U);
  EXPECT_EQ(a910.usable_memory_mb(*a910.find("vir16")), 17476U);
  const VnpuBoard b4 = vnpu_board("910B4", 0x33, 20, 6, 32768);
  EXPECT_EQ(b4.nominal_memory_mb(*b4.find("vir05_1c_8g")), 8192U);
  EXPECT_EQ(b4.usable_memory_mb(*b4.find("vir05_1c_8g")), 7168U);
}

// Without it seven small slices would not fit, or an eighth would: AICPU is what runs out, cores are left.
TEST(VnpuBook310P, SevenOfTheSmallest) {
  VnpuBook book = book_310p3();
  EXPECT_EQ(add_all(book, {"vir01", "vir01", "vir01", "vir01", "vir01", "vir01", "vir01"}),
            VnpuRefusal::kNone);
  EXPECT_THAT(vgroups(book), ElementsAre(0, 0, 1, 1, 2, 2, 3));
  EXPECT_EQ(add(book, "vir01"), VnpuRefusal::kAiCpus);
  EXPECT_EQ(book.left().ai_cores, 1U);
}

// Without it mixes that the hardware takes would be refused, or the other way round.
TEST(VnpuBook310P, MixesThatHardwareTakes) {
  VnpuBook mixed = book_310p3();
  EXPECT_EQ(add_all(mixed, {"vir01", "vir02", "vir04"}), VnpuRefusal::kNone);
  EXPECT_THAT(vgroups(mixed), ElementsAre(0, 1, 2));
  EXPECT_EQ(add(mixed, "vir01"), VnpuRefusal::kAiCpus) << "one core is left, and no AICPU";

  VnpuBook six = book_310p3();
  EXPECT_EQ(add_all(six, {"vir01", "vir01", "vir01", "vir01", "vir01", "vir01"}), VnpuRefusal::kNone);
  EXPECT_EQ(add(six, "vir02"), VnpuRefusal::kAiCpus);
  EXPECT_EQ(add(six, "vir02_1c"), VnpuRefusal::kNone);

  VnpuBook full = book_310p3();
  EXPECT_EQ(add_all(full, {"vir04_3c", "vir02", "vir01", "vir01"}), VnpuRefusal::kNone);
  EXPECT_EQ(full.left().ai_cores, 0U) << "the variants let all eight cores be used";

  VnpuBook halves = book_310p3();
  EXPECT_EQ(add_all(halves, {"vir04_3c", "vir04"}), VnpuRefusal::kNone);
  EXPECT_EQ(book_310p3().left().ai_cores, 8U);
  VnpuBook doubled = book_310p3();
  EXPECT_EQ(add_all(doubled, {"vir04", "vir04"}), VnpuRefusal::kAiCpus);
}

// Without it four cores in four groups would count as room for a slice of four.
TEST(VnpuBook310P, GroupsAreOfTwoCoresAtLeast) {
  VnpuBook book = book_310p3();
  Vdev made;
  for (const std::uint32_t group : {0U, 1U, 2U}) {
    ASSERT_EQ(book.create("vir01", std::nullopt, group, &made), VnpuRefusal::kNone);
    EXPECT_EQ(made.vgroup, group);
  }
  EXPECT_EQ(add(book, "vir04_3c"), VnpuRefusal::kVgroup) << "three groups in use: one or two cores only";
  EXPECT_EQ(book.create("vir02", std::nullopt, 0, &made), VnpuRefusal::kVgroup) << "half a group";
  EXPECT_EQ(book.create("vir01", std::nullopt, 4, &made), VnpuRefusal::kVgroup) << "there are four";
  ASSERT_EQ(book.create("vir01", std::nullopt, 3, &made), VnpuRefusal::kNone);
  EXPECT_EQ(add(book, "vir02_1c"), VnpuRefusal::kVgroup) << "four groups in use: one core only";
  EXPECT_EQ(add(book, "vir01"), VnpuRefusal::kNone);
  EXPECT_EQ(book.left().vgroups, 0U);
}

// Without it two slices would be given the same decoders.
TEST(VnpuBook310P, AllOfTheMediaEnginesGoToOne) {
  VnpuBook book = book_310p3();
  EXPECT_EQ(add(book, "vir04_4c_dvpp"), VnpuRefusal::kNone);
  EXPECT_EQ(add(book, "vir01"), VnpuRefusal::kMedia);
  EXPECT_EQ(add(book, "vir04_3c_ndvpp"), VnpuRefusal::kNone);
  EXPECT_EQ(book.left().ai_cores, 0U);
}

// Without it a second vir16 would be sold on a chip of thirty cores.
TEST(VnpuBook910A, OneVir16OnThirtyCoresTwoOnThirtyTwo) {
  VnpuBook thirty(0, vnpu_board("910A", 0x10, 30, 14, 32768));
  EXPECT_EQ(add_all(thirty, {"vir16", "vir16"}), VnpuRefusal::kAiCores);
  EXPECT_EQ(add_all(thirty, {"vir08", "vir04", "vir02"}), VnpuRefusal::kNone);
  EXPECT_EQ(thirty.left().ai_cores, 0U);
  VnpuBook thirty_two(0, vnpu_board("910A", 0x10, 32, 14, 32768));
  EXPECT_EQ(add_all(thirty_two, {"vir16", "vir16"}), VnpuRefusal::kNone);
  VnpuBook small(0, vnpu_board("910A", 0x10, 30, 14, 32768));
  EXPECT_EQ(add_all(small, std::vector<const char*>(15, "vir02")), VnpuRefusal::kNone);
  EXPECT_EQ(add(small, "vir02"), VnpuRefusal::kAiCores);
  VnpuBook sixteen(0, vnpu_board("910A", 0x10, 32, 14, 32768));
  EXPECT_EQ(add_all(sixteen, std::vector<const char*>(16, "vir02")), VnpuRefusal::kNone);
  EXPECT_EQ(add(sixteen, "vir02"), VnpuRefusal::kCount);
  EXPECT_FALSE(small.total().ai_cpus.has_value()) << "not accounted for on this family";
}

// Without it the seventh AICPU, there only while a chip is cut, would be missed or promised too early.
TEST(VnpuBook910B, SixAiCpusWholeSevenCut) {
  VnpuBook book = book_910b(0x33, 20, 32768);
  EXPECT_EQ(book.total().ai_cpus, 6U);
  EXPECT_EQ(book.left().memory_mb >> 10U, 28U);
  ASSERT_EQ(add(book, "vir10_4c_16g_m"), VnpuRefusal::kNone);
  EXPECT_EQ(book.total().ai_cpus, 7U);
  EXPECT_EQ(add(book, "vir10_3c_16g"), VnpuRefusal::kMedia) << "the other has all media engines";
  EXPECT_EQ(add(book, "vir10_3c_16g_nm"), VnpuRefusal::kNone);
  EXPECT_EQ(book.left().ai_cpus, 0U);
  EXPECT_EQ(book.left().memory_mb, 0U);
  const std::vector<std::uint32_t> ids = {100, 101};
  for (const std::uint32_t id : ids) EXPECT_TRUE(book.destroy(id));
  EXPECT_EQ(book.total().ai_cpus, 6U);
}

// Without it the vendor's own list of mixes would not hold.
TEST(VnpuBook910B, MixesOfTheManual) {
  for (const auto& mix :
       std::vector<std::vector<const char*>>{{"vir10_3c_32g", "vir10_3c_32g"},
                                             {"vir05_1c_16g", "vir05_1c_16g", "vir05_1c_16g", "vir05_1c_16g"},
                                             {"vir10_3c_32g", "vir05_1c_16g", "vir05_1c_16g"}}) {
    VnpuBook book = book_910b(0x32, 20, k64Gb);
    EXPECT_EQ(add_all(book, mix), VnpuRefusal::kNone);
    EXPECT_EQ(add(book, "vir05_1c_16g"), VnpuRefusal::kAiCores);
  }
  VnpuBook b2 = book_910b(0x30, 24, k64Gb);
  EXPECT_EQ(add_all(b2, {"vir12_3c_32g", "vir12_3c_32g"}), VnpuRefusal::kNone);
  VnpuBook quarters = book_910b(0x30, 24, k64Gb);
  EXPECT_EQ(add_all(quarters, {"vir06_1c_16g", "vir06_1c_16g", "vir06_1c_16g", "vir06_1c_16g"}),
            VnpuRefusal::kNone);
  EXPECT_EQ(add(quarters, "vir03_1c_8g"), VnpuRefusal::kTemplate) << "sold by others, not in the driver";
}

// Without it ids would be those of another chip, or be handed out twice.
TEST(VnpuBook, IdsBelongToTheChip) {
  VnpuBook book = book_910b(0x32, 20, k64Gb, 3);
  Vdev made;
  ASSERT_EQ(book.create("vir05_1c_16g", std::nullopt, std::nullopt, &made), VnpuRefusal::kNone);
  EXPECT_EQ(made.id, 148U);
  ASSERT_EQ(book.create("vir05_1c_16g", 163, std::nullopt, &made), VnpuRefusal::kNone);
  EXPECT_EQ(made.number, 15U);
  EXPECT_EQ(book.create("vir05_1c_16g", 148, std::nullopt, &made), VnpuRefusal::kId);
  EXPECT_EQ(book.create("vir05_1c_16g", 164, std::nullopt, &made), VnpuRefusal::kId);
  EXPECT_EQ(book.create("vir05_1c_16g", 147, std::nullopt, &made), VnpuRefusal::kId);
  EXPECT_TRUE(book.destroy(148));
  EXPECT_FALSE(book.destroy(148));
  ASSERT_EQ(book.create("vir05_1c_16g", std::nullopt, std::nullopt, &made), VnpuRefusal::kNone);
  EXPECT_EQ(made.id, 148U) << "the lowest that is free";
  EXPECT_EQ(book.create("vir05_1c_16g", std::nullopt, 1, &made), VnpuRefusal::kVgroup) << "310P only";
}

// Without it a refused cut could leave something behind.
TEST(VnpuBook, ARefusalChangesNothing) {
  VnpuBook book = book_310p3();
  ASSERT_EQ(add(book, "vir04"), VnpuRefusal::kNone);
  const VnpuResources before = book.left();
  EXPECT_EQ(add(book, "vir04"), VnpuRefusal::kAiCpus);
  EXPECT_EQ(add(book, "vir16"), VnpuRefusal::kTemplate);
  EXPECT_EQ(book.vdevs().size(), 1U);
  EXPECT_EQ(book.left().ai_cores, before.ai_cores);
  EXPECT_EQ(book.left().memory_mb, before.memory_mb);
}

}  // namespace
}  // namespace ascendsim
