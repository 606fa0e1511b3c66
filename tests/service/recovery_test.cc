// What survives: kills between any two records, full disks, lost devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "service/harness.h"

namespace tangram::service::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kScriptJobs = 6;

std::string script_body(int number) {
  const std::string tenant = number % 2 == 0 ? "team-a" : "team-b";
  const std::string more = number == 5 ? R"(,"restart":"on-failure:1")" : "";
  return R"({"tenant":")" + tenant + R"(","npus":)" + std::to_string(1 + number % 3 % 2) +
         R"(,"command":["/bin/true"])" + more + "}";
}

// Plays the script as far as the journal lives; the ids of acknowledged jobs by their number. Calls that are
// not acknowledged may be made again.
void play(Machine& machine, std::map<int, std::string>& acknowledged) {
  for (const std::string tenant : {"team-a", "team-b"}) {
    (void)machine.apply("apiVersion: tangram.dev/v1\nkind: Tenant\nmetadata: {name: " + tenant +
                        "}\nspec: {quota: {npus: 2}}\n");
  }
  for (int number = 0; number < kScriptJobs && !machine.store.dead(); ++number) {
    const Answer answer = machine.submit(script_body(number), "key-" + std::to_string(number));
    if (answer.status != 201) continue;
    const std::string id = wire::read_job_view(answer.body)->id;
    const auto [known, is_new] = acknowledged.emplace(number, id);
    EXPECT_EQ(known->second, id) << "a repeated call got another job";
  }
  if (acknowledged.contains(3)) (void)machine.cancel(acknowledged[3]);
  const auto all_ended = [&] {
    for (const AttemptKey& key : machine.world.keys()) {
      const auto process = machine.world.process(key);
      if (process->released && process->alive && !process->exit) {
        machine.world.finish(key, key.job == "j-6" ? Outcome::kFailed : Outcome::kSucceeded,
                             key.job == "j-6" ? 1 : 0);
      }
    }
    return machine.store.dead() || machine.service->jobs(kOperator, {})->items.empty();
  };
  EXPECT_TRUE(eventually(all_ended));
}

void expect_sound(Machine& machine, const std::map<int, std::string>& acknowledged) {
  EXPECT_FALSE(machine.world.overlap_seen());
  JobQuery all;
  all.all = true;
  const auto jobs = machine.service->jobs(kOperator, all);
  ASSERT_TRUE(jobs);
  for (const wire::JobView& job : jobs->items) {
    EXPECT_EQ(job.state, JobState::kEnded) << job.id;
    const bool may_restart = job.restart == RestartPolicy::kOnFailure;
    EXPECT_LE(machine.world.executions(job.id), may_restart ? 2 : 1) << job.id << " ran twice";
    EXPECT_TRUE(job.outcome != Outcome::kSucceeded || machine.world.executions(job.id) == 1) << job.id;
    EXPECT_NE(job.outcome, Outcome::kNotStarted) << job.id << ": " << job.message;
    EXPECT_NE(job.outcome, Outcome::kLost) << job.id << ": " << job.message;
  }
  for (const auto& [number, id] : acknowledged)
    EXPECT_TRUE(machine.service->job(kOperator, id)) << id << " is lost";
  const auto status = machine.service->status(kOperator);
  EXPECT_EQ(status.npus_free, 4);
}

// Without this, a journal put back from a backup would give NPUs to new jobs that lost ones still hold, and
// no job could start under the names of the lost ones.
TEST(Recovery, GoesOnFromAnOlderJournal) {
  Machine machine;
  machine.start();
  machine.tenant("team-a", 4);
  const std::string kept = machine.job("team-a", 1);
  ASSERT_TRUE(machine.reaches(kept, JobState::kRunning));
  const std::size_t backup = machine.store.records().size();
  const std::string lost = machine.job("team-a", 3);
  ASSERT_TRUE(machine.reaches(lost, JobState::kRunning));
  machine.crash();
  machine.store.drop_snapshot();
  machine.store.cut(backup);
  machine.start();
  EXPECT_FALSE(machine.service->job(kOperator, lost));
  EXPECT_EQ(machine.view(kept).state, JobState::kRunning);
  const std::string next = machine.job("team-a", 3);
  EXPECT_EQ(next, lost) << "the test wants the same name";
  ASSERT_TRUE(machine.reaches(next, JobState::kRunning)) << machine.view(next).message;
  EXPECT_FALSE(machine.world.overlap_seen());
  EXPECT_EQ(machine.world.process({kept, 1})->stops.size(), 0U);
}

