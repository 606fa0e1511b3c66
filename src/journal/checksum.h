// What tells a record or a snapshot as it was kept from one that a disk, the memory or a hand has changed
// since.
#pragma once

#include <cstdint>
#include <string_view>

namespace tangram::journal {

// 64 bits over all four (XXH3, the same on every machine). Stored in the journal: it never changes.
std::int64_t checksum_of(std::int64_t sequence, std::int64_t at_ms, std::string_view kind,
                         std::string_view body);

// Of a snapshot, which has neither a time nor a kind of its own.
inline std::int64_t checksum_of(std::int64_t sequence, std::string_view body) {
  return checksum_of(sequence, 0, "snapshot", body);
}

}  // namespace tangram::journal
