#include "ascendsim/daemon/machine.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace ascendsim {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kMemoryMibMax = std::uint64_t{1} << 20;
constexpr std::size_t kDescriptionBytesMax = std::size_t{1} << 20;

// Thrown inside this file only, so that yaml-cpp's exceptions and ours leave by the same door.
struct Rejected {
  Problem problem;
};

class Reader {
 public:
  explicit Reader(std::string_view source) : source_(source) {}

  Machine machine(const YAML::Node& root) const;

 private:
  [[noreturn]] void reject(const YAML::Node& at, const std::string& field, const std::string& why) const {
    throw Rejected{place(at.Mark()) + field + ": " + why};
  }
  std::string place(const YAML::Mark& mark) const {
    const std::string line = mark.line >= 0 ? ":" + std::to_string(mark.line + 1) : "";
    return std::string(source_) + line + ": ";
  }
  void expect_map(const YAML::Node& node, const std::string& field) const {
    if (!node.IsMap()) reject(node, field, "must be a mapping");
  }
  void expect_fields(const YAML::Node& map, const std::string& field,
                     const std::set<std::string>& known) const;
  YAML::Node required(const YAML::Node& map, const std::string& field, const char* key) const {
    const YAML::Node node = map[key];
    if (!node) reject(map, join(field, key), "is missing");
    return node;
  }
  std::uint64_t number(const YAML::Node& map, const std::string& field, const char* key, std::uint64_t least,
                       std::uint64_t most) const;
  std::string text(const YAML::Node& map, const std::string& field, const char* key, std::size_t most) const;
  ChipModel chip(const YAML::Node& node, const std::string& field, const std::string& name) const;
  MediaUnits media(const YAML::Node& node, const std::string& field) const;
  NpuDescription npu(const YAML::Node& node, const std::string& field, std::uint32_t index,
                     const std::map<std::string, ChipModel>& chips) const;
  VnpuBehaviour vnpu(const YAML::Node& node) const;
  bool yes(const YAML::Node& map, const std::string& field, const char* key, bool otherwise) const;
  static std::string join(const std::string& field, const std::string& key) {
    return field.empty() ? key : field + "." + key;
  }

  std::string_view source_;
};

void Reader::expect_fields(const YAML::Node& map, const std::string& field,
                           const std::set<std::string>& known) const {
  expect_map(map, field.empty() ? "description" : field);
  std::set<std::string> seen;
  for (const auto& entry : map) {
    const auto key = entry.first.as<std::string>();
    if (known.count(key) == 0) reject(entry.first, join(field, key), "no such field");
    if (!seen.insert(key).second) reject(entry.first, join(field, key), "is given twice");
  }
}

std::uint64_t Reader::number(const YAML::Node& map, const std::string& field, const char* key,
                             std::uint64_t least, std::uint64_t most) const {
  const YAML::Node node = required(map, field, key);
  const std::string range = "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  if (!node.IsScalar()) reject(node, join(field, key), "must be " + range);
  const std::string& given = node.Scalar();
  const bool hexadecimal = given.rfind("0x", 0) == 0;
  std::size_t used = 0;
  std::uint64_t value = 0;
  const bool plain = !given.empty() && given[0] >= '0' && given[0] <= '9' && given.size() <= 18;
  if (plain) value = std::stoull(given, &used, hexadecimal ? 16 : 10);
  if (!plain || used != given.size() || value < least || value > most) {
    reject(node, join(field, key), "'" + given + "' is not " + range);
  }
  return value;
}

std::string Reader::text(const YAML::Node& map, const std::string& field, const char* key,
                         std::size_t most) const {
  const YAML::Node node = required(map, field, key);
  const bool fits = node.IsScalar() && !node.Scalar().empty() && node.Scalar().size() <= most;
  if (!fits) reject(node, join(field, key), "must be a text of 1 to " + std::to_string(most) + " bytes");
  return node.Scalar();
}

