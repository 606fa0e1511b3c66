#include "service/slice_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tangram::service {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = SliceEvent::Kind;
using State = BookedSlice::State;
using Step = SliceStep::Kind;

const AttemptKey kAttempt{"j-1", 1};

OwnSlice own(std::uint32_t id, State state = State::kOrdered, const std::string& name = "vir04") {
  return {kAttempt, (id - 100) / 16, id, name, state};
}

DeviceSlice shown(std::uint32_t id, const std::string& name = "vir04", bool used = false) {
  DeviceSlice slice;
  slice.id = id;
  slice.template_name = Sample<std::string>::known(name);
  slice.container_used = Sample<bool>::known(used);
  return slice;
}

DeviceScan scan_of(const std::vector<DeviceSlice>& slices) {
  DeviceScan scan;
  scan.npus.resize(2);
  for (std::uint32_t npu = 0; npu < 2; ++npu) {
    scan.npus[npu].physical_id = npu;
    scan.npus[npu].health = Health::kOk;
    scan.npus[npu].processes = Sample<std::vector<DeviceProcess>>::known({});
    std::vector<DeviceSlice> on_npu;
    for (const DeviceSlice& slice : slices) {
      if ((slice.id - 100) / 16 == npu) on_npu.push_back(slice);
    }
    scan.npus[npu].slicing.slices = Sample<std::vector<DeviceSlice>>::known(on_npu);
  }
  return scan;
}

tl::unexpected<Error> refused(std::string_view reason) {
  return fail(Code::kFailedPrecondition, std::string(reason), "as the test wants it");
}

std::vector<Kind> kinds(const SliceBook::Events& events) {
  std::vector<Kind> all;
  for (const SliceEvent& event : events) all.push_back(event.kind);
  return all;
}

class SliceBooks : public testing::Test {
 protected:
  void begin(const std::vector<OwnSlice>& entries) { book_.emplace(policy_, entries, now_); }
  Step step(std::int64_t later_ms = 0) {
    now_.value += later_ms;
    return book_->next(now_).kind;
  }
  std::vector<Kind> look(const std::vector<DeviceSlice>& slices) {
    return kinds(book_->looked(
        scan_of(slices), std::set<std::int64_t>{}, book_->begin_look(now_),
        [this](const AttemptKey&) { return lives_; }, now_));
  }
  std::vector<Kind> created(std::uint32_t id, const Result<DeviceSlice>& result) {
    return kinds(book_->created(id, result, now_));
  }

  SlicePolicy policy_;
  TimeMs now_{1'000'000};
  bool lives_ = false;
  std::optional<SliceBook> book_;
};

// Without it two orders would go by one id, and an interrupted one could not be told from another's slice.
TEST(FreeSliceId, IsTheLowestThatNobodyHas) {
  EXPECT_EQ(free_slice_id(0, {}), 100U);
  EXPECT_EQ(free_slice_id(2, {132, 133, 135}), 134U);
  std::set<std::uint32_t> all;
  for (std::uint32_t id = 116; id < 132; ++id) all.insert(id);
  EXPECT_EQ(free_slice_id(1, all), std::nullopt);
}

// Without it an attempt would wait for ever for a slice that is there.
TEST_F(SliceBooks, AnOrderIsCutAndReady) {
  begin({});
  EXPECT_EQ(step(), Step::kNothing);
  book_->order(own(116), now_);
  ASSERT_EQ(step(), Step::kCreate);
  const SliceOrder order = book_->next(now_).order;
  EXPECT_EQ(order.physical_id, 1U);
  EXPECT_EQ(order.id, 116U);
  EXPECT_EQ(order.template_name, "vir04");
  const auto events = book_->created(116, shown(116), now_);
  ASSERT_THAT(kinds(events), ElementsAre(Kind::kMade));
  EXPECT_EQ(events[0].slice, own(116, State::kHeld));
  EXPECT_EQ(events[0].seen->id, 116U);
  EXPECT_EQ(step(1'000'000), Step::kNothing) << "a held slice needs nobody";
}

// Without it a driver that says no once would cost the job its start, or one that always says no the daemon
// its time.
TEST_F(SliceBooks, ARefusedCutIsTriedAgainAndThenGivenUp) {
  begin({});
  book_->order(own(100), now_);
  std::int64_t pause_ms = policy_.create_pause_ms;
  for (int tries = 1; tries < policy_.create_tries; ++tries) {
    ASSERT_EQ(step(), Step::kCreate) << tries;
    EXPECT_THAT(created(100, refused(slice_reason::kRefused)), IsEmpty());
    EXPECT_EQ(step(pause_ms - 1), Step::kNothing) << tries;
    ++now_.value;
    pause_ms *= 2;
  }
  const auto events = book_->created(100, refused(slice_reason::kRefused), now_);
  ASSERT_THAT(kinds(events), ElementsAre(Kind::kNotMade, Kind::kReturned)) << "nothing of it is there";
  EXPECT_EQ(events[0].error->reason, slice_reason::kRefused);
  EXPECT_THAT(book_->entries(), IsEmpty());
}

