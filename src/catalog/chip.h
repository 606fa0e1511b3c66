// What a chip model has and how it may be cut: plain data, from the built-in list or from an operator's file.
//
// A *template* is one of the vendor's fixed shapes of a slice ("vir02"). Its nominal memory is what a request
// is compared with and what a tenant is charged; a program inside finds less (*usable*). Facts: the vendor's
// open driver (tables of libdcmi and checks of npu-smi) and its product documentation.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace tangram {

// What slices of one chip have to share. kMemory in bytes, kPngdHalves in halves of a unit (the vendor gives
// 1.5), the others in the vendor's units.
enum class ChipResource : std::uint8_t {
  kAiCores,
  kAiCpus,
  kMemory,
  kVpc,
  kVenc,
  kVdec,
  kJpegd,
  kJpege,
  kPngdHalves,
};
inline constexpr std::size_t kChipResourceCount = 9;
inline constexpr std::array<ChipResource, kChipResourceCount> kChipResources = {
    ChipResource::kAiCores, ChipResource::kAiCpus, ChipResource::kMemory,
    ChipResource::kVpc,     ChipResource::kVenc,   ChipResource::kVdec,
    ChipResource::kJpegd,   ChipResource::kJpege,  ChipResource::kPngdHalves};

constexpr std::size_t index_of(ChipResource resource) {
  return static_cast<std::size_t>(resource);
}

// In what a chip has, kUnlimited stands for "not checked": the driver does not report it.
using ChipAmounts = std::array<std::int64_t, kChipResourceCount>;

// "aiCores", "aiCpus", "memory", "vpc", … as in YAML.
std::string_view to_string(ChipResource resource);

struct SliceTemplate {
  std::string name;
  Bytes memory;                // nominal
  Bytes usable_memory;         // what a program in the slice finds as its total
  ChipAmounts takes{};         // kMemory: what the device sets aside
  std::int32_t count_max = 0;  // of this template on one chip; 0: no limit of its own
  bool owns_dvpp = false;      // no other slice with media engines (DVPP) may stand beside it
  bool offered = true;  // given to requests; otherwise only known, for slices that somebody else has made

  std::int64_t ai_cores() const { return takes[index_of(ChipResource::kAiCores)]; }
  std::int64_t ai_cpus() const { return takes[index_of(ChipResource::kAiCpus)]; }
  bool uses_dvpp() const;
  friend bool operator==(const SliceTemplate&, const SliceTemplate&) = default;
};

// Which NPUs a chip model stands for. The device's own name of the chip does not settle it: boards of one
// name differ in their templates, and board ids repeat between families.
struct ChipMatch {
  std::vector<std::string> chips;          // as the driver names them, "310P3"
  std::vector<std::uint32_t> boards;       // board ids; empty: any, and those that are not known
  std::int32_t ai_cores = 0;               // 0: any
  std::int32_t chips_on_card = 0;          // on the board together; 0: any number, and where it is not known
  Bytes memory_above;                      // the memory that is reported is above this …
  Bytes memory_most = Bytes::unlimited();  // … and at most this

  friend bool operator==(const ChipMatch&, const ChipMatch&) = default;
};

// How an NPU names itself.
struct ChipIdentity {
  std::string_view chip;
  std::optional<std::uint32_t> board;
  std::int32_t ai_cores = 0;
  Bytes memory;
  std::int32_t chips_on_card = 0;  // 0: not known
};

struct ChipModel {
  std::string name;  // in messages and tables: "310P (24 GiB)"
  ChipMatch match;
  ChipAmounts has{};               // kAiCpus: once it is cut
  std::int64_t ai_cpus_uncut = 0;  // before the first cut; the 910B gains one by it
  std::int32_t slices_max = 16;    // the kernel driver allows no more on any chip
  std::int32_t vgroups = 0;  // 310P: groups of at least two cores, a single core shares one; 0: no such thing
  bool needs_probe = false;  // documented, but the open driver cannot do it: only if the device agrees
  std::string not_cut;       // why none is cut for jobs, although its templates are known; empty: they are
  std::vector<SliceTemplate> templates;  // of one size: the one to give first stands first

  friend bool operator==(const ChipModel&, const ChipModel&) = default;
};

inline constexpr std::size_t kTemplatesMax = 16;
inline constexpr std::int32_t kSlicesPerChipMax = 16;
inline constexpr std::int32_t kChipsOnCardMax = 8;
inline constexpr std::size_t kNotCutLengthMax = 200;
inline constexpr std::int32_t kCoresPerVgroup = 2;  // the least that a vGroup has

// Whether an operator's chip makes sense: names, ranges, that each template fits the chip. kInvalidArgument,
// "chip.invalid", with the detail "field".
Result<void> check_chip(const ChipModel& chip);

bool matches(const ChipMatch& match, const ChipIdentity& npu);

// The chips that the vendor's driver and documentation know.
const std::vector<ChipModel>& builtin_chips();

// What the device says of itself and the catalogue does not.
struct ChipDifference {
  ChipResource resource = ChipResource::kAiCores;
  std::int64_t expected = 0;
  std::int64_t reported = 0;

  friend bool operator==(const ChipDifference&, const ChipDifference&) = default;
};

// What a device reports of itself, in the catalogue's units; what it does not report is left out.
using ReportedTotals = std::array<std::optional<std::int64_t>, kChipResourceCount>;

// Compares the totals that a device reports with the catalogue's. Both AICPU counts of a chip are right:
// which one holds depends on whether it is cut at present. Of memory counts what programs are promised in
// slices that fill the chip, and only less than that: drivers tell it with or without what the device's own
// system takes, and rounded.
std::vector<ChipDifference> differences(const ChipModel& chip, const ReportedTotals& reported);

// Those in which the device has less than its slices are promised.
std::vector<ChipDifference> shortfalls(const ChipModel& chip, const ReportedTotals& reported);

}  // namespace tangram
