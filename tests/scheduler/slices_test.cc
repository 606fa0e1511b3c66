// Requests for slices through the core: what they are given, charged, and told while they wait.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "scheduler/world.h"

namespace tangram::testing {
namespace {

using ::testing::ElementsAre;

World world_with(const NodeShape& node, const Quota& quota = {}) {
  World world;
  world.add_node(node);
  world.put_tenant("team", quota);
  return world;
}

// Without this, the article's table would not hold on an NPU that nobody uses.
TEST(Slices, TheTableOfTheArticleHoldsOnAFreeNpu) {
  const std::vector<std::pair<std::int64_t, std::string>> table = {
      {1024, "vir01@0.0"}, {4096, "vir02@0.0"}, {7000, "vir04@0.0"}, {13'000, "whole@0"}};
  World world = world_with(node_310p3());
  for (const auto& [memory, given] : table) {
    const JobId job = world.submit_slice({.tenant = "team", .memory_mib = memory});
    EXPECT_EQ(world.slice(job), given);
    world.end(job);
  }
}

// Without this, an eighth slice would be promised, or its wait be blamed on memory.
TEST(Slices, SevenRunAndTheEighthWaitsForASlot) {
  World world = world_with(node_310p3());
  std::vector<JobId> jobs;
  for (int i = 0; i < 8; ++i) jobs.push_back(world.submit_slice({.tenant = "team", .memory_mib = 1024}));
  for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(world.slice(jobs[i]).substr(0, 7), "vir01@0") << i;
  EXPECT_EQ(world.reason(jobs[7]), ReasonCode::kSlotsBusy);
  world.end(jobs[2]);
  EXPECT_EQ(world.slice(jobs[7]), "vir01@0.1");
}

// Without this, a program that has an NPU could find slices on it, or the other way round.
TEST(Slices, WholeAndSlicedUseWaitForEachOther) {
  World world = world_with(node_310p3());
  const JobId sliced = world.submit_slice({.tenant = "team", .memory_mib = 1024});
  const JobId whole = world.submit({.tenant = "team"});
  EXPECT_EQ(world.reason(whole), ReasonCode::kMemoryBusy);
  const JobId large = world.submit_slice({.tenant = "team", .memory_mib = 13'000});
  EXPECT_EQ(world.reason(large), ReasonCode::kMemoryBusy);
  world.end(sliced);
  EXPECT_TRUE(world.is_running(whole));
  const JobId late = world.submit_slice({.tenant = "team", .memory_mib = 1024});
  EXPECT_EQ(world.reason(late), ReasonCode::kMemoryBusy);
  world.cancel(large);
  world.end(whole);
  EXPECT_EQ(world.slice(late), "vir01@0.0");
}

// Without this, a request that can never be met would wait for ever, or be given less than it asks for.
TEST(Slices, WhatNoNpuHasIsRefused) {
  World world = world_with(node_310p3(2));
  EXPECT_EQ(world.try_submit_slice({.tenant = "team", .memory_mib = 21'527}), "");
  EXPECT_EQ(world.try_submit_slice({.tenant = "team", .memory_mib = 21'528}), "capacity.memory.never");
  EXPECT_EQ(world.try_submit_slice({.tenant = "team", .memory_mib = 24'576}), "capacity.memory.never");
  EXPECT_EQ(world.try_submit_slice({.tenant = "team", .memory_mib = 1024, .ai_cores = 9}),
            "capacity.ai_cores.never");
  EXPECT_EQ(world.try_submit_slice({.tenant = "team", .memory_mib = 1024, .ai_cores = 8}), "");
  const JobSpec beyond = world.slice_spec({.tenant = "team", .memory_mib = 268'435'457});
  EXPECT_EQ(world.core.check(JobSubmitted{beyond}).error().message,
            "slice.memory is 268435457MiB, but must be between 1B and 256TiB");
  JobSpec two = world.slice_spec({.tenant = "team", .memory_mib = 4096});
  two.request.npus = 2;
  EXPECT_EQ(world.core.check(JobSubmitted{two}).error().reason, "request.invalid") << "a slice is of one NPU";
  const Result<void> refused =
      world.core.check(JobSubmitted{world.slice_spec({.tenant = "team", .memory_mib = 24'576})});
  EXPECT_EQ(refused.error().message,
            "a slice is of one NPU, and none that can be cut has more than 21527MiB; the job asks for 24GiB");
}

// Without this, somebody would be sent to ask for a whole NPU where none has what was refused.
TEST(Slices, WholeNpusAreAHintWhereOneIsLargeEnough) {
  World world = world_with(node_310p3());
  const JobSpec large = world.slice_spec({.tenant = "team", .memory_mib = 24'576});
  const JobSpec wide = world.slice_spec({.tenant = "team", .ai_cores = 20});
  EXPECT_EQ(world.core.check(JobSubmitted{large}).error().hint, "ask for at most --slice 21527MiB");
  EXPECT_EQ(world.core.check(JobSubmitted{wide}).error().hint, "ask for at most 8 AI cores");
  world.add_node({.name = "whole-only", .npus = 1});
  EXPECT_EQ(world.core.check(JobSubmitted{large}).error().hint,
            "ask for at most --slice 21527MiB, or for whole NPUs (--npus)");
  EXPECT_EQ(world.core.check(JobSubmitted{wide}).error().hint,
            "ask for at most 8 AI cores, or for whole NPUs (--npus)");
}

// Without this, a machine that cannot cut would give the whole NPU, or keep the job waiting for nothing.
TEST(Slices, WhereNothingCanBeCutTheyAreRefused) {
  World world = world_with({});
  EXPECT_EQ(world.try_submit_slice({.tenant = "team", .memory_mib = 1024}), "request.slice.unsupported");
  const Result<void> refused =
      world.core.check(JobSubmitted{world.slice_spec({.tenant = "team", .memory_mib = 1024})});
  EXPECT_EQ(refused.error().code, Code::kPolicyRefused);
  // One that was accepted before says so too.
  World changed = world_with(node_310p3());
  changed.submit({.tenant = "team"});
  const JobId waits = changed.submit_slice({.tenant = "team", .memory_mib = 1024});
  NodeReported report = changed.node_report(node_310p3());
  report.npus[0].cuttable = false;
  changed.input(report);
  EXPECT_EQ(changed.reason(waits), ReasonCode::kSliceUnsupported);
  // While no driver answers nothing is refused for what it does not have.
  World away = world_with({.npus = 0});
  EXPECT_EQ(away.try_submit_slice({.tenant = "team", .memory_mib = 1024}), "");
}

// Without this, slices would be free of charge in some dimension, or be charged what was asked and not what
// is withheld from others.
TEST(Slices, AreChargedInEveryDimension) {
  World world = world_with(node_310p3(2));
  const JobId slice = world.submit_slice({.tenant = "team", .memory_mib = 4096});
  EXPECT_EQ(world.used("team").npus, 1);
  EXPECT_EQ(world.used("team").memory_total, Bytes::gib(6))
      << "nominal, not what was asked, nor what is usable";
  EXPECT_EQ(world.used("team").ai_cores, 2);
  EXPECT_EQ(world.used("team").running_jobs, 1);
  const JobId whole = world.submit_slice({.tenant = "team", .memory_mib = 13'000});
  EXPECT_EQ(world.slice(whole), "whole@1");
  EXPECT_EQ(world.used("team").npus, 2);
  EXPECT_EQ(world.used("team").memory_total, Bytes::mib(6144 + 21'527))
      << "a whole NPU at its allocatable size";
  EXPECT_EQ(world.used("team").ai_cores, 10);
  world.end(whole);
  world.end(slice);
  EXPECT_EQ(world.used("team"), Usage{});
}

// Without this, the policy would change nothing, or what is charged and what is given back would differ when
// it changes meanwhile.
TEST(Slices, CountAgainstTheLimitOfNpusAsThePolicySays) {
  Quota quota;
  quota.npus = 1;
  World world = world_with(node_310p3(), quota);
  const JobId first = world.submit_slice({.tenant = "team", .memory_mib = 1024});
  const JobId second = world.submit_slice({.tenant = "team", .memory_mib = 1024});
  EXPECT_EQ(world.reason(second), ReasonCode::kQuotaNpus);
  SettingsChanged settings = world.core.settings();
  settings.slice_count = SliceCount::kNone;
  world.input(settings);
  EXPECT_EQ(world.slice(second), "vir01@0.0");
  EXPECT_EQ(world.used("team").npus, 1);
  world.end(first);
  EXPECT_EQ(world.used("team").npus, 0);
  quota.ai_cores = 2;
  world.put_tenant("team", quota);
  EXPECT_EQ(world.try_submit_slice({.tenant = "team", .memory_mib = 7000}), "quota.ai_cores.above_limit");
  const JobId third = world.submit_slice({.tenant = "team", .memory_mib = 4096});
  EXPECT_EQ(world.reason(third), ReasonCode::kQuotaAiCores);
}

// Without this, the switch that turns variants off would not, or would touch what runs already.
TEST(Slices, VariantsCanBeTurnedOff) {
  World world = world_with(node_310p3());
  SettingsChanged settings = world.core.settings();
  settings.slice_variants = false;
  world.input(settings);
  const JobId first = world.submit_slice({.tenant = "team", .memory_mib = 7000});
  const JobId second = world.submit_slice({.tenant = "team", .memory_mib = 7000});
  EXPECT_EQ(world.slice(first), "vir04@0.0");
  EXPECT_EQ(world.reason(second), ReasonCode::kSlotsBusy);
  settings.slice_variants = true;
  world.input(settings);
  EXPECT_EQ(world.slice(second), "vir04_3c@0.1");
}

// Without this, a job would not learn that only a leftover is in its way, nor where that is.
TEST(Slices, AResidualSliceIsNamed) {
  World world = world_with(node_310p3());
  NodeReported report = world.node_report(node_310p3());
  report.npus[0].strays = {{100, "vir04", 0, true}};
  world.input(report);
  const JobId small = world.submit_slice({.tenant = "team", .memory_mib = 1024});
  EXPECT_EQ(world.slice(small), "vir01@0.1") << "what is free beside it is offered";
  world.end(small);
  const JobId large = world.submit_slice({.tenant = "team", .memory_mib = 13'000});
  EXPECT_EQ(world.reason(large), ReasonCode::kSlicesResidual);
  const JobId whole = world.submit({.tenant = "team"});
  EXPECT_EQ(world.reason(whole), ReasonCode::kSlicesResidual);
  for (const JobId job : {large, whole}) {
    const Result<Explanation> why = world.core.explain(job, world.now);
    ASSERT_TRUE(why);
    const std::vector<ResidualSlice>& residual = why->blockers.front().residual;
    ASSERT_EQ(residual.size(), 1U);
    EXPECT_EQ(residual.front().slice.id, 100U);
    EXPECT_EQ(residual.front().npu, NpuIndex(0));
  }
  report.npus[0].strays[0].residual = false;
  world.input(report);
  EXPECT_EQ(world.reason(whole), ReasonCode::kMemoryBusy) << "it is somebody's after all";
  report.npus[0].strays.clear();
  world.input(report);
  EXPECT_EQ(world.slice(large), "whole@0");
}

// Without this, a job that waits for a slice past the bound could be passed over for ever by smaller ones.
TEST(Slices, WhatComesFreeIsKeptForOnePastTheBound) {
  World world = world_with(node_310p3());
  std::vector<JobId> small;
  for (int i = 0; i < 7; ++i) small.push_back(world.submit_slice({.tenant = "team", .memory_mib = 1024}));
  const JobId large = world.submit_slice({.tenant = "team", .memory_mib = 7000});
  world.pass(600'001);
  const JobId late = world.submit_slice({.tenant = "team", .memory_mib = 1024, .priority = Priority::kHigh});
  world.end(small[0]);
  EXPECT_EQ(world.reason(late), ReasonCode::kNpusKept);
  for (const std::size_t i : {1U, 2U}) world.end(small[i]);
  EXPECT_FALSE(world.is_running(large));
  world.end(small[3]);
  EXPECT_EQ(world.slice(large).substr(0, 5), "vir04");
  EXPECT_FALSE(world.slice(late).empty()) << "and beside it what is left is given";
}

// Without this, `why` would offer what does not help.
TEST(Slices, RemediesHold) {
  World world = world_with(node_310p3());
  std::vector<JobId> small;
  for (int i = 0; i < 6; ++i) small.push_back(world.submit_slice({.tenant = "team", .memory_mib = 1024}));
  const JobId large = world.submit_slice({.tenant = "team", .memory_mib = 7000});
  const Result<Explanation> why = world.core.explain(large, world.now);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->blockers.front().reason, ReasonCode::kMemoryBusy);
  EXPECT_EQ(why->blockers.front().cut, 1);
  EXPECT_EQ(why->blockers.front().holders.size(), 6U);
  const auto find = [&](Remedy::Kind kind) {
    return std::find_if(why->remedies.begin(), why->remedies.end(),
                        [kind](const Remedy& r) { return r.kind == kind; });
  };
  ASSERT_NE(find(Remedy::Kind::kJobsEnd), why->remedies.end());
  EXPECT_THAT(find(Remedy::Kind::kJobsEnd)->jobs, ElementsAre(small[0], small[1])) << "of one vGroup";
  ASSERT_NE(find(Remedy::Kind::kLessMemory), why->remedies.end());
  EXPECT_EQ(find(Remedy::Kind::kLessMemory)->memory_per_npu, Bytes::gib(6));
  for (const JobId job : find(Remedy::Kind::kJobsEnd)->jobs) world.end(job);
  EXPECT_EQ(world.slice(large).substr(0, 5), "vir04");
  const JobId whole = world.submit({.tenant = "team"});
  const Result<Explanation> all = world.core.explain(whole, world.now);
  ASSERT_FALSE(all->remedies.empty());
  EXPECT_EQ(all->remedies.front().jobs.size(), 5U) << "all that hold a slice of it";
}

// Without this, work of an hour would be given up for a slice where that of a minute would do.
TEST(Slices, OfEquallyFewTheCheapestIsToEnd) {
  World world = world_with(node_310p3());
  std::vector<JobId> small;
  for (int i = 0; i < 2; ++i) small.push_back(world.submit_slice({.tenant = "team", .memory_mib = 1024}));
  world.pass(60'000);
  for (int i = 0; i < 4; ++i) small.push_back(world.submit_slice({.tenant = "team", .memory_mib = 1024}));
  const JobId large = world.submit_slice({.tenant = "team", .memory_mib = 7000});
  const Result<Explanation> why = world.core.explain(large, world.now);
  ASSERT_TRUE(why);
  ASSERT_FALSE(why->remedies.empty());
  EXPECT_THAT(why->remedies.front().jobs, ElementsAre(small[2], small[3])) << "of one vGroup, and young";
}

// Without this, a waiting job's reason would name a leftover, and no way to be rid of it.
TEST(Slices, TheReturnOfLeftoversIsARemedy) {
  World world = world_with(node_310p3());
  NodeReported report = world.node_report(node_310p3());
  report.npus[0].strays = {{100, "vir04", 0, true}};
  world.input(report);
  const JobId large = world.submit_slice({.tenant = "team", .memory_mib = 13'000});
  const std::string before = world.core.to_bytes();
  const Result<Explanation> why = world.core.explain(large, world.now);
  EXPECT_EQ(world.core.to_bytes(), before) << "a question changes nothing";
  ASSERT_TRUE(why);
  ASSERT_FALSE(why->remedies.empty());
  const Remedy& first = why->remedies.front();
  EXPECT_EQ(first.kind, Remedy::Kind::kSlicesReturned);
  EXPECT_TRUE(first.starts);
  ASSERT_EQ(first.slices.size(), 1U);
  EXPECT_EQ(first.slices.front().slice.id, 100U);
}

// Without this, a quota would be said to lack more than was asked for, and nobody know what for.
TEST(Slices, ABlockerSaysWhatTheRequestComesTo) {
  Quota quota;
  quota.memory_total = Bytes::mib(21'527);
  World world = world_with(node_310p3(2), quota);
  world.submit_slice({.tenant = "team", .memory_mib = 13'000});
  const JobId slice = world.submit_slice({.tenant = "team", .memory_mib = 4096});
  const auto blocker = world.core.blocker(world.status(slice).spec, world.reason(slice));
  ASSERT_TRUE(blocker && blocker->granted);
  EXPECT_EQ(blocker->reason, ReasonCode::kQuotaMemoryTotal);
  EXPECT_EQ(blocker->granted->template_name, "vir02");
  EXPECT_EQ(blocker->granted->memory, Bytes(blocker->asked));
  EXPECT_EQ(blocker->granted->ai_cores, 2);
  const JobId large = world.submit_slice({.tenant = "team", .memory_mib = 13'000});
  const Result<Explanation> why = world.core.explain(large, world.now);
  ASSERT_TRUE(why);
  ASSERT_TRUE(why->blockers.front().granted);
  EXPECT_EQ(why->blockers.front().granted->template_name, "") << "a whole NPU";
  EXPECT_EQ(why->blockers.front().granted->memory, Bytes::mib(21'527));
  const JobId whole = world.submit({.tenant = "team"});
  const auto memory = world.core.blocker(world.status(whole).spec, ReasonCode::kQuotaMemoryTotal);
  ASSERT_TRUE(memory && memory->granted) << "16 GiB were asked for, and all of it is charged";
  EXPECT_EQ(memory->granted->memory, Bytes::mib(21'527));
}

// Without this, what exists already could not be booked, or an NPU be booked twice.
TEST(Slices, AnObservedSliceIsBooked) {
  World world = world_with(node_310p3());
  AllocationObserved observed{world.slice_spec({.tenant = "team", .memory_mib = 1024}), 1, {NpuIndex(0)}, {}};
  observed.slice = SlicePlacement{"vir04", 2, Bytes::gib(12), Bytes::mib(10'763), 4};
  world.input(observed);
  EXPECT_EQ(world.slice(observed.spec.id), "vir04@0.2");
  EXPECT_EQ(world.used("team").memory_total, Bytes::gib(12));
  AllocationObserved whole{world.spec({.tenant = "team"}), 1, {NpuIndex(0)}, {}};
  EXPECT_EQ(world.core.check(whole).error().reason, "npu.busy");
  const JobId beside = world.submit_slice({.tenant = "team", .memory_mib = 7000});
  EXPECT_EQ(world.slice(beside), "vir04_3c@0.0");
  observed.spec.id = JobId(50);
  observed.slice->template_name.clear();
  EXPECT_EQ(world.core.check(observed).error().reason, "request.invalid");
}

// Without this, a catalogue that changed between two starts of the daemon could keep it from reading its
// journal.
TEST(Slices, RecordsMeanTheSameUnderAnotherCatalogue) {
  World world = world_with(node_310p3());
  const JobId job = world.submit_slice({.tenant = "team", .memory_mib = 4096});
  const std::string bytes = world.core.to_bytes();
  ChipModel other;
  other.name = "310P (24 GiB)";
  other.match.chips = {"310P3"};
  other.has.fill(kUnlimited);
  other.has[index_of(ChipResource::kAiCores)] = 8;
  SliceTemplate half;
  half.name = "half";
  half.memory = half.usable_memory = Bytes::gib(10);
  half.takes[index_of(ChipResource::kAiCores)] = 4;
  other.templates = {half};
  const auto catalog = Catalog::with({other});
  ASSERT_TRUE(catalog) << catalog.error().to_string();
  Result<Scheduler> read = Scheduler::from_bytes(bytes, *catalog);
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(read->to_bytes(), bytes);
  ASSERT_TRUE(read->job(job)->slice);
  EXPECT_EQ(read->job(job)->slice->template_name, "vir02");
  World later;
  later.core = *read;
  later.now = world.now;
  const JobSpec spec = world.slice_spec({.tenant = "team", .memory_mib = 4096});
  later.input(JobSubmitted{spec});
  EXPECT_EQ(later.reason(spec.id), ReasonCode::kMemoryBusy) << "nothing is cut beside what is not understood";
  later.end(job);
  EXPECT_EQ(later.slice(spec.id), "half@0.-1");
  EXPECT_EQ(later.used("team").memory_total, Bytes::gib(10));
}

}  // namespace
}  // namespace tangram::testing
