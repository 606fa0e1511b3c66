#include "kube/node/npu_facts.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <utility>

#include "kube/node/share.h"
#include "service/cutting.h"

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
  const service::CutConditions conditions{*rules.catalog, true};
  const Result<std::string> set = service::template_set_of(npu, readings, nullptr, conditions);
  if (!set) {
    facts.not_cut = set.error().message;
    return;
  }
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
    facts.strays.push_back({slice.id, slice.template_name.valid ? slice.template_name.value : std::string()});
  }
}

NpuFacts facts_of_npu(const DeviceNpu& npu, const service::DeviceReadings& readings, const FactRules& rules,
                      const HandOut& book, const NpuFacts* before) {
  NpuFacts facts;
  facts.uuid = uuid_of(npu);
  facts.index = npu.physical_id;
  facts.chip = npu.chip;
  if (npu.board_id.valid) facts.board = npu.board_id.value;
  facts.pcie_address = npu.pcie_address;
  facts.healthy = npu.health == Health::kOk;
  if (!facts.healthy) facts.note = npu.health_note.empty() ? "its health is not known" : npu.health_note;
  if (npu.memory_total.valid) facts.allocatable = npu.memory_total.value;
  if (npu.ai_cores.valid) facts.ai_cores = npu.ai_cores.value;
  fill_strays(npu, book, facts);
  const bool away = npu.health == Health::kAbsent || npu.health == Health::kUnknown;
  const bool unread = !npu.slicing.slices.valid || !npu.memory_total.valid;
  if (before != nullptr && (away || unread)) {
    // How many shares it is offered in does not change because it does not answer for a moment.
    if (npu.uuid.empty()) facts.uuid = before->uuid;
    if (facts.chip.empty()) facts.chip = before->chip;
    if (facts.allocatable.count == 0) facts.allocatable = before->allocatable;
    facts.templates = before->templates;
    facts.not_cut = before->not_cut;
    facts.shares = before->shares;
    return facts;
  }
  fill_templates(npu, readings, rules, facts);
  facts.shares = shares_of(facts.allocatable, smallest_of(facts.templates), rules.shares);
  return facts;
}

}  // namespace

FactRules builtin_rules() {
  return {Catalog::builtin(), {}};
}

MachineFacts facts_of(const DeviceScan& scan, const FactRules& rules, const HandOut& book,
                      const MachineFacts& before) {
  MachineFacts facts;
  facts.driver_version = scan.driver_version;
  if (scan.driver.kind == DriverStanding::Kind::kBelow) facts.conditions.push_back(scan.driver.note);
  if (scan.recover_file.state == RecoverFile::State::kDamaged) {
    facts.conditions.push_back(scan.recover_file.path + " is damaged: " + scan.recover_file.why);
  }
  const service::DeviceReadings readings = readings_of(scan);
  for (const DeviceNpu& npu : scan.npus) {
    facts.npus.push_back(facts_of_npu(npu, readings, rules, book, find_facts(before, npu.physical_id)));
  }
  // One that the driver does not list any more is away, and not forgotten: Pods may hold it.
  for (const NpuFacts& known : before.npus) {
    if (find_facts(facts, known.index) != nullptr) continue;
    NpuFacts gone = known;
    gone.healthy = false;
    gone.note = "the driver does not list it any more";
    gone.strays.clear();
    facts.npus.push_back(std::move(gone));
  }
  std::ranges::sort(facts.npus, {}, &NpuFacts::index);
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
