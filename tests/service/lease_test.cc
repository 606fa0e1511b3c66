// Leases: who holds one, who loses it and when, and what a restart does to it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "service/harness.h"

namespace tangram::service::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const LeaseHolder kLocal{nullptr, true};
const LeaseHolder kRemote{nullptr, false};

class LeaseTest : public ::testing::Test {
 protected:
  void SetUp() override {
    machine.options.grace_ms = 300;
    machine.options.lease_grace_ms = 300;
    machine.start();
    machine.tenant("team-a", 2);
    machine.tenant("team-b", 2);
  }
  // A lease that must be given.
  HeldLease taken(const std::string& tenant, int npus, const std::string& more = "",
                  const LeaseHolder& holder = kLocal) {
    const auto lease = machine.lease(tenant, npus, more, holder);
    EXPECT_TRUE(lease) << lease.error().to_string();
    return lease ? *lease : HeldLease{};
  }
  static std::string id(const HeldLease& lease) { return wire::format_job_id(lease.job); }
  wire::JobView ended(const HeldLease& lease) {
    EXPECT_TRUE(machine.reaches(id(lease), JobState::kEnded));
    return machine.view(id(lease));
  }
  Machine machine;
};

// Without this, a caller could not get NPUs without a program, or would get them outside of its quota.
TEST_F(LeaseTest, IsGivenWithinTheQuotaAndShownLikeAJob) {
  const HeldLease lease = taken("team-a", 2, R"(,"name":"notebook","labels":{"who":"me"})");
  const auto view = machine.view(id(lease));
  EXPECT_EQ(view.kind, wire::JobKind::kLease);
  EXPECT_EQ(view.state, JobState::kRunning);
  EXPECT_THAT(view.npus, ElementsAre(0, 1));
  EXPECT_EQ(view.name, "notebook");
  EXPECT_TRUE(view.command.empty());
  EXPECT_EQ(machine.service->tenant(kOperator, "team-a")->used.npus, 2);
  EXPECT_EQ(machine.service->status(kOperator).npus[0].job_name, "notebook");
  EXPECT_TRUE(machine.world.keys().empty()) << "nothing is executed for a lease";

  const auto more = machine.lease("team-a", 3);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().reason, "quota.npus.above_limit");
}

// Without this, a granted lease could be lost by a crash, or its token be read from the disk.
TEST_F(LeaseTest, IsOnRecordBeforeItIsAcknowledgedWithoutItsToken) {
  const HeldLease lease = taken("team-a", 1);
  ASSERT_GT(lease.token.size(), 64U);
  bool seen = false;
  for (const StoredRecord& record : machine.store.records()) {
    EXPECT_EQ(record.body.find(lease.token), std::string::npos) << record.kind;
    if (record.kind == "job_submitted") seen = record.body.find(R"("kind":"lease")") != std::string::npos;
  }
  EXPECT_TRUE(seen);
  std::vector<std::string> kinds = machine.store.kinds();
  const auto submitted = std::find(kinds.begin(), kinds.end(), "job_submitted");
  EXPECT_THAT(std::vector<std::string>(submitted, kinds.end()),
              ElementsAre("job_submitted", "job_started", "attempt_running"));
}

// Without this, a lease would pass those who wait, or could not be asked why it waits.
TEST_F(LeaseTest, WaitsInTheQueueWithAReasonAndItsHolderIsToldWhenItIsGiven) {
  const std::string job = machine.job("team-a", 2);
  ASSERT_TRUE(machine.reaches(job, JobState::kRunning));
  std::atomic<int> told = 0;
  const HeldLease lease = taken("team-a", 1, "", {[&told] { ++told; }, true});
  const auto waiting = machine.service->lease_view(lease);
  ASSERT_TRUE(waiting);
  EXPECT_EQ(waiting->job.state, JobState::kWaiting);
  ASSERT_TRUE(waiting->job.reason);
  EXPECT_EQ(waiting->job.reason->code, "quota.npus.exceeded");
  EXPECT_FALSE(machine.service->why(kOperator, id(lease))->blockers.empty());
  const int before = told;
  machine.world.finish({job, 1}, Outcome::kSucceeded, 0);
  ASSERT_TRUE(machine.reaches(id(lease), JobState::kRunning));
  EXPECT_TRUE(eventually([&] { return told > before; }));
  EXPECT_EQ(machine.service->lease_view(lease)->job.npus.size(), 1U);
}

