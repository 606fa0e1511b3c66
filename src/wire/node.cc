#include "wire/node.h"

#include "base/quote.h"

namespace tangram::wire {
namespace {

// indent < 0: everything on one line.
void append_json(std::string& out, const Node& node, int indent);

void append_break(std::string& out, int indent) {
  if (indent < 0) return;
  out += '\n';
  out.append(static_cast<std::size_t>(indent) * 2, ' ');
}

void append_list(std::string& out, const Node& node, int indent) {
  const int inner = indent < 0 ? indent : indent + 1;
  out += '[';
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    if (i > 0) out += ',';
    append_break(out, inner);
    append_json(out, node.items[i], inner);
  }
  if (!node.items.empty()) append_break(out, indent);
  out += ']';
}

void append_object(std::string& out, const Node& node, int indent) {
  const int inner = indent < 0 ? indent : indent + 1;
  out += '{';
  for (std::size_t i = 0; i < node.members.size(); ++i) {
    if (i > 0) out += ',';
    append_break(out, inner);
    append_quoted(out, node.members[i].key);
    out += indent < 0 ? ":" : ": ";
    append_json(out, node.members[i].value, inner);
  }
  if (!node.members.empty()) append_break(out, indent);
  out += '}';
}

void append_json(std::string& out, const Node& node, int indent) {
  switch (node.kind) {
    case Node::Kind::kNull:
      out += "null";
      return;
    case Node::Kind::kBool:
      out += node.truth ? "true" : "false";
      return;
    case Node::Kind::kInt:
      out += std::to_string(node.integer);
      return;
    case Node::Kind::kReal:
      out += node.text;
      return;
    case Node::Kind::kText:
      append_quoted(out, node.text);
      return;
    case Node::Kind::kList:
      append_list(out, node, indent);
      return;
    case Node::Kind::kObject:
      append_object(out, node, indent);
      return;
  }
}

}  // namespace

Node Node::of(bool value) {
  Node node;
  node.kind = Kind::kBool;
  node.truth = value;
  return node;
}

Node Node::of(std::int64_t value) {
  Node node;
  node.kind = Kind::kInt;
  node.integer = value;
  return node;
}

Node Node::of(std::string value) {
  Node node;
  node.kind = Kind::kText;
  node.text = std::move(value);
  return node;
}

Node Node::list() {
  Node node;
  node.kind = Kind::kList;
  return node;
}

Node Node::object() {
  Node node;
  node.kind = Kind::kObject;
  return node;
}

void Node::add(std::string key, Node value) {
  members.push_back(Member{std::move(key), std::move(value)});
}

const Node* Node::find(std::string_view key) const {
  for (const Member& member : members) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

std::string to_json(const Node& node) {
  std::string out;
  append_json(out, node, -1);
  return out;
}

std::string to_indented_json(const Node& node) {
  std::string out;
  append_json(out, node, 0);
  out += '\n';
  return out;
}

}  // namespace tangram::wire
