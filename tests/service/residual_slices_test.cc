#include "service/residual_slices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace tangram::service {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using State = BookedSlice::State;

constexpr std::int64_t kGraceMs = 600'000;

SeenSlice seen(std::uint32_t id, const std::string& name = "vir04") {
  return {(id - 100) / 16, id, name, false, false};
}

BookedSlice booked(std::uint32_t id, State state, const std::string& name = "vir04") {
  BookedSlice slice;
  slice.physical_id = (id - 100) / 16;
  slice.id = id;
  slice.template_name = name;
  slice.state = state;
  return slice;
}

class ResidualSlices : public testing::Test {
 protected:
  // A look after so much more time.
  SliceReview look(std::vector<SeenSlice> slices, std::int64_t later_ms = 2'000) {
    now_.value += later_ms;
    const SlicesSeen all{{0, 1, 2}, std::move(slices)};
    sightings_.note(all, now_);
    return review_slices(book_, all, sightings_, policy_, now_);
  }

  // Of one slice, after the look.
  SliceVerdict verdict(const SeenSlice& slice, std::int64_t later_ms = 2'000) {
    return look({slice}, later_ms).slices.front().verdict;
  }

  // The policy allows, the grace is over, and it was seen often enough.
  void let_the_grace_pass(const SeenSlice& slice) {
    policy_ = {true, kGraceMs, 2};
    look({slice});
    look({slice}, kGraceMs);
  }

  std::vector<BookedSlice> book_;
  Sightings sightings_;
  ForeignPolicy policy_;
  TimeMs now_{1'700'000'000'000};
};

// Without it a running program would lose its slice: an idle one looks exactly like an orphan.
TEST_F(ResidualSlices, HeldSliceIsKeptHoweverIdleItLooks) {
  book_ = {booked(100, State::kHeld)};
  let_the_grace_pass(seen(100));
  EXPECT_EQ(verdict(seen(100)), SliceVerdict::kKeep);
  SeenSlice nameless = seen(100, "");
  nameless.container_used.reset();
  EXPECT_EQ(verdict(nameless), SliceVerdict::kKeep);
}

// Without it a crash between cut and lease would leave a slice that nobody owns, or cut a second one.
TEST_F(ResidualSlices, OrderedSliceIsAdopted) {
  book_ = {booked(100, State::kOrdered)};
  EXPECT_EQ(verdict(seen(100)), SliceVerdict::kAdopt);
  EXPECT_EQ(verdict(seen(100, "vir02")), SliceVerdict::kForeign) << "another template is another's";
  EXPECT_EQ(verdict(seen(101)), SliceVerdict::kForeign) << "another id is another's";
  book_[0].in_flight = true;
  EXPECT_EQ(verdict(seen(100)), SliceVerdict::kWait);
}

// Without it the capacity of a dead job would be lost until somebody looks.
TEST_F(ResidualSlices, OwnLeftoverIsReclaimedAtOnce) {
  book_ = {booked(100, State::kEnded)};
  EXPECT_EQ(verdict(seen(100)), SliceVerdict::kReclaim)
      << "at the first look after a restart, whatever the policy";
}

// Without it a program that outlives its lease would lose the device under its feet.
TEST_F(ResidualSlices, OwnLeftoverInUseIsNotTouched) {
  book_ = {booked(100, State::kEnded)};
  SeenSlice used = seen(100);
  used.container_used = true;
  EXPECT_EQ(verdict(used), SliceVerdict::kWait);
  used.container_used.reset();
  EXPECT_EQ(verdict(used), SliceVerdict::kWait);
  book_[0].supervised = true;
  EXPECT_EQ(verdict(seen(100)), SliceVerdict::kWait);
  book_[0].supervised = false;
  book_[0].in_flight = true;
  EXPECT_EQ(verdict(seen(100)), SliceVerdict::kWait);
}

// Without it the id of an ended lease, given to a new one, would be returned under the new one.
TEST_F(ResidualSlices, NewHolderOfAnIdComesBeforeTheOld) {
  for (const bool old_first : {true, false}) {
    book_ = {booked(100, State::kEnded), booked(100, State::kHeld)};
    if (!old_first) std::swap(book_[0], book_[1]);
    EXPECT_EQ(verdict(seen(100)), SliceVerdict::kKeep) << old_first;
  }
}

// Without it slices that another manager on this machine made would be destroyed.
TEST_F(ResidualSlices, ForeignSliceIsLeftAloneUnlessThePolicyAllows) {
  for (int i = 0; i < 5; ++i) EXPECT_EQ(verdict(seen(100), kGraceMs), SliceVerdict::kForeign);
  policy_.reclaim = true;
  EXPECT_EQ(verdict(seen(100)), SliceVerdict::kReclaim);
}

