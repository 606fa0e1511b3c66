// The virtual devices of one chip and what is left of it: the rules of the kernel driver and of the chip's
// firmware. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "ascendsim/vnpu/templates.h"

namespace ascendsim {

struct Vdev {
  std::uint32_t id = 0;                 // minor of its node: 100 + 16 * phy_id + number
  std::uint32_t number = 0;             // 0 … 15; the driver's vfid is one more
  std::optional<std::uint32_t> vgroup;  // the 910A has none
  const VnpuTemplate* shape = nullptr;
  std::uint32_t memory_mb = 0;  // usable
};

// Why the driver said no. The caller of the vendor's library is told "invalid parameter" for all but the
// first.
enum class VnpuRefusal {
  kNone,
  kNotSplittable,
  kTemplate,  // not one of this board
  kId,        // not one of this chip, or taken
  kCount,
  kAiCores,
  kMemory,
  kAiCpus,
  kMedia,
  kVgroup,
};

// What a chip has, or has left. Negative, or nothing: the driver does not say.
struct VnpuResources {
  std::uint32_t ai_cores = 0;
  std::uint32_t memory_mb = 0;
  std::optional<std::uint32_t> ai_cpus;
  MediaUnits media;
  std::uint32_t vgroups = 0;
  std::uint32_t vgroup_bitmap = 0;
};

class VnpuBook {
 public:
  static constexpr std::uint32_t kPerChipMax = 16;
  static constexpr std::uint32_t kFirstId = 100;
  static constexpr std::uint32_t kVgroups310P = 4;

  VnpuBook(std::uint32_t phy_id, const VnpuBoard& board) : phy_id_(phy_id), board_(board) {}

  // Nothing is changed when it refuses. An id or vgroup that is left out is chosen: the lowest that fits.
  VnpuRefusal create(std::string_view template_name, std::optional<std::uint32_t> id,
                     std::optional<std::uint32_t> vgroup, Vdev* created);
  bool destroy(std::uint32_t id) { return vdevs_.erase(id) != 0; }

  const VnpuBoard& board() const { return board_; }
  const std::map<std::uint32_t, Vdev>& vdevs() const { return vdevs_; }  // by id
  bool cut() const { return !vdevs_.empty(); }
  VnpuResources total() const;
  VnpuResources left() const;

 private:
  std::optional<std::uint32_t> free_id(std::optional<std::uint32_t> wanted) const;
  VnpuRefusal check_resources(const VnpuTemplate& shape) const;
  // Nothing: no group has room. The 310P has four, each of at least two cores; two vir01 share one.
  std::optional<std::uint32_t> free_vgroup_310p(std::uint32_t ai_cores,
                                                std::optional<std::uint32_t> wanted) const;
  std::uint32_t lowest_unused_vgroup() const;

  std::uint32_t phy_id_;
  VnpuBoard board_;
  std::map<std::uint32_t, Vdev> vdevs_;
};

}  // namespace ascendsim
