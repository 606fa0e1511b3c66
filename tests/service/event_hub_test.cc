// Readers of events at their own pace: from memory, from the store, woken, cut off, counted.
#include "service/event_hub.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <set>
#include <thread>

#include "service/event_subscription.h"
#include "service/harness.h"
#include "wire/event.h"

namespace tangram::service::testing {
namespace {

// What the writer does: first the store, then the hub.
class Source {
 public:
  ~Source() { hub.stop(); }

  // One record with so many events.
  void add(int events, const std::string& type = "job.running", std::uint32_t tenant = 0,
           std::size_t body_bytes = 2) {
    NewRecord record{TimeMs(1), "test", "body"};
    for (int i = 0; i < events; ++i)
      record.events.push_back({type, {tenant}, "", "", std::string(body_bytes, 'x')});
    const auto first = store.append(std::vector{record});
    ASSERT_TRUE(first);
    std::vector<StoredEvent> stored;
    std::uint32_t item = 0;
    for (NewEvent& event : record.events) stored.push_back({{*first, item++}, std::move(event)});
    hub.publish(std::move(stored), *first);
  }

  FakeStore store;
  EventHub hub{store};
};

class EventHubTest : public ::testing::Test {
 protected:
  // Everything behind the position, page by page; the position moves on.
  std::vector<EventCursor> drain(EventCursor& position) {
    std::vector<EventCursor> seen;
    while (true) {
      const auto page = source.hub.read(position);
      EXPECT_TRUE(page) << page.error().to_string();
      if (!page) return seen;
      for (const auto& stored : page->events) seen.push_back(stored->cursor);
      position = page->end;
      if (!page->more) return seen;
    }
  }

  Source source;
};

// Without it a reader that begins before everything would be told that events are gone of which none is.
TEST(CheckKept, NothingIsGoneBeforeTheFirstRecord) {
  EXPECT_TRUE(check_kept({0, 0}, 0));
  EXPECT_TRUE(check_kept({5, 0}, 4));
  const auto gone = check_kept({0, 0}, 4);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().reason, "events.cursor.gone");
  EXPECT_FALSE(check_kept({4, 0}, 4)) << "the events of record 4 itself are lost";
}

// Without this, a reader could get an event twice or miss one where memory ends and the store begins.
TEST_F(EventHubTest, GivesEachEventOnceFromAnyPosition) {
  source.hub.start(0);
  std::vector<EventCursor> all;
  for (std::uint64_t sequence = 1; sequence <= 9'000; ++sequence) {
    const int events = static_cast<int>(sequence % 3);
    source.add(events);
    for (std::uint32_t item = 0; item < static_cast<std::uint32_t>(events); ++item)
      all.push_back({sequence, item});
  }
  ASSERT_GT(all.size(), EventHub::kRecentMax);
  EventCursor from_the_start{0, EventCursor::kItemMax};
  EXPECT_TRUE(drain(from_the_start) == all);
  EXPECT_EQ(from_the_start, source.hub.newest());
  for (const std::size_t at : {std::size_t{0}, std::size_t{100}, all.size() - EventHub::kRecentMax - 1,
                               all.size() - EventHub::kRecentMax, all.size() - EventHub::kRecentMax + 1,
                               all.size() - 2, all.size() - 1}) {
    EventCursor position = all[at];
    const auto rest = drain(position);
    EXPECT_TRUE(rest ==
                std::vector<EventCursor>(all.begin() + static_cast<std::ptrdiff_t>(at) + 1, all.end()))
        << at;
  }
}

// Without this, a reader could hear of something before the daemon knows of it, and its cursor would be
// refused.
TEST_F(EventHubTest, IsNeverAheadOfWhatIsPublished) {
  for (int i = 0; i < 3; ++i) source.add(1);
  EventHub hub(source.store);
  hub.start(2);
  const auto page = hub.read({0, EventCursor::kItemMax});
  ASSERT_TRUE(page);
  EXPECT_EQ(page->events.size(), 2U);
  EXPECT_EQ(page->end, hub.newest());
  const auto again = hub.read(page->end);
  ASSERT_TRUE(again) << again.error().to_string();
  EXPECT_TRUE(again->events.empty());
}

// Without this, every reader of the present would go to the disk for each event.
TEST_F(EventHubTest, ReadsThePresentFromMemory) {
  source.hub.start(0);
  source.add(2);
  EventCursor position{0, EventCursor::kItemMax};
  EXPECT_EQ(drain(position).size(), 2U);
  EXPECT_EQ(source.store.event_reads(), 0);
}

// Without this, what is kept in memory would grow with the events, or with their size.
TEST_F(EventHubTest, KeepsSoManyBytesInMemory) {
  source.hub.start(0);
  for (int i = 0; i < 40; ++i) source.add(1, "job.running", 0, EventHub::kRecentBytesMax / 20);
  EventCursor position{0, EventCursor::kItemMax};
  EXPECT_EQ(drain(position).size(), 40U);
  EXPECT_GT(source.store.event_reads(), 0);
  EventCursor late{25, EventCursor::kItemMax};
  const int reads = source.store.event_reads();
  EXPECT_EQ(drain(late).size(), 15U);
  EXPECT_EQ(source.store.event_reads(), reads);
}

// Without this, a reader whose events were dropped would go on as if nothing had happened.
TEST_F(EventHubTest, SaysWhenEventsAreGone) {
  for (int i = 0; i < 10; ++i) source.add(1);
  source.hub.stop();
  EventHub after_restart(source.store);
  after_restart.start(10);
  source.store.lose_events(6);
  const auto gone = after_restart.read({5, 0});
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().reason, "events.cursor.gone");
  EXPECT_FALSE(gone.error().hint.empty());
  EXPECT_THAT(gone.error().details,
              ::testing::Contains(::testing::Pair("oldest", DetailValue(std::string("6")))));
  // The last one kept of a record that is gone cannot be told from one before others of it.
  EXPECT_FALSE(after_restart.read({6, 0}));
  const auto kept = after_restart.read({6, EventCursor::kItemMax});
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->events.size(), 4U);
  EXPECT_EQ(after_restart.read({11, 0}).error().reason, "events.cursor.ahead");
}

