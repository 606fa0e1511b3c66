#include "ascendsim/vnpu/templates.h"

#include <algorithm>
#include <array>

namespace ascendsim {
namespace {

constexpr std::uint32_t kByCores = 0;

// Columns: name, cores, memory shown, memory real, AICPU, {VPC, VENC, VDEC, JPEGD, JPEGE, PNGD}.
constexpr std::array<VnpuTemplate, 7> k310P{{
    {"vir01", 1, kByCores, kByCores, 1, {1, 0, 1, 2, 1, -1}},
    {"vir02", 2, kByCores, kByCores, 2, {3, 1, 3, 4, 2, -1}},
    {"vir02_1c", 2, kByCores, kByCores, 1, {3, 0, 3, 4, 2, -1}},
    {"vir04", 4, kByCores, kByCores, 4, {6, 2, 6, 8, 4, -1}},
    {"vir04_3c", 4, kByCores, kByCores, 3, {6, 1, 6, 8, 4, -1}},
    {"vir04_3c_ndvpp", 4, kByCores, kByCores, 3, {0, 0, 0, 0, 0, -1}},
    {"vir04_4c_dvpp", 4, kByCores, kByCores, 4, {12, 3, 12, 16, 8, -1}},
}};
constexpr std::array<VnpuTemplate, 4> k910A{{
    {"vir02", 2, kByCores, kByCores, 1, {1, -1, 1, 1, 0, 1.5F}},
    {"vir04", 4, kByCores, kByCores, 1, {2, -1, 2, 2, 1, 3}},
    {"vir08", 8, kByCores, kByCores, 3, {4, -1, 4, 4, 2, 6}},
    {"vir16", 16, kByCores, kByCores, 7, {8, -1, 8, 8, 4, 12}},
}};
constexpr std::array<VnpuTemplate, 2> k24Cores64Gb{{
    {"vir12_3c_32g", 12, 32768, 30720, 3, {5, 0, 1, 14, 2, -1}},
    {"vir06_1c_16g", 6, 16384, 15360, 1, {2, 0, 0, 7, 1, -1}},
}};
constexpr std::array<VnpuTemplate, 2> k20Cores64Gb{{
    {"vir10_3c_32g", 10, 32768, 30720, 3, {4, 0, 1, 12, 2, -1}},
    {"vir05_1c_16g", 5, 16384, 15360, 1, {2, 0, 0, 6, 1, -1}},
}};
constexpr std::array<VnpuTemplate, 4> k20Cores32Gb{{
    {"vir10_3c_16g", 10, 16384, 14336, 3, {4, 0, 1, 12, 2, -1}},
    {"vir10_4c_16g_m", 10, 16384, 14336, 4, {9, 0, 2, 24, 4, -1}},
    {"vir10_3c_16g_nm", 10, 16384, 14336, 3, {0, 0, 0, 0, 0, -1}},
    {"vir05_1c_8g", 5, 8192, 7168, 1, {2, 0, 0, 6, 1, -1}},
}};

constexpr std::array<std::uint32_t, 8> kBoards24Cores64Gb{0x30, 0x31, 0x39, 0x3a, 0x43, 0x50, 0x51, 0x13};
constexpr std::array<std::uint32_t, 8> kBoards20Cores64Gb{0x32, 0x3b, 0x42, 0x53, 0x10, 0x12, 0x38, 0x3e};
constexpr std::array<std::uint32_t, 12> kBoards20Cores32Gb{0x33, 0x34, 0x3c, 0x3d, 0x40, 0x41,
                                                           0x37, 0x52, 0x54, 0x11, 0x28, 0x29};
constexpr std::array<std::uint32_t, 9> kBoardsA3{0xb0, 0xb1, 0xb2, 0xb3, 0xb4, 0x81, 0x83, 0xd1, 0xd3};

// The device operating system of a 910B keeps this much of a chip that is to be cut.
constexpr std::uint32_t kDeviceSystemMb = 4096;
constexpr std::uint32_t kGibibyteMb = 1024;

bool among(std::span<const std::uint32_t> boards, std::uint32_t board_id) {
  return std::ranges::find(boards, board_id) != boards.end();
}

void fill_310p(VnpuBoard& board) {
  board.family = VnpuFamily::k310P;
  board.templates = k310P;
  const std::uint32_t mb = board.memory_mb;
  const std::uint32_t gb = mb <= 16 * kGibibyteMb   ? 16
                           : mb <= 24 * kGibibyteMb ? 24
                           : mb <= 32 * kGibibyteMb ? 32
                                                    : 48;
  board.nominal_mb_per_core = gb * kGibibyteMb / 8;
  board.memory_mb_shared = mb;
  board.ai_cpus_cut = board.ai_cpus;
  board.ai_cpus_known = true;
  board.media = {12, 3, 12, 16, 8, -1};
}

void fill_910a(VnpuBoard& board) {
  board.family = VnpuFamily::k910A;
  board.templates = k910A;
  board.nominal_mb_per_core = board.memory_mb <= 16 * kGibibyteMb ? 512 : 1024;
  board.memory_mb_shared = board.memory_mb;
  board.ai_cpus_cut = board.ai_cpus;
  board.media = {16, -1, 16, 16, 8, 24};
}

void fill_910b(VnpuBoard& board, std::span<const VnpuTemplate> templates) {
  board.family = VnpuFamily::k910B;
  board.templates = templates;
  const std::uint32_t whole = board.memory_mb <= 32 * kGibibyteMb ? 32 * kGibibyteMb : 64 * kGibibyteMb;
  board.memory_mb_shared = whole - kDeviceSystemMb;
  board.ai_cpus_cut = board.ai_cpus + 1;
  board.ai_cpus_known = true;
  // Two vir12 need more than the 20-core chips have, and are what the 24-core ones are meant for.
  board.media = board.ai_cores >= 24 ? MediaUnits{10, 0, 2, 28, 4, -1} : MediaUnits{9, 0, 2, 24, 4, -1};
}

std::span<const VnpuTemplate> templates_910b(std::uint32_t board_id) {
  if (among(kBoards24Cores64Gb, board_id)) return k24Cores64Gb;
  if (among(kBoards20Cores64Gb, board_id)) return k20Cores64Gb;
  if (among(kBoards20Cores32Gb, board_id)) return k20Cores32Gb;
  return {};
}

}  // namespace

const VnpuTemplate* VnpuBoard::find(std::string_view name) const {
  const auto found = std::ranges::find(templates, name, &VnpuTemplate::name);
  return found == templates.end() ? nullptr : &*found;
}

std::uint32_t VnpuBoard::nominal_memory_mb(const VnpuTemplate& shape) const {
  return shape.memory_mb == kByCores ? shape.ai_cores * nominal_mb_per_core : shape.memory_mb;
}

std::uint32_t VnpuBoard::usable_memory_mb(const VnpuTemplate& shape) const {
  if (shape.memory_mb_real != kByCores) return shape.memory_mb_real;
  return static_cast<std::uint32_t>(std::uint64_t{memory_mb} * shape.ai_cores / ai_cores);
}

VnpuBoard vnpu_board(std::string_view chip_name, std::uint32_t board_id, std::uint32_t ai_cores,
                     std::uint32_t ai_cpus, std::uint32_t memory_mb) {
  VnpuBoard board;
  board.ai_cores = ai_cores;
  board.ai_cpus = ai_cpus;
  board.memory_mb = memory_mb;
  const bool a3 = chip_name.starts_with("Ascend910") && among(kBoardsA3, board_id);
  if (chip_name.starts_with("310P")) {
    fill_310p(board);
  } else if (a3) {
    fill_910b(board, ai_cores >= 24 ? std::span<const VnpuTemplate>(k24Cores64Gb) : k20Cores64Gb);
    board.family = VnpuFamily::kA3;
  } else if (chip_name.starts_with("910B")) {
    const auto templates = templates_910b(board_id);
    if (!templates.empty()) fill_910b(board, templates);
  } else if (chip_name.starts_with("910")) {
    fill_910a(board);
  }
  return board;
}

}  // namespace ascendsim
