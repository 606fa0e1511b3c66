// What the vendor's driver can cut a chip into: its templates by board id, and what a chip has to share out.
// The driver's firmware and its tools each know these tables; there is no public call that asks for them.
// Source: the open driver's tables (hicann/driver, libdcmi and npu-smi) and, for A3, the vendor's manual.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace ascendsim {

enum class VnpuFamily { kNone, k310P, k910A, k910B, kA3 };

// Units of the media engines; -1: this family has none, or does not say.
struct MediaUnits {
  float vpc = -1;
  float venc = -1;
  float vdec = -1;
  float jpegd = -1;
  float jpege = -1;
  float pngd = -1;
};

struct VnpuTemplate {
  std::string_view name;  // at most 15 bytes
  std::uint32_t ai_cores = 0;
  std::uint32_t memory_mb = 0;       // as the tools show it, the nominal size; 0: by cores
  std::uint32_t memory_mb_real = 0;  // what the driver takes; 0: by cores
  std::uint32_t ai_cpus = 0;
  MediaUnits media;
};

// One kind of chip on one kind of board.
struct VnpuBoard {
  VnpuFamily family = VnpuFamily::kNone;
  std::uint32_t nominal_mb_per_core = 0;  // of templates whose memory goes by cores
  std::uint32_t ai_cores = 0;
  std::uint32_t memory_mb = 0;         // of the whole chip, as a program or a tool sees it
  std::uint32_t memory_mb_shared = 0;  // what slices share: without what the device system keeps
  std::uint32_t ai_cpus = 0;           // while the chip is whole
  std::uint32_t ai_cpus_cut = 0;       // while it is cut: the 910B's data CPU becomes one more
  bool ai_cpus_known = false;          // the 910A does not account for them
  MediaUnits media;
  std::span<const VnpuTemplate> templates;

  // Null for a name that this board does not list.
  const VnpuTemplate* find(std::string_view name) const;
  std::uint32_t nominal_memory_mb(const VnpuTemplate& shape) const;
  // What a program in the slice has: 2690 MB for the 3072 of a vir01.
  std::uint32_t usable_memory_mb(const VnpuTemplate& shape) const;
};

// No templates, family kNone: this chip cannot be cut. Board ids collide across families, so the chip's name
// counts as well.
VnpuBoard vnpu_board(std::string_view chip_name, std::uint32_t board_id, std::uint32_t ai_cores,
                     std::uint32_t ai_cpus, std::uint32_t memory_mb);

}  // namespace ascendsim
