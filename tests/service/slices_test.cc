// Slices from the journal to the devices and back.
#include "service/slices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "service/cutting.h"
#include "service/node_report.h"
#include "service/recovery.h"
#include "service/sliced.h"
#include "wire/event.h"

namespace tangram::service::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint32_t kFirstId = 100;

DeviceSlice slice_of(std::uint32_t id, const std::string& template_name, std::uint32_t vgroup) {
  DeviceSlice slice;
  slice.id = id;
  slice.template_name = Sample<std::string>::known(template_name);
  slice.container_used = Sample<bool>::known(false);
  slice.vgroup_id = Sample<std::uint32_t>::known(vgroup);
  return slice;
}

// Without this, a program could start before its slice is there, or in another one than the book has.
TEST(SlicesTest, ASliceIsCutBeforeItsProgramStartsAndGoesBackBehindIt) {
  Sliced machine;
  machine.start();
  machine.tenant("team-a", 4);
  const std::string job = machine.slice("4GiB");
  ASSERT_TRUE(machine.reaches(job, JobState::kRunning));
  ASSERT_THAT(machine.devices.slices(), SizeIs(1));
  EXPECT_EQ(machine.devices.slices().front().template_name.value, "vir02");
  const auto process = machine.world.process({job, 1});
  ASSERT_TRUE(process);
  EXPECT_EQ(process->spec.slice, (LaunchSlice{0, kFirstId, "vir02"}));
  EXPECT_THAT(process->spec.npus, IsEmpty());
  EXPECT_EQ(machine.view(job).slice->id, kFirstId);
  machine.finish(job);
  ASSERT_TRUE(machine.is_clean());
  EXPECT_EQ(machine.store.count("slice_ordered"), 1U);
  EXPECT_EQ(machine.store.count("slice_made"), 1U);
  EXPECT_TRUE(eventually([&] { return machine.store.count("slice_returned") == 1; }));
}

// Without this, a kill at some moment would lose a slice or its job, run a program twice, or leave capacity
// taken.
TEST(SlicesTest, SurviveAKillAfterEveryRecord) {
  const auto play = [](Sliced& machine, std::map<int, std::string>& acknowledged) {
    (void)machine.apply(
        "apiVersion: tangram.dev/v1\nkind: Tenant\nmetadata: {name: team-a}\nspec: {quota: {npus: 4}}\n");
    const std::vector<std::string> sizes = {"1GiB", "4GiB", "7GiB", "7GiB"};
    for (int number = 0; number < 4 && !machine.store.dead(); ++number) {
      const Answer answer =
          machine.submit(R"({"tenant":"team-a","command":["/bin/true"],"slice":{"memory":")" +
                             sizes[static_cast<std::size_t>(number)] + "\"}}",
                         "key-" + std::to_string(number));
      if (answer.status == 201) acknowledged[number] = wire::read_job_view(answer.body)->id;
    }
    if (acknowledged.contains(1)) (void)machine.cancel(acknowledged[1]);
    EXPECT_TRUE(eventually([&] {
      for (const AttemptKey& key : machine.world.keys()) {
        const auto process = machine.world.process(key);
        if (process->released && process->alive && !process->exit) {
          machine.world.finish(key, Outcome::kSucceeded, 0);
        }
      }
      return machine.store.dead() || machine.service->jobs(kOperator, {})->items.empty();
    }));
  };
  std::size_t records = 0;
  {
    Sliced machine;
    machine.start();
    std::map<int, std::string> acknowledged;
    play(machine, acknowledged);
    ASSERT_TRUE(machine.is_clean());
    records = machine.store.records().size();
  }
  ASSERT_GT(records, 30U);
  for (std::size_t kept = 0; kept <= records; ++kept) {
    SCOPED_TRACE("killed after record " + std::to_string(kept));
    Sliced machine;
    machine.store.die_after(kept);
    machine.start();
    std::map<int, std::string> acknowledged;
    play(machine, acknowledged);
    machine.crash();
    machine.store.revive();
    machine.start();
    play(machine, acknowledged);
    ASSERT_TRUE(machine.is_clean());
    EXPECT_FALSE(machine.world.overlap_seen());
    for (const auto& [number, job] : acknowledged) {
      const wire::JobView view = machine.view(job);
      EXPECT_LE(machine.world.executions(job), 1) << job << " ran twice";
      EXPECT_TRUE(view.outcome == Outcome::kSucceeded || view.outcome == Outcome::kCancelled) << view.message;
    }
    EXPECT_EQ(machine.store.count("slice_ordered"), machine.store.count("slice_returned"));
    if (HasFailure()) break;
  }
}

