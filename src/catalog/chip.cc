#include "catalog/chip.h"

#include <algorithm>

#include "base/quote.h"

namespace tangram {
namespace {

constexpr std::size_t kNameMax = 64;
constexpr std::int64_t kAmountMax = 1'000'000;
constexpr std::int64_t kMemoryMax = std::int64_t{1} << 48;

tl::unexpected<Error> wrong(const std::string& chip, const std::string& field, const std::string& what) {
  return fail(Code::kInvalidArgument, "chip.invalid",
              "chip " + quoted(chip, kNameMax) + ": " + field + " " + what,
              "correct " + field + "; docs/slices.md lists the fields of a chip", {{"field", field}});
}

bool is_name(const std::string& name) {
  return !name.empty() && name.size() <= kNameMax &&
         std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

// A template's memory is taken from what is written last of these three.
std::string_view field_of(const SliceTemplate& shape, ChipResource resource) {
  if (resource != ChipResource::kMemory) return to_string(resource);
  const std::int64_t taken = shape.takes[index_of(resource)];
  if (taken != shape.usable_memory.count) return "deviceMemory";
  return shape.usable_memory == shape.memory ? "memory" : "usableMemory";
}

Result<void> check_amounts(const std::string& chip, const std::string& field, const ChipAmounts& amounts,
                           bool unlimited_allowed) {
  for (const ChipResource resource : kChipResources) {
    const std::int64_t amount = amounts[index_of(resource)];
    if (unlimited_allowed && amount == kUnlimited) continue;
    const std::int64_t most = resource == ChipResource::kMemory ? kMemoryMax : kAmountMax;
    if (amount >= 0 && amount <= most) continue;
    return wrong(chip, field + "." + std::string(to_string(resource)),
                 "is " + std::to_string(amount) + ", but must be between 0 and " + std::to_string(most));
  }
  return {};
}

Result<void> check_template(const ChipModel& chip, std::size_t at) {
  const SliceTemplate& shape = chip.templates[at];
  const std::string field = "templates[" + std::to_string(at) + "]";
  if (!is_name(shape.name)) return wrong(chip.name, field + ".name", "must be 1 to 64 visible characters");
  for (std::size_t other = 0; other < at; ++other) {
    if (chip.templates[other].name != shape.name) continue;
    return wrong(chip.name, field + ".name", quoted(shape.name) + " is used twice");
  }
  TG_TRY_VOID(check_amounts(chip.name, field, shape.takes, false));
  if (shape.ai_cores() < 1) return wrong(chip.name, field + ".aiCores", "must be at least 1");
  if (shape.memory.count < 1 || shape.memory.count > kMemoryMax)
    return wrong(chip.name, field + ".memory", "must be above 0");
  if (shape.usable_memory.count < 1 || shape.usable_memory > shape.memory)
    return wrong(chip.name, field + ".usableMemory", "must be above 0 and at most memory");
  if (shape.count_max < 0 || shape.count_max > kSlicesPerChipMax)
    return wrong(chip.name, field + ".countMax", "must be between 0 and 16");
  for (const ChipResource resource : kChipResources) {
    const std::size_t i = index_of(resource);
    if (shape.takes[i] <= chip.has[i]) continue;
    return wrong(chip.name, field + "." + std::string(field_of(shape, resource)),
                 "is " + std::to_string(shape.takes[i]) + ", more than the chip has (" +
                     std::to_string(chip.has[i]) + ")");
  }
  if (shape.owns_dvpp && !shape.uses_dvpp())
    return wrong(chip.name, field + ".ownsDvpp", "is set, but the template takes no media engine");
  return {};
}

// Of reported memory so small a part may be missing by rounding: a 310P tells 21525 to 21534 MiB.
constexpr std::int64_t kRoundingShare = 64;

// What programs find together in as many slices of one template as a chip holds, at the most.
std::int64_t promised_memory(const ChipModel& chip) {
  std::int64_t most = 0;
  for (const SliceTemplate& shape : chip.templates) {
    if (!shape.offered) continue;
    std::int64_t count = chip.slices_max;
    if (shape.count_max > 0) count = std::min<std::int64_t>(count, shape.count_max);
    for (std::size_t i = 0; i < kChipResourceCount; ++i) {
      if (shape.takes[i] > 0 && chip.has[i] != kUnlimited)
        count = std::min(count, chip.has[i] / shape.takes[i]);
    }
    most = std::max(most, count * shape.usable_memory.count);
  }
  return most;
}

}  // namespace

std::string_view to_string(ChipResource resource) {
  switch (resource) {
    case ChipResource::kAiCores:
      return "aiCores";
    case ChipResource::kAiCpus:
      return "aiCpus";
    case ChipResource::kMemory:
      return "memory";
    case ChipResource::kVpc:
      return "vpc";
    case ChipResource::kVenc:
      return "venc";
    case ChipResource::kVdec:
      return "vdec";
    case ChipResource::kJpegd:
      return "jpegd";
    case ChipResource::kJpege:
      return "jpege";
    case ChipResource::kPngdHalves:
      return "pngdHalves";
  }
  return "unknown";
}

bool SliceTemplate::uses_dvpp() const {
  for (std::size_t i = index_of(ChipResource::kVpc); i < kChipResourceCount; ++i) {
    if (takes[i] > 0) return true;
  }
  return false;
}

Result<void> check_chip(const ChipModel& chip) {
  if (chip.name.empty() || chip.name.size() > kNameMax)
    return wrong(chip.name, "name", "must be 1 to 64 characters long");
  if (chip.match.chips.empty() || chip.match.chips.size() > 64)
    return wrong(chip.name, "match.chips", "must list 1 to 64 names as the driver reports them");
  for (const std::string& name : chip.match.chips) {
    if (!is_name(name))
      return wrong(chip.name, "match.chips", "must list names of 1 to 64 visible characters");
  }
  if (chip.match.ai_cores < 0) return wrong(chip.name, "match.aiCores", "must be 0 or more");
  if (chip.match.chips_on_card < 0 || chip.match.chips_on_card > kChipsOnCardMax)
    return wrong(chip.name, "match.chipsOnCard", "must be between 0 and 8");
  if (chip.not_cut.size() > kNotCutLengthMax)
    return wrong(chip.name, "notCut", "must be at most 200 bytes long");
  if (chip.match.memory_above >= chip.match.memory_most)
    return wrong(chip.name, "match.memoryAbove", "must be below match.memoryMost");
  TG_TRY_VOID(check_amounts(chip.name, "has", chip.has, true));
  if (chip.has[index_of(ChipResource::kAiCores)] < 1 ||
      chip.has[index_of(ChipResource::kAiCores)] == kUnlimited)
    return wrong(chip.name, "aiCores", "must be at least 1");
  if (chip.slices_max < 1 || chip.slices_max > kSlicesPerChipMax)
    return wrong(chip.name, "slicesMax", "must be between 1 and 16, the most that the driver allows");
  if (chip.vgroups < 0 || chip.vgroups > kSlicesPerChipMax)
    return wrong(chip.name, "vgroups", "must be between 0 and 16");
  if (chip.templates.size() > kTemplatesMax)
    return wrong(chip.name, "templates", "must list at most 16 templates");
  for (std::size_t at = 0; at < chip.templates.size(); ++at) TG_TRY_VOID(check_template(chip, at));
  return {};
}

bool matches(const ChipMatch& match, const ChipIdentity& npu) {
  if (std::find(match.chips.begin(), match.chips.end(), npu.chip) == match.chips.end()) return false;
  if (match.ai_cores != 0 && match.ai_cores != npu.ai_cores) return false;
  if (match.chips_on_card != 0 && match.chips_on_card != npu.chips_on_card) return false;
  if (npu.memory <= match.memory_above || npu.memory > match.memory_most) return false;
  if (match.boards.empty()) return true;
  return npu.board && std::find(match.boards.begin(), match.boards.end(), *npu.board) != match.boards.end();
}

std::vector<ChipDifference> differences(const ChipModel& chip, const ReportedTotals& reported) {
  std::vector<ChipDifference> found;
  for (const ChipResource resource : kChipResources) {
    const std::optional<std::int64_t>& value = reported[index_of(resource)];
    const std::int64_t expected = chip.has[index_of(resource)];
    if (!value || expected == kUnlimited || *value == expected) continue;
    if (resource == ChipResource::kAiCpus && *value == chip.ai_cpus_uncut) continue;
    if (resource == ChipResource::kMemory) {
      const std::int64_t promised = promised_memory(chip);
      if (*value < promised - promised / kRoundingShare) found.push_back({resource, promised, *value});
      continue;
    }
    found.push_back({resource, expected, *value});
  }
  return found;
}

std::vector<ChipDifference> shortfalls(const ChipModel& chip, const ReportedTotals& reported) {
  std::vector<ChipDifference> found = differences(chip, reported);
  std::erase_if(found, [](const ChipDifference& one) { return one.reported >= one.expected; });
  return found;
}

}  // namespace tangram
