// YAML stream -> Nodes, by yaml-cpp's event interface: keeps positions, and no alias is expanded without
// counting.
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "wire/node.h"

namespace tangram::wire {
namespace {

constexpr std::size_t kDepthMax = 32;
constexpr std::size_t kNodesMax = 100'000;  // of a stream, aliases expanded

// Leaves the parser with a finished Error; caught in parse_yaml.
struct Refused {
  Error error;
};

Error error_at(const YAML::Mark& mark, std::string reason, const std::string& what, std::string hint) {
  const std::int64_t line = mark.line + 1;
  const std::int64_t column = mark.column + 1;
  return Error{Code::kInvalidArgument,
               std::move(reason),
               "line " + std::to_string(line) + ", column " + std::to_string(column) + ": " + what,
               std::move(hint),
               {{"line", line}, {"column", column}},
               nullptr};
}

bool is_number(std::string_view text, bool& whole) {
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const std::size_t digits =
      static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_digit) - text.begin());
  whole = digits == text.size();
  if (digits == 0) return false;
  if (whole) return true;
  const std::string_view rest = text.substr(digits);
  if (rest.front() != '.' && rest.front() != 'e' && rest.front() != 'E') return false;
  return std::all_of(rest.begin() + 1, rest.end(),
                     [&](char c) { return is_digit(c) || c == 'e' || c == 'E' || c == '-' || c == '+'; });
}

// Unquoted: what the spelling means where a number or a truth value is wanted.
Node plain_scalar(const std::string& text) {
  Node node = Node::of(text);
  node.plain = true;
  bool whole = false;
  if (text == "true" || text == "false") {
    node.kind = Node::Kind::kBool;
    node.truth = text == "true";
  } else if (is_number(text, whole)) {
    const char* const first = text.data() + (text.front() == '+' ? 1 : 0);
    const auto parsed = std::from_chars(first, text.data() + text.size(), node.integer);
    node.kind = whole && parsed.ec == std::errc() ? Node::Kind::kInt : Node::Kind::kReal;
  }
  return node;
}

std::size_t count_nodes(const Node& node, std::size_t budget) {
  std::size_t count = 1;
  for (const Node& item : node.items) {
    if (count > budget) return count;
    count += count_nodes(item, budget - count);
  }
  for (const Member& member : node.members) {
    if (count > budget) return count;
    count += count_nodes(member.value, budget - count);
  }
  return count;
}