// Without this, the past of a job would tell of a whole NPU where it had a part.
TEST(SlicesTest, EventsTellTheSliceThatAJobAsksForAndGets) {
  Sliced machine;
  machine.start();
  machine.tenant("team-a", 4);
  const std::string job = machine.slice("4GiB");
  ASSERT_TRUE(machine.reaches(job, JobState::kRunning));
  machine.finish(job);
  ASSERT_TRUE(machine.reaches(job, JobState::kEnded));
  std::map<std::string, wire::EventView> told;
  for (const StoredEvent& stored : machine.store.events()) {
    const auto view = wire::read_event_view(stored.event.body);
    ASSERT_TRUE(view) << stored.event.body;
    if (view->job == job) told[view->type] = *view;
  }
  EXPECT_EQ(told["job.submitted"].slice_requested, (wire::SliceRequest{Bytes::gib(4), 0}));
  for (const char* type : {"job.starting", "job.running", "npu.allocated", "npu.released", "slice.made"}) {
    ASSERT_TRUE(told.contains(type)) << type;
    EXPECT_EQ(told[type].template_name, "vir02") << type;
  }
}

// Without this, the job would end for what the driver did, or try the same NPU for ever while another is
// free.
TEST(SlicesTest, AnNpuThatRefusesIsLeftForAnother) {
  Sliced machine(2);
  machine.devices.refuse_create({0});
  machine.start();
  machine.tenant("team-a", 4);
  const std::string job = machine.slice("1GiB");
  ASSERT_TRUE(machine.reaches(job, JobState::kRunning));
  EXPECT_THAT(machine.view(job).npus, ElementsAre(1U));
  EXPECT_EQ(machine.store.count("attempt_ended"), 1U);
  EXPECT_EQ(machine.view(job).attempt, 2);
}

// Without this, a driver that refuses everything would fill the journal as fast as the disk can write.
TEST(SlicesTest, AnNpuThatRefusesIsTriedLessAndLess) {
  Sliced machine;
  machine.devices.refuse_create({0});
  machine.start();
  machine.tenant("team-a", 4);
  const std::string job = machine.slice("1GiB");
  ASSERT_TRUE(machine.waits_for(job, "capacity.slices.residual"));
  EXPECT_THAT(machine.view(job).message, HasSubstr("its slice could not be cut: the driver refused the cut"));
  EXPECT_THAT(machine.view(job).reason->message, HasSubstr("has just refused to cut")) << "no slice is there";
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(machine.store.count("slice_ordered"), 1U);
  machine.devices.refuse_create({});
  EXPECT_TRUE(machine.reaches(job, JobState::kRunning));
}

// Without this, a driver that cannot cut would be asked for ever: each job would go round between queue and
// driver, and nobody be told that it waits in vain.
TEST(SlicesTest, ADriverThatCannotCutIsAskedOnceAndTheReasonIsTold) {
  for (const std::string_view reason : {slice_reason::kUnsupported, slice_reason::kNotPermitted}) {
    SCOPED_TRACE(reason);
    Sliced machine;
    machine.devices.refuse_create({0}, reason);
    machine.start();
    machine.tenant("team-a", 4);
    const std::string job = machine.slice("1GiB");
    ASSERT_TRUE(machine.waits_for(job, "request.slice.unsupported"));
    EXPECT_THAT(machine.view(job).reason->message,
                HasSubstr("its driver has refused to cut NPU 0: the driver refused the cut"));
    EXPECT_THAT(machine.service->why(kOperator, job)->blockers.front().message,
                HasSubstr("the driver refused the cut"));
    const Answer second =
        machine.submit(R"({"tenant":"team-a","command":["/bin/true"],"slice":{"memory":"1GiB"}})");
    EXPECT_THAT(second.body, HasSubstr("request.slice.unsupported"));
    EXPECT_THAT(second.body, HasSubstr("the driver refused the cut"));
    const int looks = machine.devices.scans();
    ASSERT_TRUE(eventually([&] { return machine.devices.scans() > looks + 5; }));
    EXPECT_EQ(machine.store.count("slice_ordered"), 1U);
    EXPECT_EQ(machine.reason(job), "request.slice.unsupported");
    // Whole it can be had.
    EXPECT_TRUE(machine.reaches(machine.job("team-a", 1), JobState::kRunning));
  }
}

