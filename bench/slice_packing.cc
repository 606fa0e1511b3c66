// How many of the AI cores that are asked for can be given, by several ways to cut NPUs, on the same
// requests: see packing_simulation.h. Prints a Markdown table. Arguments: none, or the name of one board. The
// seed is fixed.
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "packing_policies.h"
#include "packing_simulation.h"

namespace {

using namespace tangram::bench;

constexpr PackingRun kStatic{.npus = 20'000};
constexpr PackingRun kDynamic{.npus = 10'000, .lifetimes = 30};

struct Way {
  const char* name;
  std::function<std::unique_ptr<Packer>(const Board&, std::uint32_t)> make;
};

const std::vector<Way>& ways() {
  static const std::vector<Way> list = {
      {"Tangram",
       [](const Board& b, std::uint32_t n) { return make_product(*b.chip, n, b.classes.back(), true); }},
      {"Tangram, variants off",
       [](const Board& b, std::uint32_t n) { return make_product(*b.chip, n, b.classes.back(), false); }},
      {"best fit", [](const Board& b, std::uint32_t n) { return make_best_fit(*b.chip, n, true); }},
      {"best fit, no variants",
       [](const Board& b, std::uint32_t n) { return make_best_fit(*b.chip, n, false); }},
      {"HAMi, binpack", [](const Board& b, std::uint32_t n) { return make_hami(*b.chip, n, b.hami, false); }},
      {"HAMi, spread (its default)",
       [](const Board& b, std::uint32_t n) { return make_hami(*b.chip, n, b.hami, true); }},
  };
  return list;
}

}  // namespace

int main(int argc, char** argv) {
  std::printf(
      "| board | requests | way | static @ 100 %% | accepted @ 85 %% | @ 95 %% | @ 105 %% (bound 95.2) | one "
      "pool @ 105 %% |\n");
  std::printf("|---|---|---|---|---|---|---|---|\n");
  for (const Board& board : boards()) {
    if (argc > 1 && board.name != argv[1]) continue;
    for (const Mix& mix : board.mixes) {
      for (const Way& way : ways()) {
        std::printf("| %s | %s | %s | %.1f |", board.name.c_str(), mix.name.c_str(), way.name,
                    static_fill(board, mix, *way.make(board, kStatic.npus), kStatic));
        for (const double load : {0.85, 0.95, 1.05})
          std::printf(" %.1f |", accepted(board, mix, *way.make(board, kDynamic.npus), load, kDynamic));
        std::printf(" %.1f |\n", accepted_by_one_pool(board, mix, 1.05, kDynamic.npus));
        std::fflush(stdout);
      }
    }
  }
  return 0;
}