// Without it a slice that was made a moment ago, for a container that is just starting, would be destroyed.
TEST_F(ResidualSlices, ForeignSliceIsReturnedOnlyAfterGraceAndTwoSightings) {
  policy_ = {true, kGraceMs, 2};
  EXPECT_EQ(verdict(seen(100)), SliceVerdict::kWait);
  const auto still = look({seen(100)}, kGraceMs - 1).slices.front();
  EXPECT_EQ(still.verdict, SliceVerdict::kWait);
  EXPECT_THAT(still.why, HasSubstr("seen 2 times in 599 s, may be returned after 600 s"));
  EXPECT_EQ(verdict(seen(100), 1), SliceVerdict::kReclaim);

  EXPECT_EQ(verdict(seen(101), 10 * kGraceMs), SliceVerdict::kWait) << "seen once is not long";
}

// Without it a slice that was returned and cut again would inherit the age of its predecessor.
TEST_F(ResidualSlices, AbsenceAndAnotherTemplateBeginAnew) {
  let_the_grace_pass(seen(100));
  EXPECT_EQ(verdict(seen(100)), SliceVerdict::kReclaim);
  EXPECT_EQ(verdict(seen(100, "vir02")), SliceVerdict::kWait);
  let_the_grace_pass(seen(100));
  look({});
  EXPECT_EQ(verdict(seen(100)), SliceVerdict::kWait);
}

// Without it an NPU that could not be read would look empty: its leases lost, its strangers young again.
TEST_F(ResidualSlices, UnreadableNpuSaysNothing) {
  book_ = {booked(100, State::kHeld), booked(117, State::kHeld)};
  policy_ = {true, kGraceMs, 2};
  look({seen(100), seen(101), seen(117)});
  const SlicesSeen partial{{1}, {}};
  now_.value += kGraceMs;
  sightings_.note(partial, now_);
  const SliceReview review = review_slices(book_, partial, sightings_, policy_, now_);
  EXPECT_THAT(review.slices, IsEmpty());
  EXPECT_THAT(review.missing, ElementsAre(1));
  EXPECT_EQ(verdict(seen(101)), SliceVerdict::kReclaim) << "its age went on";
}

// Without it a process of the host, which does not show as use of a slice, would lose it.
TEST_F(ResidualSlices, ForeignSliceThatMayBeInUseIsNotTouched) {
  let_the_grace_pass(seen(100));
  SeenSlice slice = seen(100);
  slice.container_used = true;
  EXPECT_EQ(verdict(slice), SliceVerdict::kWait);
  slice.container_used.reset();
  EXPECT_EQ(verdict(slice), SliceVerdict::kWait);
  slice.container_used = false;
  slice.has_strange_processes = true;
  EXPECT_EQ(verdict(slice), SliceVerdict::kWait);
  slice.has_strange_processes.reset();
  EXPECT_EQ(verdict(slice), SliceVerdict::kWait);
  slice.has_strange_processes = false;
  EXPECT_EQ(verdict(slice), SliceVerdict::kReclaim);
}

// Without it an id that means all slices of a chip, made up by a broken driver, would be passed on.
TEST_F(ResidualSlices, ImpossibleIdIsNeverReturned) {
  for (const std::uint32_t id : {65535U, 0U, 116U}) {
    SeenSlice slice = seen(100);
    slice.id = id;
    BookedSlice entry = booked(100, State::kEnded);
    entry.id = id;
    book_ = {entry};
    let_the_grace_pass(slice);
    EXPECT_EQ(verdict(slice), SliceVerdict::kForeign) << id;
  }
}

// Without it a lease whose slice was taken away would run on as if nothing had happened, and ended ones would
// claim an id for ever.
TEST_F(ResidualSlices, MissingSlicesAreNamed) {
  book_ = {booked(100, State::kHeld), booked(101, State::kEnded), booked(102, State::kOrdered),
           booked(103, State::kOrdered), booked(104, State::kHeld)};
  book_[3].in_flight = true;
  EXPECT_THAT(look({seen(100), seen(104, "vir01")}).missing, ElementsAre(1, 2, 4));
  EXPECT_EQ(look({seen(104, "vir01")}).slices.front().verdict, SliceVerdict::kForeign);
  let_the_grace_pass(seen(104, "vir01"));
  EXPECT_EQ(verdict(seen(104, "vir01")), SliceVerdict::kForeign) << "whose it is must be cleared up first";
}