// Without this, a kill at some moment would lose an acknowledged job, run one twice or leave an NPU taken.
TEST(Recovery, SurvivesAKillAfterEveryRecord) {
  std::size_t records = 0;
  {
    Machine machine;
    machine.start();
    std::map<int, std::string> acknowledged;
    play(machine, acknowledged);
    expect_sound(machine, acknowledged);
    records = machine.store.records().size();
  }
  ASSERT_GT(records, 25U);
  for (std::size_t kept = 0; kept <= records; ++kept) {
    SCOPED_TRACE("killed after record " + std::to_string(kept));
    Machine machine;
    machine.store.die_after(kept);
    machine.start();
    std::map<int, std::string> acknowledged;
    play(machine, acknowledged);
    machine.crash();
    machine.store.revive();
    machine.start();
    play(machine, acknowledged);
    expect_sound(machine, acknowledged);
    if (HasFailure()) break;
  }
}

// Without this, a restart would decide anew, or forget what it knew.
TEST(Recovery, ARestartComesBackToTheSameState) {
  Machine machine;
  machine.start();
  machine.tenant("team-a", 2);
  const std::string running = machine.job("team-a", 2);
  const std::string waiting = machine.job("team-a", 1);
  ASSERT_TRUE(machine.reaches(running, JobState::kRunning));
  ASSERT_TRUE(machine.reaches(waiting, JobState::kWaiting));
  const auto before = wire::write(*machine.service->jobs(kOperator, {}));
  for (const bool with_snapshot : {true, false}) {
    machine.stop();
    ASSERT_TRUE(machine.store.has_snapshot());
    if (!with_snapshot) machine.store.drop_snapshot();
    machine.start();
    EXPECT_EQ(wire::write(*machine.service->jobs(kOperator, {})), before);
  }
  machine.world.finish({running, 1}, Outcome::kSucceeded, 0);
  EXPECT_TRUE(machine.reaches(waiting, JobState::kRunning));
  EXPECT_EQ(machine.world.executions(running), 1);
}

// Without this, an end that came while the daemon was away would be lost.
TEST(Recovery, HearsOfAnEndThatCameWhileItWasAway) {
  Machine machine;
  machine.start();
  machine.tenant("team-a", 2);
  const std::string job = machine.job("team-a", 1);
  ASSERT_TRUE(machine.reaches(job, JobState::kRunning));
  machine.stop();
  machine.world.finish({job, 1}, Outcome::kFailed, 9);
  machine.start();
  ASSERT_TRUE(machine.reaches(job, JobState::kEnded));
  EXPECT_EQ(machine.view(job).exit_status, 9);
}

// Without this, ids would start again and a job of before would answer to a new one's id.
TEST(Recovery, GoesOnCountingJobsAndTime) {
  Machine machine;
  machine.start();
  machine.tenant("team-a", 2);
  EXPECT_EQ(machine.job("team-a", 1), "j-1");
  machine.clock.advance(1'000'000);
  EXPECT_EQ(machine.job("team-a", 1), "j-2");
  machine.stop();
  ManualClock late;
  {
    FakeExecutor executor(machine.world);
    Service service(machine.options, machine.store, executor, machine.devices, late);
    ASSERT_TRUE(service.start());
    EXPECT_GE(late.now(), machine.clock.now());
  }
  machine.start();
  EXPECT_EQ(machine.job("team-a", 1), "j-3");
}

// Without this, a full disk would stop the daemon, lose ends of jobs, or acknowledge what is not durable.
TEST(DiskFull, NothingCountsAndItGoesOnByItself) {
  Machine machine;
  machine.start();
  machine.tenant("team-a", 2);
  const std::string job = machine.job("team-a", 2);
  ASSERT_TRUE(machine.reaches(job, JobState::kRunning));
  machine.store.set_full(true);
  const Answer refused = machine.submit(R"({"tenant":"team-a","npus":1,"command":["/bin/true"]})");
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.body, HasSubstr("store.unavailable"));
  EXPECT_THAT(refused.body, HasSubstr("no space left"));
  EXPECT_FALSE(machine.cancel(job));
  EXPECT_FALSE(machine.view(job).state == JobState::kEnded);
  EXPECT_TRUE(machine.world.process({job, 1})->stops.empty());
  EXPECT_EQ(machine.service->jobs(kOperator, {})->items.size(), 1U);
  // The job ends while nothing can be written.
  machine.world.finish({job, 1}, Outcome::kSucceeded, 0);
  EXPECT_EQ(machine.view(job).state, JobState::kRunning);
  machine.store.set_full(false);
  ASSERT_TRUE(machine.reaches(job, JobState::kEnded));
  EXPECT_EQ(machine.view(job).outcome, Outcome::kSucceeded);
  // The number of the refused job is free again.
  EXPECT_EQ(machine.job("team-a", 1), "j-2");
}

