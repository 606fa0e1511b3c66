// What a damaged journal may say, and that apply() never sees it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "scheduler/world.h"

namespace tangram::testing {
namespace {

using ::testing::HasSubstr;

class CheckRecorded : public ::testing::Test {
 protected:
  CheckRecorded() {
    world.add_node({.npus = 4});
    Quota quota;
    quota.npus = 2;
    world.put_tenant("team", quota);
    spec = world.spec({.tenant = "team", .npus = 2});
    core.apply(Input(JobSubmitted{spec}), TimeMs(1));
  }

  template <class Record>
  std::string told(const Record& record) const {
    if constexpr (std::is_constructible_v<Decision, Record>) {
      const auto checked = core.check_recorded(Decision(record));
      return checked ? "" : checked.error().message;
    } else {
      const auto checked = core.check_recorded(Input(record));
      return checked ? "" : checked.error().message;
    }
  }
  JobStarted started(std::vector<NpuIndex> npus, std::int32_t attempt = 1) const {
    return {spec.id, attempt, std::move(npus)};
  }

  World world;
  Scheduler& core = world.core;
  JobSpec spec;
};

// Without it a record that says what cannot be would end the daemon at each start.
TEST_F(CheckRecorded, RefusesAStartThatCannotBe) {
  EXPECT_EQ(told(started({NpuIndex(0), NpuIndex(3)})), "");
  for (const JobStarted& wrong :
       {started({NpuIndex(0)}), started({NpuIndex(0), NpuIndex(0)}), started({NpuIndex(1), NpuIndex(0)}),
        started({NpuIndex(0), NpuIndex(4)}), started({NpuIndex(0), NpuIndex()}),
        started({NpuIndex(0), NpuIndex(1)}, 2), JobStarted{JobId(77), 1, {NpuIndex(0)}}}) {
    EXPECT_NE(told(wrong), "");
  }
  core.apply(Decision(started({NpuIndex(0), NpuIndex(1)})), TimeMs(2));
  EXPECT_NE(told(started({NpuIndex(2), NpuIndex(3)}, 2)), "") << "it runs already";
  JobSpec other = spec;
  other.id = JobId(spec.id.value + 1);
  core.apply(Input(JobSubmitted{other}), TimeMs(3));
  EXPECT_NE(told(JobStarted{other.id, 1, {NpuIndex(1), NpuIndex(2)}}), "") << "an NPU of the first job";
  NodeReported report{"node-0", {}};
  for (const NpuView& npu : core.npus()) {
    report.node = core.node_name(npu.node);
    report.npus.push_back(npu.report);
  }
  report.npus[2].health = Health::kCritical;
  core.apply(Input(report), TimeMs(4));
  EXPECT_NE(told(JobStarted{other.id, 1, {NpuIndex(2), NpuIndex(3)}}), "") << "an NPU that is not healthy";
}

// Without it the same went for slices: of who asked for none, too small, where no room is, or on an NPU that
// somebody has whole.
TEST(CheckRecordedSlices, RefusesASliceThatCannotBe) {
  World world;
  world.add_node(node_310p3(2));
  world.put_tenant("team");
  Scheduler& core = world.core;
  const JobId first = world.submit_slice({.tenant = "team", .memory_mib = 1024});
  ASSERT_EQ(world.slice(first), "vir01@0.0");
  const JobId whole = world.submit({.tenant = "team"});
  ASSERT_EQ(world.slice(whole), "whole@1");
  const auto queued = [&](const JobSpec& spec) {
    core.apply(Input(JobSubmitted{spec}), world.now);
    return spec.id;
  };
  const JobId two_cores = queued(world.slice_spec({.tenant = "team", .memory_mib = 4096, .ai_cores = 2}));
  const JobId one_core = queued(world.slice_spec({.tenant = "team", .memory_mib = 1024}));
  const JobId no_slice = queued(world.spec({.tenant = "team"}));
  const SlicePlacement vir01{"vir01", 0, Bytes::gib(3), Bytes::mib(2690), 1};
  const SlicePlacement vir02{"vir02", 1, Bytes::gib(6), Bytes::mib(5381), 2};
  const auto told = [&core](JobId job, std::vector<NpuIndex> npus, std::optional<SlicePlacement> slice) {
    const auto checked = core.check_recorded(Decision(JobStarted{job, 1, std::move(npus), std::move(slice)}));
    EXPECT_TRUE(checked || checked.error().reason == "record.impossible");
    return checked ? "" : checked.error().message;
  };
  const auto changed = [](SlicePlacement slice, const auto& change) {
    change(slice);
    return slice;
  };
  EXPECT_EQ(told(two_cores, {NpuIndex(0)}, vir02), "");
  EXPECT_EQ(told(one_core, {NpuIndex(0)}, vir01), "") << "two single cores share a vGroup";
  EXPECT_THAT(told(no_slice, {NpuIndex(0)}, vir02), HasSubstr("asked for none"));
  EXPECT_THAT(told(two_cores, {NpuIndex(0)}, vir01), HasSubstr("asked for 4GiB and 2 AI cores"));
  EXPECT_THAT(told(two_cores, {NpuIndex(0)}, changed(vir02, [](auto& s) { s.ai_cores = 1; })),
              HasSubstr("1 AI core and"));
  EXPECT_THAT(told(two_cores, {NpuIndex(0)}, changed(vir02, [](auto& s) { s.vgroup = 0; })),
              HasSubstr("vGroup 0"));
  EXPECT_THAT(told(two_cores, {NpuIndex(0)}, changed(vir02, [](auto& s) { s.vgroup = 16; })),
              HasSubstr("slice.vgroup"));
  EXPECT_THAT(told(two_cores, {NpuIndex(0)}, changed(vir02, [](auto& s) { s.template_name = ""; })),
              HasSubstr("slice.template"));
  EXPECT_THAT(told(two_cores, {NpuIndex(0), NpuIndex(1)}, vir02), HasSubstr("gets 2 NPUs"));
  EXPECT_THAT(told(two_cores, {}, vir02), HasSubstr("gets 0 NPUs"));
  EXPECT_THAT(told(two_cores, {NpuIndex(1)}, vir02), HasSubstr("of job j-"));
  EXPECT_THAT(told(two_cores, {NpuIndex(2)}, vir02), HasSubstr("not known"));
  EXPECT_THAT(told(two_cores, {NpuIndex(0)}, std::nullopt), HasSubstr("on which slices stand"));
  EXPECT_EQ(told(two_cores, {NpuIndex(0)}, changed(vir02, [](auto& s) { s.template_name = "vir99"; })), "")
      << "of a catalogue that had other templates";
  core.apply(Decision(JobStarted{one_core, 1, {NpuIndex(0)}, vir01}), world.now);
  const JobId third = queued(world.slice_spec({.tenant = "team", .memory_mib = 1024}));
  EXPECT_THAT(told(third, {NpuIndex(0)}, vir01), HasSubstr("vGroup 0")) << "a third core in a vGroup";
}

// Without it a journal could put more slices on an NPU than any driver can, and end the daemon.
TEST(CheckRecordedSlices, RefusesASeventeenth) {
  World world;
  world.add_node(node_310p3());
  world.put_tenant("team");
  const SlicePlacement slice{"vir01", kNoVgroup, Bytes::gib(3), Bytes::mib(2690), 1};
  for (int i = 0; i < 17; ++i) {
    const JobSpec spec = world.slice_spec({.tenant = "team", .memory_mib = 1024});
    world.core.apply(Input(JobSubmitted{spec}), world.now);
    const Decision started(JobStarted{spec.id, 1, {NpuIndex(0)}, slice});
    const auto checked = world.core.check_recorded(started);
    ASSERT_EQ(checked.has_value(), i < 16) << i;
    if (!checked) break;
    world.core.apply(started, world.now);
  }
}

// Without it the same went for what is said of jobs that do not wait, run or exist.
TEST_F(CheckRecorded, RefusesWhatIsSaidOfAnotherState) {
  EXPECT_EQ(told(JobWaits{spec.id, ReasonCode::kNpusBusy}), "");
  EXPECT_NE(told(JobWaits{spec.id, ReasonCode::kNone}), "");
  EXPECT_NE(told(AttemptRunning{spec.id, 0}), "");
  EXPECT_NE(told(AttemptEnded{spec.id, 0, Outcome::kFailed, false}), "");
  core.apply(Decision(started({NpuIndex(0), NpuIndex(1)})), TimeMs(2));
  EXPECT_NE(told(JobWaits{spec.id, ReasonCode::kNpusBusy}), "");
  EXPECT_NE(told(JobRefused{spec.id, ReasonCode::kNpusBusy}), "");
  EXPECT_NE(told(JobCancelled{JobId(99)}), "");
  EXPECT_EQ(told(AttemptEnded{spec.id, 1, Outcome::kFailed, true}), "");
  core.apply(Input(JobCancelled{spec.id}), TimeMs(3));
  EXPECT_NE(told(AttemptEnded{spec.id, 1, Outcome::kFailed, true}), "")
      << "a cancelled job does not come back";
  EXPECT_EQ(told(AttemptEnded{spec.id, 1, Outcome::kFailed, false}), "");
}

// Without it a journal from before a quota was lowered, or a card taken out, could not be read any more.
TEST_F(CheckRecorded, AsksNothingOfQuotasAndHardware) {
  JobSpec large = spec;
  large.id = JobId(spec.id.value + 1);
  large.request.npus = 64;
  large.request.memory_per_npu = Bytes::gib(1024);
  EXPECT_FALSE(core.check(Input(JobSubmitted{large})));
  EXPECT_EQ(told(JobSubmitted{large}), "");
  EXPECT_NE(told(JobSubmitted{spec}), "") << "a number is given once";
  large.tenant = TenantId(9);
  EXPECT_NE(told(JobSubmitted{large}), "") << "a tenant that does not exist";
}

}  // namespace
}  // namespace tangram::testing
