// What survives: kills between any two records, full disks, lost devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <set>

#include "service/harness.h"
#include "service/recovery.h"

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
  EXPECT_THAT(refused.body, HasSubstr("make room for the journal")) << "the hint of what is really wrong";
  const auto is_found = [&] {
    const auto findings = machine.service->diagnose(kOperator).findings;
    return std::ranges::any_of(findings, [](const auto& one) { return one.code == "doctor.journal"; });
  };
  EXPECT_TRUE(is_found());
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
  EXPECT_FALSE(is_found());
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

// Without it the daemon would stand still while a large state is written down; or what came meanwhile would
// be missing from both the snapshot and the records behind it.
TEST(SnapshotTest, IsOfOneInstantWhileOthersGoOn) {
  Machine machine;
  machine.options.snapshot_every = 5;
  machine.start();
  machine.tenant("team-a", 4);
  for (int i = 0; i < 40; ++i) machine.job("team-a", 4);
  ASSERT_TRUE(eventually([&] { return machine.store.has_snapshot(); }));
  const Snapshot snapshot = **machine.store.latest_snapshot();
  auto recovered = State::from_snapshot(snapshot.body);
  ASSERT_TRUE(recovered) << recovered.error().to_string();
  State replayed;
  for (const StoredRecord& stored : machine.store.records()) {
    const auto record = wire::decode_record(stored.kind, stored.body);
    ASSERT_TRUE(record);
    replayed.apply(*record, stored.at);
    if (stored.sequence > snapshot.sequence) recovered->apply(*record, stored.at);
  }
  EXPECT_EQ(recovered->to_snapshot(), replayed.to_snapshot());
}

// Without it a daemon whose clock was set back could forget after a restart which answers it has given.
TEST(SnapshotTest, KeepsAnswersInWhateverOrderTheClockBroughtThem) {
  constexpr std::int64_t kLateMs = 1'000'000;
  State state;
  const auto answer = [&state](const std::string& key, std::int64_t at) {
    state.apply(
        wire::IdempotentAnswer{.caller_uid = 1, .key = key, .request_hash = "h", .status = 201, .body = "{}"},
        TimeMs(at));
  };
  answer("far", kLateMs + 2 * State::kAnswerKeepMs);
  answer("near", kLateMs + 2 * State::kAnswerKeepMs - 1);
  answer("old", kLateMs);
  const auto back = State::from_snapshot(state.to_snapshot());
  ASSERT_TRUE(back) << back.error().to_string();
  for (const State& one : {std::cref(state), std::cref(*back)}) {
    EXPECT_NE(one.answer(1, 0, "far"), nullptr);
    EXPECT_NE(one.answer(1, 0, "near"), nullptr);
    EXPECT_EQ(one.answer(1, 0, "old"), nullptr) << "more than a day before the newest";
  }
}

// Without it a queue of 100,000 jobs would be written down whole again with every 20,000 records, and a burst
// of submissions would mostly wait for that.
TEST(SnapshotTest, ComesNotBeforeAsManyRecordsAsItHasJobs) {
  Machine machine;
  machine.options.snapshot_every = 5;
  machine.start();
  machine.tenant("team-a", 4);
  // One that is still being written puts the next off: on a busy machine more jobs are needed for four.
  std::size_t jobs = 0;
  while ((jobs < 200 || machine.store.snapshots() < 4) && jobs < 20'000) {
    machine.job("team-a", 4);
    ++jobs;
  }
  ASSERT_TRUE(eventually([&] { return machine.store.snapshots() >= 4; }));
  EXPECT_LE(machine.store.snapshots(), std::bit_width(jobs) + 1)
      << "each of them holds twice as many jobs as the one before";
}

