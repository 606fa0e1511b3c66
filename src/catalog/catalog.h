// All chip models that are known, each with its table of states. Immutable, so thread-safe.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "catalog/chip.h"
#include "catalog/slice_table.h"

namespace tangram {

inline constexpr std::uint32_t kNoChip = std::numeric_limits<std::uint32_t>::max();
inline constexpr std::size_t kOperatorChipsMax = 64;

class Catalog {
 public:
  struct Chip {
    ChipModel model;
    SliceTable table;
  };

  // The built-in chips alone.
  static std::shared_ptr<const Catalog> builtin();

  // The operator's chips in front of the built-in ones, so that theirs win; one with the name of a built-in
  // chip stands in its place, as names are what others know a chip by. Errors: those of check_chip() and
  // SliceTable::build(), "chip.repeated", "chip.too_many".
  static Result<std::shared_ptr<const Catalog>> with(const std::vector<ChipModel>& operators);

  // The first model that matches; kNoChip: it is not known, and is only given whole.
  std::uint32_t find(const ChipIdentity& npu) const;

  const std::vector<Chip>& chips() const { return chips_; }
  const Chip& chip(std::uint32_t index) const { return chips_[index]; }
  const std::vector<ChipModel>& operators() const { return operators_; }

 private:
  std::vector<Chip> chips_;
  std::vector<ChipModel> operators_;
};

// Which template of the chip is called so; templates.size() if none is.
std::uint32_t find_template(const ChipModel& chip, std::string_view name);

}  // namespace tangram