// Without it a job would wait for tries that cannot end otherwise.
TEST_F(SliceBooks, WhatCannotBeIsNotTriedTwice) {
  for (const std::string_view reason :
       {slice_reason::kInvalid, slice_reason::kUnsupported, slice_reason::kNotPermitted,
        slice_reason::kNoCapacity, slice_reason::kExists}) {
    begin({});
    book_->order(own(100), now_);
    EXPECT_THAT(created(100, refused(reason)), ElementsAre(Kind::kNotMade, Kind::kReturned)) << reason;
  }
}

// Without it another's slice under the id that we chose would be taken for ours, and be returned as a
// leftover.
TEST_F(SliceBooks, ASliceOfAnothersUnderOurIdIsNeverOurs) {
  begin({});
  book_->order(own(100), now_);
  created(100, refused(slice_reason::kExists));
  EXPECT_THAT(look({shown(100)}), IsEmpty());
  EXPECT_EQ(step(1'000'000), Step::kNothing);
  ASSERT_THAT(book_->report().slices, SizeIs(1));
  EXPECT_EQ(book_->report().slices[0].verdict, SliceVerdict::kForeign);
}

// Without it an order that was cut off would be made twice, or what it made be nobody's.
TEST_F(SliceBooks, AfterAnOrderWasCutOffALookTells) {
  begin({});
  book_->order(own(100), now_);
  EXPECT_THAT(created(100, refused(slice_reason::kUnsettled)), IsEmpty());
  ASSERT_EQ(step(), Step::kLook);
  EXPECT_THAT(look({shown(100)}), ElementsAre(Kind::kMade));

  book_->order(own(101), now_);
  created(101, refused(slice_reason::kUnsettled));
  EXPECT_THAT(look({shown(100)}), IsEmpty());
  ASSERT_EQ(step(policy_.late_ms - 1), Step::kLook) << "it may still come into being";
  EXPECT_THAT(look({shown(100)}), IsEmpty());
  EXPECT_EQ(step(), Step::kNothing) << "and is not ordered beside that";
  ASSERT_EQ(step(policy_.look_pause_ms), Step::kLook);
  EXPECT_THAT(look({shown(100)}), IsEmpty());
  ASSERT_EQ(step(policy_.create_pause_ms), Step::kCreate);
  EXPECT_THAT(created(101, refused(slice_reason::kUnsettled)), IsEmpty());
  EXPECT_THAT(look({shown(100), shown(101)}), ElementsAre(Kind::kMade));
}

// Without it a call that comes late would take away the slice of the next attempt.
TEST_F(SliceBooks, AReturnThatWasCutOffKeepsTheIdForAWhile) {
  begin({own(100, State::kEnded)});
  look({shown(100)});
  ASSERT_EQ(step(), Step::kDestroy);
  EXPECT_THAT(kinds(book_->destroyed(100, refused(slice_reason::kUnsettled), now_)), IsEmpty());
  now_.value += policy_.return_pause_ms;
  EXPECT_THAT(look({}), IsEmpty());
  now_.value += policy_.late_ms;
  ASSERT_EQ(step(), Step::kLook);
  EXPECT_THAT(look({}), ElementsAre(Kind::kReturned));
}

// Without it the slice of an order that was cut off and is not wanted any more would come into being as a
// stranger's.
TEST_F(SliceBooks, ALateSliceThatNobodyWantsIsReturned) {
  begin({});
  book_->order(own(100), now_);
  created(100, refused(slice_reason::kUnsettled));
  EXPECT_THAT(book_->end(100, now_), IsEmpty());
  EXPECT_THAT(look({}), IsEmpty()) << "not there yet";
  ASSERT_EQ(step(policy_.look_pause_ms), Step::kLook);
  EXPECT_THAT(look({shown(100)}), IsEmpty());
  ASSERT_EQ(step(), Step::kDestroy);
  EXPECT_THAT(kinds(book_->destroyed(100, {}, now_)), IsEmpty()) << "the order may be under way still";
  now_.value += policy_.late_ms;
  ASSERT_EQ(step(), Step::kLook);
  EXPECT_THAT(look({}), ElementsAre(Kind::kReturned));
}

