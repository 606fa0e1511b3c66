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

NodeNpu entry_of(const NpuFacts& npu) {
  NodeNpu entry;
  entry.uuid = npu.uuid;
  entry.index = npu.index;
  entry.chip = npu.chip;
  entry.resource = npu.resource;
  if (npu.board) entry.board = *npu.board;
  entry.healthy = npu.healthy;
  entry.note = npu.note;
  entry.allocatable_mib = npu.allocatable.count / kBytesPerMib;
  entry.ai_cores = npu.ai_cores;
  entry.shares = npu.shares;
  entry.template_set = npu.template_set;
  for (const TemplateFact& shape : npu.templates) entry.templates.push_back(shape.name);
  entry.not_cut = npu.not_cut;
  for (const StrayFact& stray : npu.strays) {
    NodeStray one{stray.id, stray.template_name};
    if (stray.vgroup) one.vgroup = static_cast<std::int32_t>(*stray.vgroup);
    entry.strays.push_back(std::move(one));
  }
  return entry;
}

// Empty for what is offered under no word of HAMi's form.
std::string_view word_of(const NpuFacts& npu) {
  std::string_view resource = npu.resource;
  if (!resource.starts_with(names::kResourcePrefix)) return {};
  resource.remove_prefix(names::kResourcePrefix.size());
  return resource;
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

NodeNpus inventory_of(const MachineFacts& facts) {
  NodeNpus inventory;
  inventory.driver = facts.driver_version;
  inventory.conditions = facts.conditions;
  for (const NpuFacts& npu : facts.npus) {
    if (!npu.excluded) inventory.npus.push_back(entry_of(npu));
  }
  return inventory;
}

std::string hami_register_json(const MachineFacts& facts, std::string_view common_word) {
  json::array npus;
  for (const NpuFacts& npu : facts.npus) {
    if (npu.excluded || word_of(npu) != common_word) continue;
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
  annotations.emplace(names::kNodeNpus, write_node_npus(inventory_of(facts)));
  for (const NpuFacts& npu : facts.npus) {
    const std::string_view word = word_of(npu);
    if (npu.excluded || word.empty()) continue;
    annotations.insert_or_assign(names::hami_node_register(word), hami_register_json(facts, word));
    annotations.insert_or_assign(names::hami_node_handshake(word), "Reported_" + time_text(now));
  }
  return annotations;
}

}  // namespace tangram::kube::node
