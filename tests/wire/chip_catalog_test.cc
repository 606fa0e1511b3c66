#include "wire/chip_catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace tangram::wire {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr const char* kChips = R"(apiVersion: tangram.dev/v1
kind: ChipCatalog
chips:
  - name: 910B2 with thirds
    match:
      chips: [910B2]
      boards: [0x43, 67]
      aiCores: 24
      memoryAbove: 32GiB
    aiCores: 24
    aiCpus: 7
    aiCpusUncut: 6
    memory: 60GiB
    media: {vpc: 9, jpegd: 24}
    templates:
      - {name: vir03_1c_8g, aiCores: 3, aiCpus: 1, memory: 8GiB, usableMemory: 7GiB, media: {vpc: 1}}
      - name: vir12_3c_32g
        aiCores: 12
        aiCpus: 3
        memory: 32GiB
        countMax: 2
        offered: false
)";

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

// Without this, an operator could not add a chip, or would add another than the file says.
TEST(ChipCatalog, ReadsWhatAnOperatorWrites) {
  const Result<std::vector<ChipModel>> chips = read_chips(kChips, "chips.yaml");
  ASSERT_TRUE(chips) << chips.error().to_string();
  ASSERT_THAT(*chips, SizeIs(1));
  const ChipModel& chip = chips->front();
  EXPECT_EQ(chip.name, "910B2 with thirds");
  EXPECT_EQ(chip.match.boards, std::vector<std::uint32_t>({0x43, 67}));
  EXPECT_EQ(chip.match.memory_above, Bytes::gib(32));
  EXPECT_TRUE(chip.match.memory_most.is_unlimited());
  EXPECT_EQ(chip.has[index_of(ChipResource::kMemory)], Bytes::gib(60).count);
  EXPECT_EQ(chip.has[index_of(ChipResource::kJpegd)], 24);
  EXPECT_EQ(chip.has[index_of(ChipResource::kVenc)], kUnlimited) << "left out: not checked";
  EXPECT_EQ(chip.ai_cpus_uncut, 6);
  EXPECT_EQ(chip.slices_max, 16);
  const SliceTemplate& third = chip.templates[0];
  EXPECT_EQ(third.usable_memory, Bytes::gib(7));
  EXPECT_EQ(third.takes[index_of(ChipResource::kMemory)], Bytes::gib(7).count);
  EXPECT_EQ(third.takes[index_of(ChipResource::kVpc)], 1);
  EXPECT_TRUE(third.offered);
  EXPECT_EQ(chip.templates[1].usable_memory, Bytes::gib(32));
  EXPECT_EQ(chip.templates[1].count_max, 2);
  EXPECT_FALSE(chip.templates[1].offered);
}

// Without this, an operator who knows better could not have a card of two chips cut, or keep another from it.
TEST(ChipCatalog, ReadsHowManyChipsACardHasAndWhyNoneIsCut) {
  std::string text = replaced(kChips, "      aiCores: 24\n", "      aiCores: 24\n      chipsOnCard: 2\n");
  text = replaced(text, "    memory: 60GiB\n", "    memory: 60GiB\n    notCut: its tenants want it whole\n");
  const Result<std::vector<ChipModel>> chips = read_chips(text, "chips.yaml");
  ASSERT_TRUE(chips) << chips.error().to_string();
  EXPECT_EQ(chips->front().match.chips_on_card, 2);
  EXPECT_EQ(chips->front().not_cut, "its tenants want it whole");
}

// Without this, a file made from the built-in chips would mean something else.
TEST(ChipCatalog, WrittenChipsAreReadAsTheyWere) {
  const Result<std::vector<ChipModel>> chips = read_chips(write_chips(builtin_chips()), "chips.yaml");
  ASSERT_TRUE(chips) << chips.error().to_string();
  EXPECT_EQ(*chips, builtin_chips());
}

struct Mistake {
  const char* what;
  const char* by;
  const char* reason;
  const char* says;
};

class ChipMistake : public ::testing::TestWithParam<Mistake> {};

