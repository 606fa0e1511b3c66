// A schema of a custom resource is a *structural* one: no references, no word that says what else a value may
// be, and rules beyond single fields in CEL. What our JSON Schemas have beyond that is left to the rules, or
// to the reader.
#include "wire/crd.h"

#include <array>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "base/invariant.h"
#include "wire/cluster_tables.h"
#include "wire/node.h"
#include "wire/schema.h"

namespace tangram::wire {
namespace {

constexpr std::string_view kReference = "#/components/schemas/";
constexpr std::size_t kListMax = 1'024;  // of a list without a bound of its own: rules need one

Node word(std::string_view text) {
  return Node::of(std::string(text));
}

// A text of this program's own.
Node parsed(std::string_view json) {
  Result<Node> node = parse_json(json, kBodyBytesMax);
  TG_ASSERT(node.has_value(), "a schema that is no JSON");
  return std::move(*node);
}

// A rule of CEL beside the schema of an object, or of one of its fields ("Object.field").
struct Rule {
  std::string_view at;
  std::string_view rule;
  std::string_view message;
};
constexpr std::array kRules = {
    Rule{"Tenant", "size(self.metadata.name) <= 63 && !self.metadata.name.contains('.')",
         "the name of a Tenant has at most 63 characters and no dot"},
    Rule{"Tenant", "!has(self.spec) || !has(self.spec.parent) || self.spec.parent != self.metadata.name",
         "a Tenant cannot be its own parent"},
    Rule{"LabelRequirement",
         "(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)",
         "In and NotIn need values, Exists and DoesNotExist have none"},
    Rule{"Chip", "self.templates.all(t, t.aiCores <= self.aiCores)",
         "a template cannot have more AI cores than its chip"},
    Rule{"ClusterChipSpec.resource", "self == oldSelf",
         "Pods hold NPUs under this resource: it cannot be changed"},
    Rule{"ClusterChipSpec.resource", "!self.endsWith('-memory') && !self.endsWith('-core')",
         "huawei.com/…-memory and …-core are the memory and the cores of other resources"},
};

// Lists in which nothing may stand twice, with the key of their entries.
struct Unique {
  std::string_view at;
  std::string_view key;  // empty: the entries themselves
};
constexpr std::array kUnique = {Unique{"Quota.priorities", ""}, Unique{"Chip.templates", "name"},
                                Unique{"NodeConfigSpec.excludedNpus", ""},
                                Unique{"ClusterTenantSpec.members", ""}};

using Documents = std::map<std::string, DocumentInfo, std::less<>>;

Documents all_documents() {
  Documents all;
  for (const DocumentInfo& document : documents()) all.emplace(document.name, document);
  for (const DocumentInfo& document : cluster_documents()) all.emplace(document.name, document);
  return all;
}

void add_rules(Node& schema, std::string_view at) {
  Node rules = Node::list();
  for (const Rule& rule : kRules) {
    if (rule.at != at) continue;
    Node one = Node::object();
    one.add("rule", word(rule.rule));
    one.add("message", word(rule.message));
    rules.items.push_back(std::move(one));
  }
  if (!rules.items.empty()) schema.add("x-kubernetes-validations", std::move(rules));
}

void add_unique(Node& schema, std::string_view at) {
  for (const Unique& unique : kUnique) {
    if (unique.at != at) continue;
    schema.add("x-kubernetes-list-type", word(unique.key.empty() ? "set" : "map"));
    if (unique.key.empty()) continue;
    Node keys = Node::list();
    keys.items.push_back(word(unique.key));
    schema.add("x-kubernetes-list-map-keys", std::move(keys));
  }
}

Node object_schema(const Documents& documents, std::string_view name);

// What RE2 reads as we mean it: a pattern that only keeps NUL out says it in another grammar.
bool is_portable(const Node& pattern) {
  return pattern.text.find('\0') == std::string::npos && pattern.text.find("\\u") == std::string::npos;
}

Node structural(const Documents& documents, const Node& schema) {
  if (const Node* const reference = schema.find("$ref")) {
    return object_schema(documents, std::string_view(reference->text).substr(kReference.size()));
  }
  Node made = Node::object();
  for (const Member& member : schema.members) {
    if (member.key == "maximum" && member.value.integer == std::numeric_limits<std::int64_t>::max()) {
      continue;  // what its format says as well, and a schema's numbers are floating ones
    }
    if (member.key == "type" && member.value.kind == Node::Kind::kList) {
      made.add("x-kubernetes-int-or-string", Node::of(true));
    } else if (member.key == "items" || member.key == "additionalProperties") {
      made.add(member.key, structural(documents, member.value));
    } else if (member.key == "pattern" ? is_portable(member.value)
                                       : member.key != "examples" && member.key != "multipleOf") {
      made.add(member.key, member.value);
    }
  }
  const Node* const type = schema.find("type");
  if (type != nullptr && type->text == "integer") made.add("format", word("int64"));
  if (type != nullptr && type->text == "array" && made.find("maxItems") == nullptr) {
    made.add("maxItems", Node::of(static_cast<std::int64_t>(kListMax)));
  }
  return made;
}

Node object_schema(const Documents& documents, std::string_view name) {
  const auto at = documents.find(name);
  TG_ASSERT(at != documents.end(), "a custom resource holds an object that is not described");
  const DocumentInfo& document = at->second;
  Node properties = Node::object();
  Node required = Node::list();
  for (const FieldInfo& field : document.fields) {
    const std::string path = std::string(name) + '.' + field.name;
    Node schema = Node::object();
    schema.add("description", word(field.doc));
    Node rest = structural(documents, parsed(field.schema));
    for (Member& member : rest.members) {
      if (member.key != "description") schema.add(member.key, std::move(member.value));
    }
    add_unique(schema, path);
    add_rules(schema, path);
    properties.add(field.name, std::move(schema));
    if (field.required) required.items.push_back(word(field.name));
  }
  Node schema = Node::object();
  schema.add("type", word("object"));
  schema.add("description", word(document.doc));
  if (!required.items.empty()) schema.add("required", std::move(required));
  schema.add("properties", std::move(properties));
  add_rules(schema, name);
  return schema;
}

// ---- the three kinds

struct Column {
  std::string_view name, type, path, description;
  bool wide = false;  // with -o wide only
};

struct Kind {
  std::string_view kind, plural, singular, spec;
  std::vector<Column> columns;
};

constexpr std::string_view kConditions =
    R"({"type":"array","maxItems":32,"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["type"],)"
    R"("items":{"type":"object","required":["type","status"],"properties":{"type":{"type":"string"},)"
    R"("status":{"type":"string","enum":["True","False","Unknown"]},"reason":{"type":"string"},)"
    R"("message":{"type":"string"},"lastTransitionTime":{"type":"string","format":"date-time"},)"
    R"("observedGeneration":{"type":"integer","format":"int64"}}}})";

// The fields of a status, each with its schema.
std::vector<std::pair<std::string_view, std::string_view>> status_fields(std::string_view kind) {
  if (kind == "Tenant") {
    return {{"used", R"({"$ref":"#/components/schemas/Usage"})"},
            {"effective", R"({"$ref":"#/components/schemas/Quota"})"},
            {"queued", R"({"type":"integer","minimum":0})"},
            {"namespaces", R"({"type":"integer","minimum":0})"}};
  }
  return {{"nodes", R"({"type":"integer","minimum":0})"}};
}

Node status_schema(const Documents& documents, std::string_view kind) {
  Node properties = Node::object();
  for (const auto& [name, schema] : status_fields(kind)) {
    properties.add(std::string(name), structural(documents, parsed(schema)));
  }
  properties.add("observedGeneration", parsed(R"({"type":"integer","format":"int64"})"));
  properties.add("conditions", parsed(kConditions));
  Node status =
      parsed(R"({"type":"object","description":"what is so at present; written by Tangram alone"})");
  status.add("properties", std::move(properties));
  return status;
}

std::vector<Kind> kinds() {
  return {
      {"Tenant",
       "tenants",
       "tenant",
       "ClusterTenantSpec",
       {{"Parent", "string", ".spec.parent", "the tenant above", true},
        {"NPUs", "integer", ".status.used.npus", "NPUs held"},
        {"Limit", "integer", ".status.effective.npus", "NPUs that may be held; empty: unlimited"},
        {"Memory", "string", ".status.used.memoryTotal", "device memory held"},
        {"Memory Limit", "string", ".status.effective.memoryTotal", "that may be held; empty: unlimited"},
        {"Running", "integer", ".status.used.runningJobs", "Pods with NPUs"},
        {"Waiting", "integer", ".status.queued", "Pods that wait for the quota"},
        {"Namespaces", "integer", ".status.namespaces", "whose Pods are the tenant's", true}}},
      {"ChipModel",
       "chipmodels",
       "chipmodel",
       "ClusterChipSpec",
       {{"Resource", "string", ".spec.resource", "asked for as huawei.com/…"},
        {"Chip", "string", ".spec.chip.name", "the chip"},
        {"Nodes", "integer", ".status.nodes", "that have such NPUs"}}},
      {"NodeConfig",
       "nodeconfigs",
       "nodeconfig",
       "NodeConfigSpec",
       {{"Cut", "boolean", ".spec.cut", "whether NPUs are cut into slices"},
        {"Shares", "integer", ".spec.sharesPerNpu", "devices of the kubelet for each NPU"},
        {"Nodes", "integer", ".status.nodes", "that are selected"}}},
  };
}

Node columns_of(const Kind& kind) {
  Node list = Node::list();
  for (const Column& column : kind.columns) {
    Node one = Node::object();
    one.add("name", word(column.name));
    one.add("type", word(column.type));
    one.add("jsonPath", word(column.path));
    one.add("description", word(column.description));
    if (column.wide) one.add("priority", Node::of(std::int64_t{1}));
    list.items.push_back(std::move(one));
  }
  list.items.push_back(parsed(R"({"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"})"));
  return list;
}

Node root_schema(const Documents& documents, const Kind& kind) {
  Node properties =
      parsed(R"({"apiVersion":{"type":"string"},"kind":{"type":"string"},"metadata":{"type":"object"}})");
  properties.add("spec", object_schema(documents, kind.spec));
  properties.add("status", status_schema(documents, kind.kind));
  Node schema = parsed(R"({"type":"object"})");
  schema.add("description", word(documents.find(kind.spec)->second.doc));
  // A tenant without a spec has no limits; the others say nothing without one.
  if (kind.kind != "Tenant") schema.add("required", parsed(R"(["spec"])"));
  schema.add("properties", std::move(properties));
  add_rules(schema, kind.kind);
  return schema;
}

Node definition(const Documents& documents, const Kind& kind) {
  Node version = parsed(R"({"name":"v1","served":true,"storage":true,"subresources":{"status":{}}})");
  version.add("additionalPrinterColumns", columns_of(kind));
  Node schema = Node::object();
  schema.add("openAPIV3Schema", root_schema(documents, kind));
  version.add("schema", std::move(schema));
  Node versions = Node::list();
  versions.items.push_back(std::move(version));
  Node names = Node::object();
  names.add("kind", word(kind.kind));
  names.add("listKind", word(std::string(kind.kind) + "List"));
  names.add("plural", word(kind.plural));
  names.add("singular", word(kind.singular));
  names.add("categories", parsed(R"(["tangram"])"));
  Node spec = Node::object();
  spec.add("group", word("tangram.dev"));
  spec.add("scope", word("Cluster"));
  spec.add("names", std::move(names));
  spec.add("versions", std::move(versions));
  Node metadata = Node::object();
  metadata.add("name", word(std::string(kind.plural) + ".tangram.dev"));
  Node root = parsed(R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition"})");
  root.add("metadata", std::move(metadata));
  root.add("spec", std::move(spec));
  return root;
}

}  // namespace

std::vector<CustomResource> custom_resources() {
  const Documents documents = all_documents();
  std::vector<CustomResource> resources;
  for (const Kind& kind : kinds()) {
    resources.push_back(
        {std::string(kind.plural) + ".tangram.dev", to_yaml_text(definition(documents, kind))});
  }
  return resources;
}

}  // namespace tangram::wire
