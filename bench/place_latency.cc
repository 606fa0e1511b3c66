// Wall time of what an extender is asked for one Pod (filter and score all nodes, choose a place, take it),
// as quantiles, while Pods end and come. With an argument: so many steps for callgrind, counted in
// measured_steps().
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "place_load.h"

namespace {

__attribute__((noinline)) void measured_steps(tangram::bench::PlaceLoad& load, int count) {
  for (int i = 0; i < count; ++i) {
    load.turn_over();
    load.place_next();
  }
}

template <class Measured>
double micros_of(const Measured& measured) {
  const auto begin = std::chrono::steady_clock::now();
  measured();
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
  return took.count();
}

void print(const char* what, int nodes, int pods, std::vector<double> micros) {
  std::sort(micros.begin(), micros.end());
  const auto at = [&micros](double part) {
    return micros[static_cast<std::size_t>(part * static_cast<double>(micros.size() - 1))];
  };
  std::printf("| %s, %d × 8 NPUs, %d Pods | %.1f | %.1f | %.1f | %.1f |\n", what, nodes, pods, at(0.5),
              at(0.9), at(0.99), at(1.0));
}

void measure(int nodes, int pods) {
  tangram::bench::PlaceShape shape;
  shape.nodes = nodes;
  shape.pods = pods;
  tangram::bench::PlaceLoad load(shape);
  measured_steps(load, 2000);
  constexpr int kSteps = 20'000;
  constexpr int kFirst = 1000;
  std::vector<double> steady;
  steady.reserve(kSteps);
  for (int i = 0; i < kSteps; ++i) {
    load.turn_over();
    steady.push_back(micros_of([&load] { load.place_next(); }));
  }
  std::vector<double> first;
  first.reserve(kFirst);
  for (int i = 0; i < kFirst; ++i) {
    const tangram::JobId job = load.admit_unlike_others();
    first.push_back(micros_of([&] { load.ask(job); }));
  }
  print("parts as others have them", nodes, pods, std::move(steady));
  print("parts that nobody asked for before (filter alone)", nodes, pods, std::move(first));
  std::printf("| (placed %lld, %d %% of the NPUs busy) | | | | |\n", static_cast<long long>(load.placed()),
              load.busy_percent());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    tangram::bench::PlaceLoad load(tangram::bench::PlaceShape{});
    measured_steps(load, std::atoi(argv[1]));
    std::printf("placed %lld\n", static_cast<long long>(load.placed()));
    return 0;
  }
  measure(1000, 10'000);
  measure(5000, 50'000);
  return 0;
}