ChipModel Reader::chip(const YAML::Node& node, const std::string& field, const std::string& name) const {
  expect_fields(node, field,
                {"soc_name", "board_id", "pci_device_id", "ai_cores", "vector_cores", "ai_cpus", "aicore_mhz",
                 "hbm_mhz", "memory_mib", "memory_system_mib", "l2_mib", "fp16_gflops", "fp32_gflops",
                 "memory_mib_per_second", "host_mib_per_second", "launch_us", "dvpp"});
  const auto small = [&](const char* key, std::uint64_t least, std::uint64_t most) {
    return static_cast<std::uint32_t>(number(node, field, key, least, most));
  };
  ChipModel model;
  if (name.empty() || name.size() > 31) reject(node, field, "a chip's name has 1 to 31 bytes");
  model.chip_name = name;
  model.soc_name = text(node, field, "soc_name", 31);
  model.board_id = small("board_id", 0, 0xFFFF);
  model.pci_device_id = small("pci_device_id", 0, 0xFFFF);
  model.ai_cores = small("ai_cores", 1, 256);
  model.vector_cores = small("vector_cores", 0, 512);
  model.ai_cpus = small("ai_cpus", 0, 64);
  model.aicore_mhz = small("aicore_mhz", 1, 10000);
  model.hbm_mhz = small("hbm_mhz", 1, 10000);
  model.memory_bytes = number(node, field, "memory_mib", 1, kMemoryMibMax) * kMiB;
  model.memory_bytes_system = number(node, field, "memory_system_mib", 0, kMemoryMibMax) * kMiB;
  if (model.memory_bytes_system >= model.memory_bytes) {
    reject(node["memory_system_mib"], field + ".memory_system_mib", "must be less than memory_mib");
  }
  model.l2_bytes = number(node, field, "l2_mib", 0, 4096) * kMiB;
  model.fp16_flops_per_us = number(node, field, "fp16_gflops", 1, 10'000'000) * 1000;
  model.fp32_flops_per_us = number(node, field, "fp32_gflops", 1, 10'000'000) * 1000;
  model.memory_bytes_per_us = number(node, field, "memory_mib_per_second", 1, 100'000'000) * kMiB / 1'000'000;
  model.host_bytes_per_us = number(node, field, "host_mib_per_second", 1, 100'000'000) * kMiB / 1'000'000;
  model.launch_ns = number(node, field, "launch_us", 0, 1'000'000) * 1000;
  if (node["dvpp"]) model.dvpp = media(node["dvpp"], field + ".dvpp");
  return model;
}

MediaUnits Reader::media(const YAML::Node& node, const std::string& field) const {
  expect_fields(node, field, {"vpc", "venc", "vdec", "jpegd", "jpege"});
  MediaUnits units;
  const std::pair<const char*, float*> all[] = {{"vpc", &units.vpc},
                                                {"venc", &units.venc},
                                                {"vdec", &units.vdec},
                                                {"jpegd", &units.jpegd},
                                                {"jpege", &units.jpege}};
  for (const auto& [key, unit] : all) {
    if (node[key]) *unit = static_cast<float>(number(node, field, key, 0, 256));
  }
  return units;
}

NpuDescription Reader::npu(const YAML::Node& node, const std::string& field, std::uint32_t index,
                           const std::map<std::string, ChipModel>& chips) const {
  expect_fields(node, field, {"phy", "card", "chip_id", "chip", "pci"});
  NpuDescription npu;
  const auto optional = [&](const char* key, std::uint32_t otherwise, std::uint32_t most) {
    return node[key] ? static_cast<std::uint32_t>(number(node, field, key, 0, most)) : otherwise;
  };
  npu.phy_id = optional("phy", index, kNpusMax - 1);
  npu.card_id = static_cast<std::uint32_t>(number(node, field, "card", 0, 1023));
  npu.chip_id = optional("chip_id", 0, 7);
  const std::string name = text(node, field, "chip", 31);
  const auto model = chips.find(name);
  if (model == chips.end())
    reject(node["chip"], field + ".chip", "'" + name + "' is not described under chips");
  npu.model = model->second;
  const std::string pci = text(node, field, "pci", 16);
  int used = 0;
  const int parts = std::sscanf(pci.c_str(), "%4x:%2x:%2x.%1x%n", &npu.pci_domain, &npu.pci_bus,
                                &npu.pci_device, &npu.pci_function, &used);
  if (parts != 4 || static_cast<std::size_t>(used) != pci.size()) {
    reject(node["pci"], field + ".pci", "'" + pci + "' is not an address like 0000:C1:00.0");
  }
  return npu;
}

bool Reader::yes(const YAML::Node& map, const std::string& field, const char* key, bool otherwise) const {
  const YAML::Node node = map[key];
  if (!node) return otherwise;
  const std::string given = node.IsScalar() ? node.Scalar() : "";
  if (given != "true" && given != "false") {
    reject(node, join(field, key), "'" + given + "' is not true or false");
  }
  return given == "true";
}

