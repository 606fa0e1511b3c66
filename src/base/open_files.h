// How many files this process may hold open.
#pragma once

#include <cstdint>

namespace tangram {

// Raises the soft limit to the hard one, and says what it is now. What a process starts inherits it, unless
// it sets its own.
std::uint64_t raise_open_files_limit();

}  // namespace tangram
