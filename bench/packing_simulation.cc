#include "packing_simulation.h"

#include <functional>
#include <queue>
#include <random>
#include <tuple>

namespace tangram::bench {
namespace {

const Catalog::Chip* chip_named(const std::string& name) {
  for (const Catalog::Chip& chip : Catalog::builtin()->chips()) {
    if (chip.model.name == name) return &chip;
  }
  return nullptr;
}

}  // namespace

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

double static_fill(const Board& board, const Mix& mix, Packer& packer, const PackingRun& run) {
  std::mt19937_64 random(run.seed);
  std::discrete_distribution<std::size_t> draw(mix.shares.begin(), mix.shares.end());
  const std::int64_t capacity = std::int64_t{run.npus} * board.classes.back().ai_cores;
  std::int64_t offered = 0;
  std::int64_t given = 0;
  while (offered < capacity) {
    const PackedClass& wanted = board.classes[draw(random)];
    offered += wanted.ai_cores;
    if (packer.place(wanted)) given += wanted.ai_cores;
  }
  return 100.0 * static_cast<double>(given) / static_cast<double>(capacity);
}

double accepted(const Board& board, const Mix& mix, Packer& packer, double load, const PackingRun& run) {
  std::mt19937_64 random(run.seed);
  std::discrete_distribution<std::size_t> draw(mix.shares.begin(), mix.shares.end());
  double mean_cores = 0;
  double shares = 0;
  for (std::size_t i = 0; i < mix.shares.size(); ++i) {
    mean_cores += mix.shares[i] * static_cast<double>(board.classes[i].ai_cores);
    shares += mix.shares[i];
  }
  mean_cores /= shares;
  const double capacity = static_cast<double>(run.npus) * static_cast<double>(board.classes.back().ai_cores);
  std::exponential_distribution<double> gap(load * capacity / mean_cores);
  std::exponential_distribution<double> life(1.0);
  using End = std::tuple<double, std::uint32_t, std::uint32_t>;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  double asked_cores = 0;
  double given_cores = 0;
  double now = 0;
  while ((now += gap(random)) < run.lifetimes) {
    for (; !ends.empty() && std::get<0>(ends.top()) <= now; ends.pop())
      packer.release({std::get<1>(ends.top()), std::get<2>(ends.top())});
    const PackedClass& wanted = board.classes[draw(random)];
    const double end = now + life(random);
    const std::optional<Packed> packed = packer.place(wanted);
    if (packed) ends.emplace(end, packed->npu, packed->what);
    if (now < run.lifetimes / 3) continue;
    asked_cores += static_cast<double>(wanted.ai_cores);
    if (packed) given_cores += static_cast<double>(wanted.ai_cores);
  }
  return 100.0 * given_cores / asked_cores;
}

double accepted_by_one_pool(const Board& board, const Mix& mix, double load, std::uint32_t npus) {
  const std::int64_t npu = board.classes.back().ai_cores;
  const std::int64_t unit = board.classes.front().ai_cores;
  const auto capacity = static_cast<std::size_t>(npus * npu / unit);
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

}  // namespace tangram::bench
