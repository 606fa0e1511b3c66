// The life of jobs and tenants, from the call to the journal and the executor and back.
#include "service/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/harness.h"

namespace tangram::service::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class ServiceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    machine.start();
    machine.tenant("team-a", 2);
    machine.tenant("team-b", 2);
  }
  Machine machine;
};

// Without this, a submitted job would not run, or its end would not be told.
TEST_F(ServiceTest, RunsAJobToItsEnd) {
  const std::string job = machine.job("team-a", 2);
  ASSERT_TRUE(machine.reaches(job, JobState::kRunning));
  EXPECT_THAT(machine.view(job).npus, ElementsAre(0, 1));
  machine.world.finish({job, 1}, Outcome::kSucceeded, 0);
  const auto ended = machine.wait(job);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->state, JobState::kEnded);
  EXPECT_EQ(ended->outcome, Outcome::kSucceeded);
  EXPECT_EQ(ended->exit_status, 0);
  EXPECT_THAT(ended->npus, ElementsAre(0, 1));
}

// Without this, a crash between two steps could lose an acknowledged job or start it twice.
TEST_F(ServiceTest, JournalsEachStepBeforeItsEffect) {
  const std::string job = machine.job("team-a", 1);
  ASSERT_TRUE(machine.reaches(job, JobState::kRunning));
  machine.world.finish({job, 1}, Outcome::kSucceeded, 0);
  ASSERT_TRUE(machine.reaches(job, JobState::kEnded));
  std::vector<std::string> kinds = machine.store.kinds();
  const auto submitted = std::find(kinds.begin(), kinds.end(), "job_submitted");
  EXPECT_THAT(
      std::vector<std::string>(submitted, kinds.end()),
      ElementsAre("job_submitted", "job_started", "attempt_prepared", "attempt_running", "attempt_ended"));
}

// Without this, a job would see other devices than it was given, or none.
TEST_F(ServiceTest, GivesTheJobItsDevicesAndIdentity) {
  machine.job("team-a", 1);
  const std::string job =
      machine.job("team-b", 2, R"(,"env":{"FOO":"bar","LANG":"zh_CN.UTF-8"},"name":"infer")");
  ASSERT_TRUE(machine.reaches(job, JobState::kRunning));
  const auto process = machine.world.process({job, 1});
  ASSERT_TRUE(process);
  const LaunchSpec& spec = process->spec;
  EXPECT_THAT(spec.npus, ElementsAre(1, 2));
  EXPECT_EQ(spec.uid, 200'001U);
  EXPECT_THAT(spec.env, Contains(Pair("ASCEND_VISIBLE_DEVICES", "1,2")));
  EXPECT_THAT(spec.env, Contains(Pair("ASCEND_RT_VISIBLE_DEVICES", "0,1")));
  EXPECT_THAT(spec.env, Contains(Pair("ASCEND_DEVICE_ID", "0")));
  EXPECT_THAT(spec.env, Contains(Pair("TANGRAM_NPUS", "1,2")));
  EXPECT_THAT(spec.env, Contains(Pair("TANGRAM_JOB_ID", job)));
  EXPECT_THAT(spec.env, Contains(Pair("TANGRAM_JOB_NAME", "infer")));
  EXPECT_THAT(spec.env, Contains(Pair("FOO", "bar")));
  EXPECT_THAT(spec.env, Contains(Pair("LANG", "zh_CN.UTF-8")));
}

// Without this, a tenant could pass its quota, or wait for ever after room was made.
TEST_F(ServiceTest, WaitsWithAReasonAndStartsWhenItIsGone) {
  const std::string first = machine.job("team-a", 2);
  ASSERT_TRUE(machine.reaches(first, JobState::kRunning));
  const std::string second = machine.job("team-a", 1);
  ASSERT_TRUE(machine.reaches(second, JobState::kWaiting));
  const auto view = machine.view(second);
  ASSERT_TRUE(view.reason);
  EXPECT_EQ(view.reason->code, "quota.npus.exceeded");
  EXPECT_THAT(view.reason->message, HasSubstr("team-a"));
  const auto why = machine.service->why(kOperator, second);
  ASSERT_TRUE(why) << why.error().to_string();
  EXPECT_FALSE(why->blockers.empty());
  machine.world.finish({first, 1}, Outcome::kSucceeded, 0);
  EXPECT_TRUE(machine.reaches(second, JobState::kRunning));
}

// Without this, cancelling would leave a program running or a queued job in the queue.
TEST_F(ServiceTest, CancelsQueuedAndRunningJobs) {
  const std::string running = machine.job("team-a", 2);
  ASSERT_TRUE(machine.reaches(running, JobState::kRunning));
  const std::string queued = machine.job("team-a", 1);
  ASSERT_TRUE(machine.cancel(queued));
  EXPECT_EQ(machine.view(queued).outcome, Outcome::kCancelled);
  ASSERT_TRUE(machine.cancel(running));
  ASSERT_TRUE(machine.reaches(running, JobState::kEnded));
  EXPECT_EQ(machine.view(running).outcome, Outcome::kCancelled);
  const auto again = machine.cancel(running);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().reason, "job.ended");
}

