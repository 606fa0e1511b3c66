#include "journal/checksum.h"

// Short inputs are hashed in a few instructions when the compiler sees their code.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tangram::journal {
namespace {

std::uint64_t add(std::uint64_t sum, std::string_view text) {
  return XXH3_64bits_withSeed(text.data(), text.size(), sum);
}

}  // namespace

std::int64_t checksum_of(std::int64_t sequence, std::int64_t at_ms, std::string_view kind,
                         std::string_view body) {
  const std::uint64_t head = add(static_cast<std::uint64_t>(sequence), kind);
  return static_cast<std::int64_t>(add(head + static_cast<std::uint64_t>(at_ms), body));
}

}  // namespace tangram::journal