// Without this, a reader would have to ask again and again, or sleep through what is new.
TEST_F(EventHubTest, CallsWhoWaitsOnceWhenThereIsSomething) {
  source.hub.start(0);
  source.add(1);
  std::promise<void> behind;
  source.hub.call_when_behind({0, EventCursor::kItemMax}, [&] { behind.set_value(); });
  EXPECT_EQ(behind.get_future().wait_for(kPatience), std::future_status::ready);
  std::atomic<int> calls = 0;
  source.hub.call_when_behind(source.hub.newest(), [&] { ++calls; });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_EQ(calls, 0);
  source.add(1);
  source.add(1);
  EXPECT_TRUE(eventually([&] { return calls == 1; }));
  const auto ticket = source.hub.call_when_behind(source.hub.newest(), [&] { ++calls; });
  source.hub.call_now(ticket);
  source.hub.call_now(ticket);
  EXPECT_TRUE(eventually([&] { return calls == 2; }));
  source.add(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_EQ(calls, 2);
}

// Without this, a reader that has seen everything would be called for nothing when it waits again: the hub
// would take what came while nobody waited for something new.
TEST_F(EventHubTest, CallsNobodyForWhatTheyHaveSeen) {
  source.hub.start(0);
  source.add(1);
  std::atomic<int> calls = 0;
  const EventCursor past{0, EventCursor::kItemMax};
  const auto round = [&](const std::function<void()>& on_hub) {
    std::promise<void> done;
    source.hub.call_when_behind(past, [&] {
      on_hub();
      done.set_value();
    });
    ASSERT_EQ(done.get_future().wait_for(kPatience), std::future_status::ready);
  };
  round([&] { source.hub.call_when_behind(source.hub.newest(), [&] { ++calls; }); });
  for (int i = 0; i < 3; ++i) round([] {});  // the hub has looked at who waits in between
  EXPECT_EQ(calls, 0);
  source.add(1);
  EXPECT_TRUE(eventually([&] { return calls == 1; }));
}

// Without this, many records in a short time would cost a round over all readers each.
TEST_F(EventHubTest, GathersCalls) {
  source.hub.start(0);
  std::atomic<int> calls = 0;
  std::function<void()> again = [&] {
    ++calls;
    source.hub.call_when_behind(source.hub.newest(), again);
  };
  source.hub.call_when_behind(source.hub.newest(), again);
  const auto started = std::chrono::steady_clock::now();
  for (int i = 0; i < 2'000; ++i) source.add(1);
  const auto took = std::chrono::steady_clock::now() - started;
  EXPECT_LE(calls, took / std::chrono::milliseconds(10) + 2);
  EXPECT_TRUE(eventually([&] { return calls >= 1; }));
  source.hub.stop();
}

// Without this, readers of a long past would keep those of the present waiting for ever.
TEST_F(EventHubTest, ReadersOfThePastDoNotStarveThePresent) {
  source.hub.start(0);
  std::atomic<bool> stop = false;
  std::function<void()> busy = [&] {
    if (!stop) source.hub.post(busy);
  };
  source.hub.post(busy);
  std::promise<void> called;
  source.hub.call_when_behind(source.hub.newest(), [&] { called.set_value(); });
  source.add(1);
  EXPECT_EQ(called.get_future().wait_for(kPatience), std::future_status::ready);
  stop = true;
  source.hub.stop();
}

// Without this, a reader could slow the writer down: by not reading, or by reading all the time.
TEST_F(EventHubTest, ReadersAndTheWriterRunSideBySide) {
  source.hub.start(0);
  constexpr std::uint64_t kRecords = 3'000;
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      EventCursor position{0, EventCursor::kItemMax};
      std::uint64_t next = 1;
      while (next <= kRecords) {
        for (const EventCursor& cursor : drain(position)) ASSERT_EQ(cursor.sequence, next++);
        if (next > kRecords) break;
        std::promise<void> more;
        source.hub.call_when_behind(position, [&] { more.set_value(); });
        more.get_future().wait();
      }
    });
  }
  for (std::uint64_t i = 0; i < kRecords; ++i) source.add(1);
  for (std::thread& reader : readers) reader.join();
}

