// Node -> YAML in block style. Only texts that no reader could take for anything else stand unquoted; the
// rest are written as JSON strings, which YAML reads as they are.
#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "wire/node.h"

namespace tangram::wire {
namespace {

bool is_word(std::string_view text) {
  constexpr std::array<std::string_view, 9> kTakenForOthers = {"true", "false", "null", "yes", "no",
                                                               "on",   "off",   "y",    "n"};
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  if (std::find(kTakenForOthers.begin(), kTakenForOthers.end(), lower) != kTakenForOthers.end()) return false;
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto is_inner = [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') ||
           std::string_view(" _-./+@%").find(c) != std::string_view::npos;
  };
  return !text.empty() && (is_letter(text.front()) || text.front() == '/') && text.back() != ' ' &&
         std::all_of(text.begin(), text.end(), is_inner);
}

std::string scalar(const Node& node) {
  if (node.kind == Node::Kind::kText && is_word(node.text)) return node.text;
  return to_json(node);  // also "[]" and "{}"
}

bool is_block(const Node& node) {
  return !node.items.empty() || !node.members.empty();
}

void append_block(std::string& out, const Node& node, std::size_t indent);

// The line has its "key:" or "-" already.
void append_value(std::string& out, const Node& node, std::size_t indent) {
  if (!is_block(node)) {
    out += ' ' + scalar(node) + '\n';
    return;
  }
  out += '\n';
  append_block(out, node, indent);
}

void append_block(std::string& out, const Node& node, std::size_t indent) {
  const std::string margin(indent, ' ');
  for (const Node& item : node.items) {
    out += margin + '-';
    if (item.members.empty()) {
      append_value(out, item, indent + 2);
      continue;
    }
    std::string inner;  // the first field stands on the line of its dash
    append_block(inner, item, indent + 2);
    out += ' ' + inner.substr(indent + 2);
  }
  for (const Member& member : node.members) {
    out += margin + scalar(Node::of(member.key)) + ':';
    append_value(out, member.value, indent + 2);
  }
}

}  // namespace

std::string to_yaml_text(const Node& node) {
  if (!is_block(node)) return scalar(node) + '\n';
  std::string out;
  append_block(out, node, 0);
  return out;
}

}  // namespace tangram::wire