// Without it an ended attempt's slice would be destroyed under a program, or be kept for good.
TEST_F(SliceBooks, AnEndedSliceIsReturnedOnceNothingUsesIt) {
  begin({});
  book_->order(own(100), now_);
  created(100, shown(100));
  EXPECT_THAT(book_->end(100, now_), IsEmpty());
  ASSERT_EQ(step(), Step::kLook) << "the device is asked first";
  lives_ = true;
  look({shown(100)});
  EXPECT_EQ(step(), Step::kNothing) << "its supervisor lives";
  ASSERT_EQ(step(policy_.return_pause_ms), Step::kLook);
  lives_ = false;
  look({shown(100, "vir04", true)});
  EXPECT_EQ(step(), Step::kNothing) << "a container uses it";
  ASSERT_EQ(step(2 * policy_.return_pause_ms), Step::kLook);
  look({shown(100)});
  ASSERT_EQ(step(), Step::kDestroy);
  EXPECT_THAT(kinds(book_->destroyed(100, {}, now_)), ElementsAre(Kind::kReturned));
  EXPECT_THAT(book_->entries(), IsEmpty());
}

// Without it a driver that refuses would be asked without a pause, or the capacity be lost for good.
TEST_F(SliceBooks, ARefusedReturnIsTriedForEverWithPauses) {
  begin({own(100, State::kEnded)});
  std::int64_t pause_ms = policy_.return_pause_ms;
  for (int tries = 0; tries < 12; ++tries) {
    look({shown(100)});
    ASSERT_EQ(step(), Step::kDestroy) << tries;
    ASSERT_EQ(step(policy_.verdict_ms), Step::kLook) << tries << ": a look that is old allows nothing";
    look({shown(100)});
    EXPECT_THAT(kinds(book_->destroyed(100, refused(slice_reason::kInUse), now_)), IsEmpty());
    EXPECT_EQ(step(pause_ms - 1), Step::kNothing) << tries;
    ASSERT_EQ(step(1), Step::kLook) << tries << ": what the device said then is old by now";
    pause_ms = std::min(2 * pause_ms, policy_.pause_ms_max);
  }
  EXPECT_EQ(pause_ms, policy_.pause_ms_max);
  EXPECT_THAT(look({}), ElementsAre(Kind::kReturned)) << "somebody returned it by hand";
}

// Without it a restart would leave what a dead daemon made, or cut it a second time.
TEST_F(SliceBooks, ARestartGoesOnWhereTheJournalEnds) {
  begin({own(100, State::kOrdered), own(101, State::kOrdered), own(102, State::kHeld),
         own(103, State::kEnded)});
  ASSERT_EQ(step(), Step::kLook) << "first of all";
  EXPECT_THAT(look({shown(100), shown(102), shown(103)}), ElementsAre(Kind::kMade));
  ASSERT_EQ(step(), Step::kDestroy) << "its own leftover, at once";
  EXPECT_EQ(book_->next(now_).order.id, 103U);
  book_->destroyed(103, {}, now_);
  ASSERT_EQ(step(policy_.late_ms), Step::kLook) << "whether the other order took effect late";
  look({shown(100), shown(102)});
  ASSERT_EQ(step(), Step::kCreate) << "it had made nothing";
  EXPECT_EQ(book_->next(now_).order.id, 101U);
}

// Without it a job whose slice was taken away would run on as if nothing had happened.
TEST_F(SliceBooks, ALostSliceIsToldOnce) {
  begin({own(100, State::kHeld)});
  EXPECT_THAT(look({shown(100)}), IsEmpty());
  EXPECT_THAT(look({}), ElementsAre(Kind::kLost));
  EXPECT_THAT(look({}), IsEmpty());
  EXPECT_THAT(look({shown(100, "vir01")}), IsEmpty()) << "another one under its id is not it";
  EXPECT_THAT(look({shown(100)}), IsEmpty()) << "cut again by a reboot";
  EXPECT_THAT(look({}), ElementsAre(Kind::kLost));
  book_->end(100, now_);
  ASSERT_EQ(step(), Step::kLook);
  EXPECT_THAT(look({}), ElementsAre(Kind::kReturned));
}

