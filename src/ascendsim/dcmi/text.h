// Texts in fixed fields of C structures.
#pragma once

#include <cstddef>

namespace ascendsim::dcmi {

// Copies what fits and always ends with NUL.
template <class Char, std::size_t size>
void copy_text(const char* from, Char (&to)[size]) {
  std::size_t i = 0;
  for (; i + 1 < size && from[i] != '\0'; ++i) to[i] = static_cast<Char>(from[i]);
  to[i] = 0;
}

}  // namespace ascendsim::dcmi
