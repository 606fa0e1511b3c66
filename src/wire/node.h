// A parsed or a to-be-written JSON or YAML value: keeps order, duplicates and, for YAML, positions. Private
// to wire.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/quote.h"
#include "base/result.h"

namespace tangram::wire {

struct Member;

struct Node {
  enum class Kind : std::uint8_t { kNull, kBool, kInt, kReal, kText, kList, kObject };

  Kind kind = Kind::kNull;
  bool truth = false;        // kBool
  bool plain = false;        // unquoted YAML scalar: a text field may take it as it is spelled
  std::int64_t integer = 0;  // kInt
  std::string text;          // kText; otherwise the spelling of a scalar
  std::vector<Node> items;
  std::vector<Member> members;
  int line = 0;  // from 1; 0: not known
  int column = 0;

  static Node of(bool value);
  static Node of(std::int64_t value);
  static Node of(std::string value);
  static Node list();
  static Node object();

  void add(std::string key, Node value);
  const Node* find(std::string_view key) const;  // the first of that name
};

struct Member {
  std::string key;
  Node value;
  int line = 0;
  int column = 0;
};

// One line, no spaces. Invalid UTF-8 becomes U+FFFD.
std::string to_json(const Node& node);
std::string to_indented_json(const Node& node);
std::string to_yaml_text(const Node& node);

// A JSON text. Errors: input.syntax with line and column, input.too_deep, input.too_large.
Result<Node> parse_json(std::string_view text, std::size_t bytes_max);

// The documents of a YAML stream. Aliases are expanded within a budget of nodes.
Result<std::vector<Node>> parse_yaml(std::string_view text, std::size_t bytes_max, std::size_t documents_max);

}  // namespace tangram::wire
