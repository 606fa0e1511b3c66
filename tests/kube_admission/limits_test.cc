#include "kube/admission/limits.h"

#include <gtest/gtest.h>

namespace tangram::kube::admission {
namespace {

enum class Kind { kMain, kInit, kSidecar };

Rounded given(Kind kind, std::int64_t npus, std::int64_t memory_mib, std::int64_t ai_cores,
              bool slice = false) {
  Rounded rounded;
  rounded.requested.init = kind != Kind::kMain;
  rounded.requested.sidecar = kind == Kind::kSidecar;
  rounded.granted.request = rounded.requested;
  rounded.granted.request.count = npus;
  rounded.granted.request.memory_mib = memory_mib;
  rounded.granted.kind = slice ? GrantKind::kSlice : GrantKind::kWhole;
  rounded.ai_cores = ai_cores;
  return rounded;
}

PodDemand demand(std::vector<Rounded> containers, SliceCount slices = SliceCount::kOne) {
  return demand_of(containers, slices);
}

// Without this, a Pod with init containers would be charged for what it never holds at once, or for too
// little.
TEST(Demand, IsWhatAPodHoldsAtOnce) {
  const PodDemand main = demand({given(Kind::kMain, 2, 100, 16), given(Kind::kMain, 1, 50, 8)});
  EXPECT_EQ(main.npus, 3);
  EXPECT_EQ(main.memory_mib, 250);
  EXPECT_EQ(main.ai_cores, 24);
  // An init container has gone when the others come.
  EXPECT_EQ(
      demand({given(Kind::kInit, 4, 100, 32), given(Kind::kInit, 1, 10, 8), given(Kind::kMain, 2, 100, 16)})
          .npus,
      4);
  EXPECT_EQ(demand({given(Kind::kInit, 1, 100, 8), given(Kind::kMain, 2, 100, 16)}).npus, 2);
  // A sidecar stays.
  EXPECT_EQ(demand({given(Kind::kSidecar, 1, 100, 8), given(Kind::kMain, 2, 100, 16)}).npus, 3);
  EXPECT_EQ(
      demand({given(Kind::kSidecar, 1, 100, 8), given(Kind::kInit, 3, 100, 24), given(Kind::kMain, 1, 1, 8)})
          .npus,
      4);
  EXPECT_EQ(
      demand({given(Kind::kInit, 3, 100, 24), given(Kind::kSidecar, 1, 100, 8), given(Kind::kMain, 1, 1, 8)})
          .npus,
      3);
  EXPECT_EQ(demand({}), PodDemand{});
}

// Without this, a cluster whose slices do not count as NPUs would refuse tenants without NPUs.
TEST(Demand, ASliceCountsAsIsSaid) {
  const std::vector<Rounded> one{given(Kind::kMain, 1, 6144, 2, true)};
  EXPECT_EQ(demand_of(one, SliceCount::kOne).npus, 1);
  EXPECT_EQ(demand_of(one, SliceCount::kNone).npus, 0);
  EXPECT_EQ(demand_of(one, SliceCount::kNone).memory_mib, 6144);
  EXPECT_EQ(demand_of({{given(Kind::kMain, 1, 6144, 8)}}, SliceCount::kNone).npus, 1) << "whole";
}

struct Case {
  const char* reason;
  const char* allowed;  // in the message
  void (*limit)(Quota&);
};

// Without this, a Pod that its tenant can never run would wait for ever, or be refused without a word of why.
TEST(Limits, EachDimensionSaysWhatIsAllowed) {
  PodDemand asked;
  asked.npus = 2;
  asked.memory_mib = 12'288;
  asked.memory_per_npu_mib = 6'144;
  asked.ai_cores = 8;
  asked.time_limit_ms = 7'200'000;
  asked.bandwidth_bps = 10'000'000'000;
  EXPECT_TRUE(check_limits({{TenantLimits{"team-a", {}}}}, asked));
  for (const Case& one :
       {Case{"quota.npus.above_limit", "at most 1", [](Quota& quota) { quota.npus = 1; }},
        {"quota.memory_per_npu.above_limit", "at most 4GiB",
         [](Quota& quota) { quota.memory_per_npu = Bytes::gib(4); }},
        {"quota.memory_total.above_limit", "at most 8GiB",
         [](Quota& quota) { quota.memory_total = Bytes::gib(8); }},
        {"quota.ai_cores.above_limit", "at most 7", [](Quota& quota) { quota.ai_cores = 7; }},
        {"quota.running_jobs.above_limit", "may not run", [](Quota& quota) { quota.running_jobs = 0; }},
        {"quota.run_time.above_limit", "at most 1h", [](Quota& quota) { quota.run_time_ms = 3'600'000; }},
        {"quota.priority.forbidden", "may use: high, low",
         [](Quota& quota) { quota.priorities = PrioritySet{0b101}; }},
        {"quota.bandwidth.above_limit", "at most 1Gbps",
         [](Quota& quota) { quota.bandwidth_bps = 1'000'000'000; }}}) {
    TenantLimits tenant{"team-a", {}};
    one.limit(tenant.quota);
    // The limit of a tenant above binds as well.
    for (const std::vector<TenantLimits>& chain :
         {std::vector{tenant}, std::vector{TenantLimits{"child", {}}, tenant}}) {
      const auto checked = check_limits(chain, asked);
      ASSERT_FALSE(checked) << one.reason;
      EXPECT_EQ(checked.error().reason, one.reason);
      EXPECT_EQ(checked.error().code, Code::kPolicyRefused);
      EXPECT_NE(checked.error().message.find(one.allowed), std::string::npos) << checked.error().message;
      EXPECT_NE(checked.error().message.find("team-a"), std::string::npos) << checked.error().message;
    }
  }
}

// Without this, what is exactly allowed would be refused.
TEST(Limits, ALimitMayBeReached) {
  PodDemand asked;
  asked.npus = 2;
  asked.memory_mib = 8'192;
  asked.time_limit_ms = 3'600'000;
  Quota quota;
  quota.npus = 2;
  quota.memory_total = Bytes::gib(8);
  quota.run_time_ms = 3'600'000;
  EXPECT_TRUE(check_limits({{TenantLimits{"team-a", quota}}}, asked));
}

// Without this, a chip described with nonsense could make a sum wrap around and be let through.
TEST(Limits, WhatCannotBeCountedIsAboveEveryLimit) {
  PodDemand asked;
  asked.memory_mib = std::int64_t{1} << 58;
  Quota quota;
  quota.memory_total = Bytes::gib(8);
  EXPECT_FALSE(check_limits({{TenantLimits{"team-a", quota}}}, asked));
}

// Without this, a Pod would run longer than some tenant above allows.
TEST(Limits, TheShortestRunTimeBinds) {
  TenantLimits child{"child", {}};
  TenantLimits parent{"parent", {}};
  EXPECT_EQ(run_time_limit_ms(std::vector{child, parent}), std::nullopt);
  parent.quota.run_time_ms = 5'000;
  EXPECT_EQ(run_time_limit_ms(std::vector{child, parent}), 5'000);
  child.quota.run_time_ms = 9'000;
  EXPECT_EQ(run_time_limit_ms(std::vector{child, parent}), 5'000);
}

}  // namespace
}  // namespace tangram::kube::admission