// Without this, mending what was wrong would not help before somebody thinks of a restart, or not even then.
TEST(SlicesTest, WhatIsMendedIsCutAgain) {
  const std::vector<std::function<void(Sliced&)>> cures = {
      [](Sliced& machine) { machine.devices.set_driver("26.0.0", {}); },
      [](Sliced& machine) {
        DeviceNpu other = npu_310p3(0);
        other.board_id.value = 0x65;
        machine.devices.set_npu(other);
      },
      [](Sliced& machine) {
        machine.stop();
        machine.start();
      },
  };
  for (const auto& cure : cures) {
    Sliced machine;
    machine.devices.refuse_create({0}, slice_reason::kUnsupported);
    machine.start();
    machine.tenant("team-a", 4);
    const std::string job = machine.slice("1GiB");
    ASSERT_TRUE(machine.waits_for(job, "request.slice.unsupported"));
    machine.devices.refuse_create({});
    cure(machine);
    EXPECT_TRUE(machine.reaches(job, JobState::kRunning));
  }
}

// Without this, a right that was given, which no look shows, would be found by a restart only; or be looked
// for by a job that goes round and round.
TEST(SlicesTest, ARefusalIsTriedAgainAfterALongPause) {
  Sliced machine;
  machine.options.slice_policy.retry_refused_ms = 150;
  machine.devices.refuse_create({0}, slice_reason::kNotPermitted);
  machine.start();
  machine.tenant("team-a", 4);
  const std::string job = machine.slice("1GiB");
  // Both orders have come to nothing, and not only been given.
  ASSERT_TRUE(eventually([&] { return machine.store.count("slice_returned") == 2; }));
  ASSERT_TRUE(machine.waits_for(job, "request.slice.unsupported"));
  machine.devices.refuse_create({});
  EXPECT_TRUE(machine.reaches(job, JobState::kRunning));
  EXPECT_EQ(machine.store.count("slice_ordered"), 3U) << "150 ms, then 300 ms";
}

// Without this, one NPU whose driver will not would take all others from those who want slices.
TEST(SlicesTest, OtherNpusAreCutInThePlaceOfOneThatCannotBe) {
  Sliced machine(2);
  machine.devices.refuse_create({0}, slice_reason::kUnsupported);
  machine.start();
  machine.tenant("team-a", 9);
  for (int i = 0; i < 3; ++i) {
    const std::string job = machine.slice("1GiB");
    ASSERT_TRUE(machine.reaches(job, JobState::kRunning));
    EXPECT_THAT(machine.view(job).npus, ElementsAre(1U));
  }
  EXPECT_EQ(machine.store.count("slice_ordered"), 4U);
}

// Without this, a slice that somebody cuts between two looks would be taken for one of the daemon's own
// leftovers by the next daemon, and destroyed.
TEST(SlicesTest, ASliceThatWasThereBeforeItsOrderIsNobodysToDestroy) {
  Sliced machine;
  machine.options.scan_interval_ms = 600'000;
  machine.start();
  machine.tenant("team-a", 4);
  SliceOrder stranger;
  stranger.physical_id = 0;
  stranger.id = kFirstId;
  stranger.template_name = "vir01";
  stranger.vgroup = 0;
  ASSERT_TRUE(machine.devices.create_slice(stranger));
  const std::string job = machine.slice("1GiB");
  ASSERT_TRUE(eventually([&] { return machine.store.count("attempt_ended") == 1; }));
  EXPECT_EQ(machine.store.count("slice_returned"), 1U) << "in the same group";
  machine.crash();
  machine.start();
  ASSERT_TRUE(machine.reaches(job, JobState::kRunning));
  EXPECT_THAT(machine.devices.slices(), SizeIs(2));
  EXPECT_NE(machine.view(job).slice->id, kFirstId);
  machine.finish(job);
  ASSERT_TRUE(eventually([&] { return machine.devices.slices().size() == 1; }));
  EXPECT_EQ(machine.devices.slices().front().id, kFirstId);
}

