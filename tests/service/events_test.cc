// What is told of each change: which events, with what in them, for whom.
#include "service/events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "service/harness.h"
#include "wire/event.h"

namespace tangram::service::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class EventsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    machine.start();
    // The NPUs are there before anything else is told.
    ASSERT_TRUE(eventually([this] { return of_type("npu.appeared").size() == 4; }));
    machine.tenant("team-a", 2);
    machine.tenant("team-b", 2);
  }

  std::vector<wire::EventView> all() {
    std::vector<wire::EventView> views;
    for (const StoredEvent& stored : machine.store.events()) {
      auto view = wire::read_event_view(stored.event.body);
      EXPECT_TRUE(view) << stored.event.body;
      if (!view) continue;
      EXPECT_EQ(view->cursor, wire::format_cursor(stored.cursor));
      EXPECT_EQ(view->type, stored.event.type);
      views.push_back(std::move(*view));
    }
    return views;
  }
  std::vector<wire::EventView> of_type(const std::string& type) {
    std::vector<wire::EventView> found;
    for (wire::EventView& view : all()) {
      if (view.type == type) found.push_back(std::move(view));
    }
    return found;
  }
  std::vector<wire::EventView> of_job(const std::string& job) {
    std::vector<wire::EventView> found;
    for (wire::EventView& view : all()) {
      if (view.job == job) found.push_back(std::move(view));
    }
    return found;
  }
  std::vector<std::string> types_of_job(const std::string& job) {
    std::vector<std::string> types;
    for (const wire::EventView& view : of_job(job)) types.push_back(view.type);
    return types;
  }

  Machine machine;
};

// Without this, a job's life could not be followed: steps would be missing, told twice, or in another order.
TEST_F(EventsTest, TellEachStepOfAJobOnce) {
  const std::string job = machine.job("team-a", 2, R"(,"name":"train","priority":"high")");
  ASSERT_TRUE(machine.reaches(job, JobState::kRunning));
  machine.world.finish({job, 1}, Outcome::kFailed, 3);
  ASSERT_TRUE(machine.reaches(job, JobState::kEnded));
  EXPECT_THAT(types_of_job(job),
              ElementsAre("job.submitted", "job.starting", "npu.allocated", "npu.allocated", "job.running",
                          "job.ended", "npu.released", "npu.released"));
  const auto told = of_job(job);
  const wire::EventView& submitted = told[0];
  EXPECT_EQ(submitted.tenant, "team-a");
  EXPECT_EQ(submitted.job_name, "train");
  EXPECT_EQ(submitted.priority, Priority::kHigh);
  EXPECT_EQ(submitted.npus_requested, 2);
  EXPECT_EQ(submitted.state, JobState::kReady);
  EXPECT_EQ(submitted.at, machine.clock.now());
  EXPECT_THAT(told[1].npus, ElementsAre(0, 1));
  EXPECT_EQ(told[1].state, JobState::kStarting);
  EXPECT_EQ(told[1].attempt, 1);
  EXPECT_EQ(told[2].npu, 0U);
  EXPECT_EQ(told[3].npu, 1U);
  EXPECT_EQ(told[3].node, "node-1");
  EXPECT_EQ(told[4].state, JobState::kRunning);
  const wire::EventView& ended = told[5];
  EXPECT_EQ(ended.state, JobState::kEnded);
  EXPECT_EQ(ended.outcome, Outcome::kFailed);
  EXPECT_EQ(ended.exit_status, 3);
  EXPECT_THAT(ended.npus, ElementsAre(0, 1));
  EXPECT_EQ(told[7].npu, 1U);
}

