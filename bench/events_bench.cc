// What events cost: the writer, who makes and stores them, and the hub, which gives them to many readers.
#include <benchmark/benchmark.h>

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "journal/journal.h"
#include "scratch_directory.h"
#include "service/event_subscription.h"
#include "service/events.h"

namespace tangram {
namespace {

constexpr TimeMs kAt(1'700'000'000'000);

// A tenant below another, and eight NPUs.
service::State small_world() {
  service::State state;
  NodeReported node{"node-0", {}};
  for (std::uint32_t id = 0; id < 8; ++id)
    node.npus.push_back({id, "910B4", Bytes::gib(32), 20, Health::kOk});
  state.apply(node, kAt);
  for (std::uint32_t id = 0; id < 2; ++id) {
    wire::TenantPutRecord tenant;
    tenant.input = {TenantId(id), {id == 0 ? "org" : "team-a", id == 0 ? "" : "org", {}}};
    state.apply(tenant, kAt);
  }
  return state;
}

wire::JournalRecord submitted(std::uint64_t number) {
  wire::JobSubmittedRecord record;
  record.input.spec.id = JobId(number);
  record.input.spec.tenant = TenantId(1);
  record.program.name = "train-" + std::to_string(number);
  record.program.command = {"python3", "train.py", "--epochs", "3"};
  return record;
}

// A submission on the writer, without what it costs to store it; with an argument of 1 also its event.
void make(benchmark::State& loop) {
  service::State state = small_world();
  std::uint64_t number = 0;
  for ([[maybe_unused]] auto round : loop) {
    const wire::JournalRecord record = submitted(++number);
    if (loop.range(0) == 0) {
      state.apply(record, kAt);
    } else {
      const service::EventSubject before = service::look_before(state, record);
      state.apply(record, kAt);
      benchmark::DoNotOptimize(service::make_events(before, state, record, number, kAt));
    }
    benchmark::DoNotOptimize(wire::encode_record(record));
  }
}
BENCHMARK(make)->Name("events/make")->ArgName("events")->Arg(0)->Arg(1)->Iterations(100'000);

// Groups of 512 records in the journal; with an argument of 1 each with its event.
void append(benchmark::State& loop) {
  const bench::ScratchDirectory directory;
  auto journal = journal::Journal::open(directory.path());
  if (!journal) return loop.SkipWithError(journal.error().to_string().c_str());
  NewRecord record{kAt, "job_submitted", std::string(600, 'x')};
  if (loop.range(0) == 1) {
    record.events.push_back(
        {"job.submitted", {1, 0}, "j-100000", "queue-1-1-0-1-0-0-0-0", std::string(230, 'x')});
  }
  const std::vector<NewRecord> group(512, record);
  for ([[maybe_unused]] auto round : loop) {
    if (!(*journal)->append(group)) return loop.SkipWithError("append failed");
  }
  loop.SetItemsProcessed(loop.iterations() * 512);
}
BENCHMARK(append)->Name("events/append")->ArgName("events")->Arg(0)->Arg(1)->UseRealTime();

// From publish() until every one of so many readers has its event.
void fan_out(benchmark::State& loop) {
  const bench::ScratchDirectory directory;
  auto journal = journal::Journal::open(directory.path());
  if (!journal) return loop.SkipWithError(journal.error().to_string().c_str());
  service::EventHub hub(**journal);
  hub.start(0);
  const auto readers = static_cast<std::size_t>(loop.range(0));
  service::EventSeats seats(readers, readers);
  std::vector<std::unique_ptr<service::EventSubscription>> subscriptions;
  subscriptions.reserve(readers);
  for (std::size_t i = 0; i < readers; ++i) {
    subscriptions.push_back(std::make_unique<service::EventSubscription>(
        hub, *seats.take({}), service::EventFilter(), hub.newest()));
  }
  std::uint64_t sequence = 0;
  for ([[maybe_unused]] auto round : loop) {
    std::promise<void> done;
    std::size_t left = readers;
    for (auto& subscription : subscriptions) {
      subscription->call_when_more([&] {
        std::string text;
        const auto page = subscription->next();
        for (const auto& stored : page->events) text.append("data: ").append(stored->event.body);
        benchmark::DoNotOptimize(text);
        if (--left == 0) done.set_value();
      });
    }
    ++sequence;
    hub.publish({{{sequence, 0}, {"job.running", {1, 0}, "j-1", "", std::string(230, 'x')}}}, sequence);
    done.get_future().wait();
  }
  loop.SetItemsProcessed(loop.iterations() * loop.range(0));
  hub.stop();
}
BENCHMARK(fan_out)
    ->Name("events/fan_out")
    ->ArgName("readers")
    ->Arg(1)
    ->Arg(64)
    ->Arg(256)
    ->MeasureProcessCPUTime();

}  // namespace
}  // namespace tangram