// Without this, what a slice leaves behind would be given again while the hardware still has it.
TEST(SlicesTest, ASliceThatIsNotReturnedYetIsCountedAndNamed) {
  Sliced machine;
  machine.devices.refuse_destroy(true);
  machine.start();
  machine.tenant("team-a", 4);
  const std::string job = machine.slice("7GiB");
  ASSERT_TRUE(machine.reaches(job, JobState::kRunning));
  machine.finish(job);
  ASSERT_TRUE(machine.reaches(job, JobState::kEnded));
  const std::string whole = machine.job("team-a", 1);
  ASSERT_TRUE(machine.waits_for(whole, "capacity.slices.residual"));
  EXPECT_THAT(machine.view(whole).reason->message, HasSubstr("slice 100 (vir04)"));
  // Also behind a restart, which tries at once.
  machine.stop();
  machine.start();
  EXPECT_EQ(machine.reason(whole), "capacity.slices.residual");
  machine.devices.refuse_destroy(false);
  EXPECT_TRUE(machine.reaches(whole, JobState::kRunning));
  EXPECT_THAT(machine.devices.slices(), IsEmpty());
}

// Without this, a job would run on without the slice that it holds, or with a card that is gone.
TEST(SlicesTest, AJobThatLosesItsSliceOrItsNpuIsStopped) {
  Sliced machine;
  machine.start();
  machine.tenant("team-a", 4);
  const std::string first = machine.slice("1GiB");
  ASSERT_TRUE(machine.reaches(first, JobState::kRunning));
  machine.devices.drop_slices();
  ASSERT_TRUE(machine.reaches(first, JobState::kEnded));
  EXPECT_EQ(machine.view(first).outcome, Outcome::kDeviceLost);
  EXPECT_THAT(machine.view(first).message, HasSubstr("slice 100 of NPU 0 is gone"));
  const std::string second = machine.slice("1GiB");
  ASSERT_TRUE(machine.reaches(second, JobState::kRunning));
  machine.devices.set_health(0, Health::kCritical);
  ASSERT_TRUE(machine.reaches(second, JobState::kEnded));
  EXPECT_EQ(machine.view(second).outcome, Outcome::kDeviceLost);
}

// Without this, a program that fails because its slice is gone would be blamed for it, and not started again.
TEST(SlicesTest, AProgramThatNoticesFirstThatItsSliceIsGoneIsNotBlamed) {
  Sliced machine;
  machine.start();
  machine.tenant("team-a", 4);
  const std::string job = machine.slice("1GiB");
  ASSERT_TRUE(machine.reaches(job, JobState::kRunning));
  machine.devices.drop_slices();
  machine.world.finish(machine.key(job), Outcome::kFailed, 1);
  ASSERT_TRUE(machine.reaches(job, JobState::kEnded));
  EXPECT_EQ(machine.view(job).outcome, Outcome::kDeviceLost);
  EXPECT_THAT(machine.view(job).message, HasSubstr("slice 100 of NPU 0 is gone"));
}