// Without it one unreadable snapshot would cost all that the daemon knows, although the records are all
// there.
TEST(SnapshotTest, ThatCannotBeReadGivesWayToTheOneBefore) {
  Machine machine;
  machine.options.snapshot_every = 5;
  machine.start();
  machine.tenant("team-a", 4);
  for (int i = 0; i < 40; ++i) machine.job("team-a", 4);
  ASSERT_TRUE(eventually([&] { return machine.store.snapshots() >= 2; }));
  machine.stop();  // saves another one
  const auto sound = recover(machine.store);
  ASSERT_TRUE(sound) << sound.error().to_string();
  machine.store.damage_snapshot();
  const auto recovered = recover(machine.store);
  ASSERT_TRUE(recovered) << recovered.error().to_string();
  EXPECT_LT(recovered->snapshot_sequence, sound->snapshot_sequence);
  EXPECT_EQ(recovered->sequence, sound->sequence);
  EXPECT_EQ(recovered->state.to_snapshot(), sound->state.to_snapshot());

  const std::uint64_t next = machine.store.records().size() + 1;
  machine.start();
  (void)machine.job("team-a", 4);
  EXPECT_GT(machine.store.records().size(), next) << "it goes on behind the last record";
}

// Without it a snapshot with a flipped bit, but still well-formed, would become the state of the machine.
TEST(SnapshotTest, ThatIsNotTheOneThatWasSavedGivesWayToTheOneBefore) {
  Machine machine;
  machine.start();
  machine.tenant("team-a", 4);
  machine.stop();
  const auto sound = recover(machine.store);
  ASSERT_TRUE(sound) << sound.error().to_string();
  const Snapshot last = machine.store.latest_snapshot()->value();
  machine.store.drop_snapshot();
  ASSERT_TRUE(machine.store.save_snapshot({last.sequence, last.body, false}));
  const auto recovered = recover(machine.store);
  ASSERT_TRUE(recovered) << recovered.error().to_string();
  EXPECT_EQ(recovered->snapshot_sequence, 0U);
  EXPECT_EQ(recovered->state.to_snapshot(), sound->state.to_snapshot());
  machine.store.lose_records(last.sequence);
  const auto lost = recover(machine.store);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().reason, "snapshot.unreadable");
  EXPECT_THAT(lost.error().message, HasSubstr("after record " + std::to_string(last.sequence)));
}

// Without it the daemon would begin from an older state and lack what only the unreadable snapshot held.
TEST(SnapshotTest, ThatCannotBeReadIsMissedWhenItsRecordsAreGone) {
  Machine machine;
  machine.options.snapshot_every = 5;
  machine.start();
  machine.tenant("team-a", 4);
  for (int i = 0; i < 40; ++i) machine.job("team-a", 4);
  machine.stop();
  machine.store.lose_records(machine.store.latest_snapshot().value()->sequence);
  ASSERT_TRUE(recover(machine.store));
  machine.store.damage_snapshot();
  const auto lost = recover(machine.store);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().reason, "snapshot.unreadable");
  EXPECT_EQ(lost.error().code, Code::kDataLoss);
}

// Without it a journal that a failing disk or a hand has changed would abort the daemon at each start,
// without a word of which record it is.
TEST(Recovery, RefusesARecordThatCannotBe) {
  const std::string start = R"({"job":7,"attempt":1,"npus":[0]})";
  const std::string rotate = R"({"token":9,"secretHash":"","lifetimeMs":1,"by":""})";
  for (
      const NewRecord& wrong :
      {NewRecord{TimeMs(5), "job_started", start}, NewRecord{TimeMs(5), "token_rotated", rotate},
       NewRecord{TimeMs(-1), "daemon_started", R"({"version":"1","bootId":"b"})"},
       NewRecord{
           TimeMs(5), "token_created",
           R"({"token":1,"name":"","role":"viewer","secretHash":"","lifetimeMs":1,"expiresAtMs":-5,"by":""})"}}) {
    Machine machine;
    machine.start();
    machine.tenant("team-a", 4);
    machine.stop();
    machine.store.drop_snapshot();
    machine.store.inject(wrong);
    const auto refused = recover(machine.store);
    ASSERT_FALSE(refused) << wrong.kind;
    EXPECT_EQ(refused.error().reason, "record.impossible");
    EXPECT_EQ(refused.error().code, Code::kDataLoss);
    const std::string number = "record " + std::to_string(machine.store.records().size());
    EXPECT_THAT(refused.error().message, HasSubstr(number));
  }
}

}  // namespace
}  // namespace tangram::service::testing