// Without this, a slip in the file would be taken for something else, or not be found by its line.
TEST_P(ChipMistake, NamesTheLineAndTheField) {
  const auto& [what, by, reason, says] = GetParam();
  const Result<std::vector<ChipModel>> chips = read_chips(replaced(kChips, what, by), "chips.yaml");
  ASSERT_FALSE(chips);
  EXPECT_EQ(chips.error().reason, reason) << chips.error().to_string();
  EXPECT_THAT(chips.error().message, HasSubstr("chips.yaml"));
  EXPECT_THAT(chips.error().message, HasSubstr(says));
}

INSTANTIATE_TEST_SUITE_P(
    Mistakes, ChipMistake,
    ::testing::Values(
        Mistake{"aiCpus: 7", "aiCpu: 7", "input.unknown_field",
                "line 11, column 5: chips[0].aiCpu is not a field"},
        Mistake{"    aiCores: 24\n    aiCpus", "    aiCpus", "input.missing_field", "line 4"},
        Mistake{"      aiCores: 24\n", "      aiCores: 0\n", "input.out_of_range",
                "line 8, column 16: chips[0].match.aiCores"},
        Mistake{"      aiCores: 24\n", "      aiCores: 24\n      chipsOnCard: 0\n", "input.out_of_range",
                "chipsOnCard"},
        Mistake{"memory: 60GiB", "memory: 60", "input.wrong_type", "line 13, column 13: chips[0].memory"},
        Mistake{"0x43", "0xzz", "input.bad_value", "line 7, column 16: chips[0].match.boards[0]"},
        Mistake{"aiCores: 3,", "aiCores: 25,", "chip.invalid", "line 16"},
        Mistake{"usableMemory: 7GiB", "usableMemory: 9GiB", "chip.invalid", "templates[0].usableMemory"},
        Mistake{"name: vir12_3c_32g", "name: vir03_1c_8g", "chip.invalid", "line 17, column 15"},
        Mistake{"vpc: 1}", "vpc: 10}", "chip.invalid", "templates[0].vpc is 10, more than the chip has (9)"},
        Mistake{"countMax: 2", "countMax: 17", "input.out_of_range", "line 21"},
        Mistake{"kind: ChipCatalog", "kind: Tenant", "input.bad_value", "line 2, column 7: kind"},
        Mistake{"chips:\n", "chips: []\nmore:\n", "input.unknown_field", "more"},
        Mistake{"apiVersion: tangram.dev/v1\n", "", "input.missing_field", "apiVersion"}));

// Without this, the whole file could be passed over, or two descriptions of one chip depend on their order.
TEST(ChipCatalog, NothingAndTwiceAreMistakes) {
  EXPECT_EQ(read_chips("", "chips.yaml").error().reason, "input.missing_field");
  const std::string all(kChips);
  const std::string one = all.substr(all.find("  - name: 910B2"));
  EXPECT_EQ(read_chips(all + one, "chips.yaml").error().reason, "chip.repeated");
}

// Without this, a start would take seconds to say the same of every chip.
TEST(ChipCatalog, StopsAfterAFewChipsThatCanBeCutInTooManyWays) {
  std::string templates;
  for (int i = 0; i < 16; ++i) templates += "{name: t" + std::to_string(i) + ", aiCores: 1, memory: 1GiB}, ";
  std::string text = "apiVersion: tangram.dev/v1\nkind: ChipCatalog\nchips:\n";
  for (int i = 0; i < 40; ++i) {
    text += "  - {name: c" + std::to_string(i) + ", match: {chips: [x]}, aiCores: 16, templates: [" +
            templates + "]}\n";
  }
  const auto chips = read_chips(text, "chips.yaml");
  ASSERT_FALSE(chips);
  EXPECT_THAT(chips.error().message, HasSubstr("chip \"c2\" can be cut in more than"));
  EXPECT_THAT(chips.error().message, Not(HasSubstr("more problems")));
}

// Without this, the example that operators copy could be wrong.
TEST(ChipCatalog, TheDocumentedExampleIsRead) {
  const std::ifstream file(TANGRAM_SOURCE_DIR "/docs/slices.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string page = text.str();
  const std::size_t begin = page.find("```yaml\n");
  ASSERT_NE(begin, std::string::npos);
  const std::size_t end = page.find("```", begin + 8);
  const Result<std::vector<ChipModel>> chips =
      read_chips(page.substr(begin + 8, end - begin - 8), "docs/slices.md");
  EXPECT_TRUE(chips) << chips.error().to_string();
}

}  // namespace
}  // namespace tangram::wire
