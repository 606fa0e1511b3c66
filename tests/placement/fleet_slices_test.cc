#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>

#include "placement/fleet.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Bytes kAllocatable = Bytes::mib(21'527);

NpuReport npu_310p3(std::uint32_t id) {
  NpuReport npu{id, "310P3", kAllocatable, 8, Health::kOk};
  npu.cuttable = true;
  npu.template_set = "310P (24 GiB)";
  return npu;
}

NodeReported node_310p3(const std::string& name, std::uint32_t count) {
  NodeReported reported;
  reported.node = name;
  for (std::uint32_t i = 0; i < count; ++i) reported.npus.push_back(npu_310p3(i));
  return reported;
}

SliceAsk mib(std::int64_t memory, std::int32_t cores = 0) {
  return {Bytes::mib(memory), cores};
}

// Gives what is asked, or says why not: "vir02@3.1" is vGroup 1 of NPU 3.
class Desk {
 public:
  Fleet fleet;

  std::string give(std::uint64_t job, const SliceAsk& ask, const PlacementFilter& filter = {}) {
    const std::vector<SliceOffer> offers = fleet.offers(fleet.round_up(ask));
    const std::optional<SlicePlace> place = fleet.choose(offers, filter);
    EXPECT_EQ(fleet.fits(offers, filter), place.has_value());
    if (!place) {
      if (offers.empty()) return "never";
      switch (fleet.shortage(offers)) {
        case Shortage::kNpus:
          return "npus";
        case Shortage::kMemory:
          return "memory";
        case Shortage::kSlots:
          return "slots";
        case Shortage::kResidual:
          return "residual";
      }
    }
    npus_[job] = place->npu;
    if (!place->slice) {
      fleet.take(JobId(job), {place->npu}, true);
      return "whole@" + std::to_string(place->npu.value);
    }
    fleet.take_slice(JobId(job), place->npu, *place->slice, true);
    std::string text = place->slice->template_name + "@" + std::to_string(place->npu.value);
    if (place->slice->vgroup != kNoVgroup) text += "." + std::to_string(place->slice->vgroup);
    return text;
  }

  std::string template_for(std::uint64_t job, const SliceAsk& ask) {
    const std::string given = give(job, ask);
    return given.substr(0, given.find('@'));
  }

  std::string give_whole(std::uint64_t job, std::int32_t npus) {
    const std::optional<Place> place = fleet.choose(npus, 0, {});
    if (!place) {
      switch (fleet.shortage(npus, 0, {})) {
        case Shortage::kNpus:
          return "npus";
        case Shortage::kMemory:
          return "memory";
        case Shortage::kSlots:
          return "slots";
        case Shortage::kResidual:
          return "residual";
      }
    }
    const std::vector<NpuIndex> picked = fleet.pick(*place, npus);
    fleet.take(JobId(job), picked, true);
    npus_[job] = picked.front();
    return "given";
  }

  void end(std::uint64_t job) {
    fleet.release(JobId(job), npus_.at(job));
    npus_.erase(job);
  }

 private:
  std::map<std::uint64_t, NpuIndex> npus_;
};