// Without this, a caller that does not want to wait would be made to, or would hold what it was refused.
TEST_F(LeaseTest, NoWaitIsRefusedWithTheReason) {
  taken("team-a", 2);
  const auto refused = machine.lease("team-a", 1, R"(,"noWait":true)");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "quota.npus.exceeded");
  EXPECT_EQ(refused.error().code, Code::kNotNow);
  EXPECT_TRUE(machine.lease("team-b", 1, R"(,"noWait":true)"));
}

// Without this, a released lease would keep its NPUs, or its end would read like an accident.
TEST_F(LeaseTest, ReleaseGivesBackExactlyItsNpus) {
  const HeldLease first = taken("team-a", 1);
  const HeldLease second = taken("team-a", 1);
  const auto released = machine.release(first, first.token);
  ASSERT_TRUE(released) << released.error().to_string();
  EXPECT_EQ(released->outcome, Outcome::kSucceeded);
  EXPECT_THAT(released->message, HasSubstr("released by its holder"));
  EXPECT_EQ(machine.view(id(second)).state, JobState::kRunning);
  EXPECT_THAT(machine.view(id(second)).npus, ElementsAre(1));
  EXPECT_EQ(machine.service->status(kOperator).npus_free, 3);
  const auto again = machine.release(first, first.token);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().reason, "job.ended");
}

// Without this, whoever knows the id of a lease could take it from its holder.
TEST_F(LeaseTest, OnlyTheTokenReleasesOrTakesUp) {
  const HeldLease lease = taken("team-a", 1);
  const HeldLease other = taken("team-a", 1);
  for (const std::string& token : {std::string(), std::string("tgl_"), other.token}) {
    const auto released = machine.release(lease, token);
    ASSERT_FALSE(released);
    EXPECT_EQ(released.error().reason, "lease.token.wrong");
    const auto held = machine.service->hold(kOperator, id(lease), token, kLocal);
    ASSERT_FALSE(held);
    EXPECT_EQ(held.error().reason, "lease.token.wrong");
  }
  const std::string job = machine.job("team-b", 1);
  const auto no_lease = machine.service->hold(kOperator, job, lease.token, kLocal);
  ASSERT_FALSE(no_lease);
  EXPECT_EQ(no_lease.error().reason, "lease.no_lease");
  const auto stranger = machine.service->identify(200'001);
  ASSERT_TRUE(stranger);
  const auto foreign = machine.service->hold(*stranger, id(lease), lease.token, kLocal);
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().reason, "job.unknown");
  EXPECT_EQ(machine.view(id(lease)).state, JobState::kRunning);
}

// Without this, NPUs of a caller that died would stay taken.
TEST_F(LeaseTest, TheEndOfALocalConnectionEndsTheLease) {
  const HeldLease lease = taken("team-a", 2);
  const HeldLease waiting = taken("team-a", 1);
  machine.service->let_go(lease);
  const auto view = ended(lease);
  EXPECT_EQ(view.outcome, Outcome::kLost);
  EXPECT_THAT(view.message, HasSubstr("its holder went away"));
  EXPECT_TRUE(machine.reaches(id(waiting), JobState::kRunning)) << "the next one gets the NPUs";
}

// Without this, a caller that died in the queue would be given NPUs that nobody uses.
TEST_F(LeaseTest, AHolderThatDiesWhileItWaitsLeavesTheQueue) {
  taken("team-a", 2);
  const HeldLease waiting = taken("team-a", 1);
  machine.service->let_go(waiting);
  const auto view = ended(waiting);
  EXPECT_EQ(view.outcome, Outcome::kCancelled);
  EXPECT_THAT(view.message, HasSubstr("its holder went away"));
}

// Without this, a hiccup of the network would take a lease from a holder that is well, and one that is not
// would keep it.
TEST_F(LeaseTest, ABrokenNetworkConnectionLeavesAGrace) {
  const HeldLease first = taken("team-a", 1, "", kRemote);
  const HeldLease second = taken("team-b", 1, "", kRemote);
  machine.service->let_go(first);
  machine.service->let_go(second);
  const auto again = machine.service->hold(kOperator, id(first), first.token, kRemote);
  ASSERT_TRUE(again) << again.error().to_string();
  const auto view = ended(second);
  EXPECT_EQ(view.outcome, Outcome::kLost);
  EXPECT_THAT(view.message, HasSubstr("300ms"));
  EXPECT_EQ(machine.view(id(first)).state, JobState::kRunning);
}

