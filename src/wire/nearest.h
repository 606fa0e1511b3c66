// What somebody may have meant who wrote something else. Thread-safe: pure functions.
#pragma once

#include <cstddef>
#include <string_view>

namespace tangram::wire {

// Changes, insertions, deletions and swaps of neighbours, in bytes. Takes time with the product of the sizes.
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace tangram::wire