// Without this, a program would not find the driver's libraries where jobs have no mounts of their own, as
// without root.
TEST_F(ServiceTest, NamesTheDriverWhereItIs) {
  machine.stop();
  machine.options.driver_directory = "/opt/driver";
  machine.start();
  for (const auto& [has_mounts, place] :
       {std::pair{true, ":/usr/local/Ascend/driver/lib64:"}, std::pair{false, ":/opt/driver/lib64:"}}) {
    machine.executor->private_devices = has_mounts;
    const std::string job = machine.job("team-a", 1);
    ASSERT_TRUE(machine.reaches(job, JobState::kRunning));
    EXPECT_THAT(machine.world.process({job, 1})->spec.env,
                Contains(Pair("LD_LIBRARY_PATH", HasSubstr(place))));
  }
}

// Without this, `why` would say that a job starts, or runs, which is being ended.
TEST_F(ServiceTest, WhyTellsThatACancelledJobIsBeingStopped) {
  const auto verdict = [this](const std::string& job) {
    const auto why = machine.service->why(kOperator, job);
    return why ? why->verdict : why.error().to_string();
  };
  machine.executor->hold_prepare = true;
  const std::string starting = machine.job("team-a", 1);
  ASSERT_TRUE(machine.reaches(starting, JobState::kStarting));
  EXPECT_EQ(verdict(starting), "job " + starting + " is starting");
  ASSERT_TRUE(machine.cancel(starting));
  EXPECT_EQ(verdict(starting), "job " + starting + " is being stopped: it was cancelled");
  machine.executor->hold_prepare = false;
  ASSERT_TRUE(machine.reaches(starting, JobState::kEnded));
  machine.executor->ignore_stop = true;
  const std::string running = machine.job("team-a", 1);
  ASSERT_TRUE(machine.reaches(running, JobState::kRunning));
  ASSERT_TRUE(machine.cancel(running));
  EXPECT_EQ(verdict(running), "job " + running + " is being stopped: it was cancelled");
  machine.world.finish({running, 1}, Outcome::kCancelled, 0);
}

// Without this, a job cancelled while its supervisor is being made would run all the same.
TEST_F(ServiceTest, CancelBetweenDecisionAndPrepareNeverExecutes) {
  machine.executor->hold_prepare = true;
  const std::string job = machine.job("team-a", 1);
  ASSERT_TRUE(machine.reaches(job, JobState::kStarting));
  ASSERT_TRUE(machine.cancel(job));
  machine.executor->hold_prepare = false;
  ASSERT_TRUE(machine.reaches(job, JobState::kEnded));
  EXPECT_EQ(machine.view(job).outcome, Outcome::kCancelled);
  EXPECT_EQ(machine.world.executions(job), 0);
}

// Without this, a job that cannot be started would hold its NPUs for ever.
TEST_F(ServiceTest, AFailedPrepareEndsTheJobWithTheReason) {
  machine.executor->refuse_prepare = true;
  const std::string job = machine.job("team-a", 1);
  ASSERT_TRUE(machine.reaches(job, JobState::kEnded));
  EXPECT_EQ(machine.view(job).outcome, Outcome::kNotStarted);
  EXPECT_THAT(machine.view(job).message, HasSubstr("cannot start a supervisor"));
  EXPECT_EQ(machine.service->status(kOperator).npus_free, 4);
}