// Without this, a slice just returned would be shown as somebody else's until the next look, with the command
// that destroys what may be another job's by then.
TEST(SlicesTest, WhatWasReturnedSinceTheLastLookIsNotShown) {
  Sliced machine;
  machine.options.scan_interval_ms = 400;
  machine.start();
  machine.tenant("team-a", 4);
  const std::string job = machine.slice("1GiB");
  const auto shown = [&machine] { return machine.service->slices(kOperator, {})->npus.front().slices; };
  ASSERT_TRUE(machine.reaches(job, JobState::kRunning));
  ASSERT_TRUE(eventually([&] { return shown().size() == 1 && machine.devices.scans() > 2; }));
  machine.finish(job);
  ASSERT_TRUE(eventually([&] { return machine.store.count("slice_returned") == 1; }));
  ASSERT_TRUE(eventually([&] { return shown().empty(); }));
  for (int i = 0; i < 50; ++i) {
    EXPECT_THAT(shown(), IsEmpty());
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

// Without this, a boot would cut the slices of jobs that have ended: a driver whose recover mode is off
// forgets nothing by itself.
TEST(SlicesTest, WhatIsGoneIsForgottenByTheDriverToo) {
  Sliced machine;
  machine.start();
  machine.tenant("team-a", 4);
  const std::string first = machine.slice("1GiB");
  ASSERT_TRUE(machine.reaches(first, JobState::kRunning));
  EXPECT_THAT(machine.devices.forgotten(), IsEmpty());
  machine.finish(first);
  ASSERT_TRUE(machine.is_clean());
  EXPECT_THAT(machine.devices.forgotten(), ElementsAre(kFirstId));
  // Also one that went by itself.
  const std::string second = machine.slice("1GiB");
  ASSERT_TRUE(machine.reaches(second, JobState::kRunning));
  machine.devices.drop_slices();
  ASSERT_TRUE(machine.reaches(second, JobState::kEnded));
  ASSERT_TRUE(eventually([&] { return machine.store.count("slice_returned") == 2; }));
  EXPECT_THAT(machine.devices.forgotten(), ElementsAre(kFirstId, kFirstId));
  // A file that cannot be changed keeps no slice.
  machine.devices.refuse_forget(true);
  const std::string third = machine.slice("1GiB");
  ASSERT_TRUE(machine.reaches(third, JobState::kRunning));
  machine.finish(third);
  EXPECT_TRUE(eventually([&] { return machine.store.count("slice_returned") == 3; }));
}

// Without this, a setting of the whole machine would be changed without a word, or against the operator's
// will.
TEST(SlicesTest, TheRecoverModeIsTurnedOffAloudOrLeftAlone) {
  ::testing::internal::CaptureStderr();
  {
    Sliced machine;
    machine.start();
    ASSERT_TRUE(eventually([&] { return !machine.devices.slices_recover(); }));
    const int looks = machine.devices.scans();
    ASSERT_TRUE(eventually([&] { return machine.devices.scans() > looks + 3; }));
  }
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("slices.forbidRecover"));
  EXPECT_EQ(log.find("slices.forbidRecover"), log.rfind("slices.forbidRecover")) << "once";
  Sliced machine;
  machine.options.slice_policy.forbid_recover = false;
  machine.start();
  const int looks = machine.devices.scans();
  ASSERT_TRUE(eventually([&] { return machine.devices.scans() > looks + 3; }));
  EXPECT_TRUE(machine.devices.slices_recover());
}

// Without this, slices would be promised by a table that is not that of the chip, until a driver refuses
// them.
TEST(SlicesTest, AChipThatIsOtherwiseThanDescribedIsToldAtTheStart) {
  Sliced machine;
  DeviceNpu strange = npu_310p3(0);
  strange.slicing.total.ai_cpus = Sample<std::int32_t>::known(9);
  machine.devices.set_npu(strange);
  ::testing::internal::CaptureStderr();
  machine.start();
  machine.stop();
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("NPU 0 has 9 AICPU, and the catalogue says 7"));
}

// Without this, a lease could be told as given, and its limit run, before its slice is there.
TEST(SlicesTest, ALeaseRunsWhenItsSliceIsCut) {
  Sliced machine;
  machine.devices.refuse_create({0});
  machine.start();
  machine.tenant("team-a", 4);
  auto request = wire::read_lease_request(R"({"tenant":"team-a","slice":{"memory":"1GiB"}})");
  ASSERT_TRUE(request);
  const auto lease = machine.call<HeldLease>(
      [&](auto done) { machine.service->lease(kOperator, *request, {nullptr, true}, done); });
  ASSERT_TRUE(lease) << lease.error().to_string();
  const std::string job = wire::format_job_id(lease->job);
  ASSERT_TRUE(machine.waits_for(job, "capacity.slices.residual"));
  EXPECT_EQ(machine.store.count("attempt_running"), 0U);
  machine.devices.refuse_create({});
  ASSERT_TRUE(machine.reaches(job, JobState::kRunning));
  EXPECT_THAT(machine.devices.slices(), SizeIs(1));
  ASSERT_TRUE(machine.release(*lease, lease->token));
  EXPECT_TRUE(machine.is_clean());
}

