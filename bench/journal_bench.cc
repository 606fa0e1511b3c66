// How fast the journal acknowledges: rows per second at several sizes of batch, each batch durable before the
// next. The directory is $TMPDIR (or /tmp): set it to a disk, because a file system in memory has nothing to
// wait for.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "journal/journal.h"
#include "scratch_directory.h"

namespace tangram {
namespace {

constexpr std::size_t kBodyBytes = 200;

std::vector<NewRecord> batch_of(std::int64_t size) {
  return std::vector(static_cast<std::size_t>(size),
                     NewRecord{TimeMs(1), "job_submitted", std::string(kBodyBytes, 'x')});
}

void append(benchmark::State& state) {
  const bench::ScratchDirectory directory;
  auto journal = journal::Journal::open(directory.path());
  if (!journal) return state.SkipWithError(journal.error().to_string().c_str());
  const std::vector<NewRecord> batch = batch_of(state.range(0));
  for ([[maybe_unused]] auto round : state) {
    const auto appended = (*journal)->append(batch);
    if (!appended) return state.SkipWithError(appended.error().to_string().c_str());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(append)->Name("journal/append")->Arg(1)->Arg(64)->Arg(512)->UseRealTime();

// What a restart reads.
void read(benchmark::State& state) {
  const bench::ScratchDirectory directory;
  auto journal = journal::Journal::open(directory.path());
  if (!journal) return state.SkipWithError(journal.error().to_string().c_str());
  for (std::int64_t done = 0; done < state.range(0); done += 1000) {
    if (!(*journal)->append(batch_of(1000))) return state.SkipWithError("append failed");
  }
  for ([[maybe_unused]] auto round : state) {
    std::size_t bytes = 0;
    const auto walked = (*journal)->read_after(0, [&](const StoredRecord& record) -> Result<void> {
      bytes += record.body.size();
      return {};
    });
    if (!walked) return state.SkipWithError(walked.error().to_string().c_str());
    benchmark::DoNotOptimize(bytes);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(read)->Name("journal/read")->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tangram