// Without this, a full disk would end every job of the queue, one after the other.
TEST_F(ServiceTest, ALackOfRoomOnlyDelaysAStart) {
  machine.executor->disk_full = true;
  const std::string job = machine.job("team-a", 1);
  const std::string unwanted = machine.job("team-a", 1);
  ASSERT_TRUE(machine.reaches(job, JobState::kStarting));
  ASSERT_TRUE(machine.cancel(unwanted));
  ASSERT_TRUE(machine.reaches(unwanted, JobState::kEnded));
  EXPECT_EQ(machine.view(unwanted).outcome, Outcome::kCancelled);
  EXPECT_EQ(machine.view(job).state, JobState::kStarting);
  machine.executor->disk_full = false;
  ASSERT_TRUE(machine.reaches(job, JobState::kRunning));
  EXPECT_EQ(machine.world.executions(job), 1);
}

// Without this, a disk that stays full would fill the log with the same line, second for second.
TEST_F(ServiceTest, ADelayThatLastsIsToldOnceInAWhile) {
  machine.executor->disk_full = true;
  ::testing::internal::CaptureStderr();
  const std::string job = machine.job("team-a", 1);
  EXPECT_TRUE(machine.reaches(job, JobState::kStarting));
  std::this_thread::sleep_for(std::chrono::milliseconds(2'300));  // two more tries
  const std::string told = ::testing::internal::GetCapturedStderr();
  const auto first = told.find("not started yet: " + job);
  ASSERT_NE(first, std::string::npos) << told;
  EXPECT_EQ(told.find("not started yet", first + 1), std::string::npos) << told;
  machine.executor->disk_full = false;
  EXPECT_TRUE(machine.reaches(job, JobState::kRunning));
}

// Without this, a supervisor that was killed before it let its program start would cost the job its turn.
TEST_F(ServiceTest, AJobWhoseSupervisorIsGoneBeforeItsGoStartsAgain) {
  const std::string job = machine.job("team-a", 1);
  ASSERT_TRUE(machine.reaches(job, JobState::kRunning));
  machine.world.lose_before_go({job, 1});
  ASSERT_TRUE(eventually([&] { return machine.view(job).attempt == 2; }));
  EXPECT_TRUE(machine.reaches(job, JobState::kRunning));
}

// Without this, a job that its owner cancelled would be said to have failed to start.
TEST_F(ServiceTest, ACancelledJobWhoseSupervisorIsGoneBeforeItsGoIsCancelled) {
  const std::string job = machine.job("team-a", 1);
  ASSERT_TRUE(machine.reaches(job, JobState::kRunning));
  machine.executor->ignore_stop = true;
  ASSERT_TRUE(machine.cancel(job));
  machine.world.lose_before_go({job, 1});
  ASSERT_TRUE(machine.reaches(job, JobState::kEnded));
  EXPECT_EQ(machine.view(job).outcome, Outcome::kCancelled);
}

// Without this, a slow spawn would stop everybody's requests.
TEST_F(ServiceTest, ASlowPrepareDoesNotHoldUpTheWriter) {
  machine.executor->hold_prepare = true;
  const std::string first = machine.job("team-a", 1);
  const std::string second = machine.job("team-a", 1);
  EXPECT_TRUE(machine.reaches(second, JobState::kStarting));
  machine.executor->hold_prepare = false;
  EXPECT_TRUE(machine.reaches(first, JobState::kRunning));
  EXPECT_TRUE(machine.reaches(second, JobState::kRunning));
}

// Without this, a job would fail for good although its owner asked for another try.
TEST_F(ServiceTest, RestartsAsOftenAsAsked) {
  const std::string job = machine.job("team-a", 1, R"(,"restart":"on-failure:1")");
  ASSERT_TRUE(machine.reaches(job, JobState::kRunning));
  machine.world.finish({job, 1}, Outcome::kFailed, 3);
  ASSERT_TRUE(eventually([&] { return machine.world.process({job, 2}).has_value(); }));
  ASSERT_TRUE(machine.reaches(job, JobState::kRunning));
  machine.world.finish({job, 2}, Outcome::kFailed, 4);
  ASSERT_TRUE(machine.reaches(job, JobState::kEnded));
  EXPECT_EQ(machine.view(job).exit_status, 4);
  EXPECT_EQ(machine.view(job).attempt, 2);
}

// Without this, a client that lost the answer and asks again would get two jobs.
TEST_F(ServiceTest, ARepeatWithTheSameKeyGetsTheFirstAnswer) {
  const std::string body = R"({"tenant":"team-a","npus":1,"command":["/bin/true"]})";
  const Answer first = machine.submit(body, "key-1");
  const Answer second = machine.submit(body, "key-1");
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(first.body, second.body);
  EXPECT_EQ(machine.store.count("job_submitted"), 1U);
  const Answer other = machine.submit(R"({"tenant":"team-a","npus":2,"command":["/bin/true"]})", "key-1");
  EXPECT_EQ(other.status, 409);
  EXPECT_THAT(other.body, HasSubstr("idempotency.mismatch"));
}

// Without this, a repeat after a restart of the daemon would make a second job.
TEST_F(ServiceTest, RemembersKeysAcrossARestart) {
  const std::string body = R"({"tenant":"team-a","npus":1,"command":["/bin/true"]})";
  const Answer first = machine.submit(body, "key-1");
  machine.stop();
  ASSERT_TRUE(machine.store.has_snapshot());
  machine.start();
  EXPECT_EQ(machine.submit(body, "key-1").body, first.body);
  EXPECT_EQ(machine.store.count("job_submitted"), 1U);
}

// Without this, one wrong job of a batch would take the others with it, or answers would be out of order.
TEST_F(ServiceTest, ABatchAnswersPerItem) {
  const Answer answer = machine.submit(R"({"items":[
      {"tenant":"team-a","npus":1,"command":["/bin/true"]},
      {"tenant":"nobody","npus":1,"command":["/bin/true"]},
      {"tenant":"team-b","npus":99,"command":["/bin/true"]},
      {"tenant":"team-b","npus":1,"command":["/bin/true"]}]})");
  EXPECT_EQ(answer.status, 200);
  const auto items = wire::read_submit_answer(answer.body);
  ASSERT_TRUE(items) << answer.body;
  ASSERT_EQ(items->items.size(), 4U);
  EXPECT_TRUE(items->items[0]);
  EXPECT_FALSE(items->items[1]);
  EXPECT_FALSE(items->items[2]);
  EXPECT_TRUE(items->items[3]);
}