VnpuBehaviour Reader::vnpu(const YAML::Node& node) const {
  expect_fields(node, "vnpu", {"create_ms", "memory_seen_on_host", "load_known_when_cut"});
  VnpuBehaviour behaviour;
  if (node["create_ms"]) {
    behaviour.create_ms = static_cast<std::uint32_t>(number(node, "vnpu", "create_ms", 0, 60'000));
  }
  behaviour.memory_seen_on_host = yes(node, "vnpu", "memory_seen_on_host", behaviour.memory_seen_on_host);
  behaviour.load_known_when_cut = yes(node, "vnpu", "load_known_when_cut", behaviour.load_known_when_cut);
  return behaviour;
}

Machine Reader::machine(const YAML::Node& root) const {
  expect_fields(root, "", {"driver_version", "compute", "boot_ms", "vnpu", "chips", "npus"});
  Machine machine;
  machine.driver_version = text(root, "", "driver_version", 31);
  if (root["vnpu"]) machine.vnpu = vnpu(root["vnpu"]);
  if (root["boot_ms"]) machine.boot_ms = static_cast<std::uint32_t>(number(root, "", "boot_ms", 0, 600'000));
  const std::string compute = root["compute"] ? text(root, "", "compute", 16) : "full";
  if (compute == "full") {
    machine.compute_mode = ComputeMode::kFull;
  } else if (compute == "sample") {
    machine.compute_mode = ComputeMode::kSample;
  } else if (compute == "none") {
    machine.compute_mode = ComputeMode::kNone;
  } else {
    reject(root["compute"], "compute", "'" + compute + "' is not one of full, sample, none");
  }

  std::map<std::string, ChipModel> chips;
  const YAML::Node models = required(root, "", "chips");
  expect_map(models, "chips");
  for (const auto& entry : models) {
    const auto name = entry.first.as<std::string>();
    if (!chips.emplace(name, chip(entry.second, "chips." + name, name)).second) {
      reject(entry.first, "chips." + name, "is given twice");
    }
  }
  const YAML::Node npus = required(root, "", "npus");
  if (!npus.IsSequence() || npus.size() == 0 || npus.size() > kNpusMax) {
    reject(npus, "npus", "must be a list of 1 to " + std::to_string(kNpusMax) + " NPUs");
  }
  std::set<std::uint32_t> phy_ids;
  std::set<std::pair<std::uint32_t, std::uint32_t>> places;
  for (std::size_t i = 0; i < npus.size(); ++i) {
    const std::string field = "npus[" + std::to_string(i) + "]";
    machine.npus.push_back(npu(npus[i], field, static_cast<std::uint32_t>(i), chips));
    const NpuDescription& added = machine.npus.back();
    if (!phy_ids.insert(added.phy_id).second) {
      reject(npus[i], field + ".phy", std::to_string(added.phy_id) + " is given twice");
    }
    if (!places.insert({added.card_id, added.chip_id}).second) {
      reject(npus[i], field + ".card",
             "card " + std::to_string(added.card_id) + " has chip " + std::to_string(added.chip_id) +
                 " twice: give it another chip_id");
    }
  }
  std::sort(machine.npus.begin(), machine.npus.end(),
            [](const NpuDescription& a, const NpuDescription& b) { return a.phy_id < b.phy_id; });
  return machine;
}

}  // namespace

Result<Machine> parse_machine(const std::string& yaml, std::string_view source) {
  if (yaml.size() > kDescriptionBytesMax) return fail(std::string(source) + ": is larger than 1 MiB");
  try {
    return Reader(source).machine(YAML::Load(yaml));
  } catch (const Rejected& rejected) {
    return fail(rejected.problem);
  } catch (const YAML::Exception& error) {
    const std::string line = error.mark.line >= 0 ? ":" + std::to_string(error.mark.line + 1) : "";
    return fail(std::string(source) + line + ": " + error.msg);
  }
}

Result<Machine> load_machine(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(system_problem("cannot read " + path, errno));
  std::string yaml(kDescriptionBytesMax + 1, '\0');
  file.read(yaml.data(), static_cast<std::streamsize>(yaml.size()));
  yaml.resize(static_cast<std::size_t>(file.gcount()));
  return parse_machine(yaml, path);
}

}  // namespace ascendsim