// Without this, a request would come to another template than the vendor's table says.
TEST(FleetSlices, TheSmallestTemplateThatFitsIsGiven) {
  const std::vector<std::tuple<SliceAsk, std::string>> cases = {
      {mib(0), "vir01"},         {mib(1), "vir01"},       {mib(1024), "vir01"},    {mib(3072), "vir01"},
      {mib(3073), "vir02"},      {mib(4096), "vir02"},    {mib(6144), "vir02"},    {mib(6145), "vir04"},
      {mib(7000), "vir04"},      {mib(12'288), "vir04"},  {mib(12'289), "whole"},  {mib(13'000), "whole"},
      {mib(21'527), "whole"},    {mib(21'528), "never"},  {mib(24'576), "never"},  {mib(0, 2), "vir02"},
      {mib(1024, 4), "vir04"},   {mib(1024, 5), "whole"}, {mib(1024, 8), "whole"}, {mib(1024, 9), "never"},
      {mib(13'000, 1), "whole"},
  };
  for (const auto& [ask, wanted] : cases) {
    Desk desk;
    desk.fleet.report(node_310p3("a", 1));
    EXPECT_EQ(desk.template_for(1, ask), wanted) << ask.memory.count / 1024 / 1024 << "," << ask.ai_cores;
  }
}

// Without this, an eighth slice would be promised that the chip does not cut, or be called a lack of memory.
TEST(FleetSlices, SevenSlicesOfOneCoreAreAllThatOneChipHas) {
  Desk desk;
  desk.fleet.report(node_310p3("a", 1));
  std::vector<std::string> given;
  for (std::uint64_t job = 1; job <= 8; ++job) given.push_back(desk.give(job, mib(1024)));
  EXPECT_THAT(given, ElementsAre("vir01@0.0", "vir01@0.0", "vir01@0.1", "vir01@0.1", "vir01@0.2", "vir01@0.2",
                                 "vir01@0.3", "slots"));
  desk.end(3);
  EXPECT_EQ(desk.give(9, mib(1024)), "vir01@0.1") << "back to the core that lost its partner";
}

// Without this, an NPU could be cut under a program that has all of it, or the other way round.
TEST(FleetSlices, WholeAndSlicedUseExcludeEachOther) {
  Desk desk;
  desk.fleet.report(node_310p3("a", 1));
  ASSERT_EQ(desk.give_whole(1, 1), "given");
  EXPECT_EQ(desk.give(2, mib(1024)), "memory");
  desk.end(1);
  ASSERT_EQ(desk.give(2, mib(1024)), "vir01@0.0");
  EXPECT_EQ(desk.give_whole(3, 1), "memory");
  EXPECT_EQ(desk.give(3, mib(13'000)), "memory") << "whole, as no template is large enough";
  EXPECT_EQ(desk.fleet.kind(0).free, 0);
  EXPECT_EQ(desk.fleet.kind(0).cut, 1);
  desk.end(2);
  EXPECT_EQ(desk.give_whole(3, 1), "given");
  EXPECT_EQ(desk.fleet.kind(0).cut, 0);
}

// Without this, one core of each NPU would lie idle, and the switch that turns variants off would not.
TEST(FleetSlices, VariantsAreChosenByWhatIsScarce) {
  for (const bool variants : {true, false}) {
    Desk desk;
    desk.fleet.report(node_310p3("a", 1));
    EXPECT_EQ(desk.fleet.set_slice_variants(variants), !variants);
    EXPECT_EQ(desk.give(1, mib(12'288)), "vir04@0.0");
    EXPECT_EQ(desk.give(2, mib(12'288)), variants ? "vir04_3c@0.1" : "slots");
    desk.end(1);
    EXPECT_EQ(desk.fleet.set_slice_variants(true), !variants);
    EXPECT_EQ(desk.give(3, mib(12'288)).substr(0, 5), "vir04") << "the policy changes while slices stand";
  }
}

// Without this, large slices would find every NPU cut a little.
TEST(FleetSlices, WhatIsCutAlreadyIsFilledFirst) {
  Desk desk;
  desk.fleet.report(node_310p3("a", 2));
  desk.fleet.report(node_310p3("b", 2));
  ASSERT_EQ(desk.give(1, mib(13'000)), "whole@0");
  EXPECT_EQ(desk.give(2, mib(1024)), "vir01@1.0")
      << "a node that has one free NPU left, not one that has two";
  EXPECT_EQ(desk.give(3, mib(1024)), "vir01@1.0");
  EXPECT_EQ(desk.give(4, mib(6144)), "vir02_1c@1.1");
  EXPECT_EQ(desk.give(5, mib(12'288)), "vir04@1.2") << "the four cores that are left of NPU 1";
  EXPECT_EQ(desk.give_whole(6, 2), "given") << "node b is as it was";
}

// Without this, an NPU would be promised that somebody else has cut, or a waiting job not learn why it waits.
TEST(FleetSlices, StraySlicesTakeWhatTheyTake) {
  NodeReported report = node_310p3("a", 1);
  report.npus[0].strays = {{100, "vir04", 0, true}, {101, "vir02", 1, false}};
  Desk desk;
  desk.fleet.report(report);
  EXPECT_EQ(desk.fleet.kind(0).free, 0);
  EXPECT_EQ(desk.give_whole(1, 1), "memory") << "the other slice is somebody's";
  EXPECT_EQ(desk.give(1, mib(12'288)), "residual");
  EXPECT_EQ(desk.give(1, mib(13'000)), "memory");
  EXPECT_EQ(desk.give(1, mib(1024)), "vir01@0.2");
  report.npus[0].strays = {{100, "vir04", 0, true}};
  EXPECT_EQ(desk.fleet.report(report), FleetChange::kCounts);
  desk.end(1);
  EXPECT_EQ(desk.give_whole(2, 1), "residual");
  EXPECT_EQ(desk.give(2, mib(13'000)), "residual");
  report.npus[0].strays.clear();
  desk.fleet.report(report);
  EXPECT_EQ(desk.give_whole(2, 1), "given");
  // A slice that does not say what it is: nothing is offered beside it.
  desk.end(2);
  for (const StraySlice& unknown : {StraySlice{100, "", 0, false}, StraySlice{100, "vir09", 0, false},
                                    StraySlice{100, "vir01", kNoVgroup, false}}) {
    report.npus[0].strays = {unknown};
    desk.fleet.report(report);
    EXPECT_EQ(desk.give(3, mib(1024)), "memory");
    EXPECT_EQ(desk.give_whole(3, 1), "memory");
  }
}

// Without this, an NPU that loses its health, its driver or its place would be cut, or its slices be
// forgotten.
TEST(FleetSlices, SlicesOutliveTheirNpusReport) {
  NodeReported report = node_310p3("a", 1);
  Desk desk;
  desk.fleet.report(report);
  ASSERT_EQ(desk.give(1, mib(6144)), "vir02@0.0");
  report.npus[0].health = Health::kWarning;
  desk.fleet.report(report);
  const std::vector<SliceOffer> offers = desk.fleet.offers(mib(3072, 1));
  EXPECT_FALSE(desk.fleet.choose(offers, {}));
  EXPECT_TRUE(desk.fleet.fits_if_healthy(offers));
  EXPECT_FALSE(desk.fleet.exists_healthy(offers));
  EXPECT_FALSE(desk.fleet.fits_if_healthy(1, 0)) << "it would be cut all the same";
  report.npus[0].cuttable = false;
  EXPECT_EQ(desk.fleet.report(report), FleetChange::kKinds) << "what a request comes to has changed";
  EXPECT_THAT(desk.fleet.offers(mib(1024)), IsEmpty());
  EXPECT_FALSE(desk.fleet.any_cuttable());
  desk.fleet.report(NodeReported{"a", {}});
  desk.fleet.report(node_310p3("a", 1));
  ASSERT_NE(desk.fleet.slice_of(JobId(1), NpuIndex(0)), nullptr);
  EXPECT_EQ(desk.give_whole(2, 1), "memory");
  EXPECT_EQ(desk.give(2, mib(6144)), "vir02_1c@0.1");
  desk.end(1);
  desk.end(2);
  EXPECT_EQ(desk.give_whole(2, 1), "given");
}

// Without this, NPUs kept for a large job would be cut meanwhile.
TEST(FleetSlices, KeptPartsAreNotCut) {
  Desk desk;
  desk.fleet.report(node_310p3("small", 1));
  desk.fleet.report(node_310p3("large", 2));
  const std::vector<std::int32_t> kept = {2};
  const PlacementFilter filter{kept, {}};
  EXPECT_EQ(desk.give(1, mib(12'288), filter), "vir04@0.0");
  EXPECT_EQ(desk.give(2, mib(13'000), filter), "memory");
  EXPECT_TRUE(desk.fleet.is_kept(desk.fleet.offers(mib(3072, 1)), filter));
  EXPECT_EQ(desk.give(2, mib(13'000)).substr(0, 5), "whole");
}

// Without this, a machine of two chip models would give the larger slice where the smaller does.
TEST(FleetSlices, TheSmallestSliceOfAllKindsComesFirst) {
  NodeReported report = node_310p3("mixed", 1);
  for (std::uint32_t i = 1; i < 3; ++i) {
    report.npus.push_back({i, "910B4", Bytes::gib(32), 20, Health::kOk});
    report.npus.back().cuttable = i == 1;
    report.npus.back().template_set = "910B4";
  }
  Desk desk;
  desk.fleet.report(report);
  EXPECT_EQ(desk.give(1, mib(7000)), "vir05_1c_8g@1");
  EXPECT_EQ(desk.give(2, mib(4096)), "vir02@0.0");
  EXPECT_EQ(desk.give(3, mib(13'000)), "vir10_3c_16g@1") << "16 GiB, not the 21 of a whole 310P3";
  EXPECT_EQ(desk.give(4, mib(30'000)), "whole@2") << "whole NPUs of a kind are alike, cuttable or not";
  EXPECT_EQ(desk.give(5, mib(40'000)), "never");
}

// Without this, `why` would name jobs whose end does not help.
TEST(FleetSlices, EndsThatMakeRoomAreFound) {
  Desk desk;
  desk.fleet.report(node_310p3("a", 1));
  for (std::uint64_t job = 1; job <= 7; ++job) desk.give(job, mib(1024));
  const auto fits_without = [&](const SliceAsk& ask, const std::vector<JobId>& ended) {
    return desk.fleet.fits_without(NpuIndex(0), desk.fleet.offers(ask), ended);
  };
  EXPECT_FALSE(fits_without(mib(6144), {JobId(1)})) << "its vGroup is still half used";
  EXPECT_TRUE(fits_without(mib(6144), {JobId(1), JobId(2)}));
  EXPECT_FALSE(fits_without(mib(13'000), {JobId(1), JobId(2)}));
}

// Counters and index are those of a count.
void expect_counted(const Fleet& fleet) {
  std::map<std::uint32_t, std::int64_t> free;
  std::map<std::uint32_t, std::int64_t> cut;
  for (std::uint32_t i = 0; i < fleet.npu_count(); ++i) {
    const Fleet::Npu& npu = fleet.npu(NpuIndex(i));
    ASSERT_TRUE(!npu.job.valid() || npu.slices.empty());
    if (npu.report.health == Health::kOk && npu.is_idle()) ++free[npu.kind];
    if (npu.report.health == Health::kOk && !npu.job.valid() && !npu.is_idle()) ++cut[npu.kind];
    if (npu.report.strays.empty() && npu.chip != kNoChip && !npu.slices.empty()) {
      ASSERT_NE(npu.state, kNoState) << "our own slices are legal together";
    }
    ASSERT_EQ(npu.indexed, npu.chip != kNoChip && npu.report.health == Health::kOk && !npu.job.valid() &&
                               npu.state != kNoState);
  }
  for (std::uint32_t kind = 0; kind < fleet.kind_count(); ++kind) {
    ASSERT_EQ(fleet.kind(kind).free, free[kind]);
    ASSERT_EQ(fleet.kind(kind).cut, cut[kind]);
  }
}

// The best is that of a look at every NPU.
void expect_best(const Fleet& fleet, const SliceAsk& ask) {
  const std::vector<SliceOffer> offers = fleet.offers(ask);
  const std::optional<SlicePlace> place = fleet.choose(offers, {});
  bool fits = false;
  for (const SliceOffer& offer : offers) {
    for (std::uint32_t i = 0; i < fleet.npu_count(); ++i) {
      fits = fits || fleet.fits_without(NpuIndex(i), std::span(&offer, 1), {});
    }
    if (fits) break;
  }
  ASSERT_EQ(place.has_value(), fits);
  if (!place || !place->slice) return;
  const SliceOffer& offer = offers[place->offer];
  const CutOrder& order = fleet.rules().order(offer.chip);
  std::uint32_t best = CutOrder::kNoRank;
  for (std::uint32_t i = 0; i < fleet.npu_count(); ++i) {
    const Fleet::Npu& npu = fleet.npu(NpuIndex(i));
    if (npu.indexed && npu.chip == offer.chip && npu.kind == offer.kind) {
      best = std::min(best, order.rank(offer.grant.size, npu.state));
    }
  }
  ASSERT_EQ(order.rank(offer.grant.size, fleet.npu(place->npu).state), best);
}

// What stands on an NPU is legal, the counters are those of a count, and the index is that of a scan, through
// 20'000 random lives.
TEST(FleetSlices, AgreesWithAScanThroughRandomLives) {
  Desk desk;
  std::vector<NodeReported> reports = {node_310p3("a", 3), node_310p3("b", 2), node_310p3("c", 2)};
  for (NpuReport& npu : reports[2].npus) {
    npu = {npu.physical_id, "910B4", Bytes::gib(32), 20, Health::kOk};
    npu.cuttable = npu.physical_id == 0;
    npu.template_set = "910B4";
  }
  for (const NodeReported& report : reports) desk.fleet.report(report);
  std::mt19937 random(20'261'130);
  std::vector<std::uint64_t> live;
  const std::vector<SliceAsk> asks = {mib(1024),    mib(4096),   mib(7000),   mib(7000),
                                      mib(1024, 2), mib(13'000), mib(17'000), mib(30'000)};
  std::map<std::string, int> seen;
  for (std::uint64_t step = 1; step <= 20'000; ++step) {
    const std::uint32_t what = random() % 16;
    if (what < 8) {
      const SliceAsk& ask = asks[random() % asks.size()];
      const std::string given = desk.give(step, ask);
      ++seen[given.substr(0, given.find('@'))];
      if (given.find('@') != std::string::npos) live.push_back(step);
    } else if (what == 8) {
      if (desk.give_whole(step, 1 + static_cast<std::int32_t>(random() % 2)) == "given") live.push_back(step);
    } else if (what < 15) {
      if (live.empty()) continue;
      const std::size_t at = random() % live.size();
      desk.end(live[at]);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
    } else {
      NodeReported& report = reports[random() % reports.size()];
      NpuReport& npu = report.npus[random() % report.npus.size()];
      npu.health = random() % 3 == 0 ? Health::kWarning : Health::kOk;
      npu.strays.clear();
      if (random() % 4 == 0) npu.strays = {{100, random() % 2 == 0 ? "vir01" : "?", 3, random() % 2 == 0}};
      desk.fleet.report(report);
    }
    expect_counted(desk.fleet);
    expect_best(desk.fleet, asks[step % asks.size()]);
    ASSERT_FALSE(::testing::Test::HasFailure()) << step;
  }
  for (const char* outcome : {"vir01", "vir02", "vir02_1c", "vir04", "vir04_3c", "vir05_1c_8g", "whole",
                              "memory", "slots", "residual"}) {
    EXPECT_GT(seen[outcome], 10) << outcome;
  }
  for (const std::uint64_t job : live) desk.end(job);
  for (NodeReported& report : reports) {
    for (NpuReport& npu : report.npus) npu.health = Health::kOk, npu.strays.clear();
    desk.fleet.report(report);
  }
  EXPECT_EQ(desk.fleet.kind(0).free, 5) << "all is free again";
}

}  // namespace
}  // namespace tangram