// Without this, --no-wait would wait, or leave a job behind that starts later.
TEST_F(ServiceTest, NoWaitIsRefusedInsteadOfWaiting) {
  const std::string first = machine.job("team-a", 2);
  const Answer answer =
      machine.submit(R"({"tenant":"team-a","npus":1,"noWait":true,"command":["/bin/true"]})");
  EXPECT_GE(answer.status, 400);
  EXPECT_THAT(answer.body, HasSubstr("quota.npus.exceeded"));
  EXPECT_EQ(machine.view("j-2").outcome, Outcome::kRefused);
  ASSERT_TRUE(machine.reaches(first, JobState::kRunning));
  machine.world.finish({first, 1}, Outcome::kSucceeded, 0);
  ASSERT_TRUE(machine.reaches(first, JobState::kEnded));
  EXPECT_EQ(machine.world.executions("j-2"), 0);
}

// Without this, two unfinished jobs could answer to one name.
TEST_F(ServiceTest, NamesAreUniqueAmongUnfinishedJobs) {
  const std::string job = machine.job("team-a", 1, R"(,"name":"train")");
  const Answer again =
      machine.submit(R"({"tenant":"team-a","npus":1,"name":"train","command":["/bin/true"]})");
  EXPECT_EQ(again.status, 409);
  EXPECT_THAT(again.body, HasSubstr("job.name_in_use"));
  machine.job("team-b", 1, R"(,"name":"train")");
  ASSERT_TRUE(machine.reaches(job, JobState::kRunning));
  machine.world.finish({job, 1}, Outcome::kSucceeded, 0);
  ASSERT_TRUE(machine.reaches(job, JobState::kEnded));
  const std::string next = machine.job("team-a", 1, R"(,"name":"train")");
  EXPECT_EQ(machine.service->job(kOperator, "team-a/train")->id, next);
  EXPECT_EQ(machine.service->job(kOperator, "train").error().reason, "job.ambiguous");
  // Unfinished ones come first, also where others of that name have ended.
  ASSERT_TRUE(machine.reaches(next, JobState::kRunning));
  ASSERT_TRUE(machine.cancel("team-b/train"));
  ASSERT_TRUE(eventually([&] {
    const auto left = machine.service->job(kOperator, "train");
    return left && left->id == next;
  }));
  machine.world.finish({next, 1}, Outcome::kSucceeded, 0);
  ASSERT_TRUE(machine.reaches(next, JobState::kEnded));
  EXPECT_EQ(machine.service->job(kOperator, "train").error().reason, "job.ambiguous") << "two have ended";
  EXPECT_EQ(machine.service->job(kOperator, "training").error().reason, "job.unknown");
}

