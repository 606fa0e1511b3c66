// JSON text -> Node. Boost.JSON does the parsing; its event interface is used, because duplicates and the
// spelling of numbers must be kept.
#include <boost/json/basic_parser_impl.hpp>
#include <string>
#include <vector>

#include "wire/node.h"

namespace tangram::wire {
namespace {

using boost::json::error_code;
using boost::json::string_view;

constexpr std::size_t kDepthMax = 32;

class TreeBuilder {
 public:
  // The library looks for exactly these names.
  // NOLINTBEGIN(readability-identifier-naming)
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);
  // NOLINTEND(readability-identifier-naming)

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }

  bool on_object_begin(error_code&) { return open(Node::object()); }
  bool on_object_end(std::size_t, error_code&) { return close(); }
  bool on_array_begin(error_code&) { return open(Node::list()); }
  bool on_array_end(std::size_t, error_code&) { return close(); }

  bool on_key_part(string_view part, std::size_t, error_code&) { return append(part); }
  bool on_key(string_view part, std::size_t, error_code&) {
    append(part);
    keys_.push_back(std::move(buffer_));
    buffer_.clear();
    return true;
  }

  bool on_string_part(string_view part, std::size_t, error_code&) { return append(part); }
  bool on_string(string_view part, std::size_t, error_code&) {
    append(part);
    return put(Node::of(take_buffer()));
  }

  bool on_number_part(string_view part, error_code&) { return append(part); }
  bool on_int64(std::int64_t value, string_view part, error_code&) { return number(Node::of(value), part); }
  bool on_uint64(std::uint64_t, string_view part, error_code&) { return real(part); }
  bool on_double(double, string_view part, error_code&) { return real(part); }

  bool on_bool(bool value, error_code&) {
    Node node = Node::of(value);
    node.text = value ? "true" : "false";
    return put(std::move(node));
  }
  bool on_null(error_code&) {
    Node node;
    node.text = "null";
    return put(std::move(node));
  }
  bool on_comment_part(string_view, error_code&) { return true; }
  bool on_comment(string_view, error_code&) { return true; }

  Node take() { return std::move(root_); }

 private:
  bool append(string_view part) {
    buffer_.append(part.data(), part.size());
    return true;
  }

  std::string take_buffer() {
    std::string text = std::move(buffer_);
    buffer_.clear();
    return text;
  }

  bool number(Node node, string_view part) {
    append(part);
    node.text = take_buffer();
    return put(std::move(node));
  }

  // A number beyond the range of int64 or with a fraction: only its spelling is used.
  bool real(string_view part) {
    Node node;
    node.kind = Node::Kind::kReal;
    return number(std::move(node), part);
  }

  bool open(Node node) {
    open_.push_back(std::move(node));
    return true;
  }

  bool close() {
    Node node = std::move(open_.back());
    open_.pop_back();
    return put(std::move(node));
  }

  bool put(Node node) {
    if (open_.empty()) {
      root_ = std::move(node);
    } else if (open_.back().kind == Node::Kind::kList) {
      open_.back().items.push_back(std::move(node));
    } else {
      open_.back().add(std::move(keys_.back()), std::move(node));
      keys_.pop_back();
    }
    return true;
  }

  Node root_;
  std::vector<Node> open_;
  std::vector<std::string> keys_;
  std::string buffer_;
};

tl::unexpected<Error> syntax_error(std::string_view text, std::size_t offset, const error_code& error) {
  std::int64_t line = 1;
  std::int64_t column = 1;
  for (const char c : text.substr(0, offset)) {
    ++column;
    if (c == '\n') {
      ++line;
      column = 1;
    }
  }
  const std::string where = "line " + std::to_string(line) + ", column " + std::to_string(column);
  Details details = {{"line", line}, {"column", column}};
  if (error == boost::json::error::too_deep) {
    return fail(Code::kInvalidArgument, "input.too_deep",
                where + ": values are nested more than " + std::to_string(kDepthMax) + " deep",
                "no document of this API is nested more than 8 deep", std::move(details));
  }
  return fail(Code::kInvalidArgument, "input.syntax", where + ": not valid JSON: " + error.message(),
              "check the text around that place; strings and field names stand in double quotes",
              std::move(details));
}

}  // namespace

Result<Node> parse_json(std::string_view text, std::size_t bytes_max) {
  if (text.size() > bytes_max) {
    return fail(
        Code::kResourceExhausted, "input.too_large",
        "the body has " + std::to_string(text.size()) + " bytes; at most " + std::to_string(bytes_max) +
            " are read",
        "send it in smaller parts",
        {{"bytes", static_cast<std::int64_t>(text.size())}, {"limit", static_cast<std::int64_t>(bytes_max)}});
  }
  boost::json::parse_options options;
  options.max_depth = kDepthMax;
  boost::json::basic_parser<TreeBuilder> parser(options);
  error_code error;
  const std::size_t used = parser.write_some(false, text.data(), text.size(), error);
  if (!error && used < text.size()) error = boost::json::error::extra_data;
  if (error) return syntax_error(text, used, error);
  return parser.handler().take();
}

}  // namespace tangram::wire
