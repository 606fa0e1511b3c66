#include "wire/node.h"

namespace tangram::wire {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

void append_escaped(std::string& out, unsigned char c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  out += "\\u00";
  out += kHex[c >> 4U];
  out += kHex[c & 15U];
}

void append_json_text(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const auto c = static_cast<unsigned char>(text.front());
    const std::size_t length = utf8_length(text);
    if (c < 0x20 || c == 0x7F || c == '"' || c == '\\') {
      append_escaped(out, c);
    } else if (length == 0) {
      out += kReplacement;
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
}

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
    append_json_text(out, node.members[i].key);
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
      append_json_text(out, node.text);
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

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  std::size_t length = 0;
  if (first >= 0xC2 && first <= 0xDF) length = 2;
  if (first >= 0xE0 && first <= 0xEF) length = 3;
  if (first >= 0xF0 && first <= 0xF4) length = 4;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_continuation(text[i])) return 0;
  }
  const auto second = static_cast<unsigned char>(text[1]);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool surrogate = first == 0xED && second > 0x9F;
  const bool beyond = first == 0xF4 && second > 0x8F;
  return overlong || surrogate || beyond ? 0 : length;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string quoted(std::string_view text, std::size_t length_max) {
  std::string_view shown = text;
  if (text.size() > length_max) {
    std::size_t cut = length_max;
    while (cut > 0 && is_continuation(text[cut])) --cut;
    shown = text.substr(0, cut);
  }
  std::string out;
  append_json_text(out, shown);
  if (shown.size() != text.size()) {
    out.pop_back();
    out += "…\"";
  }
  return out;
}

}  // namespace tangram::wire
