#include "wire/cluster.h"

#include <algorithm>
#include <array>
#include <utility>

#include "wire/chip_tables.h"
#include "wire/cluster_tables.h"
#include "wire/codecs.h"
#include "wire/tables.h"

namespace tangram::wire {
namespace {

constexpr std::int64_t kMib = std::int64_t{1} << 20;
// Part of resource names, annotations and labels.
constexpr std::string_view kWordPattern = "^Ascend[A-Za-z0-9]([A-Za-z0-9-]{0,30}[A-Za-z0-9])?$";

constexpr std::array<std::pair<std::string_view, SelectorOperator>, 4> kOperators{
    {{"In", SelectorOperator::kIn},
     {"NotIn", SelectorOperator::kNotIn},
     {"Exists", SelectorOperator::kExists},
     {"DoesNotExist", SelectorOperator::kDoesNotExist}}};

Codec<SelectorOperator> operator_word() {
  static constexpr std::string_view kWanted = "In, NotIn, Exists or DoesNotExist";
  return {std::string(kWanted),
          [](Reader& reader, const Node& node, SelectorOperator& into) {
            if (node.kind != Node::Kind::kText) return reader.wrong_type(node, kWanted);
            for (const auto& [word, operation] : kOperators) {
              if (word == node.text) {
                into = operation;
                return;
              }
            }
            reader.bad_value(node, "input.bad_value", kWanted);
          },
          [](const SelectorOperator& from) {
            for (const auto& [word, operation] : kOperators) {
              if (operation == from) return Node::of(std::string(word));
            }
            return Node{};
          },
          R"({"type":"string","enum":["In","NotIn","Exists","DoesNotExist"]})"};
}

bool is_word(std::string_view text) {
  constexpr std::string_view kPrefix = "Ascend";
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  if (!text.starts_with(kPrefix) || text.size() > kPrefix.size() + 32) return false;
  text.remove_prefix(kPrefix.size());
  return !text.empty() && is_letter(text.front()) && is_letter(text.back()) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return is_letter(c) || c == '-'; });
}

// A word like one of HAMi's. It may not end as the names of memory and cores do.
Codec<std::string> resource_word() {
  static constexpr std::string_view kWanted =
      "\"Ascend\" with letters, digits and inner '-' behind it, not ending in -memory or -core";
  return {"word (\"Ascend310P\")",
          [](Reader& reader, const Node& node, std::string& into) {
            if (node.kind != Node::Kind::kText) return reader.wrong_type(node, kWanted);
            const bool taken = node.text.ends_with("-memory") || node.text.ends_with("-core");
            if (!is_word(node.text) || taken) return reader.bad_value(node, "input.bad_value", kWanted);
            into = node.text;
          },
          [](const std::string& from) { return Node::of(from); },
          R"({"type":"string","maxLength":38,"pattern":")" + std::string(kWordPattern) + "\"}"};
}

const Table<LabelRequirement>& label_requirement_table() {
  static const Table<LabelRequirement> table{
      "LabelRequirement",
      "One condition on labels.",
      {
          required("key", &LabelRequirement::key, text(317), "the label's key"),
          required("operator", &LabelRequirement::operation, operator_word(), "how it is compared"),
          optional("values", &LabelRequirement::values, list(text(kNameLengthMax), kSelectorValuesMax),
                   "of In and NotIn"),
      },
      nullptr};
  return table;
}

const Table<LabelSelector>& label_selector_table() {
  static const Table<LabelSelector> table{
      "LabelSelector",
      "Selects by labels: all conditions must hold; without any, everything is selected.",
      {
          optional("matchLabels", &LabelSelector::match_labels,
                   text_map(kSelectorEntriesMax, "map of string", nullptr), "labels with these values"),
          optional("matchExpressions", &LabelSelector::match_expressions,
                   list(object(label_requirement_table()), kSelectorEntriesMax), "conditions on labels"),
      },
      nullptr};
  return table;
}

// A field of one value as that of another that holds it.
template <class Outer, class Inner>
Field<Outer> lifted(const Field<Inner>& field, Inner Outer::* member) {
  Field<Outer> result;
  result.info = field.info;
  result.secret = field.secret;
  result.read = [read = field.read, member](Reader& reader, const Node& node, Outer& into) {
    read(reader, node, into.*member);
  };
  result.write = [write = field.write, member](const Outer& from, Node& node) { write(from.*member, node); };
  return result;
}

// {"metadata":{"name":…},"spec":{…}}; a spec that is left out is empty.
template <class T>
Result<T> read_resource(const Table<T>& spec_table, Field<T> name, std::string_view json) {
  const Table<T> metadata{"ObjectMeta", "what every object says of itself", {std::move(name)}, nullptr};
  const Table<T> whole{
      spec_table.name,
      spec_table.doc,
      {part("metadata", metadata, true, "its name"), part("spec", spec_table, false, "the spec")},
      nullptr};
  return read_answer(whole, json);
}

}  // namespace