// Without this, half of a faulty file would count.
TEST_F(ServiceTest, ApplyIsAllOrNothing) {
  const auto failed = machine.apply(
      "apiVersion: tangram.dev/v1\nkind: Tenant\nmetadata: {name: team-c}\nspec: {}\n---\n"
      "apiVersion: tangram.dev/v1\nkind: Tenant\nmetadata: {name: team-d}\nspec: {parent: nobody}\n");
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, HasSubstr("document 2"));
  EXPECT_FALSE(machine.service->tenant(kOperator, "team-c"));
  const auto twice = machine.apply(
      "apiVersion: tangram.dev/v1\nkind: Tenant\nmetadata: {name: team-c}\nspec: {}\n---\n"
      "apiVersion: tangram.dev/v1\nkind: Tenant\nmetadata: {name: team-d}\nspec: {parent: team-c}\n");
  ASSERT_TRUE(twice) << twice.error().to_string();
  EXPECT_EQ(twice->items[1].result, "created");
}

// Without this, applying the same file again would change something.
TEST_F(ServiceTest, ApplyingTwiceChangesNothing) {
  const std::string text =
      "apiVersion: tangram.dev/v1\nkind: Tenant\nmetadata: {name: team-a}\nspec: {quota: {npus: 2}}\n";
  const std::size_t before = machine.store.count("tenant_put");
  const auto answer = machine.apply(text);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->items[0].result, "unchanged");
  EXPECT_EQ(machine.store.count("tenant_put"), before);
}

