// What check() refuses, and how it says so.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "scheduler/world.h"

namespace tangram::testing {
namespace {

std::int64_t number(const Error& error, const std::string& name) {
  for (const auto& [key, value] : error.details) {
    if (key == name) return std::get<std::int64_t>(value);
  }
  ADD_FAILURE() << "no detail " << name;
  return -1;
}

class Check : public ::testing::Test {
 protected:
  Check() {
    world.add_node({.npus = 4});
    Quota quota;
    quota.npus = 3;
    quota.memory_per_npu = Bytes::gib(24);
    quota.run_time_ms = 3'600'000;
    world.put_tenant("org", quota);
    world.put_tenant("team", {}, "org");
    world.put_tenant("free");
  }

  Error refusal(const Input& input) {
    const std::string before = world.core.to_bytes();
    const Result<void> checked = world.core.check(input);
    EXPECT_FALSE(checked);
    EXPECT_EQ(world.core.to_bytes(), before);
    return checked ? Error{} : checked.error();
  }
  Error refusal_of_job(const JobShape& shape) { return refusal(JobSubmitted{world.spec(shape)}); }
  Error refusal_of_tenant(const TenantSpec& spec) {
    return refusal(TenantPut{world.core.find_tenant(spec.name).value_or(world.core.next_tenant_id()), spec});
  }