const Table<ClusterTenant>& cluster_tenant_spec_table() {
  static const Table<ClusterTenant> table = [] {
    Table<ClusterTenant> made{
        "ClusterTenantSpec", "Who shares the NPUs, and how much each may hold.", {}, nullptr};
    made.fields.push_back(optional(
        "namespaceSelector", &ClusterTenant::namespaces, object(label_selector_table()),
        "whose Pods are this tenant's; {}: of every namespace that no other tenant selects; left out: none"));
    for (const Field<TenantDoc>& field : tenant_spec_table().fields) {
      made.fields.push_back(lifted(field, &ClusterTenant::tenant));
    }
    return made;
  }();
  return table;
}

const Table<ClusterChip>& cluster_chip_spec_table() {
  static const Table<ClusterChip> table{
      "ClusterChipSpec",
      "A chip model, how it may be cut, and by which resource it is asked for.",
      {
          required("resource", &ClusterChip::word, resource_word(),
                   "asked for as huawei.com/RESOURCE, with huawei.com/RESOURCE-memory MiB of each"),
          optional("memory", &ClusterChip::whole_memory, bytes_text(1),
                   "of a whole NPU, and the most that can be asked for; left out: what its slices share"),
          optional("inPairs", &ClusterChip::in_pairs, boolean(),
                   "whole NPUs are given in twos: both chips of a board"),
          required("chip", &ClusterChip::chip, chip_codec(), "as in a catalogue of one machine"),
      },
      nullptr};
  return table;
}

const Table<NodeConfig>& node_config_spec_table() {
  static const Table<NodeConfig> table{
      "NodeConfigSpec",
      "How nodes are used that differ from the others.",
      {
          required("nodeSelector", &NodeConfig::nodes, object(label_selector_table()), "which nodes"),
          optional("sharesPerNpu", &NodeConfig::shares_per_npu, int32_range(1, kSharesPerNpuMax),
                   "how often an NPU counts among the kubelet's devices; left out: as many as the smallest "
                   "template fits"),
          optional("cut", &NodeConfig::cut, boolean(), "false: NPUs are only given whole"),
          optional("excludedNpus", &NodeConfig::excluded_npus, list(uint32_range(0, 65'535), 256),
                   "physical ids of NPUs that Tangram leaves alone"),
      },
      nullptr};
  return table;
}

std::vector<DocumentInfo> cluster_documents() {
  std::vector<DocumentInfo> all = chip_documents();
  for (DocumentInfo document :
       {label_requirement_table().info(), label_selector_table().info(), cluster_tenant_spec_table().info(),
        cluster_chip_spec_table().info(), node_config_spec_table().info()}) {
    all.push_back(std::move(document));
  }
  return all;
}

bool matches(const LabelSelector& selector, const Labels& labels) {
  const auto has = [&labels](const std::string& key, const std::string& value) {
    const auto at = labels.find(key);
    return at != labels.end() && at->second == value;
  };
  for (const auto& [key, value] : selector.match_labels) {
    if (!has(key, value)) return false;
  }
  for (const LabelRequirement& one : selector.match_expressions) {
    const bool is_one_of = std::any_of(one.values.begin(), one.values.end(),
                                       [&](const std::string& value) { return has(one.key, value); });
    switch (one.operation) {
      case SelectorOperator::kIn:
        if (!is_one_of) return false;
        break;
      case SelectorOperator::kNotIn:  // also without the label
        if (is_one_of) return false;
        break;
      case SelectorOperator::kExists:
        if (!labels.contains(one.key)) return false;
        break;
      case SelectorOperator::kDoesNotExist:
        if (labels.contains(one.key)) return false;
        break;
    }
  }
  return true;
}

NpuResource ClusterChip::resource() const {
  NpuResource made = npu_resource(word, chip, whole_memory.count / kMib);
  made.in_pairs = in_pairs;
  return made;
}

Result<ClusterTenant> read_cluster_tenant(std::string_view json) {
  return read_resource(
      cluster_tenant_spec_table(),
      lifted(required("name", &TenantDoc::name, name_text(), "its name"), &ClusterTenant::tenant), json);
}

Result<ClusterChip> read_cluster_chip(std::string_view json) {
  return read_resource(cluster_chip_spec_table(), required("name", &ClusterChip::name, text(253), "its name"),
                       json);
}

Result<NodeConfig> read_node_config(std::string_view json) {
  return read_resource(node_config_spec_table(), required("name", &NodeConfig::name, text(253), "its name"),
                       json);
}

}  // namespace tangram::wire
