#include "queue/flat_index.h"

#include <gtest/gtest.h>

#include <map>

namespace tangram {
namespace {

// Without this, erasing one key could hide another that had been pushed on by it.
TEST(FlatIndex, AgreesWithAMapUnderInsertAndErase) {
  FlatIndex index;
  std::map<std::uint64_t, std::uint32_t> expected;
  std::uint64_t seed = 1;
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    const std::uint64_t key = (seed >> 40) % 700;
    if (expected.erase(key) > 0) {
      index.erase(key);
    } else {
      index.insert(key, i);
      expected[key] = i;
    }
    if (i % 97 != 0) continue;
    ASSERT_EQ(index.size(), expected.size());
    for (std::uint64_t probe = 0; probe < 700; ++probe) {
      const auto found = expected.find(probe);
      const std::optional<std::uint32_t> wanted =
          found == expected.end() ? std::nullopt : std::optional(found->second);
      ASSERT_EQ(index.find(probe), wanted);
    }
  }
}

// Without this, a lookup in a new table would read what is not there.
TEST(FlatIndex, EmptyFindsNothing) {
  const FlatIndex index;
  EXPECT_FALSE(index.find(0));
  EXPECT_EQ(index.size(), 0U);
}

// Without this, a group could take over the place of another with the same hash.
TEST(FlatIndex, ReplaceChangesOneValue) {
  FlatIndex index;
  index.insert(7, 1);
  index.insert(8, 2);
  index.replace(7, 3);
  EXPECT_EQ(index.find(7), 3U);
  EXPECT_EQ(index.find(8), 2U);
}

}  // namespace
}  // namespace tangram
