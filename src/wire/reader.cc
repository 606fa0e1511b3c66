#include "wire/reader.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

#include "base/invariant.h"
#include "wire/nearest.h"

namespace tangram::wire {
namespace {

constexpr std::size_t kProblemsShown = 3;

bool is_plain_key(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '/';
  });
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return result;
}

std::string kind_name(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNull:
      return "empty (null)";
    case Node::Kind::kBool:
      return node.truth ? "true" : "false";
    case Node::Kind::kInt:
    case Node::Kind::kReal:
      return "the number " + printable(node.text, 40);
    case Node::Kind::kText:
      return quoted(node.text);
    case Node::Kind::kList:
      return "a list of " + std::to_string(node.items.size());
    case Node::Kind::kObject:
      return "an object";
  }
  return {};
}

}  // namespace

void Reader::enter_field(std::string_view name) {
  if (!path_.empty()) path_ += '.';
  path_ += is_plain_key(name) ? std::string(name) : quoted(name);
}

void Reader::enter_item(std::size_t index) {
  path_ += '[' + std::to_string(index) + ']';
}

std::string Reader::shown(const Node& node) const {
  if (secret_ && node.items.empty() && node.members.empty() && node.kind != Node::Kind::kNull) {
    return node.kind == Node::Kind::kText ? "what was sent" : "a number or truth value";
  }
  return kind_name(node);
}

void Reader::wrong_type(const Node& node, std::string_view wanted) {
  std::string hint =
      node.kind == Node::Kind::kNull ? "leave the field out, or give it a value" : std::string();
  bad_value(node, "input.wrong_type", wanted, std::move(hint));
}

void Reader::bad_value(const Node& node, std::string_view reason, std::string_view wanted, std::string hint) {
  const std::string what = "must be " + std::string(wanted) + ", not " + shown(node);
  problem(node, std::string(reason), what, std::move(hint));
  if (!secret_ && problems_.size() == problem_count_) problems_.back().value = cut_text(node.text);
}

void Reader::problem(const Node& node, std::string reason, std::string_view what, std::string hint) {
  problem_at(node.line, node.column, std::move(reason), what, std::move(hint));
}

void Reader::problem_at(int line, int column, std::string reason, std::string_view what, std::string hint) {
  ++problem_count_;
  if (problems_.size() == kProblemsShown) return;
  Problem problem;
  problem.path = path_;
  problem.reason = std::move(reason);
  if (line > 0)
    problem.message = "line " + std::to_string(line) + ", column " + std::to_string(column) + ": ";
  problem.message += (path_.empty() ? "the document" : path_) + ' ' + std::string(what);
  problem.hint = std::move(hint);
  problem.line = line;
  problem.column = column;
  problems_.push_back(std::move(problem));
}

bool Reader::is_full() const {
  return problems_.size() == kProblemsShown;
}

Error Reader::to_error(std::string_view document) const {
  TG_ASSERT(!problems_.empty(), "an error of a document without a problem");
  const Problem& first = problems_.front();
  Error error{Code::kInvalidArgument, first.reason, {}, first.hint, {}, nullptr};
  if (!document.empty()) error.message = std::string(document) + ": ";
  for (std::size_t i = 0; i < problems_.size(); ++i) {
    if (i > 0) error.message += "; ";
    error.message += problems_[i].message;
  }
  if (problem_count_ > problems_.size()) {
    error.message += "; and " + std::to_string(problem_count_ - problems_.size()) + " more problems";
  }
  if (!first.path.empty()) error.details.emplace_back("field", first.path);
  if (!first.value.empty()) error.details.emplace_back("value", first.value);
  if (first.line > 0) {
    error.details.emplace_back("line", std::int64_t{first.line});
    error.details.emplace_back("column", std::int64_t{first.column});
  }
  if (problem_count_ > 1) error.details.emplace_back("problems", static_cast<std::int64_t>(problem_count_));
  return error;
}

std::string_view did_you_mean(std::string_view name, const std::vector<std::string_view>& known) {
  if (name.empty() || name.size() > 64) return {};
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(1, std::min<std::size_t>(3, name.size() / 3)) + 1;
  for (const std::string_view candidate : known) {
    const std::size_t distance = edit_distance(lower(name), lower(candidate));
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::size_t find_duplicate(const std::vector<Member>& members) {
  std::vector<std::size_t> order(members.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return members[a].key != members[b].key ? members[a].key < members[b].key : a < b;
  });
  std::size_t found = members.size();
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (members[order[i]].key == members[order[i - 1]].key) found = std::min(found, order[i]);
  }
  return found;
}

}  // namespace tangram::wire
