// A fixed number of steps for callgrind: valgrind --tool=callgrind --toggle-collect='*measured_steps*' …
// Prints the number of starts, by which the instructions are to be divided.
#include <cstdio>
#include <cstdlib>

#include "scheduler_load.h"

namespace {

__attribute__((noinline)) void measured_steps(tangram::bench::Load& load, int count) {
  for (int i = 0; i < count; ++i) load.step();
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 2000;
  tangram::bench::LoadShape shape;
  shape.past_the_bound = argc > 2;
  tangram::bench::Load load(shape);
  for (int i = 0; i < 2000; ++i) load.step();
  const std::int64_t before = load.starts();
  const std::int64_t reasons_before = load.reasons();
  measured_steps(load, count);
  std::printf("starts %lld reasons %lld\n", static_cast<long long>(load.starts() - before),
              static_cast<long long>(load.reasons() - reasons_before));
  return 0;
}