// Without it an NPU that fell off the bus would make its slices vanish from the book, or unknown use pass for
// none.
TEST_F(ResidualSlices, LookIsTakenAsItIs) {
  DeviceScan scan;
  scan.npus.resize(3);
  for (std::uint32_t i = 0; i < 3; ++i) {
    DeviceNpu& npu = scan.npus[i];
    npu.physical_id = i;
    npu.health = Health::kOk;
    npu.slicing.slices.valid = i != 1;
    npu.processes = Sample<std::vector<DeviceProcess>>::known({{71, Bytes::mib(1)}});
    DeviceSlice slice;
    slice.id = first_slice_id(i);
    npu.slicing.slices.value = {slice};
  }
  scan.npus[0].slicing.slices.value[0].template_name = Sample<std::string>::known("vir04");
  scan.npus[0].slicing.slices.value[0].container_used = Sample<bool>::known(false);
  SlicesSeen look = slices_seen(scan, std::set<std::int64_t>{71});
  EXPECT_THAT(look.npus, ElementsAre(0, 2));
  ASSERT_EQ(look.slices.size(), 2U);
  EXPECT_EQ(look.slices[0].template_name, "vir04");
  EXPECT_EQ(look.slices[0].container_used, false);
  EXPECT_EQ(look.slices[0].has_strange_processes, false);
  EXPECT_EQ(look.slices[1].template_name, "");
  EXPECT_EQ(look.slices[1].container_used, std::nullopt);
  EXPECT_EQ(slices_seen(scan, std::set<std::int64_t>{}).slices[0].has_strange_processes, true);
  EXPECT_EQ(slices_seen(scan, std::nullopt).slices[0].has_strange_processes, std::nullopt);
  scan.npus[0].health = Health::kAbsent;
  scan.npus[2].processes.valid = false;
  look = slices_seen(scan, std::set<std::int64_t>{71});
  EXPECT_THAT(look.npus, ElementsAre(2));
  EXPECT_EQ(look.slices[0].has_strange_processes, std::nullopt);
}

// Without it some mixture of book and look that no table thought of would destroy a slice in use.
TEST_F(ResidualSlices, NothingInUseIsEverReturnedWhateverTheMixture) {
  constexpr std::uint32_t kSeed = 20'261'130;
  std::mt19937 random(kSeed);
  const auto pick = [&random](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  const auto maybe = [&pick]() -> std::optional<bool> {
    const auto n = pick(3);
    return n == 2 ? std::nullopt : std::optional<bool>(n == 1);
  };
  const char* const names[] = {"vir01", "vir02", ""};
  int reclaimed = 0;
  for (int round = 0; round < 20'000; ++round) {
    if (round % 20 == 0) sightings_ = {};
    policy_ = {pick(2) == 0, 0, static_cast<int>(pick(3))};
    book_.clear();
    for (std::uint32_t n = pick(5); n > 0; --n) {
      BookedSlice entry = booked(100 + pick(4), static_cast<State>(pick(3)), names[pick(2)]);
      entry.in_flight = pick(4) == 0;
      entry.supervised = pick(4) == 0;
      book_.push_back(entry);
    }
    std::vector<SeenSlice> slices;
    for (std::uint32_t id = 100; id < 104; ++id) {
      if (pick(3) == 0) continue;
      SeenSlice slice = seen(pick(16) == 0 ? 65535 : id, names[pick(3)]);
      slice.physical_id = 0;
      slice.container_used = maybe();
      slice.has_strange_processes = maybe();
      slices.push_back(slice);
    }
    const SliceReview review = look(slices);
    ASSERT_EQ(review.slices.size(), slices.size());
    for (std::size_t i = 0; i < slices.size(); ++i) {
      if (review.slices[i].verdict != SliceVerdict::kReclaim) continue;
      ++reclaimed;
      ASSERT_EQ(slices[i].container_used, false) << "round " << round;
      ASSERT_NE(slices[i].id, 65535U) << "round " << round;
      for (const BookedSlice& entry : book_) {
        const bool holds =
            entry.id == slices[i].id && entry.state != State::kEnded &&
            (slices[i].template_name.empty() || entry.template_name == slices[i].template_name);
        ASSERT_FALSE(holds) << "round " << round;
        ASSERT_FALSE(review.slices[i].own && entry.id == slices[i].id && entry.supervised)
            << "round " << round;
      }
      if (!review.slices[i].own) {
        ASSERT_TRUE(policy_.reclaim) << "round " << round;
        ASSERT_EQ(slices[i].has_strange_processes, false) << "round " << round;
      }
    }
  }
  EXPECT_GT(reclaimed, 1'000) << "the mixtures reach the case at all";
}

}  // namespace
}  // namespace tangram::service
