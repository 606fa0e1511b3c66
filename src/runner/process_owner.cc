#include "runner/process_owner.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace tangram::runner {
namespace {

// "j-17.1"
std::optional<AttemptKey> parse_leaf(std::string_view name) {
  const auto dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return std::nullopt;
  AttemptKey key{std::string(name.substr(0, dot)), 0};
  const std::string_view number = name.substr(dot + 1);
  const auto [end, problem] = std::from_chars(number.data(), number.data() + number.size(), key.attempt);
  if (problem != std::errc{} || end != number.data() + number.size() || key.attempt < 1) return std::nullopt;
  return key;
}

}  // namespace

std::optional<AttemptKey> attempt_of_memberships(std::string_view memberships, std::string_view parent) {
  const std::string below = "/" + std::string(parent.substr(parent.rfind('/') + 1)) + "/";
  while (!memberships.empty()) {
    const std::string_view line = memberships.substr(0, memberships.find('\n'));
    memberships.remove_prefix(std::min(line.size() + 1, memberships.size()));
    // The last one: our own group may lie below another of that name.
    const auto at = line.rfind(below);
    if (at == std::string_view::npos) continue;
    const std::string_view leaf = line.substr(at + below.size());
    if (auto key = parse_leaf(leaf.substr(0, leaf.find('/')))) return key;
  }
  return std::nullopt;
}

}  // namespace tangram::runner
