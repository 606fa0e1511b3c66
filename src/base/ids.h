// Strong ids: an NpuIndex cannot be passed where a TenantId is wanted. Trivially copyable, ordered, hashable.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <limits>

namespace tangram {

template <class Tag, class Number>
struct Id {
  static constexpr Number kNone = std::numeric_limits<Number>::max();

  Number value = kNone;

  constexpr Id() = default;
  constexpr explicit Id(Number number) : value(number) {}

  constexpr bool valid() const { return value != kNone; }
  friend constexpr auto operator<=>(Id, Id) = default;
};

}  // namespace tangram

template <class Tag, class Number>
struct std::hash<tangram::Id<Tag, Number>> {
  std::size_t operator()(tangram::Id<Tag, Number> id) const noexcept { return std::hash<Number>{}(id.value); }
};
