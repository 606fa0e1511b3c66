// Looking into the past: pages in both directions, of one job, of a tenant, of what is left.
#include "service/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/harness.h"
#include "wire/event.h"

namespace tangram::service::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

NewEvent event(const std::string& type, std::uint32_t tenant, const std::string& topic,
               const std::string& group = "") {
  return {type, {tenant}, topic, group, topic + " " + type};
}

class HistoryTest : public ::testing::Test {
 protected:
  void add(std::vector<NewEvent> events) {
    NewRecord record{TimeMs(1), "test", "body"};
    record.events = std::move(events);
    ASSERT_TRUE(store.append(std::vector{record}));
  }
  std::vector<std::string> read(EventFilter filter, HistoryRange range = {}) {
    const auto history = read_history(store, std::move(filter), range);
    EXPECT_TRUE(history) << history.error().to_string();
    return history ? history->events : std::vector<std::string>();
  }
  // All pages of so many events.
  std::vector<std::string> read_pages(const EventFilter& filter, std::size_t limit, bool newest) {
    std::vector<std::string> all;
    HistoryRange range;
    range.limit = limit;
    range.newest = newest;
    while (true) {
      const auto history = read_history(store, filter, range);
      EXPECT_TRUE(history);
      if (!history) return all;
      EXPECT_LE(history->events.size(), limit);
      all.insert(all.end(), history->events.begin(), history->events.end());
      if (!history->next) return all;
      (newest ? range.before : range.after) = history->next;
    }
  }

  // At once, and page by page in both directions.
  void expect_in_any_pages(const EventFilter& filter, const std::vector<std::string>& wanted) {
    EXPECT_EQ(read(filter), wanted);
    for (const std::size_t limit : {std::size_t{1}, std::size_t{2}, std::size_t{4}}) {
      EXPECT_EQ(read_pages(filter, limit, false), wanted) << limit;
      auto backwards = read_pages(filter, limit, true);
      std::reverse(backwards.begin(), backwards.end());
      EXPECT_EQ(backwards, wanted) << limit;
    }
  }

  FakeStore store;
};

// Without this, a page could repeat or leave out events, or end the listing too early.
TEST_F(HistoryTest, PagesInBothDirectionsGiveEachEventOnce) {
  for (std::uint32_t i = 0; i < 25; ++i)
    add({event("a", i % 2, std::to_string(i)), event("b", i % 3, std::to_string(i))});
  EventFilter odd;
  odd.tenant = TenantId(1);
  const auto forwards = read(odd);
  EXPECT_EQ(forwards.size(), 12U + 8U);
  for (const std::size_t limit :
       {std::size_t{1}, std::size_t{3}, std::size_t{19}, std::size_t{20}, std::size_t{21}}) {
    EXPECT_EQ(read_pages(odd, limit, false), forwards) << limit;
    auto backwards = read_pages(odd, limit, true);
    std::reverse(backwards.begin(), backwards.end());
    EXPECT_EQ(backwards, forwards) << limit;
  }
}

