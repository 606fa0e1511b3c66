// The templates that the vendor's open driver holds (by board id for the 910B), and for the A3 those of its
// documentation. Memory in MiB. A size has one *offered* template without peculiarities, and on the 310P a
// second one that is leaner in AICPU; those without media engines, or with all of them, are for who asks the
// device itself for them.
#include "catalog/chip.h"

namespace tangram {
namespace {

constexpr std::int64_t kMib = std::int64_t{1024} * 1024;

struct Media {
  std::int64_t vpc = 0, venc = 0, vdec = 0, jpegd = 0, jpege = 0, pngd_halves = 0;
};

ChipAmounts amounts(std::int64_t cores, std::int64_t cpus, std::int64_t memory_mib, const Media& media) {
  const std::int64_t memory = memory_mib == kUnlimited ? kUnlimited : memory_mib * kMib;
  return {cores,      cpus,        memory,      media.vpc,        media.venc,
          media.vdec, media.jpegd, media.jpege, media.pngd_halves};
}

struct Sizes {
  std::int64_t nominal_mib = 0;
  std::int64_t device_mib = 0;  // what the device sets aside
  std::int64_t usable_mib = 0;
};

SliceTemplate slice(const char* name, std::int64_t cores, std::int64_t cpus, Sizes memory,
                    const Media& media) {
  SliceTemplate shape;
  shape.name = name;
  shape.memory = Bytes::mib(memory.nominal_mib);
  shape.usable_memory = Bytes::mib(memory.usable_mib);
  shape.takes = amounts(cores, cpus, memory.device_mib, media);
  return shape;
}

SliceTemplate not_offered(SliceTemplate shape) {
  shape.offered = false;
  return shape;
}

SliceTemplate owning_dvpp(SliceTemplate shape) {
  shape.owns_dvpp = true;
  return not_offered(std::move(shape));
}

// `usable_mib` of the whole chip: in a slice a program finds its part of that by cores.
ChipModel chip_310p(const char* name, std::int64_t scale, std::int64_t usable_mib) {
  const auto sizes = [&](std::int64_t cores) {
    return Sizes{3072 * cores * scale, 3072 * cores * scale, usable_mib * cores / 8};
  };
  ChipModel chip;
  chip.name = name;
  chip.match.chips = {"310P", "310P1", "310P2", "310P3", "310P4", "310P5", "310P6", "310P7"};
  chip.has = amounts(8, 7, 24'576 * scale, {12, 3, 12, 16, 8, kUnlimited});
  chip.ai_cpus_uncut = 7;
  chip.slices_max = 7;
  chip.vgroups = 4;
  chip.templates = {
      slice("vir01", 1, 1, sizes(1), {1, 0, 1, 2, 1, 0}),
      slice("vir02", 2, 2, sizes(2), {3, 1, 3, 4, 2, 0}),
      slice("vir02_1c", 2, 1, sizes(2), {3, 0, 3, 4, 2, 0}),
      slice("vir04", 4, 4, sizes(4), {6, 2, 6, 8, 4, 0}),
      slice("vir04_3c", 4, 3, sizes(4), {6, 1, 6, 8, 4, 0}),
      not_offered(slice("vir04_3c_ndvpp", 4, 3, sizes(4), {})),
      owning_dvpp(slice("vir04_4c_dvpp", 4, 4, sizes(4), {12, 3, 12, 16, 8, 0})),
  };
  return chip;
}

// AICPU: the driver does not report what is free on this chip, and 15 of vir02 are documented to fit 14.
ChipModel chip_910a(const char* name, std::int64_t cores, std::int64_t gib) {
  const auto sizes = [&](std::int64_t size) {
    const std::int64_t mib = size * 1024 * gib / 32;
    return Sizes{mib, mib, mib};
  };
  ChipModel chip;
  chip.name = name;
  chip.match.chips = {"910A", "910ProA", "910ProB", "910PremiumA", "910"};
  chip.match.ai_cores = static_cast<std::int32_t>(cores);
  chip.match.memory_above = Bytes::gib(gib / 2);
  chip.match.memory_most = Bytes::gib(gib);
  chip.has = amounts(cores, kUnlimited, gib * 1024, {16, kUnlimited, 16, 16, 8, 48});
  chip.ai_cpus_uncut = 14;
  chip.slices_max = static_cast<std::int32_t>(cores / 2);
  chip.templates = {
      slice("vir02", 2, 1, sizes(2), {1, 0, 1, 1, 0, 3}),
      slice("vir04", 4, 1, sizes(4), {2, 0, 2, 2, 1, 6}),
      slice("vir08", 8, 3, sizes(8), {4, 0, 4, 4, 2, 12}),
      slice("vir16", 16, 7, sizes(16), {8, 0, 8, 8, 4, 24}),
  };
  chip.templates.back().count_max = static_cast<std::int32_t>(cores / 16);
  return chip;
}

// Of a 910B with 24 cores: what the two documented divisions need, which no driver is known to report …
constexpr Media kFullDvpp{10, 0, 2, 28, 4, kUnlimited};
// … and what chips of 20 cores report. A board of 24 that reports no more is cut by it.
constexpr Media kUsualDvpp{9, 0, 2, 24, 4, kUnlimited};

// The 910B has six AICPU until it is cut, seven then. `device_mib`: what is left beside the device's own
// system.
ChipModel chip_910b(const char* name, std::vector<std::string> chips, std::vector<std::uint32_t> boards,
                    std::int64_t cores, std::int64_t device_mib) {
  ChipModel chip;
  chip.name = name;
  chip.match.chips = std::move(chips);
  chip.match.boards = std::move(boards);
  chip.has = amounts(cores, 7, device_mib, cores == 24 ? kFullDvpp : kUsualDvpp);
  chip.ai_cpus_uncut = 6;
  return chip;
}

std::vector<SliceTemplate> templates_of_24_cores() {
  return {slice("vir06_1c_16g", 6, 1, {16'384, 15'360, 15'360}, {2, 0, 0, 7, 1, 0}),
          slice("vir12_3c_32g", 12, 3, {32'768, 30'720, 30'720}, {5, 0, 1, 14, 2, 0})};
}

std::vector<SliceTemplate> templates_of_64g() {
  return {slice("vir05_1c_16g", 5, 1, {16'384, 15'360, 15'360}, {2, 0, 0, 6, 1, 0}),
          slice("vir10_3c_32g", 10, 3, {32'768, 30'720, 30'720}, {4, 0, 1, 12, 2, 0})};
}

std::vector<SliceTemplate> templates_of_32g() {
  constexpr Sizes kHalf{16'384, 14'336, 14'336};
  return {slice("vir05_1c_8g", 5, 1, {8192, 7168, 7168}, {2, 0, 0, 6, 1, 0}),
          slice("vir10_3c_16g", 10, 3, kHalf, {4, 0, 1, 12, 2, 0}),
          not_offered(slice("vir10_3c_16g_nm", 10, 3, kHalf, {})),
          owning_dvpp(slice("vir10_4c_16g_m", 10, 4, kHalf, {9, 0, 2, 24, 4, 0}))};
}

// The chip, and the same of 24 cores with the media engines of one of 20, for boards that report those.
void add_with_less_dvpp(std::vector<ChipModel>& chips, ChipModel chip) {
  chip.templates = templates_of_24_cores();
  chips.push_back(chip);
  chip.name += ", DVPP of 20";
  chip.has = amounts(chip.has[index_of(ChipResource::kAiCores)], chip.has[index_of(ChipResource::kAiCpus)],
                     chip.has[index_of(ChipResource::kMemory)] / kMib, kUsualDvpp);
  chips.push_back(std::move(chip));
}

// The templates of a 910B follow from its board where that is known, else from its name.
void add_910b(std::vector<ChipModel>& chips) {
  const std::vector<std::string> family = {"910B1", "910B2", "910B2C", "910B3", "910B4", "910B4-1"};
  const std::vector<std::uint32_t> bins_0_3 = {0x30, 0x31, 0x39, 0x3a, 0x43, 0x50, 0x51, 0x13};
  const std::vector<std::uint32_t> bin_1 = {0x32, 0x3b, 0x42, 0x53, 0x10, 0x12};
  const std::vector<std::uint32_t> bin_2 = {0x33, 0x34, 0x3c, 0x3d, 0x40, 0x41,
                                            0x37, 0x52, 0x54, 0x11, 0x28, 0x29};
  const std::vector<std::uint32_t> bin_2_1 = {0x38, 0x3e};
  const auto add = [&chips](ChipModel chip, std::vector<SliceTemplate> templates) {
    chip.templates = std::move(templates);
    chips.push_back(std::move(chip));
  };
  add_with_less_dvpp(chips, chip_910b("910B, 24 cores (by board)", family, bins_0_3, 24, 61'440));
  add(chip_910b("910B3 (by board)", family, bin_1, 20, 61'440), templates_of_64g());
  add(chip_910b("910B4 (by board)", family, bin_2, 20, 28'672), templates_of_32g());
  add(chip_910b("910B4-1 (by board)", family, bin_2_1, 20, 61'440), templates_of_64g());
  add_with_less_dvpp(chips, chip_910b("910B1", {"910B1"}, {}, 24, 61'440));
  add_with_less_dvpp(chips, chip_910b("910B2", {"910B2", "910B2C"}, {}, 24, 61'440));
  add(chip_910b("910B3", {"910B3"}, {}, 20, 61'440), templates_of_64g());
  add(chip_910b("910B4", {"910B4"}, {}, 20, 28'672), templates_of_32g());
  add(chip_910b("910B4-1", {"910B4-1"}, {}, 20, 61'440), templates_of_64g());
}

void add_a3(std::vector<ChipModel>& chips) {
  const std::vector<std::uint32_t> boards = {0xb0, 0xb1, 0xb2, 0xb3, 0xb4, 0x81, 0x83, 0xd1, 0xd3};
  for (const std::int64_t cores : {20, 24}) {
    ChipModel chip =
        chip_910b(cores == 20 ? "A3, 20 cores" : "A3, 24 cores", {"Ascend910"}, boards, cores, 61'440);
    chip.match.ai_cores = static_cast<std::int32_t>(cores);
    chip.needs_probe = true;
    if (cores == 24) {
      add_with_less_dvpp(chips, std::move(chip));
      continue;
    }
    chip.templates = templates_of_64g();
    chips.push_back(std::move(chip));
  }
}

// The Atlas 300I Duo: two chips on one card. The vendor's documentation of slices that are cut while jobs
// come and go leaves it out: both chips have to be in one mode, set by hand.
void add_300i_duo(std::vector<ChipModel>& chips) {
  const auto add = [&chips](const char* name, std::int64_t scale, Bytes above, Bytes most) {
    ChipModel chip = chip_310p(name, scale, scale * 21'527);
    chip.match.chips_on_card = 2;
    chip.match.memory_above = above;
    chip.match.memory_most = most;
    chip.not_cut = "the vendor supports no slices for jobs on a card with two of this chip (300I Duo)";
    chips.push_back(std::move(chip));
  };
  add("300I Duo (24 GiB a chip)", 1, Bytes::gib(16), Bytes::gib(24));
  add("300I Duo (48 GiB a chip)", 2, Bytes::gib(32), Bytes::unlimited());
}

std::vector<ChipModel> all_chips() {
  std::vector<ChipModel> chips;
  add_300i_duo(chips);
  chips.push_back(chip_310p("310P (24 GiB)", 1, 21'527));
  chips.back().match.memory_above = Bytes::gib(16);
  chips.back().match.memory_most = Bytes::gib(24);
  chips.push_back(chip_310p("310P (48 GiB)", 2, std::int64_t{2} * 21'527));
  chips.back().match.memory_above = Bytes::gib(32);
  for (const std::int64_t gib : {32, 16}) {
    for (const std::int64_t cores : {30, 32}) {
      const std::string name = "910A, " + std::to_string(cores) + " cores (" + std::to_string(gib) + " GiB)";
      chips.push_back(chip_910a(name.c_str(), cores, gib));
    }
  }
  add_910b(chips);
  add_a3(chips);
  return chips;
}

}  // namespace

const std::vector<ChipModel>& builtin_chips() {
  static const std::vector<ChipModel> chips = all_chips();
  return chips;
}

}  // namespace tangram
