// Collects what is wrong with a document while it is read, with the path as the client wrote it. Private to
// wire.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/node.h"

namespace tangram::wire {

// Strict: what clients send. Tolerant: what the service or an earlier daemon wrote; unknown fields are
// skipped.
enum class Reading : std::uint8_t { kStrict, kTolerant };

class Reader {
 public:
  explicit Reader(Reading reading) : reading_(reading) {}

  bool tolerant() const { return reading_ == Reading::kTolerant; }

  // "spec" + ".quota", "items" + "[3]". Use PathScope.
  void enter_field(std::string_view name);
  void enter_item(std::size_t index);
  void leave(std::size_t length) { path_.resize(length); }
  const std::string& path() const { return path_; }

  // Values below are not repeated in messages.
  bool secret() const { return secret_; }
  void set_secret(bool secret) { secret_ = secret; }

  // "<path> must be <wanted>, not <value>".
  void wrong_type(const Node& node, std::string_view wanted);
  void bad_value(const Node& node, std::string_view reason, std::string_view wanted, std::string hint = {});
  // "<path> <what>".
  void problem(const Node& node, std::string reason, std::string_view what, std::string hint = {});
  void problem_at(int line, int column, std::string reason, std::string_view what, std::string hint);

  bool ok() const { return problems_.empty(); }
  // No further problem would be shown.
  bool is_full() const;

  // Call only when not ok(). `document` stands in front when several could be meant.
  Error to_error(std::string_view document = {}) const;

 private:
  struct Problem {
    std::string path;
    std::string reason;
    std::string message;
    std::string hint;
    std::string value;
    int line = 0;
    int column = 0;
  };

  std::string shown(const Node& node) const;

  Reading reading_;
  bool secret_ = false;
  std::string path_;
  std::vector<Problem> problems_;
  std::size_t problem_count_ = 0;
};

class PathScope {
 public:
  PathScope(Reader& reader, std::string_view field) : reader_(reader), length_(reader.path().size()) {
    reader.enter_field(field);
  }
  PathScope(Reader& reader, std::size_t index) : reader_(reader), length_(reader.path().size()) {
    reader.enter_item(index);
  }
  PathScope(const PathScope&) = delete;
  PathScope& operator=(const PathScope&) = delete;
  ~PathScope() { reader_.leave(length_); }

 private:
  Reader& reader_;
  std::size_t length_;
};

// The nearest of `known` to a mistyped name; empty when none is near.
std::string_view did_you_mean(std::string_view name, const std::vector<std::string_view>& known);

// The index of a member whose key stood before, or members.size().
std::size_t find_duplicate(const std::vector<Member>& members);

}  // namespace tangram::wire
