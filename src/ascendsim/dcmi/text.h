// Texts in fixed fields of C structures.
#pragma once

#include <cstddef>
#include <string_view>

namespace ascendsim::dcmi {

// Copies what fits and always ends with NUL.
template <class Char, std::size_t size>
void copy_text(const char* from, Char (&to)[size]) {
  std::size_t i = 0;
  for (; i + 1 < size && from[i] != '\0'; ++i) to[i] = static_cast<Char>(from[i]);
  to[i] = 0;
}

// For an out-buffer of a caller: false, and nothing written, if the text and its NUL do not fit.
inline bool copy_text(std::string_view from, char* to, std::size_t size) {
  if (from.size() >= size) return false;
  from.copy(to, from.size());
  to[from.size()] = '\0';
  return true;
}

}  // namespace ascendsim::dcmi
