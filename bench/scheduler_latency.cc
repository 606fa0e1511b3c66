// Wall time of single steps, as quantiles: what a waiting client sees, pauses of the machine included in the
// tail.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "scheduler_load.h"

namespace {

void measure(const char* name, const tangram::bench::LoadShape& shape) {
  constexpr int kSteps = 50'000;
  tangram::bench::Load load(shape);
  for (int i = 0; i < 2000; ++i) load.step();
  std::vector<double> micros;
  micros.reserve(kSteps);
  for (int i = 0; i < kSteps; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    load.step();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    micros.push_back(took.count());
  }
  std::sort(micros.begin(), micros.end());
  const auto at = [&micros](double part) { return micros[static_cast<std::size_t>(part * (kSteps - 1))]; };
  std::printf("| %s | %.1f | %.1f | %.1f |\n", name, at(0.5), at(0.9), at(0.99));
}

}  // namespace

int main() {
  tangram::bench::LoadShape shape;
  measure("steady", shape);
  shape.past_the_bound = true;
  measure("past the bound", shape);
  shape.past_the_bound = false;
  shape.nodes = 1250;
  measure("10,000 NPUs", shape);
  return 0;
}
