// Time of one decision in the steady state: an end, the decisions that follow from it applied, and new
// submissions.
#include <benchmark/benchmark.h>

#include "scheduler_load.h"

namespace tangram::bench {
namespace {

void run(benchmark::State& state, const LoadShape& shape) {
  Load load(shape);
  for (int i = 0; i < 2000; ++i) load.step();
  const std::int64_t starts_before = load.starts();
  const std::int64_t reasons_before = load.reasons();
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(load.step());
  const auto starts = static_cast<double>(load.starts() - starts_before);
  state.counters["starts"] = starts;
  state.counters["reasons_per_start"] = static_cast<double>(load.reasons() - reasons_before) / starts;
  state.counters["busy_percent"] = load.busy_percent();
  state.counters["time_per_start"] =
      benchmark::Counter(starts, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

LoadShape shape_of(const benchmark::State& state) {
  LoadShape shape;
  shape.nodes = static_cast<int>(state.range(0));
  shape.pending = static_cast<int>(state.range(1));
  return shape;
}

void steady(benchmark::State& state) {
  run(state, shape_of(state));
}

void steady_past_the_bound(benchmark::State& state) {
  LoadShape shape = shape_of(state);
  shape.past_the_bound = true;
  run(state, shape);
}

void steady_all_different(benchmark::State& state) {
  LoadShape shape = shape_of(state);
  shape.all_different = true;
  run(state, shape);
}

void explain(benchmark::State& state) {
  Load load(shape_of(state));
  const std::vector<JobId> queue = load.scheduler().queue();
  std::size_t at = 0;
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(load.scheduler().explain(queue[at], load.now()));
    at = (at + 977) % queue.size();
  }
}

void copy(benchmark::State& state) {
  Load load(LoadShape{});
  Scheduler target;
  for ([[maybe_unused]] auto _ : state) {
    target = load.scheduler();
    benchmark::DoNotOptimize(target);
  }
}

void snapshot(benchmark::State& state) {
  Load load(LoadShape{});
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(load.scheduler().to_bytes());
}

BENCHMARK(steady)->Args({125, 10'000})->Args({1250, 10'000})->Args({125, 1000});
BENCHMARK(steady_past_the_bound)->Args({125, 10'000});
BENCHMARK(steady_all_different)->Args({125, 10'000});
BENCHMARK(explain)->Args({125, 10'000})->Unit(benchmark::kMicrosecond);
BENCHMARK(copy)->Unit(benchmark::kMicrosecond);
BENCHMARK(snapshot)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace tangram::bench

BENCHMARK_MAIN();
