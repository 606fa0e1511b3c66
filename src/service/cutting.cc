#include "service/cutting.h"

#include <optional>
#include <utility>

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
  ChipIdentity identity;
  identity.chip = npu.chip;
  if (npu.board_id.valid) identity.board = npu.board_id.value;
  identity.ai_cores = npu.ai_cores.valid ? npu.ai_cores.value : before != nullptr ? before->ai_cores : 0;
  identity.memory = npu.memory_total.valid ? npu.memory_total.value
                    : before != nullptr    ? before->memory
                                           : Bytes();
  identity.chips_on_card = npu.chips_on_card;
  const std::uint32_t chip = conditions.catalog.find(identity);
  if (chip == kNoChip && !npu.board_id.valid && before != nullptr && before->cuttable) {
    return before->template_set;
  }
  if (chip == kNoChip || !has_templates(conditions.catalog.chip(chip).model)) {
    return not_cut("it is not known how " + chip_text(npu) + " is cut; slices.chips can describe it");
  }
  const ChipModel& model = conditions.catalog.chip(chip).model;
  if (!model.not_cut.empty()) return not_cut(model.not_cut);
  return model.name;
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