// Without this, the late end of a connection that was given up would end the lease of its successor.
TEST_F(LeaseTest, ANewConnectionTakesThePlaceOfTheOld) {
  std::atomic<int> told = 0;
  const HeldLease old = taken("team-a", 1, "", {[&told] { ++told; }, true});
  const auto successor = machine.service->hold(kOperator, id(old), old.token, kLocal);
  ASSERT_TRUE(successor);
  EXPECT_TRUE(eventually([&] { return told > 0; }));
  EXPECT_FALSE(machine.service->lease_view(old)) << "the old connection holds nothing";
  machine.service->let_go(old);
  EXPECT_TRUE(machine.service->lease_view(*successor));
  EXPECT_EQ(machine.view(id(old)).state, JobState::kRunning);
  machine.service->let_go(*successor);
  EXPECT_EQ(ended(old).outcome, Outcome::kLost);
}

// Without this, a restart of the daemon would take every lease from its holder, or leave those of dead ones.
TEST_F(LeaseTest, AfterARestartOnlyThoseTakenUpAgainLiveOn) {
  for (const bool clean : {true, false}) {
    const HeldLease kept = taken("team-a", 1);
    const HeldLease orphan = taken("team-b", 1);
    const HeldLease queued = taken("team-b", 2);
    if (clean) {
      machine.service->keep_leases();
      for (const HeldLease* lease : {&kept, &orphan, &queued}) machine.service->let_go(*lease);
      machine.stop();
    } else {
      machine.crash();
    }
    machine.start();
    EXPECT_EQ(machine.view(id(orphan)).state, JobState::kRunning);
    EXPECT_EQ(machine.view(id(queued)).state, JobState::kWaiting);
    const auto again = machine.service->hold(kOperator, id(kept), kept.token, kLocal);
    ASSERT_TRUE(again) << again.error().to_string();
    EXPECT_EQ(ended(orphan).outcome, Outcome::kLost);
    EXPECT_THAT(machine.view(id(orphan)).message, HasSubstr("take it up again"));
    EXPECT_TRUE(machine.reaches(id(queued), JobState::kEnded));
    EXPECT_EQ(machine.view(id(kept)).state, JobState::kRunning);
    EXPECT_TRUE(machine.world.keys().empty());
    ASSERT_TRUE(machine.release(*again, kept.token));
    EXPECT_EQ(machine.service->status(kOperator).npus_free, 4);
  }
}

// Without this, a slow driver would take every lease at a restart: the grace would be over before anybody is
// answered.
TEST_F(LeaseTest, TheGraceBeginsWhenTheServiceDoes) {
  const HeldLease lease = taken("team-a", 1);
  machine.crash();
  machine.devices.set_scan_time(std::chrono::milliseconds(3 * machine.options.lease_grace_ms));
  machine.start();
  machine.devices.set_scan_time(std::chrono::milliseconds(0));
  const auto again = machine.service->hold(kOperator, id(lease), lease.token, kLocal);
  ASSERT_TRUE(again) << again.error().to_string();
  EXPECT_EQ(machine.view(id(lease)).state, JobState::kRunning);
}

// Without this, a snapshot would forget that a lease is one, or who may take it up again.
TEST_F(LeaseTest, SurvivesInASnapshotAlone) {
  const HeldLease lease = taken("team-a", 1);
  machine.service->keep_leases();
  machine.stop();
  ASSERT_TRUE(machine.store.has_snapshot());
  machine.start();
  EXPECT_EQ(machine.view(id(lease)).kind, wire::JobKind::kLease);
  EXPECT_TRUE(machine.service->hold(kOperator, id(lease), lease.token, kLocal));
}

// Without this, the operator could not take NPUs back, or would take them from under a running program.
TEST_F(LeaseTest, CancellingAsksTheHolderFirst) {
  std::atomic<int> told = 0;
  const HeldLease polite = taken("team-a", 1, "", {[&told] { ++told; }, true});
  const HeldLease stubborn = taken("team-b", 1);
  ASSERT_TRUE(machine.cancel(id(polite)));
  ASSERT_TRUE(machine.cancel(id(stubborn)));
  ASSERT_TRUE(eventually([&] { return told > 0 && machine.service->lease_view(polite)->stopping; }));
  const auto view = machine.service->lease_view(polite);
  EXPECT_EQ(view->stopping, Outcome::kCancelled);
  EXPECT_TRUE(view->release_by);
  EXPECT_EQ(view->job.state, JobState::kRunning);
  const auto released = machine.release(polite, polite.token);
  ASSERT_TRUE(released);
  EXPECT_EQ(released->outcome, Outcome::kCancelled);
  EXPECT_EQ(ended(stubborn).outcome, Outcome::kCancelled);
  EXPECT_EQ(machine.service->status(kOperator).npus_free, 4);
}

