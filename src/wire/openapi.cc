#include "wire/openapi.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <utility>

#include "base/invariant.h"
#include "wire/codecs.h"
#include "wire/errors.h"
#include "wire/event.h"
#include "wire/node.h"
#include "wire/patterns.h"
#include "wire/schema.h"
#include "wire/tables.h"

namespace tangram::wire {
namespace {

constexpr std::string_view kReference = "#/components/schemas/";

Node word(std::string_view text) {
  return Node::of(std::string(text));
}

// A text of this program's own.
Node parsed(std::string_view json) {
  Result<Node> node = parse_json(json, kBodyBytesMax);
  TG_ASSERT(node.has_value(), "a schema that is no JSON");
  return std::move(*node);
}

Node reference(std::string_view document) {
  return parsed(schema_reference(document));
}

// ---- documents

Node list_of(Node item, std::size_t most) {
  Node list = Node::object();
  list.add("type", word("array"));
  list.add("items", std::move(item));
  list.add("minItems", Node::of(std::int64_t{1}));
  list.add("maxItems", Node::of(static_cast<std::int64_t>(most)));
  return list;
}

// {"items":[…]} and nothing beside it.
Node items_object(Node list) {
  Node properties = Node::object();
  properties.add("items", std::move(list));
  Node object = parsed(R"({"type":"object","required":["items"],"additionalProperties":false})");
  object.add("properties", std::move(properties));
  return object;
}

Node one_of(std::initializer_list<Node> forms) {
  Node list = Node::list();
  list.items = forms;
  Node schema = Node::object();
  schema.add("oneOf", std::move(list));
  return schema;
}

// The bodies that have several forms, which no table describes.
std::map<std::string, Node> composite_schemas() {
  const Node any_item =
      parsed(R"({"anyOf":[{"$ref":"#/components/schemas/JobSubmission"},)"
             R"({"description":"what is no JobSubmission gets an error in its place of the answer"}]})");
  const Node answered = parsed(
      R"({"oneOf":[{"type":"object","required":["job"],"properties":{"job":{"$ref":"#/components/schemas/JobView"}}},)"
      R"({"type":"object","required":["error"],"properties":{"error":{"$ref":"#/components/schemas/Problem"}}}]})");
  const Node document = one_of({reference("Tenant"), reference("Job")});
  return {
      {"Document", document},
      {"Submission", one_of({reference("JobSubmission"), items_object(list_of(any_item, kBatchItemsMax))})},
      {"BatchAnswer", items_object(list_of(answered, kBatchItemsMax))},
      {"Documents",
       one_of({reference("Tenant"), reference("Job"), items_object(list_of(document, kDocumentsMax))})},
  };
}

Node schema_of(const DocumentInfo& document, bool closed) {
  Node properties = Node::object();
  Node required = Node::list();
  for (const FieldInfo& field : document.fields) {
    Node schema = parsed(field.schema);
    schema.add("description", word(field.doc));
    properties.add(field.name, std::move(schema));
    if (field.required) required.items.push_back(word(field.name));
  }
  Node node = Node::object();
  node.add("type", word("object"));
  node.add("description", word(document.doc));
  node.add("properties", std::move(properties));
  if (!required.items.empty()) node.add("required", std::move(required));
  if (!document.rule.empty()) {
    for (Member& member : parsed(document.rule).members) node.add(member.key, std::move(member.value));
  }
  // What clients send is read strictly; answers may gain fields.
  if (closed) node.add("additionalProperties", Node::of(false));
  return node;
}

void collect_references(const Node& node, std::set<std::string>& found) {
  if (const Node* target = node.kind == Node::Kind::kObject ? node.find("$ref") : nullptr) {
    found.insert(target->text.substr(kReference.size()));
  }
  for (const Node& item : node.items) collect_references(item, found);
  for (const Member& member : node.members) collect_references(member.value, found);
}

// The documents reached from those named, which are all there.
std::set<std::string> reachable(const std::map<std::string, Node>& schemas,
                                const std::set<std::string>& named) {
  std::set<std::string> all;
  std::set<std::string> fresh = named;
  while (!fresh.empty()) {
    std::set<std::string> next;
    for (const std::string& name : fresh) {
      if (name.empty() || !all.insert(name).second) continue;
      TG_ASSERT(schemas.contains(name), "a call names a document that is not described");
      collect_references(schemas.at(name), next);
    }
    fresh = std::move(next);
  }
  return all;
}

std::map<std::string, Node> all_schemas(const std::set<std::string>& closed) {
  std::map<std::string, Node> schemas = composite_schemas();
  for (const DocumentInfo& document : documents()) {
    schemas.emplace(document.name, schema_of(document, closed.contains(document.name)));
  }
  return schemas;
}

// Only what calls name: the others are no business of a client.
Node write_schemas(std::span<const Call> calls) {
  std::set<std::string> sent;
  std::set<std::string> answered{"Problem"};
  for (const Call& call : calls) {
    for (const Content& content : call.operation->body) sent.emplace(content.schema);
    for (const AnswerInfo& answer : call.operation->answers) {
      for (const Content& content : answer.contents) answered.emplace(content.schema);
    }
  }
  const std::set<std::string> closed = reachable(all_schemas({}), sent);
  const std::map<std::string, Node> schemas = all_schemas(closed);
  answered.insert(closed.begin(), closed.end());
  Node node = Node::object();
  for (const std::string& name : reachable(schemas, answered)) node.add(name, schemas.at(name));
  return node;
}

// ---- calls

Node pattern(std::string_view text) {
  Node schema = Node::object();
  schema.add("type", word("string"));
  schema.add("pattern", word(text));
  return schema;
}

Node text_schema(const Parameter& parameter) {
  Node schema = pattern(kTextPattern);
  if (parameter.least > 0) schema.add("minLength", Node::of(parameter.least));
  if (parameter.most > 0) schema.add("maxLength", Node::of(parameter.most));
  return schema;
}

Node event_type_schema() {
  Node words = Node::list();
  for (const EventType type : event_types()) words.items.push_back(word(to_string(type)));
  for (const std::string_view group : event_groups()) words.items.push_back(word(group));
  Node schema = parsed(R"({"type":"string"})");
  schema.add("enum", std::move(words));
  return schema;
}

Node value_schema(const Parameter& parameter) {
  switch (parameter.type) {
    case ParameterType::kText:
      return text_schema(parameter);
    case ParameterType::kInteger:
      return parsed(int64_range(parameter.least, parameter.most).schema);
    case ParameterType::kFlag:
      return parsed(boolean().schema);
    case ParameterType::kDuration:
      return pattern(duration_pattern(parameter.least, parameter.most));
    case ParameterType::kJobState:
      return parsed(job_state_word().schema);
    case ParameterType::kJobId:
      return pattern(kJobIdPattern);
    case ParameterType::kLabel:
      return pattern(kLabelPattern);
    case ParameterType::kIdempotencyKey:
      return pattern(kIdempotencyKeyPattern);
    case ParameterType::kCursor:
      return pattern(kCursorPattern);
    case ParameterType::kCursorOrOldest:
      return pattern(kCursorOrOldestPattern);
    case ParameterType::kEventType:
      return event_type_schema();
    case ParameterType::kBytes:
      return parsed(bytes_text(1).schema);
    case ParameterType::kRate:
      return parsed(rate_text().schema);
    case ParameterType::kPriority:
      return parsed(priority_word().schema);
  }
  return Node::object();
}

Node write_parameter(const Parameter& parameter, std::string_view in) {
  Node schema = value_schema(parameter);
  if (parameter.repeatable) {
    Node list = Node::object();
    list.add("type", word("array"));
    list.add("items", std::move(schema));
    schema = std::move(list);
  }
  Node node = Node::object();
  node.add("name", word(parameter.name));
  node.add("in", word(in));
  if (in == "path") node.add("required", Node::of(true));
  node.add("description", word(parameter.doc));
  node.add("schema", std::move(schema));
  return node;
}

Node write_parameters(const Operation& operation) {
  Node list = Node::list();
  for (const Parameter& p : operation.path_parameters) list.items.push_back(write_parameter(p, "path"));
  for (const Parameter& p : operation.query) list.items.push_back(write_parameter(p, "query"));
  for (const Parameter& p : operation.headers) list.items.push_back(write_parameter(p, "header"));
  return list;
}

Node free_form(std::string_view media) {
  return parsed(media == kMediaJson ? R"({"type":"object"})" : R"({"type":"string"})");
}

// Each of the events, not the stream: what tools make of a schema for this type.
Node event_form(std::string_view document) {
  Node data = parsed(R"({"type":"string"})");
  if (!document.empty()) {
    data.add("contentMediaType", word(kMediaJson));
    data.add("contentSchema", reference(document));
  }
  Node properties = parsed(R"({"id":{"type":"string"},"event":{"type":"string"}})");
  properties.add("data", std::move(data));
  Node form = parsed(R"({"type":"object","description":"one event of the stream","required":["data"]})");
  form.add("properties", std::move(properties));
  return form;
}

Node content_schema(const Content& content) {
  if (content.media == kMediaEvents) return event_form(content.schema);
  return content.schema.empty() ? free_form(content.media) : reference(content.schema);
}

Node write_contents(std::span<const Content> contents) {
  Node node = Node::object();
  for (const Content& content : contents) {
    Node form = Node::object();
    form.add("schema", content_schema(content));
    node.add(std::string(content.media), std::move(form));
  }
  return node;
}

Node write_answer(const AnswerInfo& answer) {
  Node node = Node::object();
  node.add("description", word(answer.doc));
  if (!answer.headers.empty()) {
    Node headers = Node::object();
    for (const Parameter& header : answer.headers) {
      Node one = Node::object();
      one.add("description", word(header.doc));
      one.add("schema", value_schema(header));
      headers.add(std::string(header.name), std::move(one));
    }
    node.add("headers", std::move(headers));
  }
  if (!answer.contents.empty()) node.add("content", write_contents(answer.contents));
  return node;
}

std::string problem_name(int status) {
  return "Problem" + std::to_string(status);
}

Node write_answers(const Call& call) {
  Node node = Node::object();
  for (const AnswerInfo& answer : call.operation->answers) {
    node.add(std::to_string(answer.status), write_answer(answer));
  }
  for (const int status : call.problems) {
    node.add(std::to_string(status),
             parsed(R"({"$ref":"#/components/responses/)" + problem_name(status) + "\"}"));
  }
  return node;
}

Node write_call(const Call& call) {
  const Operation& operation = *call.operation;
  Node node = Node::object();
  node.add("operationId", word(operation.id));
  node.add("summary", word(operation.summary));
  node.add("description", word("Who: " + std::string(call.who) + "."));
  if (Node parameters = write_parameters(operation); !parameters.items.empty()) {
    node.add("parameters", std::move(parameters));
  }
  if (!operation.body.empty()) {
    Node body = Node::object();
    body.add("required", Node::of(true));
    body.add("content", write_contents(operation.body));
    node.add("requestBody", std::move(body));
  }
  node.add("responses", write_answers(call));
  if (call.is_public) node.add("security", Node::list());
  return node;
}

Node write_paths(std::span<const Call> calls) {
  Node paths = Node::object();
  for (const Call& call : calls) {
    const std::string path(call.operation->path);
    auto at = std::find_if(paths.members.begin(), paths.members.end(),
                           [&](const Member& member) { return member.key == path; });
    if (at == paths.members.end()) {
      paths.add(path, Node::object());
      at = paths.members.end() - 1;
    }
    std::string method(call.method);
    std::transform(method.begin(), method.end(), method.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    at->value.add(std::move(method), write_call(call));
  }
  return paths;
}

Node write_problems(std::span<const Call> calls) {
  std::set<int> statuses;
  for (const Call& call : calls) statuses.insert(call.problems.begin(), call.problems.end());
  Node node = Node::object();
  for (const int status : statuses) {
    Node content =
        parsed(R"({"application/problem+json":{"schema":{"$ref":"#/components/schemas/Problem"}}})");
    Node answer = Node::object();
    answer.add("description", word(status_meaning(status)));
    answer.add("content", std::move(content));
    node.add(problem_name(status), std::move(answer));
  }
  return node;
}

constexpr std::string_view kScheme = "token";

Node write_security_schemes() {
  Node scheme = Node::object();
  scheme.add("type", word("http"));
  scheme.add("scheme", word("bearer"));
  scheme.add("description", word("a token of the operator's making; on the Unix socket a request without one "
                                 "is that of its peer's uid"));
  Node schemes = Node::object();
  schemes.add(std::string(kScheme), std::move(scheme));
  return schemes;
}

Node token_needed() {
  Node needed = Node::object();
  needed.add(std::string(kScheme), Node::list());
  Node list = Node::list();
  list.items.push_back(std::move(needed));
  return list;
}

}  // namespace

std::string write_openapi(std::string_view version, std::span<const Call> calls) {
  Node info = Node::object();
  info.add("title", word("Tangram"));
  info.add("version", word(version));
  info.add("summary", word("Shares Ascend NPUs among tenants"));
  Node components = Node::object();
  components.add("schemas", write_schemas(calls));
  components.add("responses", write_problems(calls));
  components.add("securitySchemes", write_security_schemes());
  Node root = Node::object();
  root.add("openapi", word("3.1.0"));
  root.add("info", std::move(info));
  root.add("security", token_needed());
  root.add("paths", write_paths(calls));
  root.add("components", std::move(components));
  return to_json(root);
}

}  // namespace tangram::wire