// Without this, a damaged journal could destroy a slice in use, or start a job in one that is not its own.
TEST(SlicesTest, RecordsThatCannotFollowAreRefused) {
  Sliced machine;
  machine.start();
  machine.tenant("team-a", 4);
  const std::string job = machine.slice("1GiB");
  ASSERT_TRUE(machine.reaches(job, JobState::kRunning));
  machine.crash();
  const auto recovered = recover(machine.store);
  ASSERT_TRUE(recovered) << recovered.error().to_string();
  const State& state = recovered->state;
  const TimeMs now = state.last_time();
  const JobId id(1);
  const std::vector<wire::JournalRecord> impossible = {
      wire::SliceOrdered{id, 1, 0, 101, "vir01", 0},  // it has one
      wire::SliceOrdered{JobId(9), 1, 0, 101, "vir01", 0},
      wire::SliceMade{id, 1, kFirstId},  // it is
      wire::SliceMade{id, 2, kFirstId},
      wire::SliceMade{id, 1, 101},
      wire::SliceReturned{id, 1, kFirstId},  // it is held
      wire::SliceReturned{id, 1, 65535},
  };
  for (const wire::JournalRecord& record : impossible) {
    const auto checked = state.check(record, now);
    ASSERT_FALSE(checked) << wire::encode_record(record);
    EXPECT_EQ(checked.error().reason, "record.impossible");
  }
  // The same state out of a snapshot.
  const auto copy = State::from_snapshot(state.to_snapshot());
  ASSERT_TRUE(copy) << copy.error().to_string();
  EXPECT_EQ(copy->to_snapshot(), state.to_snapshot());
  EXPECT_EQ(copy->slices(), state.slices());
  EXPECT_EQ(copy->slice_of(id), kFirstId);
}

class Reports : public ::testing::Test {
 protected:
  Reports() {
    readings_.available = true;
    readings_.owners.emplace();
    readings_.slices_for_containers = Sample<bool>::known(true);
    readings_.npus = {npu_310p3(0)};
  }
  NpuReport report(const std::set<std::uint32_t>& returned = {}) {
    auto made = make_node_report(state_, "node-1", readings_, private_devices_, returned, {});
    if (made) last_ = made->npus.front();
    if (made) state_.apply(*made, TimeMs(1));
    return last_;
  }
  std::string why() { return why_none_is_cut(readings_, {*state_.core().catalog(), private_devices_}); }

  State state_;
  DeviceReadings readings_;
  bool private_devices_ = true;
  NpuReport last_;
};

// Without this, slices would be given where they cannot be had, or be refused where they can.
TEST_F(Reports, SayWhetherAnNpuCanBeCutAndWhyNot) {
  EXPECT_TRUE(report().cuttable);
  EXPECT_EQ(report().template_set, "310P (24 GiB)");
  EXPECT_EQ(why(), "");
  // A look that could not read them changes nothing of that.
  readings_.npus[0].slicing.slices.valid = false;
  EXPECT_TRUE(report().cuttable);
  EXPECT_THAT(why(), HasSubstr("the slices of NPU 0 cannot be read"));
  readings_.npus[0].slicing.slices.valid = true;

  private_devices_ = false;
  EXPECT_FALSE(report().cuttable);
  EXPECT_THAT(why(), HasSubstr("a /dev of their own"));
  private_devices_ = true;
  readings_.slices_for_containers.value = false;
  EXPECT_FALSE(report().cuttable);
  EXPECT_THAT(why(), HasSubstr("virtual machines"));
  readings_.slices_for_containers.value = true;
  readings_.npus[0].chip = "310X";
  EXPECT_FALSE(report().cuttable);
  EXPECT_THAT(why(), HasSubstr("it is not known how 310X is cut"));
  readings_.npus[0].slicing.support = SliceSupport::kNotCut;
  EXPECT_THAT(why(), HasSubstr("no driver cuts 310X"));
}