// Without this, a cancellation that the daemon did not live to carry out would be forgotten.
TEST_F(LeaseTest, ACancellationOutlivesARestart) {
  machine.stop();
  machine.options.grace_ms = 60'000;
  machine.start();
  const HeldLease lease = taken("team-a", 1);
  ASSERT_TRUE(machine.cancel(id(lease)));
  machine.service->keep_leases();
  machine.crash();
  machine.options.grace_ms = 1;
  machine.start();
  ASSERT_TRUE(machine.service->hold(kOperator, id(lease), lease.token, kLocal) ||
              machine.view(id(lease)).state == JobState::kEnded);
  EXPECT_EQ(ended(lease).outcome, Outcome::kCancelled);
}

// Without this, a lease would have no end, or a restart would give it its whole time anew.
TEST_F(LeaseTest, ItsTimeLimitEndsIt) {
  const HeldLease lease = taken("team-a", 1, R"(,"timeLimit":"200ms")");
  ASSERT_TRUE(eventually([&] {
    const auto view = machine.service->lease_view(lease);
    return view && view->stopping == Outcome::kTimedOut;
  }));
  const auto view = ended(lease);
  EXPECT_EQ(view.outcome, Outcome::kTimedOut);
  EXPECT_THAT(view.message, HasSubstr("200ms"));

  const HeldLease longer = taken("team-a", 1, R"(,"timeLimit":"1h")");
  machine.service->keep_leases();
  machine.stop();
  machine.clock.advance(3'600'000);
  machine.start();
  ASSERT_TRUE(machine.service->hold(kOperator, id(longer), longer.token, kLocal));
  EXPECT_EQ(ended(longer).outcome, Outcome::kTimedOut);
}

// Without this, a holder would go on with an NPU that is gone.
TEST_F(LeaseTest, ALostNpuEndsIt) {
  const HeldLease lease = taken("team-a", 1);
  machine.devices.set_health(0, Health::kCritical);
  const auto view = ended(lease);
  EXPECT_EQ(view.outcome, Outcome::kDeviceLost);
  EXPECT_THAT(view.message, HasSubstr("NPU 0"));
}

// Without this, a client would wait for the output of a lease for ever.
TEST_F(LeaseTest, HasNoLog) {
  const HeldLease lease = taken("team-a", 1);
  const auto log = machine.service->log(kOperator, id(lease), std::nullopt);
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().reason, "job.no_log");
}

// Without this, a full disk would end a lease that could not be written, or acknowledge one that is not
// there.
TEST_F(LeaseTest, AFullDiskGivesNothingAndTakesNothing) {
  const HeldLease lease = taken("team-a", 1);
  machine.store.set_full(true);
  const auto refused = machine.lease("team-b", 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "store.unavailable");
  EXPECT_FALSE(machine.release(lease, lease.token));
  machine.service->let_go(lease);
  machine.store.set_full(false);
  EXPECT_EQ(ended(lease).outcome, Outcome::kLost) << "the end is tried again until it is on record";
  EXPECT_EQ(machine.service->status(kOperator).npus_free, 4);
}

// Without this, setting one tenant's quota would change what else its document says.
TEST_F(LeaseTest, SettingAQuotaKeepsTheRestOfTheTenant) {
  machine.tenant("team-c", 1, ", parent: team-a, members: [4242], jobDefaults: {cpus: 2}");
  Quota quota;
  quota.npus = 7;
  const auto set = [&](const std::string& name, const Caller& caller) {
    return machine.call<wire::QuotaView>(
        [&](auto done) { machine.service->set_quota(caller, name, quota, done); });
  };
  const auto view = set("team-c", kOperator);
  ASSERT_TRUE(view) << view.error().to_string();
  EXPECT_EQ(view->tenant.quota.npus, 7);
  EXPECT_EQ(view->tenant.parent, "team-a");
  EXPECT_THAT(view->tenant.members, ElementsAre(4242));
  EXPECT_EQ(view->tenant.job_defaults.cpu_milli, 2'000);
  const std::size_t records = machine.store.records().size();
  ASSERT_TRUE(set("team-c", kOperator));
  EXPECT_EQ(machine.store.records().size(), records) << "the same again is no change";
  EXPECT_EQ(set("team-z", kOperator).error().reason, "tenant.unknown");
  EXPECT_EQ(set("team-c", *machine.service->identify(4242)).error().reason, "caller.not_operator");
}

}  // namespace
}  // namespace tangram::service::testing