  World world;
};

// Without this, a job over the limit of its organisation would wait for ever, or nobody would know whose
// limit it is.
TEST_F(Check, ALimitOfAnAncestorIsNamedWithItsNumbers) {
  const Error error = refusal_of_job({.tenant = "team", .npus = 4, .time_limit_ms = 1000});
  EXPECT_EQ(error.code, Code::kPolicyRefused);
  EXPECT_EQ(error.reason, "quota.npus.above_limit");
  EXPECT_NE(error.message.find("4 NPUs"), std::string::npos) << error.message;
  EXPECT_NE(error.message.find("\"org\" is limited to 3 NPUs"), std::string::npos) << error.message;
  EXPECT_NE(error.hint.find("at most 3 NPUs"), std::string::npos) << error.hint;
  EXPECT_EQ(number(error, "requested"), 4);
  EXPECT_EQ(number(error, "limit"), 3);
}

// Without this, one of the limits of a single job would not bind.
TEST_F(Check, LimitsOfOneJob) {
  EXPECT_EQ(refusal_of_job({.tenant = "team", .memory = Bytes::gib(25), .time_limit_ms = 1}).reason,
            "quota.memory_per_npu.above_limit");
  EXPECT_EQ(refusal_of_job({.tenant = "team"}).reason, "quota.run_time.above_limit")
      << "no limit is above any";
  EXPECT_EQ(refusal_of_job({.tenant = "team", .time_limit_ms = 3'600'001}).reason,
            "quota.run_time.above_limit");
  EXPECT_TRUE(world.core.check(JobSubmitted{world.spec({.tenant = "team", .time_limit_ms = 3'600'000})}));
}

// Without this, a whole limit of one dimension could be passed by a job that can then never start.
TEST_F(Check, EachDimensionHasItsNever) {
  const auto refused = [this](const std::function<void(Quota&)>& change) {
    Quota quota;
    change(quota);
    world.put_tenant("free", quota);
    return refusal_of_job({.tenant = "free", .npus = 2, .bandwidth_bps = 100}).reason;
  };
  EXPECT_EQ(refused([](Quota& q) { q.npus = 1; }), "quota.npus.above_limit");
  EXPECT_EQ(refused([](Quota& q) { q.memory_total = Bytes::gib(63); }), "quota.memory_total.above_limit");
  EXPECT_EQ(refused([](Quota& q) { q.ai_cores = 39; }), "quota.ai_cores.above_limit");
  EXPECT_EQ(refused([](Quota& q) { q.running_jobs = 0; }), "quota.running_jobs.above_limit");
  EXPECT_EQ(refused([](Quota& q) { q.bandwidth_bps = 99; }), "quota.bandwidth.above_limit");
}

// Without this, each dimension could bind one too early or one too late.
TEST_F(Check, AtTheLimitRunsOneOverWaits) {
  const auto second_waits_for = [](const std::function<void(Quota&)>& change) {
    World fresh;
    fresh.add_node({.npus = 4});
    Quota quota;
    change(quota);
    fresh.put_tenant("t", quota);
    const JobId first = fresh.submit({.tenant = "t", .npus = 2, .bandwidth_bps = 100});
    EXPECT_TRUE(fresh.is_running(first));
    const JobId second = fresh.submit({.tenant = "t", .npus = 1, .bandwidth_bps = 1});
    return fresh.reason(second);
  };
  EXPECT_EQ(second_waits_for([](Quota& q) { q.npus = 2; }), ReasonCode::kQuotaNpus);
  EXPECT_EQ(second_waits_for([](Quota& q) { q.memory_total = Bytes::gib(64); }),
            ReasonCode::kQuotaMemoryTotal);
  EXPECT_EQ(second_waits_for([](Quota& q) { q.ai_cores = 40; }), ReasonCode::kQuotaAiCores);
  EXPECT_EQ(second_waits_for([](Quota& q) { q.running_jobs = 1; }), ReasonCode::kQuotaRunningJobs);
  EXPECT_EQ(second_waits_for([](Quota& q) { q.bandwidth_bps = 100; }), ReasonCode::kQuotaBandwidth);
  EXPECT_EQ(second_waits_for([](Quota& q) { q.npus = 3; }), ReasonCode::kNone);
}

// Without this, a job that no machine here could ever run would wait for ever.
TEST_F(Check, WhatNoHardwareCanGive) {
  const Error npus = refusal_of_job({.tenant = "free", .npus = 5});
  EXPECT_EQ(npus.reason, "capacity.npus.never");
  EXPECT_EQ(number(npus, "limit"), 4);
  EXPECT_EQ(refusal_of_job({.tenant = "free", .memory = Bytes::gib(33)}).reason, "capacity.memory.never");
  world.set_health({.npus = 4}, 0, Health::kCritical);
  EXPECT_TRUE(world.core.check(JobSubmitted{world.spec({.tenant = "free", .npus = 4})}))
      << "it may get well again";
  world.input(NodeReported{"node-0", {}});
  EXPECT_TRUE(world.core.check(JobSubmitted{world.spec({.tenant = "free", .npus = 9})}))
      << "nothing is known now";
}

// Without this, a request that is not built yet would be placed as something else.
TEST_F(Check, SharesAreNotHandedOutYet) {
  JobSpec job = world.spec({.tenant = "free"});
  job.request.kind = RequestKind::kShare;
  EXPECT_EQ(refusal(JobSubmitted{job}).reason, "request.share.unsupported");
}

// Without this, a wrong number from outside would trip an invariant and take the service down.
TEST_F(Check, WrongNumbersNameTheirField) {
  const auto refused = [this](const std::function<void(JobSpec&)>& change) {
    JobSpec job = world.spec({.tenant = "free"});
    change(job);
    const Error error = refusal(JobSubmitted{job});
    EXPECT_EQ(error.code, Code::kInvalidArgument);
    return error.message.substr(0, error.message.find(' '));
  };
  EXPECT_EQ(refused([](JobSpec& j) { j.request.npus = 0; }), "npus");
  EXPECT_EQ(refused([](JobSpec& j) { j.request.npus = -1; }), "npus");
  EXPECT_EQ(refused([](JobSpec& j) { j.request.npus = 4097; }), "npus");
  EXPECT_EQ(refused([](JobSpec& j) { j.request.memory_per_npu = Bytes(-1); }), "memory");
  EXPECT_EQ(refused([](JobSpec& j) { j.bandwidth_bps = -1; }), "bandwidth");
  EXPECT_EQ(refused([](JobSpec& j) { j.time_limit_ms = 0; }), "timeLimit");
  EXPECT_EQ(refused([](JobSpec& j) { j.id = JobId(); }), "id");
}

// Without this, the tree could get a cycle, two tenants of one name, or jobs whose charge is lost by a move.
TEST_F(Check, Tenants) {
  EXPECT_EQ(refusal_of_tenant({"Team", "", {}}).reason, "request.invalid");
  EXPECT_EQ(refusal_of_tenant({"-a", "", {}}).reason, "request.invalid");
  EXPECT_EQ(refusal_of_tenant({std::string(64, 'a'), "", {}}).reason, "request.invalid");
  EXPECT_EQ(refusal_of_tenant({"new", "missing", {}}).reason, "tenant.unknown");
  EXPECT_EQ(refusal_of_tenant({"org", "team", {}}).reason, "tenant.cycle");
  EXPECT_EQ(refusal_of_tenant({"org", "org", {}}).reason, "tenant.cycle");
  EXPECT_EQ(refusal_of_tenant({"new", "new", {}}).reason, "tenant.cycle");
  Quota negative;
  negative.ai_cores = -1;
  EXPECT_EQ(refusal_of_tenant({"new", "", negative}).reason, "quota.below_zero");
  EXPECT_EQ(refusal(TenantPut{world.core.next_tenant_id(), {"org", "", {}}}).reason, "tenant.exists");
  const JobId job = world.submit({.tenant = "team", .time_limit_ms = 1000});
  EXPECT_EQ(refusal_of_tenant({"team", "free", {}}).reason, "tenant.busy");
  EXPECT_EQ(refusal(TenantDeleted{*world.core.find_tenant("team")}).reason, "tenant.busy");
  world.end(job);
  EXPECT_EQ(refusal(TenantDeleted{*world.core.find_tenant("org")}).reason, "tenant.busy") << "it has a child";
  EXPECT_EQ(refusal(TenantDeleted{TenantId(99)}).reason, "tenant.unknown");
  world.put_tenant("team", {}, "free");
  world.input(TenantDeleted{*world.core.find_tenant("org")});
  EXPECT_EQ(refusal_of_job({.tenant = "org"}).reason, "tenant.unknown");
}

// Without this, a second report of an end could free NPUs of another job.
TEST_F(Check, RecordsOfJobsThatAreNot) {
  const JobId job = world.submit({.tenant = "free"});
  EXPECT_EQ(refusal(JobSubmitted{world.core.job(job)->spec}).reason, "job.exists");
  EXPECT_EQ(refusal(AttemptEnded{job, 2, Outcome::kFailed, false}).reason, "job.attempt");
  world.end(job);
  EXPECT_EQ(refusal(AttemptEnded{job, 1, Outcome::kSucceeded, false}).reason, "job.unknown");
  EXPECT_EQ(refusal(JobCancelled{job}).reason, "job.unknown");
  EXPECT_EQ(refusal(AttemptRunning{job, 1}).reason, "job.unknown");
}

// Without this, what already runs could be refused, or be booked on an NPU that is held.
TEST_F(Check, ObservedAllocations) {
  const JobId holder = world.submit({.tenant = "free"});
  const JobSpec job = world.spec({.tenant = "team", .npus = 4});
  EXPECT_EQ(refusal(AllocationObserved{job, 1, {NpuIndex(0)}}).reason, "npu.busy");
  EXPECT_EQ(refusal(AllocationObserved{job, 1, {NpuIndex(77)}}).reason, "npu.unknown");
  EXPECT_EQ(refusal(AllocationObserved{job, 1, {NpuIndex(2), NpuIndex(1)}}).reason, "request.invalid");
  world.end(holder);
  world.input(AllocationObserved{job, 1, {NpuIndex(0), NpuIndex(1), NpuIndex(2), NpuIndex(3)}});
  EXPECT_EQ(world.used("org").npus, 4) << "above the limit of 3: what exists is booked, never refused";
  EXPECT_TRUE(world.is_running(job.id));
  const JobId next = world.submit({.tenant = "team", .time_limit_ms = 1000});
  EXPECT_EQ(world.reason(next), ReasonCode::kQuotaNpus);
  world.end(job.id);
  EXPECT_TRUE(world.is_running(next));
}

// Without this, a report could bring one NPU twice, or sizes that overflow a sum.
TEST_F(Check, NodeReports) {
  NodeReported report = world.node_report({.npus = 2});
  report.npus[1].physical_id = 0;
  EXPECT_EQ(refusal(report).reason, "request.invalid");
  report.npus[1].physical_id = 1;
  report.npus[1].memory = Bytes(std::int64_t{1} << 60);
  EXPECT_EQ(refusal(report).reason, "request.invalid");
  report.npus[1].memory = Bytes(-1);
  EXPECT_EQ(refusal(report).reason, "request.invalid");
  EXPECT_EQ(refusal(NodeReported{}).reason, "request.invalid");
  EXPECT_EQ(refusal(SettingsChanged{-1}).reason, "request.invalid");
}

}  // namespace
}  // namespace tangram::testing
