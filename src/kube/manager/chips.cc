#include "kube/manager/chips.h"

#include <algorithm>
#include <set>
#include <utility>

namespace tangram::kube::manager {
namespace {

ChipIdentity identity_of(const NodeNpu& npu) {
  ChipIdentity identity;
  identity.chip = npu.chip;
  identity.board = npu.board;
  identity.ai_cores = static_cast<std::int32_t>(npu.ai_cores);
  identity.memory = Bytes::mib(npu.allocatable_mib);
  return identity;
}

std::set<std::string_view> offered_by(const ChipModel& model) {
  std::set<std::string_view> names;
  for (const SliceTemplate& shape : model.templates) {
    if (shape.offered) names.insert(shape.name);
  }
  return names;
}

bool goes_by(const ChipModel& model, std::string_view chip) {
  return std::find(model.match.chips.begin(), model.match.chips.end(), chip) != model.match.chips.end();
}

const SliceTemplate* template_in(const ChipModel* model, std::string_view name) {
  if (model == nullptr) return nullptr;
  const std::uint32_t at = tangram::find_template(*model, name);
  return at < model->templates.size() ? &model->templates[at] : nullptr;
}

}  // namespace

Result<std::shared_ptr<const Chips>> Chips::with(const ChipDocs& operators) {
  auto made = std::make_shared<Chips>();
  std::vector<ChipModel> models;
  std::vector<wire::NpuResource> resources;
  for (const auto& [name, doc] : operators) {
    models.push_back(doc.chip);
    resources.push_back(doc.resource());
  }
  for (wire::NpuResource& resource : wire::builtin_npu_resources()) resources.push_back(std::move(resource));
  TG_TRY(made->catalog_, Catalog::with(models));
  for (wire::NpuResource& resource : resources) {
    const bool known =
        std::any_of(made->resources_.begin(), made->resources_.end(),
                    [&](const wire::NpuResource& other) { return other.word == resource.word; });
    if (!known) made->resources_.push_back(std::move(resource));
  }
  return std::shared_ptr<const Chips>(std::move(made));
}

std::shared_ptr<const Chips> Chips::builtin() {
  return with({}).value();
}

const ChipModel* Chips::find_model(std::string_view name) const {
  for (const Catalog::Chip& chip : catalog_->chips()) {
    if (chip.model.name == name) return &chip.model;
  }
  return nullptr;
}

std::string Chips::word_of(const NodeNpu& npu) const {
  const std::uint32_t chip = catalog_->find(identity_of(npu));
  if (chip != kNoChip) {
    const std::string& name = catalog_->chip(chip).model.name;
    for (const wire::NpuResource& resource : resources_) {
      if (resource.chip == name) return resource.word;
    }
  }
  // Another size of the same chip, or one that does not tell enough of itself: by the driver's name alone, as
  // the agent offers it to the kubelet.
  for (const wire::NpuResource& resource : resources_) {
    const ChipModel* const model = find_model(resource.chip);
    if (model != nullptr && goes_by(*model, npu.chip)) return resource.word;
  }
  return {};
}

// The agent has asked the device which templates there are. More than one description of a chip may match
// what it tells here; the right one has just those.
std::string Chips::template_set_of(const NodeNpu& npu) const {
  if (npu.templates.empty()) return {};
  const std::set<std::string_view> shown(npu.templates.begin(), npu.templates.end());
  const ChipIdentity identity = identity_of(npu);
  std::string first_with_all;
  for (const Catalog::Chip& chip : catalog_->chips()) {
    const ChipModel& model = chip.model;
    if (!model.not_cut.empty() || !goes_by(model, npu.chip)) continue;
    const std::set<std::string_view> offered = offered_by(model);
    if (matches(model.match, identity) && offered == shown) return model.name;
    const bool has_all = std::includes(offered.begin(), offered.end(), shown.begin(), shown.end());
    if (first_with_all.empty() && has_all && matches(model.match, identity)) first_with_all = model.name;
  }
  return first_with_all;
}

NpuReport Chips::report_of(const NodeNpu& npu, bool usable) const {
  NpuReport report;
  report.physical_id = npu.index;
  report.chip = word_of(npu);
  if (report.chip.empty()) report.chip = npu.chip.substr(0, 64);
  report.memory = Bytes::mib(npu.allocatable_mib);
  report.ai_cores = static_cast<std::int32_t>(npu.ai_cores);
  report.health = !usable ? Health::kUnknown : npu.healthy ? Health::kOk : Health::kAlarm;
  report.template_set = template_set_of(npu);
  report.cuttable = !report.template_set.empty();
  for (const NodeStray& stray : npu.strays) {
    if (report.strays.size() == static_cast<std::size_t>(kSlicesPerChipMax)) break;
    // The agent lists slices that are no Pod's: they go when it, or an operator, returns them.
    report.strays.push_back(
        {stray.id, stray.template_name.substr(0, 64), stray.vgroup.value_or(kNoVgroup), true});
  }
  return report;
}

const SliceTemplate* Chips::find_template(std::string_view word, std::string_view name) const {
  for (const wire::NpuResource& resource : resources_) {
    if (resource.word == word) return template_in(find_model(resource.chip), name);
  }
  return nullptr;
}

const SliceTemplate* Chips::find_template_of(std::string_view set, std::string_view name) const {
  return template_in(find_model(set), name);
}

}  // namespace tangram::kube::manager