// Without it a look that was under way during an order would undo it in the book.
TEST_F(SliceBooks, AnOlderLookSaysNothingOfWhatCameAfter) {
  const auto deliver = [this](const std::vector<DeviceSlice>& slices, LookStart began) {
    return kinds(book_->looked(
        scan_of(slices), std::set<std::int64_t>{}, began, [](const AttemptKey&) { return false; }, now_));
  };
  begin({});
  LookStart began = book_->begin_look(now_);
  book_->order(own(100), now_);
  created(100, shown(100));
  EXPECT_THAT(deliver({}, began), IsEmpty()) << "it was not there then";
  began = book_->begin_look(now_);
  book_->end(100, now_);
  EXPECT_THAT(deliver({shown(100)}, began), IsEmpty());
  EXPECT_EQ(step(), Step::kLook) << "the look does not know whether it is unused now";
  look({shown(100)});
  began = book_->begin_look(now_);
  ASSERT_EQ(step(), Step::kDestroy);
  book_->destroyed(100, {}, now_);
  deliver({shown(100)}, began);
  EXPECT_THAT(book_->report().slices, IsEmpty()) << "what was returned meanwhile is nobody's leftover";
  look({});
  EXPECT_THAT(deliver({shown(100)}, began), IsEmpty());
  EXPECT_THAT(book_->report().slices, IsEmpty()) << "a newer look has told";
}

// Without it every look at a machine with a dead NPU would ask for another one at once.
TEST_F(SliceBooks, AnNpuThatCannotBeReadIsNotAskedWithoutEnd) {
  begin({own(100, State::kEnded)});
  DeviceScan scan = scan_of({});
  scan.npus[0].health = Health::kAbsent;
  int looks = 0;
  for (const TimeMs end(now_.value + 600'000); now_ < end;) {
    const SliceStep next = book_->next(now_);
    if (next.kind == Step::kNothing) {
      now_ = std::min(next.due, end);
      continue;
    }
    ASSERT_EQ(next.kind, Step::kLook);
    ++looks;
    if (looks % 2 == 0) {
      book_->look_failed(now_);
    } else {
      book_->looked(
          scan, std::nullopt, book_->begin_look(now_), [](const AttemptKey&) { return false; }, now_);
    }
  }
  EXPECT_LT(looks, 60);
  EXPECT_GT(looks, 5);
  EXPECT_THAT(book_->entries(), SizeIs(1)) << "whether it is there is not known";
}

// Without it what a reboot cuts again would belong to leases that ended long before.
TEST_F(SliceBooks, RecoveryIsTurnedOffUnlessThePolicyKeepsIt) {
  DeviceScan scan = scan_of({});
  scan.slices_recover = Sample<bool>::known(true);
  const auto looked = [&] {
    book_->looked(scan, std::nullopt, book_->begin_look(now_), [](const AttemptKey&) { return false; }, now_);
  };
  begin({});
  looked();
  EXPECT_TRUE(book_->report().recovers);
  ASSERT_EQ(step(), Step::kForbidRecover);
  book_->recover_forbidden(refused(slice_reason::kRefused), now_);
  EXPECT_EQ(step(), Step::kNothing);
  ASSERT_EQ(step(policy_.return_pause_ms), Step::kForbidRecover);
  book_->recover_forbidden({}, now_);
  EXPECT_EQ(step(1'000'000), Step::kNothing);
  looked();
  EXPECT_EQ(step(), Step::kForbidRecover) << "somebody turned it on again";
  scan.slices_recover.valid = false;
  looked();
  EXPECT_EQ(step(), Step::kNothing);
  policy_.forbid_recover = false;
  begin({});
  scan.slices_recover.valid = true;
  looked();
  EXPECT_EQ(step(), Step::kNothing);
  EXPECT_TRUE(book_->report().recovers);
}

// Without it a stranger's slice would inherit the age of ours, which had its id before, and be returned at
// once.
TEST_F(SliceBooks, AStrangerIsReturnedAfterItsOwnGraceOnly) {
  policy_.foreign = {true, 60'000, 2};
  begin({own(100, State::kHeld)});
  look({shown(100)});
  now_.value += 1'000'000;
  book_->end(100, now_);
  look({shown(100)});
  ASSERT_EQ(step(), Step::kDestroy);
  book_->destroyed(100, {}, now_);
  look({shown(100)});
  EXPECT_EQ(step(), Step::kNothing) << "another manager was quick";
  now_.value += 59'999;
  look({shown(100)});
  EXPECT_EQ(step(), Step::kNothing);
  ++now_.value;
  look({shown(100)});
  ASSERT_EQ(step(), Step::kDestroy);
  EXPECT_THAT(book_->destroyed(100, refused(slice_reason::kInUse), now_), IsEmpty());
  EXPECT_EQ(step(1'000'000), Step::kNothing) << "only a look allows the next try";
  look({shown(100)});
  EXPECT_EQ(step(), Step::kDestroy);
  look({});
  EXPECT_EQ(step(), Step::kNothing);
}

}  // namespace
}  // namespace tangram::service
