// Snapshots: what they keep, and that nothing read from outside is believed.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "scheduler/world.h"

namespace tangram::testing {
namespace {

World busy_world() {
  World world;
  world.add_node({.npus = 4});
  world.add_node({.name = "other", .npus = 2, .chip = "910B3", .memory = Bytes::gib(64)});
  Quota quota;
  quota.npus = 3;
  world.put_tenant("org", quota);
  world.put_tenant("team", {}, "org");
  world.put_tenant("gone");
  world.put_tenant("free");
  world.input(TenantDeleted{*world.core.find_tenant("gone")});
  world.submit({.tenant = "team", .npus = 2});
  world.submit({.tenant = "team", .npus = 2});
  world.add_node({.name = "cut",
                  .npus = 2,
                  .chip = "310P3",
                  .memory = Bytes::mib(21'527),
                  .ai_cores = 8,
                  .template_set = "310P (24 GiB)"});
  NodeReported cut = world.node_report({.name = "cut",
                                        .npus = 2,
                                        .chip = "310P3",
                                        .memory = Bytes::mib(21'527),
                                        .ai_cores = 8,
                                        .template_set = "310P (24 GiB)"});
  cut.npus[1].strays = {{117, "vir02", 3, true}};
  world.input(cut);
  for (const std::int64_t memory : {1024, 7000, 13'000}) {
    world.submit_slice({.tenant = "free", .memory_mib = memory});
  }
  const JobId lost = world.submit({.tenant = "free", .npus = 1, .restart = RestartPolicy::kOnLost});
  world.submit({.tenant = "free", .npus = 4, .priority = Priority::kLow});
  world.submit({.tenant = "free", .npus = 2, .memory = Bytes::gib(48)});
  world.end(lost, Outcome::kLost);
  world.pass(1000);
  return world;
}

// Without this, a daemon that starts from a snapshot could go on from another state than the one it saved.
TEST(Bytes, ReadBackEqual) {
  const World world = busy_world();
  const std::string bytes = world.core.to_bytes();
  const Result<Scheduler> copy = Scheduler::from_bytes(bytes);
  ASSERT_TRUE(copy) << copy.error().to_string();
  EXPECT_EQ(copy->to_bytes(), bytes);
  EXPECT_EQ(copy->queue(), world.core.queue());
  EXPECT_EQ(copy->active(), world.core.active());
  EXPECT_EQ(copy->next_tenant_id(), world.core.next_tenant_id());
}

// Without this, a torn or damaged file could crash the daemon instead of being reported.
TEST(Bytes, EveryPrefixIsRefused) {
  const std::string bytes = busy_world().core.to_bytes();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_FALSE(Scheduler::from_bytes(bytes.substr(0, size))) << size;
  }
  EXPECT_FALSE(Scheduler::from_bytes(bytes + "x"));
}

// Without this, a flipped bit could trip an invariant. What is accepted all the same must be a state that
// works.
TEST(Bytes, DamageIsRefusedOrHarmless) {
  const std::string bytes = busy_world().core.to_bytes();
  int accepted = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const int change : {1, 0x40, 0x80, 0xff}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ change);
      Result<Scheduler> read = Scheduler::from_bytes(damaged);
      if (!read) continue;
      ++accepted;
      const TimeMs now(2'000'000);
      for (const Decision& decision : read->decide(now)) read->apply(decision, now);
      for (const JobId job : read->queue()) ASSERT_TRUE(read->explain(job, now));
      ASSERT_FALSE(read->to_bytes().empty());
    }
  }
  EXPECT_GT(accepted, 0);
}

// Without this, an older program would read a newer format as something else.
TEST(Bytes, ANewerFormatIsNamed) {
  std::string bytes = Scheduler().to_bytes();
  bytes[6] = 4;
  const Result<Scheduler> read = Scheduler::from_bytes(bytes);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().reason, "snapshot.version");
}

// Written by the last version that knew no slices: two NPUs, one job that runs and one that waits.
constexpr std::string_view kWithoutSlices =
    "5447434f524501000000c027090000000000e80300000000000003000000000000000100000001010000007400000000ffff"
    "ffffffffff1fffffffffffffff1fffffffffffffff1fffffffffffffff1fffffffffffffff1fffffffffffffff1f07ffffff"
    "ffffffff1f01000000010000006e020000000000000000000000050000003931304234000000000800000014000000010000"
    "0000010000000500000039313042340000000008000000140000000102000000010000000000000000000000010001000000"
    "000000000400000000000000000000000000000000000000ffffffffffffff1f000000000000020001000000000000000000"
    "0000e803000000000000e803000000000000e803000000000000010000000000000000000000080000001400000000000000"
    "0100000000000000000000000000000001000000000000000200000000000000000000000100020000000000000004000000"
    "00000000000000000000000000000000ffffffffffffff1f0000000000000000000000000000000000000000e80300000000"
    "0000e80300000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
    "0000000000000000000000000100000002000000000000000fffffffff07";

// Without this, an upgrade could not read the state that the version before had saved.
TEST(Bytes, TheFormatBeforeSlicesIsRead) {
  std::string bytes;
  for (std::size_t i = 0; i < kWithoutSlices.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(kWithoutSlices.substr(i, 2)), nullptr, 16));
  }
  const Result<Scheduler> read = Scheduler::from_bytes(bytes);
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(read->settings(), SettingsChanged{});
  EXPECT_EQ(read->job(JobId(1))->npus, std::vector<NpuIndex>{NpuIndex(0)});
  EXPECT_EQ(read->job(JobId(2))->reason, ReasonCode::kNpusBusy);
  EXPECT_EQ(read->npu(NpuIndex(1))->report, (NpuReport{1, "910B4", Bytes::gib(32), 20, Health::kOk}));
  const Result<Scheduler> again = Scheduler::from_bytes(read->to_bytes());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->to_bytes(), read->to_bytes());
}

// Without this, a copy could share something with its original, or a moved-from scheduler be a trap.
TEST(Bytes, CopiesAreIndependent) {
  World world = busy_world();
  const Scheduler copy = world.core;
  const std::string before = copy.to_bytes();
  world.submit({.tenant = "free"});
  EXPECT_EQ(copy.to_bytes(), before);
  EXPECT_NE(world.core.to_bytes(), before);
  const Scheduler moved = std::move(world.core);
  world.core = copy;
  EXPECT_EQ(world.core.to_bytes(), before);
  EXPECT_NE(moved.to_bytes(), before);
}

}  // namespace
}  // namespace tangram::testing