// Without this, a driver would refuse what the table of a larger chip promises, job after job.
TEST_F(Reports, AnNpuWithLessThanDescribedIsNotCutByThatDescription) {
  SliceResources& total = readings_.npus[0].slicing.total;
  total.ai_cores_milli = Sample<std::int32_t>::known(8'000);
  total.vpc_milli = Sample<std::int32_t>::known(12'000);
  total.memory = Sample<Bytes>::known(Bytes::mib(21'527));
  EXPECT_TRUE(report().cuttable);
  total.vpc_milli.value = 8'000;
  EXPECT_FALSE(report().cuttable);
  EXPECT_EQ(why(),
            "NPU 0 has 8 of media.vpc, and chip \"310P (24 GiB)\" of the catalogue shares out 12; correct "
            "media.vpc of that chip in the file of slices.chips");
  // As the operator then does.
  ChipModel own = state_.core()
                      .catalog()
                      ->chip(state_.core().catalog()->find({"310P3", {}, 8, Bytes::mib(21'527)}))
                      .model;
  own.has[index_of(ChipResource::kVpc)] = 8;
  std::erase_if(own.templates, [](const SliceTemplate& shape) { return shape.owns_dvpp; });
  const auto catalog = Catalog::with({own});
  ASSERT_TRUE(catalog) << catalog.error().message;
  EXPECT_TRUE(template_set_of(readings_.npus[0], readings_, nullptr, {**catalog, true}));
}

// Without this, no slice would be given on boards of 24 cores that report the media engines of 20.
TEST_F(Reports, ABoardWithFewerMediaEnginesIsCutByItsOwnDescription) {
  DeviceNpu& npu = readings_.npus[0];
  npu.chip = "910B2";
  npu.board_id.value = 0x30;
  npu.ai_cores.value = 24;
  npu.memory_total.value = Bytes::gib(64);
  npu.slicing.total.vpc_milli = Sample<std::int32_t>::known(10'000);
  npu.slicing.total.jpegd_milli = Sample<std::int32_t>::known(28'000);
  EXPECT_EQ(report().template_set, "910B, 24 cores (by board)");
  npu.slicing.total.vpc_milli.value = 9'000;
  npu.slicing.total.jpegd_milli.value = 24'000;
  EXPECT_EQ(report().template_set, "910B, 24 cores (by board), DVPP of 20");
  npu.slicing.total.jpegd_milli.value = 12'000;
  EXPECT_FALSE(report().cuttable);
}

// Without this, slices would be cut on a card for which the vendor does not support that.
TEST_F(Reports, AChipOfA300iDuoIsGivenWholeOnly) {
  readings_.npus = {npu_310p3(0), npu_310p3(1)};
  for (DeviceNpu& npu : readings_.npus) npu.chips_on_card = 2;
  const NpuReport duo = report();
  EXPECT_FALSE(duo.cuttable);
  EXPECT_EQ(duo.health, Health::kOk);
  EXPECT_THAT(why(), HasSubstr("a card with two of this chip (300I Duo)"));
  for (DeviceNpu& npu : readings_.npus) npu.chips_on_card = 1;
  EXPECT_TRUE(report().cuttable);
  // An operator who knows better says so in a file.
  ChipModel own = state_.core()
                      .catalog()
                      ->chip(state_.core().catalog()->find({"310P3", {}, 8, Bytes::mib(21'527)}))
                      .model;
  own.name = "our Duo";
  own.match.chips_on_card = 2;
  const auto catalog = Catalog::with({own});
  ASSERT_TRUE(catalog);
  readings_.npus[0].chips_on_card = 2;
  const auto set = template_set_of(readings_.npus[0], readings_, nullptr, {**catalog, true});
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(*set, "our Duo");
}

// Without this, the capacity shown would be more than the hardware has, or a slice in use be called nobody's.
TEST_F(Reports, TellSlicesOfStrangers) {
  DeviceNpu& npu = readings_.npus[0];
  npu.slicing.slices.value = {slice_of(103, "vir04", 0), slice_of(105, "vir01", 2)};
  EXPECT_THAT(report().strays,
              ElementsAre(StraySlice{103, "vir04", 0, true}, StraySlice{105, "vir01", 2, true}));
  npu.slicing.slices.value[0].container_used.value = true;
  EXPECT_THAT(report().strays,
              ElementsAre(StraySlice{103, "vir04", 0, false}, StraySlice{105, "vir01", 2, true}));
  npu.slicing.slices.value[0].container_used.value = false;
  npu.processes.value = {{77, Bytes::mib(1)}};  // of nobody that we know
  EXPECT_THAT(report().strays,
              ElementsAre(StraySlice{103, "vir04", 0, false}, StraySlice{105, "vir01", 2, false}));
  // What could not be read is as it was.
  npu.slicing.slices.valid = false;
  npu.slicing.slices.value.clear();
  EXPECT_THAT(report().strays, SizeIs(2));
  // One that was returned since may still be in an older look.
  npu.slicing.slices.valid = true;
  npu.slicing.slices.value = {slice_of(103, "vir04", 0)};
  EXPECT_THAT(report({103}).strays, IsEmpty());
}

}  // namespace
}  // namespace tangram::service::testing