// Without this, two tenants could share a uid and read each other's files.
TEST_F(ServiceTest, AUidBelongsToOneTenant) {
  machine.tenant("team-c", 1, ", uid: 1500, members: [1501]");
  for (const char* const uid : {"1500", "1501", "200000", "0"}) {
    const auto answer =
        machine.apply("apiVersion: tangram.dev/v1\nkind: Tenant\nmetadata: {name: team-d}\nspec: {uid: " +
                      std::string(uid) + "}\n");
    EXPECT_FALSE(answer) << uid;
  }
  EXPECT_EQ(machine.service->identify(1500)->tenant, machine.service->identify(1501)->tenant);
  EXPECT_EQ(machine.service->identify(200'000)->kind, Caller::Kind::kTenant);
  EXPECT_TRUE(machine.service->identify(0)->is_operator());
  EXPECT_FALSE(machine.service->identify(4711));
}

// Without this, the uid of a deleted tenant, whose files may be there still, would go to the next one.
TEST_F(ServiceTest, AUidIsNotGivenAgainSoon) {
  ASSERT_TRUE(
      machine.call<void>([&](auto done) { machine.service->delete_tenant(kOperator, "team-b", done); }));
  machine.tenant("team-c", 1);
  EXPECT_FALSE(machine.service->identify(200'001));
  EXPECT_TRUE(machine.service->identify(200'002));
}

// Without this, a tenant with jobs could vanish under them.
TEST_F(ServiceTest, ATenantWithJobsIsNotDeleted) {
  machine.job("team-a", 1);
  const auto refused =
      machine.call<void>([&](auto done) { machine.service->delete_tenant(kOperator, "team-a", done); });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "tenant.busy");
}

// Without this, somebody whose job waits for ill NPUs would be told how many, and have to look for which.
TEST_F(ServiceTest, NamesUnhealthyNpusToWhoeverAsks) {
  machine.tenant("wide", 4);
  machine.devices.set_health(0, Health::kWarning);
  machine.devices.set_health(2, Health::kCritical);
  ASSERT_TRUE(eventually([&] { return machine.service->status(kOperator).npus_free == 2; }));
  const std::string job = machine.job("wide", 3);
  ASSERT_TRUE(machine.reaches(job, JobState::kWaiting));
  EXPECT_THAT(machine.view(job).reason->message, HasSubstr("2 are not healthy (NPU 0, NPU 2)"));
  for (const Caller& caller : {kOperator, *machine.service->identify(200'002)}) {
    const auto why = machine.service->why(caller, job);
    ASSERT_TRUE(why) << why.error().to_string();
    ASSERT_FALSE(why->blockers.empty());
    EXPECT_THAT(why->blockers[0].message, HasSubstr("2 are not healthy (NPU 0, NPU 2)"));
  }
}

// Without this, the queue would tell a tenant what another one calls the job that NPUs are kept for.
TEST_F(ServiceTest, ReasonsDoNotNameJobsOfOthers) {
  machine.stop();
  machine.options.keep_after_ms = 0;
  machine.start();
  machine.tenant("wide", 4);
  const std::string holder = machine.job("team-a", 1);
  ASSERT_TRUE(machine.reaches(holder, JobState::kRunning));
  const std::string keeper = machine.job("wide", 4, R"(,"name":"secret-plan")");
  ASSERT_TRUE(machine.reaches(keeper, JobState::kWaiting));
  const std::string kept_out = machine.job("team-b", 1);
  ASSERT_TRUE(machine.reaches(kept_out, JobState::kWaiting));
  const auto reason = machine.view(kept_out).reason;
  ASSERT_TRUE(reason);
  EXPECT_EQ(reason->code, "capacity.npus.kept");
  EXPECT_THAT(reason->message, ::testing::AllOf(HasSubstr(keeper), ::testing::Not(HasSubstr("secret-plan"))));
  const Answer refused = machine.submit(R"({"tenant":"team-b","noWait":true,"command":["/bin/true"]})");
  EXPECT_THAT(refused.body, ::testing::AllOf(HasSubstr(keeper), ::testing::Not(HasSubstr("secret-plan"))));
}

// Without this, a tenant could see or stop the jobs of others.
TEST_F(ServiceTest, ATenantReachesOnlyItsOwn) {
  const std::string mine = machine.job("team-a", 1);
  const std::string foreign = machine.job("team-b", 1, R"(,"name":"secret")");
  const Caller caller = *machine.service->identify(200'000);
  EXPECT_TRUE(machine.service->job(caller, mine));
  for (const auto& reference :
       {foreign, std::string("team-b/secret"), std::string("secret"), std::string("j-99")}) {
    EXPECT_EQ(machine.service->job(caller, reference).error().reason, "job.unknown") << reference;
    EXPECT_EQ(machine.cancel(reference, caller).error().reason, "job.unknown") << reference;
    EXPECT_EQ(machine.service->why(caller, reference).error().reason, "job.unknown") << reference;
    EXPECT_EQ(machine.service->log(caller, reference, std::nullopt).error().reason, "job.unknown")
        << reference;
  }
  EXPECT_EQ(machine.service->tenant(caller, "team-b").error().reason, "tenant.unknown");
  EXPECT_EQ(machine.service->tenants(caller)->items.size(), 1U);
  EXPECT_EQ(machine.service->jobs(caller, {})->items.size(), 1U);
  const auto status = machine.service->status(caller);
  EXPECT_EQ(status.npus[0].tenant, "team-a");
  EXPECT_EQ(status.npus[1].tenant, "");
  EXPECT_EQ(machine.submit(R"({"tenant":"team-b","npus":1,"command":["/bin/true"]})", "", caller).status,
            403);
  EXPECT_EQ(machine.apply("apiVersion: tangram.dev/v1\nkind: Tenant\nmetadata: {name: x}\nspec: {}\n", caller)
                .error()
                .reason,
            "caller.not_operator");
}

// Without this, the defaults of docs/api.md would be others.
TEST_F(ServiceTest, FillsInDocumentedDefaults) {
  const auto done = machine.apply(
      "apiVersion: tangram.dev/v1\nkind: Tenant\nmetadata: {name: team-c}\nspec:\n"
      "  quota: {memoryPerNpu: 16GiB, runTime: 2h}\n  jobDefaults: {cpus: 2, memory: 1GiB}\n");
  ASSERT_TRUE(done) << done.error().to_string();
  const auto small = machine.view(machine.job("team-c", 1));
  EXPECT_EQ(small.memory_per_npu, Bytes::gib(16));
  EXPECT_EQ(small.time_limit_ms, 7'200'000);
  ASSERT_TRUE(machine.reaches(small.id, JobState::kRunning));
  const auto process = machine.world.process({small.id, 1});
  EXPECT_EQ(process->spec.limits.cpu_milli, 2'000);
  EXPECT_EQ(process->spec.limits.memory, Bytes::gib(1));
  EXPECT_EQ(process->spec.limits.processes, machine.options.host_defaults.processes);
  EXPECT_EQ(machine.view(machine.job("team-a", 1)).memory_per_npu, Bytes::gib(32));
  EXPECT_EQ(
      machine.submit(R"({"tenant":"team-c","npus":1,"command":["/x"],"host":{"memory":"2GiB"}})").status,
      422);
}

// Without this, a slice where nothing can be cut would be given as a whole NPU, or wait for ever, or be
// refused without a word of what is missing.
TEST_F(ServiceTest, ASliceIsRefusedWhereNothingCanBeCut) {
  const std::size_t before = machine.store.records().size();
  for (const char* slice : {R"({"memory":"4GiB"})", R"({"aiCores":2})", R"({"memory":"4GiB","aiCores":2})"}) {
    const Answer refused =
        machine.submit(std::string(R"({"tenant":"team-a","command":["/bin/true"],"slice":)") + slice + "}");
    EXPECT_EQ(refused.status, 422) << slice;
    EXPECT_THAT(refused.body, HasSubstr("\"request.slice.unsupported\""));
    EXPECT_THAT(refused.body, HasSubstr("no NPU here can be cut into slices"));
    EXPECT_THAT(refused.body, HasSubstr("ask for whole NPUs (--npus)"));
  }
  EXPECT_EQ(machine.store.records().size(), before);
}

// Without this, the queue could grow without end.
TEST(ServiceBounds, RefusesJobsAboveTheQueuesLength) {
  Machine machine;
  machine.options.jobs_max = 3;
  machine.options.jobs_per_tenant_max = 2;
  machine.start();
  machine.tenant("team-a", 1);
  machine.tenant("team-b", 1);
  const std::string body = R"({"tenant":"team-a","npus":1,"command":["/bin/true"]})";
  machine.submit(body);
  machine.submit(body);
  const Answer full = machine.submit(body);
  EXPECT_EQ(full.status, 429);
  EXPECT_THAT(full.body, HasSubstr("queue.tenant_full"));
  machine.submit(R"({"tenant":"team-b","npus":1,"command":["/bin/true"]})");
  EXPECT_THAT(machine.submit(R"({"tenant":"team-b","npus":1,"command":["/bin/true"]})").body,
              HasSubstr("queue.full"));
}

// Without it one tenant could fill the daemon's memory with long environments, within its number of jobs.
TEST(ServiceBounds, RefusesBytesAboveWhatATenantMayHave) {
  Machine machine;
  machine.options.bytes_per_tenant_max = 64 << 10;
  machine.options.sweep_interval_ms = 3'600'000;
  machine.start();
  machine.tenant("team-a", 1);
  machine.tenant("team-b", 1);
  const std::string env = R"("env":{"X":")" + std::string(18'000, 'x') + "\"}";
  const std::string body = R"({"tenant":"team-a","npus":1,"command":["/bin/true"],)" + env + "}";
  for (int i = 0; i < 3; ++i) ASSERT_EQ(machine.submit(body).status, 201) << i;
  const Answer full = machine.submit(body);
  EXPECT_EQ(full.status, 429);
  EXPECT_THAT(full.body, HasSubstr("queue.tenant_bytes"));
  EXPECT_THAT(full.body, HasSubstr("limits.bytesPerTenant"));
  EXPECT_THAT(full.body, HasSubstr("tenant team-a"));
  EXPECT_THAT(full.body, HasSubstr("64KiB"));
  EXPECT_EQ(machine.submit(R"({"tenant":"team-b","npus":1,"command":["/bin/true"],)" + env + "}").status,
            201);
  // An ended job makes room; those in a snapshot count as before.
  ASSERT_TRUE(machine.cancel("j-3"));
  EXPECT_TRUE(eventually([&] { return machine.submit(body).status == 201; }));
  EXPECT_EQ(machine.submit(body).status, 429);
  machine.stop();
  machine.start();
  EXPECT_EQ(machine.submit(body).status, 429);
  EXPECT_EQ(machine.submit(R"({"tenant":"team-a","npus":1,"command":["/bin/true"]})").status, 201)
      << "a small one has room";
}

// Without it a tenant whose ended jobs take all of its bytes would be shut out until they are a week old.
TEST(ServiceRetention, EndedJobsMakeRoomForNewOnes) {
  Machine machine;
  machine.options.bytes_per_tenant_max = 64 << 10;
  machine.options.sweep_interval_ms = 3'600'000;
  machine.start();
  machine.tenant("team-a", 1);
  const std::string body = R"({"tenant":"team-a","npus":1,"command":["/bin/true"],"env":{"X":")" +
                           std::string(20'000, 'x') + "\"}}";
  for (int i = 1; i <= 10; ++i) {
    ASSERT_TRUE(eventually([&] { return machine.submit(body).status == 201; })) << i;
    ASSERT_TRUE(machine.cancel("j-" + std::to_string(i)));
  }
  EXPECT_GE(machine.store.count("job_forgotten"), 7U);
  EXPECT_TRUE(machine.service->job(kOperator, "j-10")) << "the newest is kept";
}

// Without this, ended jobs and their files would fill the disk.
TEST(ServiceRetention, ForgetsEndedJobsAfterTheirTime) {
  Machine machine;
  machine.options.ended_keep_ms = 1'000;
  machine.start();
  machine.tenant("team-a", 1);
  const std::string job = machine.job("team-a", 1);
  ASSERT_TRUE(machine.reaches(job, JobState::kRunning));
  machine.world.finish({job, 1}, Outcome::kSucceeded, 0);
  ASSERT_TRUE(machine.reaches(job, JobState::kEnded));
  machine.clock.advance(2'000);
  ASSERT_TRUE(eventually([&] { return !machine.service->job(kOperator, job).has_value(); }));
  EXPECT_TRUE(machine.world.process({job, 1})->removed);
  EXPECT_EQ(machine.store.count("job_forgotten"), 1U);
}

// Without this, refused jobs of one tenant could fill the daemon's memory, faster than they are swept.
TEST(ServiceRetention, KeepsNoMoreEndedJobsThanConfigured) {
  Machine machine;
  machine.options.ended_max = 10;
  machine.options.sweep_interval_ms = 3'600'000;
  machine.start();
  machine.tenant("team-a", 4);
  machine.tenant("team-b", 4);
  machine.job("team-a", 4);
  std::string batch;
  for (int i = 0; i < 1'000; ++i) {
    batch +=
        std::string(i == 0 ? "" : ",") + R"({"tenant":"team-b","npus":1,"noWait":true,"command":["/x"]})";
  }
  for (int i = 0; i < 12; ++i) ASSERT_EQ(machine.submit(R"({"items":[)" + batch + "]}").status, 200);
  EXPECT_TRUE(eventually([&] { return machine.store.count("job_forgotten") > 4'000; }));
}

// Without this, a waiting client would hear of the end late or never, or wait for a job that ended before.
TEST_F(ServiceTest, AWaitEndsWithTheJobOrWithItsTime) {
  const std::string job = machine.job("team-a", 1);
  ASSERT_TRUE(machine.reaches(job, JobState::kRunning));
  EXPECT_EQ(machine.wait(job, std::chrono::milliseconds(20))->state, JobState::kRunning);
  std::promise<Result<wire::JobView>> answer;
  auto future = answer.get_future();
  machine.service->wait(kOperator, job, kPatience,
                        [&](Result<wire::JobView> v) { answer.set_value(std::move(v)); });
  EXPECT_EQ(future.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  machine.world.finish({job, 1}, Outcome::kSucceeded, 0);
  ASSERT_EQ(future.wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(future.get()->state, JobState::kEnded);
  EXPECT_EQ(machine.wait(job)->state, JobState::kEnded);
}

// Without this, a listing would miss jobs or repeat them from page to page.
TEST_F(ServiceTest, ListsByPageAndFilter) {
  for (int i = 0; i < 5; ++i) machine.job("team-a", 1, i % 2 == 0 ? R"(,"labels":{"run":"x"})" : "");
  machine.job("team-b", 1);
  JobQuery query;
  query.limit = 4;
  const auto first = machine.service->jobs(kOperator, query);
  ASSERT_TRUE(first);
  ASSERT_EQ(first->items.size(), 4U);
  query.after = first->next;
  const auto second = machine.service->jobs(kOperator, query);
  ASSERT_EQ(second->items.size(), 2U);
  EXPECT_EQ(second->next, "");
  std::set<std::string> ids;
  for (const auto& list : {*first, *second}) {
    for (const auto& item : list.items) ids.insert(item.id);
  }
  EXPECT_EQ(ids.size(), 6U);
  JobQuery labelled;
  labelled.labels = {{"run", "x"}};
  EXPECT_EQ(machine.service->jobs(kOperator, labelled)->items.size(), 3U);
  JobQuery tenant;
  tenant.tenant = "team-b";
  EXPECT_EQ(machine.service->jobs(kOperator, tenant)->items.size(), 1U);
}

}  // namespace
}  // namespace tangram::service::testing
