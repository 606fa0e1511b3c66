// What the packing benchmark promises, on its own boards, mixes, loads and seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "packing_policies.h"
#include "packing_simulation.h"
#include "placement/slice_choice.h"

namespace tangram::bench {
namespace {

constexpr PackingRun kStatic{.npus = 2'000};
constexpr PackingRun kDynamic{.npus = 10'000, .lifetimes = 30};
constexpr double kLoad = 1.05;
constexpr double kBound = 100.0 / kLoad;  // of what is asked, no more than what there is can be accepted

bool has_variants(const Board& board) {
  const auto sizes = slice_sizes(board.chip->model, true);
  return std::any_of(sizes.begin(), sizes.end(),
                     [](const SliceSize& size) { return size.variants.size() > 1; });
}

std::unique_ptr<Packer> product(const Board& board, const PackingRun& run, bool variants = true) {
  return make_product(*board.chip, run.npus, board.classes.back(), variants);
}

// Without it a change of the order in which NPUs are cut could leave cores idle that were asked for.
TEST(PackingTargets, AllCoresAreGivenWhenAllAreAskedFor) {
  int with_variants = 0;
  for (const Board& board : boards()) {
    for (const Mix& mix : board.mixes) {
      const double given = static_fill(board, mix, *product(board, kStatic), kStatic);
      EXPECT_GE(given, 99.0) << board.name << ", " << mix.name;
      if (!has_variants(board)) continue;
      ++with_variants;
      // That this is no gift of the mixes.
      EXPECT_LT(static_fill(board, mix, *product(board, kStatic, false), kStatic), 95.0) << mix.name;
    }
  }
  EXPECT_EQ(with_variants, 5);
}

// Without it NPUs whose slices come and go could become so ragged that ever less of what is asked for can be
// given.
TEST(PackingTargets, UnderOverloadAcceptsAllButAPointOfWhatCanBe) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "figures alone, and minutes of them; the test above takes the same paths";
#endif
  for (const Board& board : boards()) {
    if (board.name == "910B4") continue;  // of as many cores, in the same templates, as the 910B3
    for (const Mix& mix : board.mixes) {
      const double given = accepted(board, mix, *product(board, kDynamic), kLoad, kDynamic);
      EXPECT_GE(given, kBound - 1.0) << board.name << ", " << mix.name;
    }
  }
}

}  // namespace
}  // namespace tangram::bench