class TreeBuilder : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    root_ = Node();
    has_root_ = false;
    anchors_.clear();
    start_ = mark;
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Node node;
    node.text = "null";
    node.plain = true;
    put(std::move(node), mark, anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check_tag(mark, tag);
    put(tag == "?" ? plain_scalar(value) : Node::of(value), mark, anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) {
      throw Refused{
          error_at(mark, "input.syntax", "an alias inside of what it stands for", "write the value out")};
    }
    take_budget(mark, count_nodes(found->second, kNodesMax) - 1);
    if (open_.size() + depth(found->second) > kDepthMax) throw too_deep(mark);
    put(found->second, mark, YAML::NullAnchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    open(Node::list(), mark, anchor);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    open(Node::object(), mark, anchor);
  }
  void OnMapEnd() override { close(); }

  bool has_root() const { return has_root_; }
  Node take() { return std::move(root_); }

 private:
  struct Open {
    Node node;
    YAML::anchor_t anchor = YAML::NullAnchor;
    YAML::Mark mark;
    bool has_key = false;
    Member member;  // the key is known, its value is being read
  };

  static Refused too_deep(const YAML::Mark& mark) {
    return Refused{error_at(mark, "input.too_deep",
                            "values are nested more than " + std::to_string(kDepthMax) + " deep",
                            "no document of this API is nested more than 8 deep")};
  }

  static void check_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!" || tag == "tag:yaml.org,2002:str") return;
    throw Refused{
        error_at(mark, "input.syntax", "the tag " + quoted(tag) + " is not known here", "leave the tag out")};
  }

  static std::size_t depth(const Node& node) {
    std::size_t deepest = 0;
    for (const Node& item : node.items) deepest = std::max(deepest, depth(item));
    for (const Member& member : node.members) deepest = std::max(deepest, depth(member.value));
    return node.items.empty() && node.members.empty() ? 0 : deepest + 1;
  }

  void take_budget(const YAML::Mark& mark, std::size_t nodes) {
    used_ += nodes;
    if (used_ <= kNodesMax) return;
    throw Refused{
        error_at(mark, "input.too_many",
                 "more than " + std::to_string(kNodesMax) + " values in one stream, aliases counted out",
                 "write fewer documents in one stream, without aliases to large values")};
  }

  void open(Node node, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (open_.size() >= kDepthMax) throw too_deep(mark);
    Open entry;
    entry.node = std::move(node);
    entry.anchor = anchor;
    entry.mark = mark;
    open_.push_back(std::move(entry));
  }

  void close() {
    Open entry = std::move(open_.back());
    open_.pop_back();
    put(std::move(entry.node), entry.mark, entry.anchor);
  }

  void put(Node node, const YAML::Mark& mark, YAML::anchor_t anchor) {
    take_budget(mark, 1);
    node.line = mark.line + 1;
    node.column = mark.column + 1;
    if (anchor != YAML::NullAnchor) {
      take_budget(mark, count_nodes(node, kNodesMax));
      anchors_[anchor] = node;
    }
    if (open_.empty()) {
      root_ = std::move(node);
      has_root_ = true;
      return;
    }
    Open& into = open_.back();
    if (into.node.kind == Node::Kind::kList) {
      into.node.items.push_back(std::move(node));
    } else if (into.has_key) {
      into.member.value = std::move(node);
      into.node.members.push_back(std::move(into.member));
      into.member = Member();
      into.has_key = false;
    } else {
      if (node.kind == Node::Kind::kList || node.kind == Node::Kind::kObject) {
        throw Refused{error_at(mark, "input.syntax", "a field name must be a text, not a list or a mapping",
                               "check the braces and brackets around that place")};
      }
      if (node.kind == Node::Kind::kNull) {
        throw Refused{error_at(mark, "input.syntax", "a field name must be a text", "quote it")};
      }
      into.member.key = std::move(node.text);
      into.member.line = node.line;
      into.member.column = node.column;
      into.has_key = true;
    }
  }

  Node root_;
  bool has_root_ = false;
  YAML::Mark start_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Node> anchors_;
  std::size_t used_ = 0;
};

Result<std::vector<Node>> parse_stream(const std::string& text, std::size_t documents_max) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  TreeBuilder builder;
  std::vector<Node> documents;
  while (parser.HandleNextDocument(builder)) {
    if (!builder.has_root()) continue;
    Node root = builder.take();
    if (root.kind == Node::Kind::kNull) continue;  // nothing between two "---"
    if (documents.size() == documents_max) {
      return fail(Code::kInvalidArgument, "input.too_many",
                  "more than " + std::to_string(documents_max) + " documents in one stream",
                  "apply them in several streams", {{"line", static_cast<std::int64_t>(root.line)}});
    }
    documents.push_back(std::move(root));
  }
  return documents;
}

}  // namespace

Result<std::vector<Node>> parse_yaml(std::string_view text, std::size_t bytes_max,
                                     std::size_t documents_max) {
  if (text.size() > bytes_max) {
    return fail(
        Code::kResourceExhausted, "input.too_large",
        "the body has " + std::to_string(text.size()) + " bytes; at most " + std::to_string(bytes_max) +
            " are read",
        "send it in smaller parts",
        {{"bytes", static_cast<std::int64_t>(text.size())}, {"limit", static_cast<std::int64_t>(bytes_max)}});
  }
  if (!is_utf8(text)) {
    return fail(Code::kInvalidArgument, "input.syntax", "the text is not UTF-8", "save the file as UTF-8");
  }
  // The parser takes a text with a NUL among its first bytes for UTF-16 or UTF-32.
  if (text.find('\0') != std::string_view::npos) {
    return fail(Code::kInvalidArgument, "input.syntax", "the text holds a NUL byte",
                "save the file as UTF-8");
  }
  try {
    return parse_stream(std::string(text), documents_max);
  } catch (const Refused& refused) {
    return fail(refused.error);
  } catch (const YAML::Exception& exception) {
    return fail(error_at(exception.mark, "input.syntax", "not valid YAML: " + printable(exception.msg),
                         "check the indentation and the quotes around that place"));
  }
}

}  // namespace tangram::wire