// Without this, a job on a dead NPU would hang, or end as if its program had failed.
TEST(DeviceLoss, StopsTheJobThatHoldsTheNpu) {
  Machine machine;
  machine.start();
  machine.tenant("team-a", 4);
  const std::string first = machine.job("team-a", 2);
  const std::string second = machine.job("team-a", 2);
  ASSERT_TRUE(machine.reaches(first, JobState::kRunning));
  ASSERT_TRUE(machine.reaches(second, JobState::kRunning));
  machine.devices.set_health(1, Health::kCritical);
  ASSERT_TRUE(machine.reaches(first, JobState::kEnded));
  EXPECT_EQ(machine.view(first).outcome, Outcome::kDeviceLost);
  EXPECT_THAT(machine.view(first).message, HasSubstr("NPU 1 is critical"));
  EXPECT_EQ(machine.view(second).state, JobState::kRunning);
  EXPECT_EQ(machine.service->status(kOperator).npus_free, 1);
  machine.devices.remove_npu(2);
  ASSERT_TRUE(machine.reaches(second, JobState::kEnded));
  EXPECT_THAT(machine.view(second).message, HasSubstr("NPU 2 is absent"));
}

// Without this, a reboot of the driver would need a hand, or restartable jobs would be lost.
TEST(DeviceLoss, GoesOnWhenTheDriverIsBack) {
  Machine machine;
  machine.start();
  machine.tenant("team-a", 4);
  const std::string job = machine.job("team-a", 1, R"(,"restart":"on-lost")");
  ASSERT_TRUE(machine.reaches(job, JobState::kRunning));
  machine.devices.set_away(true);
  ASSERT_TRUE(eventually([&] { return machine.view(job).state == JobState::kWaiting; }));
  const auto status = machine.service->status(kOperator);
  EXPECT_FALSE(status.devices_available);
  EXPECT_THAT(status.devices_note, HasSubstr("driver does not answer"));
  EXPECT_EQ(status.npus.size(), 4U);
  EXPECT_EQ(status.npus_free, 0);
  machine.devices.set_away(false);
  ASSERT_TRUE(machine.reaches(job, JobState::kRunning));
  EXPECT_EQ(machine.view(job).attempt, 2);
}

// Without this, a program that fails because its NPU went away would be blamed for it.
TEST(DeviceLoss, AFailureOfAJobWhoseNpuIsGoneIsTheDevices) {
  Machine machine;
  machine.options.lost_after_ms = 600'000;
  machine.options.scan_interval_ms = 600'000;
  machine.start();
  machine.tenant("team-a", 4);
  const std::string job = machine.job("team-a", 1);
  const std::string other = machine.job("team-a", 1);
  ASSERT_TRUE(machine.reaches(job, JobState::kRunning));
  ASSERT_TRUE(machine.reaches(other, JobState::kRunning));
  machine.devices.set_health(0, Health::kCritical);
  machine.world.finish({job, 1}, Outcome::kFailed, 1);
  machine.world.finish({other, 1}, Outcome::kFailed, 1);
  ASSERT_TRUE(machine.reaches(job, JobState::kEnded));
  ASSERT_TRUE(machine.reaches(other, JobState::kEnded));
  EXPECT_EQ(machine.view(job).outcome, Outcome::kDeviceLost);
  EXPECT_EQ(machine.view(other).outcome, Outcome::kFailed);
}

// Without this, a daemon that starts before its driver would not start, or would hand out nothing ever.
TEST(DeviceLoss, StartsWithoutADriver) {
  Machine machine;
  machine.devices.set_away(true);
  machine.start();
  machine.tenant("team-a", 4);
  const std::string job = machine.job("team-a", 1);
  ASSERT_TRUE(eventually([&] { return machine.view(job).state == JobState::kWaiting; }));
  EXPECT_EQ(machine.view(job).reason->code, "capacity.no_devices");
  machine.devices.set_away(false);
  EXPECT_TRUE(machine.reaches(job, JobState::kRunning));
}

// Without this, the journal would grow with every scan although nothing changed.
TEST(DeviceLoss, ReportsOnlyChanges) {
  Machine machine;
  machine.options.scan_interval_ms = 1;
  machine.start();
  ASSERT_TRUE(eventually([&] { return machine.devices.scans() > 20; }));
  EXPECT_EQ(machine.store.count("node_reported"), 1U);
}

}  // namespace
}  // namespace tangram::service::testing