// Without this, one question about a quiet tenant would walk over all that others did, however much that is.
TEST_F(HistoryTest, APageLooksAtABoundedNumberOfEvents) {
  const std::vector<NewEvent> many(1'000, event("a", 7, "x"));
  for (int i = 0; i < 21; ++i) add(many);
  add({event("a", 1, "mine")});
  EventFilter mine;
  mine.tenant = TenantId(1);
  const auto first = read_history(store, mine, {});
  ASSERT_TRUE(first);
  EXPECT_THAT(first->events, IsEmpty());
  ASSERT_TRUE(first->next);
  EXPECT_THAT(read_pages(mine, 10, false), ElementsAre("mine a"));
}

// Without this, the history of a job would not say why it waited, or would say why others did when it did not
// wait.
TEST_F(HistoryTest, OfAJobHoldsTheWaitsOfItsGroupWhileItWaited) {
  add({event("job.waiting", 1, "group")});  // before its time
  add({event("job.submitted", 1, "j-5", "group")});
  add({event("job.waiting", 1, "group")});
  add({event("job.waiting", 1, "another")});
  add({event("job.starting", 1, "j-5")});
  add({event("job.waiting", 1, "group")});  // it runs
  add({event("job.running", 1, "j-5")});
  add({event("job.requeued", 1, "j-5")});
  add({event("job.waiting", 1, "group")});
  add({event("job.starting", 1, "j-5"), event("job.ended", 1, "j-5")});
  add({event("job.waiting", 1, "group")});  // it is over
  add({event("job.forgotten", 1, "j-5")});
  EventFilter filter;
  filter.job = JobTrack("j-5", "group", true);
  const std::vector<std::string> wanted{"j-5 job.submitted", "group job.waiting", "j-5 job.starting",
                                        "j-5 job.running",   "j-5 job.requeued",  "group job.waiting",
                                        "j-5 job.starting",  "j-5 job.ended",     "j-5 job.forgotten"};
  expect_in_any_pages(filter, wanted);
  EventFilter waits = filter;
  waits.types = {"job.waiting"};
  EXPECT_EQ(read(waits).size(), 2U);
  EventFilter foreign = filter;
  foreign.viewer = TenantId(2);
  EXPECT_THAT(read(foreign), IsEmpty());
}

NewEvent of_npu(const std::string& type, const std::string& topic, const std::string& group = "") {
  static int number = 0;
  NewEvent made{type, {}, topic, group, topic + " " + type + " " + std::to_string(++number)};
  if (!group.empty()) made.tenants = {1};
  return made;
}

NewEvent starting(std::vector<std::uint32_t> npus, const std::string& template_name) {
  wire::EventView view;
  view.type = "job.starting";
  view.cursor = "1.0";
  view.at = TimeMs(1);
  view.npus = std::move(npus);
  view.template_name = template_name;
  return {view.type, {1}, "j-5", "", wire::write(view)};
}

// Without this, nobody could see in the history of a job when its slice was cut, or that the NPU failed on
// which it ran.
TEST_F(HistoryTest, OfAJobTellsItsSlicesAndTheHealthOfItsNpus) {
  const std::vector<std::pair<NewEvent, bool>> all = {
      {event("job.submitted", 1, "j-5", "group"), true},
      {of_npu("npu.health", "npu-3"), false},  // before its time
      {starting({3}, "vir02"), true},
      {of_npu("npu.allocated", "npu-3"), false},  // job.starting says so
      {of_npu("slice.made", "npu-3", "j-6"), false},
      {of_npu("slice.made", "npu-3", "j-5"), true},
      {event("job.running", 1, "j-5"), true},
      {of_npu("npu.health", "npu-3"), true},
      {of_npu("npu.health", "npu-4"), false},
      {event("job.ended", 1, "j-5"), true},
      {of_npu("npu.health", "npu-3"), false},  // it is over
      {of_npu("slice.returned", "npu-3", "j-6"), false},
      {of_npu("slice.returned", "npu-3", "j-5"), true},
      {of_npu("npu.gone", "npu-3"), false},
  };
  std::vector<std::string> wanted;
  JobTrack live("j-5", "group", true);
  for (const auto& [one, is_its] : all) {
    EXPECT_EQ(live.passes(one), is_its) << one.body;
    if (is_its) wanted.push_back(one.body);
    add({one});
  }
  EventFilter filter;
  filter.job = JobTrack("j-5", "group", true);
  expect_in_any_pages(filter, wanted);
  const auto track = track_at(store, JobTrack("j-5", "group", true), {8, EventCursor::kItemMax});
  ASSERT_TRUE(track);
  EXPECT_EQ(track->held(), std::vector<std::string>{"npu-3"}) << "taken up while it runs";
}

// Without this, the history of a job that holds NPUs would end at its start, or walk over those of others.
TEST_F(HistoryTest, OfARunningJobGoesOn) {
  add({event("job.submitted", 1, "j-5", "group")});
  add({starting({0, 1}, "")});
  const NewEvent health = of_npu("npu.health", "npu-1");
  add({health});
  EventFilter filter;
  filter.job = JobTrack("j-5", "group", true);
  ASSERT_EQ(read(filter).size(), 3U);
  EXPECT_EQ(read(filter).back(), health.body);
}

// Without this, a stream that begins in the middle would not know whether its job waits.
TEST_F(HistoryTest, AJobsTrackIsTakenUpAnywhere) {
  add({event("job.submitted", 1, "j-5", "group")});
  add({event("job.starting", 1, "j-5")});
  add({event("job.requeued", 1, "j-5")});
  const auto queued_at = [&](std::uint64_t sequence) {
    const auto track = track_at(store, JobTrack("j-5", "group", true), {sequence, EventCursor::kItemMax});
    EXPECT_TRUE(track);
    return track && track->queued();
  };
  EXPECT_FALSE(queued_at(0));
  EXPECT_TRUE(queued_at(1));
  EXPECT_FALSE(queued_at(2));
  EXPECT_TRUE(queued_at(3));
  store.lose_events(1);
  EXPECT_TRUE(queued_at(1));
  EXPECT_FALSE(queued_at(2));
}

// Without this, a client that pages through the past would not notice that the part between was dropped.
TEST_F(HistoryTest, SaysWhenEventsBehindTheCursorAreGone) {
  for (int i = 0; i < 5; ++i) add({event("a", 1, "x")});
  store.lose_events(3);
  HistoryRange range;
  range.after = EventCursor{1, 0};
  const auto gone = read_history(store, {}, range);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().reason, "events.cursor.gone");
  EXPECT_EQ(read({}).size(), 2U);  // without a cursor: what is there
}

// Without this, the history of a job would go as soon as the job is forgotten, long before its events do.
TEST(ServiceHistory, OfAJobThatIsForgotten) {
  Machine machine;
  machine.start();
  machine.tenant("team-a", 2);
  machine.tenant("team-b", 2);
  const std::string job = machine.job("team-a", 1);
  ASSERT_TRUE(machine.reaches(job, JobState::kRunning));
  machine.world.finish({job, 1}, Outcome::kSucceeded, 0);
  ASSERT_TRUE(machine.reaches(job, JobState::kEnded));
  machine.clock.advance(machine.options.ended_keep_ms + 1);
  ASSERT_TRUE(eventually([&] { return machine.store.count("job_forgotten") == 1; }));
  EventQuery query;
  query.job = job;
  const auto history = machine.service->history(kOperator, query, {});
  ASSERT_TRUE(history) << history.error().to_string();
  EXPECT_EQ(history->events.size(), 5U);
  EXPECT_EQ(wire::read_event_view(history->events.back())->type, "job.forgotten");
  const Caller owner = caller_of(Caller::Kind::kTenant, 200'000, TenantId(0));
  const Caller other = caller_of(Caller::Kind::kTenant, 200'001, TenantId(1));
  EXPECT_TRUE(machine.service->history(owner, query, {}));
  EXPECT_EQ(machine.service->history(other, query, {}).error().reason, "job.unknown");
  query.job = "j-99";
  EXPECT_EQ(machine.service->history(kOperator, query, {}).error().reason, "job.unknown");
}

}  // namespace
}  // namespace tangram::service::testing
