#include "catalog/catalog.h"

#include <algorithm>

#include "base/invariant.h"
#include "base/quote.h"

namespace tangram {

std::shared_ptr<const Catalog> Catalog::builtin() {
  static const std::shared_ptr<const Catalog> catalog = [] {
    auto made = std::make_shared<Catalog>();
    for (const ChipModel& chip : builtin_chips()) {
      TG_ASSERT(check_chip(chip).has_value(), "a built-in chip makes sense");
      Result<SliceTable> table = SliceTable::build(chip);
      TG_ASSERT(table.has_value(), "a built-in chip has a table");
      made->chips_.push_back({chip, std::move(*table)});
    }
    return made;
  }();
  return catalog;
}

Result<std::shared_ptr<const Catalog>> Catalog::with(const std::vector<ChipModel>& operators) {
  if (operators.empty()) return builtin();
  if (operators.size() > kOperatorChipsMax) {
    return fail(Code::kInvalidArgument, "chip.too_many",
                std::to_string(operators.size()) + " chips are described, at most " +
                    std::to_string(kOperatorChipsMax) + " are allowed",
                "leave out those that no node has");
  }
  auto made = std::make_shared<Catalog>();
  for (const ChipModel& chip : operators) {
    TG_TRY_VOID(check_chip(chip));
    for (const Chip& other : made->chips_) {
      if (other.model.name != chip.name) continue;
      return fail(Code::kInvalidArgument, "chip.repeated",
                  "chip " + quoted(chip.name) + " is described twice",
                  "keep one of them, or give them different names");
    }
    TG_TRY(SliceTable table, SliceTable::build(chip));
    made->chips_.push_back({chip, std::move(table)});
  }
  made->operators_ = operators;
  for (const Chip& known : builtin()->chips_) {
    const bool is_replaced = std::any_of(operators.begin(), operators.end(), [&known](const ChipModel& chip) {
      return chip.name == known.model.name;
    });
    if (!is_replaced) made->chips_.push_back(known);
  }
  return std::shared_ptr<const Catalog>(std::move(made));
}

std::uint32_t Catalog::find(const ChipIdentity& npu) const {
  for (std::uint32_t i = 0; i < chips_.size(); ++i) {
    if (matches(chips_[i].model.match, npu)) return i;
  }
  return kNoChip;
}

std::uint32_t find_template(const ChipModel& chip, std::string_view name) {
  std::uint32_t i = 0;
  while (i < chip.templates.size() && chip.templates[i].name != name) ++i;
  return i;
}

}  // namespace tangram
