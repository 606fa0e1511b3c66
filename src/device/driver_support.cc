#include "device/driver_support.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <optional>
#include <vector>

namespace tangram::device {
namespace {

struct Version {
  int major = 0;
  int minor = 0;
  friend auto operator<=>(const Version&, const Version&) = default;
};

std::optional<Version> parse(std::string_view text) {
  Version version;
  const char* const end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, version.major);
  if (major.ec != std::errc() || major.ptr == end || *major.ptr != '.') return std::nullopt;
  const auto minor = std::from_chars(major.ptr + 1, end, version.minor);
  if (minor.ec != std::errc() || (minor.ptr != end && *minor.ptr != '.')) return std::nullopt;
  if (version.major < 0 || version.minor < 0) return std::nullopt;
  return version;
}

std::string board_text(const ChipIdentity& npu) {
  const std::string name = npu.chip.empty() ? "an unnamed chip" : std::string(npu.chip);
  if (!npu.board) return "the board of " + name + ", which does not tell its id,";
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "0x%02x", *npu.board);
  return "board " + std::string(text.data()) + " of " + name;
}

// Chips that are known, and for which no driver has templates. (A 310P is another chip than a 310.)
bool is_never_cut(std::string_view chip) {
  constexpr std::string_view kVendor = "Ascend";
  if (chip.starts_with(kVendor)) chip.remove_prefix(kVendor.size());
  return chip.starts_with("950") || (chip.starts_with("310") && !chip.starts_with("310P"));
}

// Boards of one chip name differ in their templates.
bool depends_on_board(std::span<const ChipModel> chips, std::string_view chip) {
  return std::any_of(chips.begin(), chips.end(), [chip](const ChipModel& model) {
    const std::vector<std::string>& names = model.match.chips;
    return !model.match.boards.empty() && std::find(names.begin(), names.end(), chip) != names.end();
  });
}

}  // namespace

DriverStanding standing_of(std::string_view driver_version) {
  const auto version = parse(driver_version);
  if (!version) {
    return {DriverStanding::Kind::kUnknown,
            "the driver's version is not known; " + std::string(kSupportedDriver) + " or newer is supported"};
  }
  if (*version < parse(kSupportedDriver)) {
    return {DriverStanding::Kind::kBelow,
            "driver " + std::string(driver_version) + " is older than " + std::string(kSupportedDriver) +
                ", the oldest that is supported: what it offers is used, without promise; upgrade it"};
  }
  return {DriverStanding::Kind::kSupported, {}};
}

BoardStanding board_standing(std::span<const ChipModel> chips, const ChipIdentity& npu) {
  const auto model = std::find_if(chips.begin(), chips.end(),
                                  [&npu](const ChipModel& chip) { return matches(chip.match, npu); });
  if (model == chips.end()) {
    if (is_never_cut(npu.chip)) return {SliceSupport::kNotCut, "no driver cuts " + std::string(npu.chip)};
    return {SliceSupport::kUnknown, board_text(npu) + " is not in the support table"};
  }
  if (model->needs_probe) return {SliceSupport::kUnknown, board_text(npu) + " is cut by some drivers only"};
  if (model->match.boards.empty() && depends_on_board(chips, npu.chip)) {
    return {SliceSupport::kUnknown,
            board_text(npu) + " is not in the support table: its templates are taken from the chip's name"};
  }
  return {SliceSupport::kListed, {}};
}

}  // namespace tangram::device
