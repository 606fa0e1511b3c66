// How many of the AI cores that are asked for can be given, by several ways to cut NPUs, on the same
// requests. Prints two Markdown tables. Arguments: none, or the name of one board. The seed is fixed.
//
//  - static: requests come until they ask for all cores there are; nobody leaves.
//  - dynamic: requests come at random (Poisson) and leave after a random time (exponential); one that does
//  not
//    fit is lost. Counted over the last two thirds. More than 1 / load cannot be given: the loss bound. The
//    last column is what one pool of all cores without borders between NPUs would accept at 105 % (Kaufman
//    and Roberts): requests come by chance, so that even such a pool is not always full.
#include <cstdio>
#include <cstring>
#include <functional>
#include <queue>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "packing_policies.h"

namespace {

using tangram::Bytes;
using tangram::Catalog;
using namespace tangram::bench;

constexpr std::uint64_t kSeed = 20'261'130;
constexpr std::uint32_t kStaticNpus = 20'000;
constexpr std::uint32_t kDynamicNpus = 10'000;
constexpr double kLifetimes = 30;

struct Mix {
  const char* name;
  std::vector<double> shares;  // of requests, by class
};

struct Board {
  const char* name;
  const Catalog::Chip* chip;
  HamiBoard hami;
  std::vector<PackedClass> classes;  // ascending, the whole NPU last
  std::vector<Mix> mixes;
};

struct Way {
  const char* name;
  std::function<std::unique_ptr<Packer>(const Board&, std::uint32_t)> make;
};

const std::vector<Way>& ways() {
  static const std::vector<Way> list = {
      {"Tangram", [](const Board& b, std::uint32_t n) { return make_product(*b.chip, n, true); }},
      {"Tangram, variants off",
       [](const Board& b, std::uint32_t n) { return make_product(*b.chip, n, false); }},
      {"best fit", [](const Board& b, std::uint32_t n) { return make_best_fit(*b.chip, n, true); }},
      {"best fit, no variants",
       [](const Board& b, std::uint32_t n) { return make_best_fit(*b.chip, n, false); }},
      {"HAMi, binpack", [](const Board& b, std::uint32_t n) { return make_hami(*b.chip, n, b.hami, false); }},
      {"HAMi, spread (its default)",
       [](const Board& b, std::uint32_t n) { return make_hami(*b.chip, n, b.hami, true); }},
  };
  return list;
}

double static_fill(const Board& board, const Mix& mix, Packer& packer) {
  std::mt19937_64 random(kSeed);
  std::discrete_distribution<std::size_t> draw(mix.shares.begin(), mix.shares.end());
  const std::int64_t capacity = std::int64_t{kStaticNpus} * board.classes.back().ai_cores;
  std::int64_t offered = 0;
  std::int64_t given = 0;
  while (offered < capacity) {
    const PackedClass& wanted = board.classes[draw(random)];
    offered += wanted.ai_cores;
    if (packer.place(wanted)) given += wanted.ai_cores;
  }
  return 100.0 * static_cast<double>(given) / static_cast<double>(capacity);
}

double accepted(const Board& board, const Mix& mix, Packer& packer, double load) {
  std::mt19937_64 random(kSeed);
  std::discrete_distribution<std::size_t> draw(mix.shares.begin(), mix.shares.end());
  double mean_cores = 0;
  double shares = 0;
  for (std::size_t i = 0; i < mix.shares.size(); ++i) {
    mean_cores += mix.shares[i] * static_cast<double>(board.classes[i].ai_cores);
    shares += mix.shares[i];
  }
  mean_cores /= shares;
  const double capacity =
      static_cast<double>(kDynamicNpus) * static_cast<double>(board.classes.back().ai_cores);
  std::exponential_distribution<double> gap(load * capacity / mean_cores);
  std::exponential_distribution<double> life(1.0);
  using End = std::tuple<double, std::uint32_t, std::uint32_t>;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  double asked_cores = 0;
  double given_cores = 0;
  double now = 0;
  while ((now += gap(random)) < kLifetimes) {
    for (; !ends.empty() && std::get<0>(ends.top()) <= now; ends.pop())
      packer.release({std::get<1>(ends.top()), std::get<2>(ends.top())});
    const PackedClass& wanted = board.classes[draw(random)];
    const double end = now + life(random);
    const std::optional<Packed> packed = packer.place(wanted);
    if (packed) ends.emplace(end, packed->npu, packed->what);
    if (now < kLifetimes / 3) continue;
    asked_cores += static_cast<double>(wanted.ai_cores);
    if (packed) given_cores += static_cast<double>(wanted.ai_cores);
  }
  return 100.0 * given_cores / asked_cores;
}

// Of the cores that are asked for, in per cent.
double accepted_by_one_pool(const Board& board, const Mix& mix, double load) {
  const std::int64_t npu = board.classes.back().ai_cores;
  const std::int64_t unit = board.classes.front().ai_cores;
  const auto capacity = static_cast<std::size_t>(kDynamicNpus * npu / unit);
  double mean = 0;
  for (std::size_t i = 0; i < mix.shares.size(); ++i)
    mean += mix.shares[i] * static_cast<double>(board.classes[i].ai_cores) / static_cast<double>(unit);
  std::vector<double> busy(capacity + 1, 0.0);  // how likely so many units are in use, times some factor
  busy[0] = 1;
  double sum = 1;
  for (std::size_t j = 1; j <= capacity; ++j) {
    for (std::size_t i = 0; i < mix.shares.size(); ++i) {
      const auto units = static_cast<std::size_t>(board.classes[i].ai_cores / unit);
      if (units > j) continue;
      const double erlangs = load * static_cast<double>(capacity) / mean * mix.shares[i];
      busy[j] += erlangs * static_cast<double>(units) * busy[j - units] / static_cast<double>(j);
    }
    sum += busy[j];
    if (busy[j] < 1e200) continue;
    for (double& value : busy) value *= 1e-200;
    sum *= 1e-200;
  }
  double given = 0;
  for (std::size_t i = 0; i < mix.shares.size(); ++i) {
    const auto units = static_cast<std::size_t>(board.classes[i].ai_cores / unit);
    double refused = 0;
    for (std::size_t j = capacity + 1 - units; j <= capacity; ++j) refused += busy[j];
    given += mix.shares[i] * static_cast<double>(units) * (1 - refused / sum);
  }
  return 100.0 * given / mean;
}

const Catalog::Chip* chip_named(const std::string& name) {
  for (const Catalog::Chip& chip : Catalog::builtin()->chips()) {
    if (chip.model.name == name) return &chip;
  }
  return nullptr;
}

std::vector<Board> boards() {
  const std::vector<Mix> halves = {{"openb, shared GPUs", {.10, .43, .47}},
                                   {"small", {.70, .30, 0}},
                                   {"even", {1, 1, 1}},
                                   {"half heavy", {.20, .70, .10}},
                                   {"whole heavy", {.15, .25, .60}}};
  return {
      {"310P (24 GiB)",
       chip_named("310P (24 GiB)"),
       {Bytes::mib(21'527)},
       {{1, Bytes::mib(3072), false},
        {2, Bytes::mib(6144), false},
        {4, Bytes::mib(12'288), false},
        {8, Bytes::mib(21'527), true}},
       {{"openb, shared GPUs", {.01, .09, .43, .47}},
        {"small", {.50, .30, .20, 0}},
        {"even", {1, 1, 1, 1}},
        {"4-core heavy", {.10, .20, .60, .10}},
        {"2-core heavy", {.15, .60, .20, .05}}}},
      {"910B3",
       chip_named("910B3"),
       {Bytes::gib(64)},
       {{5, Bytes::gib(16), false}, {10, Bytes::gib(32), false}, {20, Bytes::gib(64), true}},
       halves},
      {"910B4",
       chip_named("910B4"),
       {Bytes::gib(32)},
       {{5, Bytes::gib(8), false}, {10, Bytes::gib(16), false}, {20, Bytes::gib(32), true}},
       halves},
  };
}

}  // namespace

int main(int argc, char** argv) {
  std::printf(
      "| board | requests | way | static @ 100 %% | accepted @ 85 %% | @ 95 %% | @ 105 %% (bound 95.2) | one "
      "pool @ 105 %% |\n");
  std::printf("|---|---|---|---|---|---|---|---|\n");
  for (const Board& board : boards()) {
    if (argc > 1 && std::strcmp(argv[1], board.name) != 0) continue;
    for (const Mix& mix : board.mixes) {
      for (const Way& way : ways()) {
        std::printf("| %s | %s | %s | %.1f |", board.name, mix.name, way.name,
                    static_fill(board, mix, *way.make(board, kStaticNpus)));
        for (const double load : {0.85, 0.95, 1.05})
          std::printf(" %.1f |", accepted(board, mix, *way.make(board, kDynamicNpus), load));
        std::printf(" %.1f |\n", accepted_by_one_pool(board, mix, 1.05));
        std::fflush(stdout);
      }
    }
  }
  return 0;
}