// Without this, nobody could be told why jobs wait, or 10,000 alike would be 10,000 events at each change.
TEST_F(EventsTest, TellWhyAGroupWaitsOnceForAll) {
  const std::string first = machine.job("team-a", 2);
  ASSERT_TRUE(machine.reaches(first, JobState::kRunning));
  const std::string second = machine.job("team-a", 1);
  ASSERT_TRUE(machine.reaches(second, JobState::kWaiting));
  const std::string third = machine.job("team-a", 1);
  ASSERT_TRUE(machine.reaches(third, JobState::kWaiting));
  const auto waiting = of_type("job.waiting");
  ASSERT_THAT(waiting, SizeIs(1));
  EXPECT_EQ(waiting[0].job, second);
  EXPECT_EQ(waiting[0].jobs, 1);
  ASSERT_TRUE(waiting[0].reason);
  EXPECT_EQ(waiting[0].reason->code, "quota.npus.exceeded");
  EXPECT_THAT(waiting[0].reason->message, HasSubstr("team-a"));
  // One that joins those that wait says so at once.
  const auto joined = of_job(third);
  ASSERT_THAT(joined, SizeIs(1));
  EXPECT_EQ(joined[0].state, JobState::kWaiting);
  ASSERT_TRUE(joined[0].reason);
  EXPECT_EQ(joined[0].reason->code, "quota.npus.exceeded");
}

