#include "kube/node/inventory.h"

#include <array>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <ctime>
#include <utility>

#include "kube/protocol/names.h"

namespace tangram::kube::node {
namespace {

constexpr std::int64_t kBytesPerMib = std::int64_t{1} << 20;

// chipName and commonWord of HAMi's device configuration.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kCommonWords{{
    {"910A", "Ascend910A"},
    {"910B2", "Ascend910B2"},
    {"910B3", "Ascend910B3"},
    {"910B4", "Ascend910B4"},
    {"910B4-1", "Ascend910B4-1"},
    {"310P3", "Ascend310P"},
    {"Ascend910", "Ascend910C"},
}};

json::object entry_of(const NpuFacts& npu) {
  json::object entry;
  entry["uuid"] = npu.uuid;
  entry["index"] = npu.index;
  entry["chip"] = npu.chip;
  if (npu.board) entry["board"] = *npu.board;
  entry["health"] = npu.healthy ? "ok" : "bad";
  if (!npu.note.empty()) entry["note"] = npu.note;
  if (npu.allocatable.count > 0) entry["allocatableMiB"] = npu.allocatable.count / kBytesPerMib;
  if (npu.ai_cores > 0) entry["aiCores"] = npu.ai_cores;
  entry["shares"] = npu.shares;
  if (!npu.not_cut.empty()) entry["notCut"] = npu.not_cut;
  json::array templates;
  for (const TemplateFact& shape : npu.templates) templates.emplace_back(shape.name);
  if (!templates.empty()) entry["templates"] = std::move(templates);
  json::array strays;
  for (const StrayFact& stray : npu.strays) {
    json::object one{{"id", stray.id}};
    if (!stray.template_name.empty()) one["template"] = stray.template_name;
    strays.push_back(std::move(one));
  }
  if (!strays.empty()) entry["strays"] = std::move(strays);
  return entry;
}

std::string time_text(std::chrono::system_clock::time_point now) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  std::array<char, 32> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y.%m.%d %H:%M:%S", &utc);
  return {text.data(), length};
}

}  // namespace

std::string common_word_of(std::string_view chip) {
  for (const auto& [name, word] : kCommonWords) {
    if (name == chip) return std::string(word);
  }
  return {};
}

std::string inventory_json(const MachineFacts& facts) {
  json::object inventory;
  if (!facts.driver_version.empty()) inventory["driver"] = facts.driver_version;
  json::array conditions;
  for (const std::string& condition : facts.conditions) conditions.emplace_back(condition);
  if (!conditions.empty()) inventory["conditions"] = std::move(conditions);
  json::array npus;
  for (const NpuFacts& npu : facts.npus) npus.push_back(entry_of(npu));
  inventory["npus"] = std::move(npus);
  return json::serialize(inventory);
}

std::string hami_register_json(const MachineFacts& facts, std::string_view common_word) {
  json::array npus;
  for (const NpuFacts& npu : facts.npus) {
    if (common_word_of(npu.chip) != common_word) continue;
    // HAMi leaves out what is 0 or false.
    json::object entry{{"id", npu.uuid}};
    if (npu.index > 0) entry["index"] = npu.index;
    entry["count"] = npu.shares;
    entry["devmem"] = npu.allocatable.count / kBytesPerMib;
    entry["devcore"] = npu.ai_cores;
    entry["type"] = common_word;
    if (npu.healthy) entry["health"] = true;
    npus.push_back(std::move(entry));
  }
  return json::serialize(npus);
}

std::map<std::string, std::string> node_annotations(const MachineFacts& facts,
                                                    std::chrono::system_clock::time_point now) {
  std::map<std::string, std::string> annotations;
  annotations.emplace(names::kNodeNpus, inventory_json(facts));
  for (const NpuFacts& npu : facts.npus) {
    const std::string word = common_word_of(npu.chip);
    if (word.empty()) continue;
    annotations.insert_or_assign(names::hami_node_register(word), hami_register_json(facts, word));
    annotations.insert_or_assign(names::hami_node_handshake(word), "Reported_" + time_text(now));
  }
  return annotations;
}

}  // namespace tangram::kube::node
