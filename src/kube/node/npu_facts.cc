#include "kube/node/npu_facts.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <utility>

#include "kube/node/share.h"
#include "kube/protocol/names.h"
#include "service/cutting.h"
#include "wire/npu_resource.h"

namespace tangram::kube::node {
namespace {

std::string uuid_of(const DeviceNpu& npu) {
  return npu.uuid.empty() ? "npu-" + std::to_string(npu.physical_id) : npu.uuid;
}

const NpuFacts* find_facts(const MachineFacts& facts, std::uint32_t index) {
  const auto at = std::ranges::find(facts.npus, index, &NpuFacts::index);
  return at == facts.npus.end() ? nullptr : &*at;
}

service::DeviceReadings readings_of(const DeviceScan& scan) {
  service::DeviceReadings readings;
  readings.available = true;
  readings.driver_version = scan.driver_version;
  readings.driver = scan.driver;
  readings.slices_for_containers = scan.slices_for_containers;
  readings.npus = scan.npus;
  return readings;
}

void fill_templates(const DeviceNpu& npu, const service::DeviceReadings& readings, const FactRules& rules,
                    NpuFacts& facts) {
  if (!rules.not_cut.empty()) {
    facts.not_cut = rules.not_cut;
    return;
  }
  const service::CutConditions conditions{*rules.catalog, true};
  const Result<std::string> set = service::template_set_of(npu, readings, nullptr, conditions);
  if (!set) {
    facts.not_cut = set.error().message;
    return;
  }
  facts.template_set = *set;
  for (const Catalog::Chip& chip : rules.catalog->chips()) {
    if (chip.model.name != *set) continue;
    for (const SliceTemplate& shape : chip.model.templates) {
      if (shape.offered) {
        facts.templates.push_back({shape.name, shape.memory, shape.ai_cores(), shape.ai_cpus()});
      }
    }
    return;
  }
}

std::optional<Bytes> smallest_of(const std::vector<TemplateFact>& templates) {
  const auto least = std::ranges::min_element(templates, {}, &TemplateFact::memory);
  return least == templates.end() ? std::nullopt : std::optional(least->memory);
}

void fill_strays(const DeviceNpu& npu, const HandOut& book, NpuFacts& facts) {
  if (!npu.slicing.slices.valid) return;
  for (const DeviceSlice& slice : npu.slicing.slices.value) {
    if (book.find(slice.id) != nullptr) continue;
    StrayFact stray{slice.id, slice.template_name.valid ? slice.template_name.value : std::string()};
    if (slice.vgroup_id.valid) stray.vgroup = slice.vgroup_id.value;
    facts.strays.push_back(std::move(stray));
  }
}

bool goes_by(const Catalog& catalog, const std::string& name, const std::string& chip) {
  return std::ranges::any_of(catalog.chips(), [&](const Catalog::Chip& known) {
    return known.model.name == name &&
           std::ranges::find(known.model.match.chips, chip) != known.model.match.chips.end();
  });
}

// After the chip that it is; else, for another size of one that is known, by the driver's name alone.
std::string resource_of(const NpuFacts& npu, std::int32_t chips_on_card, const FactRules& rules) {
  if (!rules.resource.empty()) return rules.resource;
  ChipIdentity identity;
  identity.chip = npu.chip;
  identity.board = npu.board;
  identity.ai_cores = static_cast<std::int32_t>(npu.ai_cores);
  identity.memory = npu.allocatable;
  identity.chips_on_card = chips_on_card;
  const std::uint32_t at = rules.catalog->find(identity);
  for (const ChipWord& one : rules.words) {
    if (at != kNoChip && one.chip == rules.catalog->chip(at).model.name) return names::resource(one.word);
  }
  for (const ChipWord& one : rules.words) {
    if (goes_by(*rules.catalog, one.chip, npu.chip)) return names::resource(one.word);
  }
  return {};
}

NpuFacts facts_of_npu(const DeviceNpu& npu, const service::DeviceReadings& readings, const FactRules& rules,
                      const HandOut& book, const NpuFacts* before) {
  NpuFacts facts;
  facts.uuid = uuid_of(npu);
  facts.index = npu.physical_id;
  facts.chip = npu.chip;
  facts.excluded = rules.excluded.contains(npu.physical_id);
  if (npu.board_id.valid) facts.board = npu.board_id.value;
  facts.pcie_address = npu.pcie_address;
  facts.healthy = npu.health == Health::kOk;
  if (!facts.healthy) facts.note = npu.health_note.empty() ? "its health is not known" : npu.health_note;
  if (npu.memory_total.valid) facts.allocatable = npu.memory_total.value;
  if (npu.ai_cores.valid) facts.ai_cores = npu.ai_cores.value;
  if (!facts.excluded) fill_strays(npu, book, facts);
  const bool away = npu.health == Health::kAbsent || npu.health == Health::kUnknown;
  const bool unread = !npu.slicing.slices.valid || !npu.memory_total.valid;
  if (before != nullptr && (away || unread)) {
    // How many shares it is offered in does not change because it does not answer for a moment.
    if (npu.uuid.empty()) facts.uuid = before->uuid;
    if (facts.chip.empty()) facts.chip = before->chip;
    if (facts.allocatable.count == 0) facts.allocatable = before->allocatable;
    facts.resource = before->resource;
    facts.templates = before->templates;
    facts.template_set = before->template_set;
    facts.not_cut = before->not_cut;
    facts.shares = before->shares;
    return facts;
  }
  facts.resource = resource_of(facts, npu.chips_on_card, rules);
  fill_templates(npu, readings, rules, facts);
  facts.shares = shares_of(facts.allocatable, smallest_of(facts.templates), rules.shares);
  return facts;
}

}  // namespace

FactRules builtin_rules() {
  FactRules rules;
  rules.catalog = Catalog::builtin();
  for (const wire::NpuResource& resource : wire::builtin_npu_resources()) {
    rules.words.push_back({resource.chip, resource.word});
  }
  return rules;
}

MachineFacts facts_of(const DeviceScan& scan, const FactRules& rules, const HandOut& book,
                      const MachineFacts& before) {
  MachineFacts facts;
  facts.driver_version = scan.driver_version;
  if (scan.driver.kind == DriverStanding::Kind::kBelow) facts.conditions.push_back(scan.driver.note);
  if (scan.recover_file.state == RecoverFile::State::kDamaged) {
    facts.conditions.push_back(scan.recover_file.path + " is damaged: " + scan.recover_file.why);
  }
  facts.conditions.insert(facts.conditions.end(), rules.notes.begin(), rules.notes.end());
  const service::DeviceReadings readings = readings_of(scan);
  for (const DeviceNpu& npu : scan.npus) {
    facts.npus.push_back(facts_of_npu(npu, readings, rules, book, find_facts(before, npu.physical_id)));
  }
  // One that the driver does not list any more is away, and not forgotten: Pods may hold it.
  for (const NpuFacts& known : before.npus) {
    if (find_facts(facts, known.index) != nullptr) continue;
    NpuFacts gone = known;
    gone.excluded = rules.excluded.contains(gone.index);
    gone.healthy = false;
    gone.note = "the driver does not list it any more";
    gone.strays.clear();
    facts.npus.push_back(std::move(gone));
  }
  std::ranges::sort(facts.npus, {}, &NpuFacts::index);
  // Whoever reads the UUIDs takes two that are alike for one NPU.
  std::set<std::string> uuids;
  for (NpuFacts& npu : facts.npus) {
    if (!uuids.insert(npu.uuid).second) npu.uuid = "npu-" + std::to_string(npu.index);
  }
  return facts;
}

MachineFacts without_driver(MachineFacts facts, const std::string& why) {
  for (NpuFacts& npu : facts.npus) {
    npu.healthy = false;
    npu.note = why;
  }
  return facts;
}

NpuGround ground_of(const MachineFacts& facts, const DeviceScan& scan) {
  NpuGround ground;
  for (const NpuFacts& npu : facts.npus) ground.by_uuid.emplace(npu.uuid, npu.index);
  for (const DeviceNpu& npu : scan.npus) {
    if (!npu.slicing.slices.valid) continue;
    for (const DeviceSlice& slice : npu.slicing.slices.value) ground.slices.insert(slice.id);
  }
  return ground;
}

std::optional<std::int64_t> numa_node_of(const std::string& sysfs, const std::string& pcie_address) {
  if (pcie_address.empty()) return std::nullopt;
  std::string address = pcie_address;
  std::ranges::transform(address, address.begin(), [](unsigned char c) { return std::tolower(c); });
  std::ifstream file(sysfs + "/bus/pci/devices/" + address + "/numa_node");
  std::int64_t node = -1;
  if (!(file >> node) || node < 0) return std::nullopt;
  return node;
}

}  // namespace tangram::kube::node