// Without this, a cancellation would look like any end, or nobody would know who it was.
TEST_F(EventsTest, TellACancellation) {
  const std::string running = machine.job("team-a", 2);
  ASSERT_TRUE(machine.reaches(running, JobState::kRunning));
  const std::string queued = machine.job("team-a", 1);
  ASSERT_TRUE(machine.cancel(queued));
  const auto of_queued = of_job(queued);
  EXPECT_EQ(of_queued.back().type, "job.ended");
  EXPECT_EQ(of_queued.back().outcome, Outcome::kCancelled);
  EXPECT_EQ(of_queued.back().by_uid, 0U);
  // Still behind the running job, whose end would let it start.
  Caller bearer = caller_of(Caller::Kind::kTenant, 0, TenantId(0));
  bearer.token = 3;
  const std::string other = machine.job("team-a", 1);
  ASSERT_TRUE(machine.cancel(other, bearer));
  EXPECT_EQ(of_job(other).back().by_token, "t-3");
  EXPECT_FALSE(of_job(other).back().by_uid) << "no uid stands behind a token";
  ASSERT_TRUE(machine.cancel(running, caller_of(Caller::Kind::kTenant, 200'000, TenantId(0))));
  ASSERT_TRUE(eventually([&] { return !of_type("job.stopping").empty(); }));
  const auto stopping = of_type("job.stopping");
  EXPECT_EQ(stopping[0].job, running);
  EXPECT_EQ(stopping[0].by_uid, 200'000U);
  EXPECT_THAT(stopping[0].npus, ElementsAre(0, 1));
}

// Without this, a restart would be told as an end, and whoever waits for the end would go.
TEST_F(EventsTest, TellARestartFromAnEnd) {
  const std::string job = machine.job("team-a", 1, R"(,"restart":"on-failure:1")");
  ASSERT_TRUE(machine.reaches(job, JobState::kRunning));
  machine.world.finish({job, 1}, Outcome::kFailed, 1);
  ASSERT_TRUE(eventually([&] { return machine.world.process({job, 2}) && machine.view(job).attempt == 2; }));
  ASSERT_TRUE(machine.reaches(job, JobState::kRunning));
  machine.world.finish({job, 2}, Outcome::kFailed, 1);
  ASSERT_TRUE(machine.reaches(job, JobState::kEnded));
  EXPECT_THAT(types_of_job(job), ElementsAre("job.submitted", "job.starting", "npu.allocated", "job.running",
                                             "job.requeued", "npu.released", "job.starting", "npu.allocated",
                                             "job.running", "job.ended", "npu.released"));
  EXPECT_EQ(of_type("job.requeued")[0].attempt, 1);
  EXPECT_EQ(of_type("job.ended")[0].attempt, 2);
}

// Without this, a --no-wait job that was refused would seem to be still on its way.
TEST_F(EventsTest, TellARefusal) {
  const std::string first = machine.job("team-a", 2);
  ASSERT_TRUE(machine.reaches(first, JobState::kRunning));
  EXPECT_EQ(machine.submit(R"({"tenant":"team-a","npus":1,"noWait":true,"command":["/bin/true"]})").status,
            409);
  const auto refused = of_type("job.refused");
  ASSERT_THAT(refused, SizeIs(1));
  EXPECT_EQ(refused[0].tenant, "team-a");
  EXPECT_EQ(refused[0].state, JobState::kEnded);
  ASSERT_TRUE(refused[0].reason);
  EXPECT_EQ(refused[0].reason->code, "quota.npus.exceeded");
  EXPECT_THAT(refused[0].reason->message, HasSubstr("team-a"));
}

// Without this, a change of a quota could not be seen afterwards, or an apply of the same would be told as
// one.
TEST_F(EventsTest, TellWhatOfATenantHasChanged) {
  machine.tenant("team-a", 3, ", members: [1000]");
  machine.tenant("team-a", 3, ", members: [1000]");
  ASSERT_TRUE(
      machine.call<void>([&](auto done) { machine.service->delete_tenant(kOperator, "team-b", done); }));
  EXPECT_THAT(of_type("tenant.created"), SizeIs(2));
  const auto changed = of_type("tenant.changed");
  ASSERT_THAT(changed, SizeIs(1));
  EXPECT_EQ(changed[0].tenant, "team-a");
  EXPECT_THAT(changed[0].changed, ElementsAre("quota.npus", "members"));
  ASSERT_TRUE(changed[0].quota);
  EXPECT_EQ(changed[0].quota->npus, 3);
  const auto deleted = of_type("tenant.deleted");
  ASSERT_THAT(deleted, SizeIs(1));
  EXPECT_EQ(deleted[0].tenant, "team-b");
}

// Without this, a card that falls ill or goes away would be told only by the jobs that die of it.
TEST_F(EventsTest, TellWhatBecomesOfNpus) {
  machine.devices.set_health(1, Health::kWarning);
  ASSERT_TRUE(eventually([&] { return !of_type("npu.health").empty(); }));
  const auto ill = of_type("npu.health");
  EXPECT_EQ(ill[0].npu, 1U);
  EXPECT_EQ(ill[0].health, Health::kWarning);
  EXPECT_EQ(ill[0].health_before, Health::kOk);
  EXPECT_EQ(ill[0].node, "node-1");
  EXPECT_EQ(ill[0].tenant, "");
  machine.devices.remove_npu(2);
  ASSERT_TRUE(eventually([&] { return !of_type("npu.gone").empty(); }));
  const auto gone = of_type("npu.gone");
  ASSERT_THAT(gone, SizeIs(1));
  EXPECT_EQ(gone[0].npu, 2U);
  EXPECT_EQ(gone[0].health, Health::kAbsent);
  EXPECT_EQ(gone[0].health_before, Health::kOk);
}

// Without this, a watcher could not tell a daemon that came back from one that has nothing to say.
TEST_F(EventsTest, TellThatTheDaemonHasStarted) {
  machine.crash();
  machine.start();
  ASSERT_TRUE(eventually([&] { return of_type("daemon.started").size() == 2; }));
  EXPECT_EQ(of_type("daemon.started")[1].version, machine.options.version);
}

// Without this, the end of the retention of a job would leave watchers with a job that is not there.
TEST_F(EventsTest, TellThatAJobIsForgotten) {
  const std::string job = machine.job("team-a", 1, R"(,"name":"old")");
  ASSERT_TRUE(machine.reaches(job, JobState::kRunning));
  machine.world.finish({job, 1}, Outcome::kSucceeded, 0);
  ASSERT_TRUE(machine.reaches(job, JobState::kEnded));
  machine.clock.advance(machine.options.ended_keep_ms + 1);
  ASSERT_TRUE(eventually([&] { return !of_type("job.forgotten").empty(); }));
  const auto forgotten = of_type("job.forgotten");
  EXPECT_EQ(forgotten[0].job, job);
  EXPECT_EQ(forgotten[0].job_name, "old");
  EXPECT_EQ(forgotten[0].tenant, "team-a");
}

// Without this, another tenant could read what a tenant's jobs are called and when they run.
TEST_F(EventsTest, BelongToTheTenantAndThoseAboveIt) {
  machine.tenant("child", 1, ", parent: team-a");
  const std::string job = machine.job("child", 1);
  ASSERT_TRUE(machine.reaches(job, JobState::kRunning));
  for (const StoredEvent& stored : machine.store.events()) {
    const auto view = wire::read_event_view(stored.event.body);
    ASSERT_TRUE(view);
    if (view->job == job) {
      EXPECT_THAT(stored.event.tenants, ElementsAre(2, 0)) << stored.event.body;
    } else if (view->type.starts_with("npu.") || view->type.starts_with("daemon.")) {
      EXPECT_THAT(stored.event.tenants, IsEmpty()) << stored.event.body;
    } else {
      EXPECT_FALSE(stored.event.tenants.empty()) << stored.event.body;
    }
  }
}

// Without this, the reason why one tenant waits could name the jobs of another.
TEST_F(EventsTest, AReasonNamesNothingOfOthers) {
  machine.options.keep_after_ms = 0;
  machine.crash();
  machine.start();
  const std::string running = machine.job("team-b", 2, R"(,"name":"secret-runner")");
  ASSERT_TRUE(machine.reaches(running, JobState::kRunning));
  machine.tenant("team-c", 4);
  const std::string big = machine.job("team-c", 4, R"(,"name":"secret-name")");
  ASSERT_TRUE(machine.reaches(big, JobState::kWaiting));
  machine.clock.advance(10);
  const std::string mine = machine.job("team-a", 1);
  ASSERT_TRUE(machine.reaches(mine, JobState::kWaiting));
  for (const StoredEvent& stored : machine.store.events()) {
    if (stored.event.topic != job_topic(JobId(3)) && !stored.event.topic.starts_with("queue-0-")) continue;
    EXPECT_THAT(stored.event.body, ::testing::Not(HasSubstr("secret"))) << stored.event.body;
  }
}

// Without this, what was told could differ from what the journal says, or change when the daemon starts
// again.
TEST_F(EventsTest, AreWhatTheJournalSays) {
  for (int i = 0; i < 5; ++i) {
    const std::string job = machine.job(i % 2 == 0 ? "team-a" : "team-b", 1 + i % 2);
    if (machine.reaches(job, JobState::kRunning)) machine.world.finish({job, 1}, Outcome::kSucceeded, 0);
    ASSERT_TRUE(machine.reaches(job, JobState::kEnded));
  }
  machine.stop();
  State state;
  std::vector<StoredEvent> again;
  for (const StoredRecord& stored : machine.store.records()) {
    const auto record = wire::decode_record(stored.kind, stored.body);
    ASSERT_TRUE(record) << stored.body;
    const EventSubject before = look_before(state, *record);
    state.apply(*record, stored.at);
    std::uint32_t item = 0;
    for (NewEvent& event : make_events(before, state, *record, stored.sequence, stored.at)) {
      again.push_back({{stored.sequence, item++}, std::move(event)});
    }
  }
  const auto told = machine.store.events();
  ASSERT_EQ(again.size(), told.size());
  for (std::size_t i = 0; i < told.size(); ++i) {
    EXPECT_EQ(again[i].cursor, told[i].cursor);
    EXPECT_EQ(again[i].event.body, told[i].event.body);
    EXPECT_EQ(again[i].event.topic, told[i].event.topic);
    EXPECT_EQ(again[i].event.tenants, told[i].event.tenants);
  }
}

}  // namespace
}  // namespace tangram::service::testing
