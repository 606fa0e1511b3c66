#include "service/cutting.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/quote.h"
#include "service/chip_totals.h"

namespace tangram::service {
namespace {

tl::unexpected<Error> not_cut(std::string sentence) {
  return fail(Code::kUnimplemented, "request.slice.unsupported", std::move(sentence));
}

std::string name_of(const DeviceNpu& npu) {
  return "NPU " + std::to_string(npu.physical_id);
}

std::string chip_text(const DeviceNpu& npu) {
  return npu.chip.empty() ? "a chip without a name" : npu.chip;
}

bool has_templates(const ChipModel& chip) {
  for (const SliceTemplate& shape : chip.templates) {
    if (shape.offered) return true;
  }
  return false;
}

ChipIdentity identity_of(const DeviceNpu& npu, const NpuReport* before) {
  ChipIdentity identity;
  identity.chip = npu.chip;
  if (npu.board_id.valid) identity.board = npu.board_id.value;
  identity.ai_cores = npu.ai_cores.valid ? npu.ai_cores.value : before != nullptr ? before->ai_cores : 0;
  identity.memory = npu.memory_total.valid ? npu.memory_total.value
                    : before != nullptr    ? before->memory
                                           : Bytes();
  identity.chips_on_card = npu.chips_on_card;
  return identity;
}

// Of another description of the same board: it has no template that the first does not have.
bool is_alternative(const ChipModel& other, const ChipModel& first) {
  return std::ranges::all_of(other.templates, [&first](const SliceTemplate& shape) {
    return find_template(first, shape.name) < first.templates.size();
  });
}

// The table of states is made of a chip's description and shared by all its NPUs, and records name it: so a
// device that has less than described does not shrink the table. Another description of the same board that
// promises no more than the device has takes its place; without one nothing is cut, and it is told which
// number to correct.
Result<std::string> fitting_chip(const DeviceNpu& npu, const ChipIdentity& identity, const ChipModel& first,
                                 const Catalog& catalog) {
  const ReportedTotals reported = reported_totals(npu.slicing.total);
  for (const Catalog::Chip& chip : catalog.chips()) {
    const ChipModel& model = chip.model;
    if (!matches(model.match, identity) || !model.not_cut.empty() || !has_templates(model)) continue;
    if (is_alternative(model, first) && shortfalls(model, reported).empty()) return model.name;
  }
  const ChipDifference lack = shortfalls(first, reported).front();
  const std::string field = chip_field(lack.resource);
  return not_cut(name_of(npu) + " has " + total_text(lack.resource, lack.reported) + " of " + field +
                 ", and chip " + quoted(first.name) + " of the catalogue shares out " +
                 total_text(lack.resource, lack.expected) + "; correct " + field +
                 " of that chip in the file of slices.chips");
}

}  // namespace

Result<std::string> template_set_of(const DeviceNpu& npu, const DeviceReadings& readings,
                                    const NpuReport* before, const CutConditions& conditions) {
  if (!conditions.private_devices) {
    return not_cut("the daemon cannot give jobs a /dev of their own here, and a slice needs one");
  }
  if (readings.slices_for_containers.valid && !readings.slices_for_containers.value) {
    return not_cut("the machine cuts NPUs for virtual machines: npu-smi set -t vnpu-mode -d 0");
  }
  if (npu.slicing.support == SliceSupport::kNotCut) {
    return not_cut("no driver cuts " + chip_text(npu));
  }
  if (const auto refusal = readings.refusals.find(npu.physical_id); refusal != readings.refusals.end()) {
    return not_cut("its driver has refused to cut " + name_of(npu) + ": " + refusal->second.why);
  }
  // The driver is slow or away for a moment: that does not change what the chip is.
  if (!npu.slicing.slices.valid) {
    if (before != nullptr && before->cuttable) return before->template_set;
    return not_cut("the slices of " + name_of(npu) + " cannot be read: " +
                   (npu.slicing.note.empty() ? "the driver does not say why" : npu.slicing.note));
  }
  const ChipIdentity identity = identity_of(npu, before);
  const std::uint32_t chip = conditions.catalog.find(identity);
  if (chip == kNoChip && !npu.board_id.valid && before != nullptr && before->cuttable) {
    return before->template_set;
  }
  if (chip == kNoChip || !has_templates(conditions.catalog.chip(chip).model)) {
    return not_cut("it is not known how " + chip_text(npu) + " is cut; slices.chips can describe it");
  }
  const ChipModel& model = conditions.catalog.chip(chip).model;
  if (!model.not_cut.empty()) return not_cut(model.not_cut);
  return fitting_chip(npu, identity, model, conditions.catalog);
}

std::string why_none_is_cut(const DeviceReadings& readings, const CutConditions& conditions) {
  std::string why;
  for (const DeviceNpu& npu : readings.npus) {
    if (npu.health == Health::kAbsent) continue;
    const auto set = template_set_of(npu, readings, nullptr, conditions);
    if (set) return {};
    if (why.empty()) why = set.error().message;
  }
  return why;
}

}  // namespace tangram::service
