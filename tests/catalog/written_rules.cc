#include "catalog/written_rules.h"

#include <numeric>

namespace tangram::testing {
namespace {

std::vector<WrittenTemplate> of_310p(int scale) {
  return {
      {"vir01", 1, 3072 * scale, 1, 1, 0, 1, 2, 1, 0},
      {"vir02", 2, 6144 * scale, 2, 3, 1, 3, 4, 2, 0},
      {"vir02_1c", 2, 6144 * scale, 1, 3, 0, 3, 4, 2, 0},
      {"vir04", 4, 12288 * scale, 4, 6, 2, 6, 8, 4, 0},
      {"vir04_3c", 4, 12288 * scale, 3, 6, 1, 6, 8, 4, 0},
      {"vir04_3c_ndvpp", 4, 12288 * scale, 3, 0, 0, 0, 0, 0, 0},
      {"vir04_4c_dvpp", 4, 12288 * scale, 4, 12, 3, 12, 16, 8, 0, true},
  };
}

std::vector<WrittenTemplate> of_910a(int gib) {
  return {
      {"vir02", 2, 64 * gib, 1, 1, 0, 1, 1, 0, 1.5},
      {"vir04", 4, 128 * gib, 1, 2, 0, 2, 2, 1, 3},
      {"vir08", 8, 256 * gib, 3, 4, 0, 4, 4, 2, 6},
      {"vir16", 16, 512 * gib, 7, 8, 0, 8, 8, 4, 12},
  };
}

// What the device sets aside, not what is shown.
const std::vector<WrittenTemplate> kOf24Cores = {
    {"vir06_1c_16g", 6, 15360, 1, 2, 0, 0, 7, 1, 0},
    {"vir12_3c_32g", 12, 30720, 3, 5, 0, 1, 14, 2, 0},
};
const std::vector<WrittenTemplate> kOf64G = {
    {"vir05_1c_16g", 5, 15360, 1, 2, 0, 0, 6, 1, 0},
    {"vir10_3c_32g", 10, 30720, 3, 4, 0, 1, 12, 2, 0},
};
const std::vector<WrittenTemplate> kOf32G = {
    {"vir05_1c_8g", 5, 7168, 1, 2, 0, 0, 6, 1, 0},
    {"vir10_3c_16g", 10, 14336, 3, 4, 0, 1, 12, 2, 0},
    {"vir10_3c_16g_nm", 10, 14336, 3, 0, 0, 0, 0, 0, 0},
    {"vir10_4c_16g_m", 10, 14336, 4, 9, 0, 2, 24, 4, 0, true},
};

WrittenChip chip_910b(const char* name, int cores, int memory,
                      const std::vector<WrittenTemplate>& templates) {
  const bool large = cores == 24;
  return {name, cores, memory, 7, large ? 10 : 9, 0, 2, large ? 28 : 24, 4, -1, 16, -1, false, templates};
}

// 24 cores that report the media engines of 20.
WrittenChip with_usual_dvpp(const char* name) {
  WrittenChip chip = chip_910b(name, 24, 61440, kOf24Cores);
  chip.vpc = 9;
  chip.jpegd = 24;
  return chip;
}

bool is_legal(const WrittenChip& chip, const WrittenMix& mix) {
  int slices = 0, cores = 0, memory = 0, cpus = 0, vpc = 0, venc = 0, vdec = 0, jpegd = 0, jpege = 0;
  double pngd = 0;
  int with_dvpp = 0, owners = 0;
  std::vector<int> vgroups;  // cores of each
  for (std::size_t i = 0; i < chip.templates.size(); ++i) {
    const WrittenTemplate& shape = chip.templates[i];
    for (int n = 0; n < mix[i]; ++n) {
      ++slices;
      cores += shape.cores;
      memory += shape.memory_mib;
      cpus += shape.cpus;
      vpc += shape.vpc;
      venc += shape.venc;
      vdec += shape.vdec;
      jpegd += shape.jpegd;
      jpege += shape.jpege;
      pngd += shape.pngd;
      if (shape.vpc > 0) ++with_dvpp;
      if (shape.owns_dvpp) ++owners;
      if (shape.cores >= 2) vgroups.push_back(shape.cores);
    }
    if (shape.cores == 16 && chip.of_16_cores >= 0 && mix[i] > chip.of_16_cores) return false;
  }
  const auto too_many = [](auto used, auto there) { return there >= 0 && used > there; };
  if (slices > 16 || slices > chip.most || cores > chip.cores || memory > chip.memory_mib) return false;
  if (too_many(cpus, chip.cpus) || too_many(vpc, chip.vpc) || too_many(venc, chip.venc)) return false;
  if (too_many(vdec, chip.vdec) || too_many(jpegd, chip.jpegd) || too_many(jpege, chip.jpege)) return false;
  if (too_many(pngd, chip.pngd)) return false;
  if (owners > 0 && with_dvpp > 1) return false;
  if (!chip.has_vgroups) return mix.back() == 0;
  const int alone = mix.back();
  if (alone > mix[0] || (mix[0] - alone) % 2 != 0) return false;
  for (int n = 0; n < alone + (mix[0] - alone) / 2; ++n) vgroups.push_back(2);
  return vgroups.size() <= 4 && std::accumulate(vgroups.begin(), vgroups.end(), 0) <= chip.cores;
}

void try_all(const WrittenChip& chip, WrittenMix& mix, std::size_t at, std::vector<WrittenMix>& found) {
  if (at == mix.size()) {
    if (is_legal(chip, mix)) found.push_back(mix);
    return;
  }
  const int most = at < chip.templates.size() ? chip.cores / chip.templates[at].cores
                   : chip.has_vgroups         ? 8
                                              : 0;
  for (mix[at] = 0; mix[at] <= most; ++mix[at]) try_all(chip, mix, at + 1, found);
  mix[at] = 0;
}

}  // namespace

const std::vector<WrittenChip>& written_chips() {
  static const std::vector<WrittenChip> chips = {
      {"300I Duo (24 GiB a chip)", 8, 24576, 7, 12, 3, 12, 16, 8, -1, 7, -1, true, of_310p(1)},
      {"300I Duo (48 GiB a chip)", 8, 49152, 7, 12, 3, 12, 16, 8, -1, 7, -1, true, of_310p(2)},
      {"310P (24 GiB)", 8, 24576, 7, 12, 3, 12, 16, 8, -1, 7, -1, true, of_310p(1)},
      {"310P (48 GiB)", 8, 49152, 7, 12, 3, 12, 16, 8, -1, 7, -1, true, of_310p(2)},
      {"910A, 30 cores (32 GiB)", 30, 32768, -1, 16, -1, 16, 16, 8, 24, 15, 1, false, of_910a(32)},
      {"910A, 32 cores (32 GiB)", 32, 32768, -1, 16, -1, 16, 16, 8, 24, 16, 2, false, of_910a(32)},
      {"910A, 30 cores (16 GiB)", 30, 16384, -1, 16, -1, 16, 16, 8, 24, 15, 1, false, of_910a(16)},
      {"910A, 32 cores (16 GiB)", 32, 16384, -1, 16, -1, 16, 16, 8, 24, 16, 2, false, of_910a(16)},
      chip_910b("910B, 24 cores (by board)", 24, 61440, kOf24Cores),
      with_usual_dvpp("910B, 24 cores (by board), DVPP of 20"),
      chip_910b("910B3 (by board)", 20, 61440, kOf64G),
      chip_910b("910B4 (by board)", 20, 28672, kOf32G),
      chip_910b("910B4-1 (by board)", 20, 61440, kOf64G),
      chip_910b("910B1", 24, 61440, kOf24Cores),
      with_usual_dvpp("910B1, DVPP of 20"),
      chip_910b("910B2", 24, 61440, kOf24Cores),
      with_usual_dvpp("910B2, DVPP of 20"),
      chip_910b("910B3", 20, 61440, kOf64G),
      chip_910b("910B4", 20, 28672, kOf32G),
      chip_910b("910B4-1", 20, 61440, kOf64G),
      chip_910b("A3, 20 cores", 20, 61440, kOf64G),
      chip_910b("A3, 24 cores", 24, 61440, kOf24Cores),
      with_usual_dvpp("A3, 24 cores, DVPP of 20"),
  };
  return chips;
}

std::vector<WrittenMix> all_legal_mixes(const WrittenChip& chip) {
  std::vector<WrittenMix> found;
  WrittenMix mix(chip.templates.size() + 1, 0);
  try_all(chip, mix, 0, found);
  return found;
}

}  // namespace tangram::testing
