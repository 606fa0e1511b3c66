// What the packing benchmark asks of a way to cut NPUs, and on which boards. Deterministic: the same seed,
// the same requests.
//
//  - static: requests come until they ask for all cores there are; nobody leaves.
//  - dynamic: requests come at random (Poisson) and leave after a random time (exponential); one that does
//  not fit is
//    lost. Counted over the last two thirds. More than 1 / load cannot be given: the loss bound.
//  - one pool: what one pool of all cores without borders between NPUs would accept (Kaufman and Roberts):
//  requests
//    come by chance, so that even such a pool is not always full.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "packing_policies.h"

namespace tangram::bench {

struct Mix {
  std::string name;
  std::vector<double> shares;  // of requests, by class
};

struct Board {
  std::string name;
  const Catalog::Chip* chip;
  HamiBoard hami;
  std::vector<PackedClass> classes;  // ascending, the whole NPU last
  std::vector<Mix> mixes;
};

// Those of the benchmark, each with mixes of its own classes.
std::vector<Board> boards();

// How much, and how long. `lifetimes`: mean times of a request that a dynamic run takes.
struct PackingRun {
  std::uint64_t seed = 20'261'130;
  std::uint32_t npus = 0;
  double lifetimes = 0;
};

// Of the cores that there are, in per cent.
double static_fill(const Board& board, const Mix& mix, Packer& packer, const PackingRun& run);
// Of the cores that are asked for, in per cent.
double accepted(const Board& board, const Mix& mix, Packer& packer, double load, const PackingRun& run);
double accepted_by_one_pool(const Board& board, const Mix& mix, double load, std::uint32_t npus);

}  // namespace tangram::bench