// Without this, one client could take all places, or places would be lost when readers go.
TEST(EventSeats, AreCountedPerOwnerAndInAll) {
  EventSeats seats(4, 2);
  auto first = seats.take("tenant team-a");
  auto second = seats.take("tenant team-a");
  ASSERT_TRUE(first && second);
  const auto third = seats.take("tenant team-a");
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, Code::kResourceExhausted);
  EXPECT_EQ(third.error().reason, "events.streams.too_many");
  EXPECT_EQ(third.error().message.find("tenant team-a has 2"), 0U);
  auto other = seats.take("token t-3");
  auto operators = seats.take("");
  ASSERT_TRUE(other && operators);
  EXPECT_EQ(seats.take("").error().reason, "events.streams.too_many");
  first->reset();
  EXPECT_TRUE(seats.take("tenant team-a"));
}

// ---- through the service

class SubscriptionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    machine.start();
    ASSERT_TRUE(eventually([this] { return machine.store.count("node_reported") > 0; }));
    machine.tenant("team-a", 2);
    machine.tenant("team-b", 2);
    machine.tenant("child", 1, ", parent: team-a");
  }

  std::unique_ptr<EventSubscription> follow(const EventQuery& query, const Caller& caller = kOperator,
                                            EventStart start = {std::nullopt, true}) {
    auto subscription = machine.service->follow_events(caller, query, start);
    EXPECT_TRUE(subscription) << subscription.error().to_string();
    return subscription ? std::move(*subscription) : nullptr;
  }
  static std::vector<wire::EventView> drain(EventSubscription& subscription) {
    std::vector<wire::EventView> seen;
    while (true) {
      const auto page = subscription.next();
      EXPECT_TRUE(page) << page.error().to_string();
      if (!page) return seen;
      for (const auto& stored : page->events) seen.push_back(*wire::read_event_view(stored->event.body));
      if (!page->more) return seen;
    }
  }
  std::vector<std::string> types(const EventQuery& query, const Caller& caller = kOperator,
                                 EventStart start = {std::nullopt, true}) {
    std::vector<std::string> all;
    const auto subscription = follow(query, caller, start);
    if (!subscription) return all;
    for (const wire::EventView& view : drain(*subscription)) all.push_back(view.type);
    return all;
  }
  void run(const std::string& job) {
    ASSERT_TRUE(machine.reaches(job, JobState::kRunning));
    machine.world.finish({job, 1}, Outcome::kSucceeded, 0);
    ASSERT_TRUE(machine.reaches(job, JobState::kEnded));
  }

  Machine machine;
  const Caller team_a = caller_of(Caller::Kind::kTenant, 200'000, TenantId(0));
  const Caller team_b = caller_of(Caller::Kind::kTenant, 200'001, TenantId(1));
  const Caller viewer = caller_of(Caller::Kind::kViewer);
};

// Without this, a tenant would see what others do, or not see what its own subtree does.
TEST_F(SubscriptionTest, ATenantSeesItsSubtreeAndWhatIsEverybodys) {
  run(machine.job("team-a", 1));
  run(machine.job("child", 1));
  run(machine.job("team-b", 1));
  const auto seen_by = [&](const Caller& caller) {
    std::set<std::string> tenants;
    for (const wire::EventView& view : drain(*follow({}, caller))) tenants.insert(view.tenant);
    return tenants;
  };
  EXPECT_EQ(seen_by(kOperator), (std::set<std::string>{"", "team-a", "child", "team-b"}));
  EXPECT_EQ(seen_by(viewer), (std::set<std::string>{"", "team-a", "child", "team-b"}));
  EXPECT_EQ(seen_by(team_a), (std::set<std::string>{"", "team-a", "child"}));
  EXPECT_EQ(seen_by(team_b), (std::set<std::string>{"", "team-b"}));
  EventQuery other;
  other.tenant = "team-a";
  EXPECT_EQ(machine.service->follow_events(team_b, other, {}).error().reason, "tenant.unknown");
  other.tenant.clear();
  other.job = "j-1";
  EXPECT_EQ(machine.service->follow_events(team_b, other, {}).error().reason, "job.unknown");
}

// Without this, a filter would let through what was not asked for, or keep back what was.
TEST_F(SubscriptionTest, FiltersByTenantTypeAndNpu) {
  run(machine.job("team-a", 1));
  run(machine.job("child", 1));
  run(machine.job("team-b", 2));
  EventQuery ends;
  ends.types = {"job.ended", "tenant.*"};
  ends.tenant = "team-a";
  EXPECT_THAT(types(ends),
              ::testing::ElementsAre("tenant.created", "tenant.created", "job.ended", "job.ended"));
  EventQuery second;
  second.npu = 1;
  EXPECT_THAT(types(second), ::testing::ElementsAre("npu.appeared", "npu.allocated", "npu.released"));
  EventQuery unknown;
  unknown.npu = 9;
  EXPECT_EQ(machine.service->follow_events(kOperator, unknown, {}).error().reason, "npu.unknown");
  unknown.npu.reset();
  unknown.types = {"job.vanished"};
  EXPECT_EQ(machine.service->follow_events(kOperator, unknown, {}).error().reason, "input.bad_value");
}

// Without this, whoever follows a job that waits among others would not hear why.
TEST_F(SubscriptionTest, AJobHearsOfTheGroupItWaitsIn) {
  const std::string first = machine.job("team-a", 2);
  ASSERT_TRUE(machine.reaches(first, JobState::kRunning));
  const std::string second = machine.job("team-a", 2);
  ASSERT_TRUE(machine.reaches(second, JobState::kWaiting));
  const std::string third = machine.job("team-a", 2);
  ASSERT_TRUE(machine.reaches(third, JobState::kWaiting));
  EventQuery query;
  query.job = third;
  const auto live = follow(query);
  EXPECT_THAT(drain(*live), ::testing::SizeIs(1));
  // With a larger quota the NPUs are what is missing.
  machine.tenant("team-a", 20);
  const std::string blocker = machine.job("team-b", 2);
  ASSERT_TRUE(eventually([&] {
    return machine.view(third).reason && machine.view(third).reason->code == "capacity.npus.busy";
  }));
  const auto heard = drain(*live);
  ASSERT_FALSE(heard.empty());
  EXPECT_EQ(heard.back().type, "job.waiting");
  EXPECT_EQ(heard.back().reason->code, "capacity.npus.busy");
  // One that has started hears of them no more.
  EventQuery of_first;
  of_first.job = first;
  const auto running = types(of_first);
  EXPECT_EQ(std::count(running.begin(), running.end(), "job.waiting"), 0);
  // From the middle on it is the same.
  EventStart middle;
  middle.after = wire::parse_cursor(heard.front().cursor, "").value();
  for (const wire::EventView& view : drain(*follow(query, kOperator, middle))) {
    EXPECT_TRUE(view.job == third || view.type == "job.waiting") << view.type;
  }
  (void)blocker;
}

// Without this, a client that comes back after a restart would miss what happened, or hear it twice.
TEST_F(SubscriptionTest, GoesOnBehindItsCursorAfterARestart) {
  EXPECT_THAT(drain(*follow({}, kOperator, {})), ::testing::IsEmpty());
  run(machine.job("team-a", 1));
  std::vector<std::string> heard;
  EventStart start;
  {
    const auto first = follow({}, kOperator, {std::nullopt, true});
    for (const wire::EventView& view : drain(*first)) heard.push_back(view.cursor);
    start.after = first->position();
  }
  machine.crash();
  machine.start();
  run(machine.job("team-b", 1));
  for (const wire::EventView& view : drain(*follow({}, kOperator, start))) heard.push_back(view.cursor);
  std::vector<std::string> all;
  for (const StoredEvent& stored : machine.store.events()) all.push_back(wire::format_cursor(stored.cursor));
  EXPECT_EQ(heard, all);
  start.after = EventCursor{1'000'000, 0};
  EXPECT_EQ(machine.service->follow_events(kOperator, {}, start).error().reason, "events.cursor.ahead");
}

}  // namespace
}  // namespace tangram::service::testing
