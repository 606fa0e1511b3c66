#include "placement/cut_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <tuple>

namespace tangram {
namespace {

const Catalog::Chip& chip_of(const ChipIdentity& npu) {
  return Catalog::builtin()->chip(Catalog::builtin()->find(npu));
}

const Catalog::Chip& chip_310p3() {
  return chip_of({"310P3", {}, 8, Bytes::mib(21'527)});
}

// What requests make of one NPU: the templates they were given, "-" where none fits any more.
std::vector<std::string> fill(const std::vector<std::uint32_t>& sizes, bool variants) {
  const Catalog::Chip& chip = chip_310p3();
  const CutOrder order(chip.model, chip.table, variants);
  SliceState state = kUncut;
  std::vector<std::string> given;
  for (const std::uint32_t size : sizes) {
    const std::uint32_t rank = order.rank(size, state);
    if (rank == CutOrder::kNoRank) {
      given.emplace_back("-");
      continue;
    }
    const CutOrder::Cut& cut = order.cuts(size)[rank];
    EXPECT_EQ(cut.from, state);
    given.push_back(chip.model.templates[cut.shape].name);
    state = cut.to;
  }
  return given;
}

using Names = std::vector<std::string>;

// Without this, the article's table would not hold on a free NPU.
TEST(CutOrder, AnUncutNpuGivesTheFullestTemplate) {
  EXPECT_EQ(fill({0}, true), Names({"vir01"}));
  EXPECT_EQ(fill({1}, true), Names({"vir02"}));
  EXPECT_EQ(fill({2}, true), Names({"vir04"}));
}

// Without this, one of eight cores would lie idle on every NPU that is cut.
TEST(CutOrder, VariantsLetAllEightCoresBeUsed) {
  EXPECT_EQ(fill({2, 2}, true), Names({"vir04", "vir04_3c"}));
  EXPECT_EQ(fill({1, 1, 1, 1}, true).back().substr(0, 5), "vir02");
  EXPECT_EQ(fill({0, 0, 0, 0, 0, 0, 1}, true),
            Names({"vir01", "vir01", "vir01", "vir01", "vir01", "vir01", "vir02_1c"}));
  const Names mixed = fill({0, 1, 2, 0}, true);
  EXPECT_EQ(std::count(mixed.begin(), mixed.end(), "-"), 0) << "1 + 2 + 4 + 1 cores";
}

// Without this, the switch that turns variants off would not.
TEST(CutOrder, WithoutVariantsASizeHasOneTemplate) {
  EXPECT_EQ(fill({2, 2}, false), Names({"vir04", "-"}));
  EXPECT_EQ(fill({1, 1, 1, 1, 0}, false), Names({"vir02", "vir02", "vir02", "-", "vir01"}));
  EXPECT_EQ(fill({0, 0, 0, 0, 0, 0, 0, 0}, false).back(), "-") << "seven, not eight";
}

class Order : public ::testing::TestWithParam<std::tuple<ChipIdentity, bool>> {};

// The most cores by trying all sequences of cuts.
std::int64_t most_cores(const SliceTable& table, const std::vector<SliceSize>& sizes, SliceState state) {
  std::int64_t most = 0;
  for (const SliceSize& size : sizes) {
    for (const std::uint32_t shape : size.variants) {
      const SliceState next = table.cut(state, shape);
      if (next != kNoState) most = std::max(most, size.ai_cores + most_cores(table, sizes, next));
    }
  }
  return most;
}

// Without this, the order could be any order: each state's cut, and the order of states, are the least of the
// documented key, computed here state by state without sharing anything.
TEST_P(Order, TheOrderIsThatOfTheDocumentedKey) {
  const auto& [npu, variants] = GetParam();
  const Catalog::Chip& chip = chip_of(npu);
  const CutOrder order(chip.model, chip.table, variants);
  const SliceTable& table = chip.table;
  std::vector<std::int64_t> dead, stranded;
  for (SliceState state = 0; state < table.size(); ++state) {
    const std::int64_t free = table.free_ai_cores(state);
    dead.push_back(free - most_cores(table, order.sizes(), state));
    stranded.push_back(state == kUncut ? 0 : free);
    for (const SliceSize& size : order.sizes()) stranded.back() += free - most_cores(table, {size}, state);
    ASSERT_EQ(order.dead(state), dead.back());
    ASSERT_EQ(order.stranded(state), stranded.back());
  }
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, SliceState, std::uint32_t>;
  for (std::uint32_t size = 0; size < order.sizes().size(); ++size) {
    const auto key_of = [&](SliceState from, SliceState to, std::uint32_t shape) {
      return Key{dead[to] - dead[from],
                 stranded[to] - stranded[from],
                 table.free_ai_cores(to),
                 -chip.model.templates[shape].ai_cpus(),
                 from,
                 shape};
    };
    std::set<SliceState> listed;
    std::optional<Key> last;
    for (const CutOrder::Cut& cut : order.cuts(size)) {
      EXPECT_EQ(table.cut(cut.from, cut.shape), cut.to);
      const Key key = key_of(cut.from, cut.to, cut.shape);
      EXPECT_TRUE(!last || *last < key);
      last = key;
      listed.insert(cut.from);
      EXPECT_EQ(order.cuts(size)[order.rank(size, cut.from)].from, cut.from);
      for (const std::uint32_t shape : order.sizes()[size].variants) {
        const SliceState other = table.cut(cut.from, shape);
        if (other == kNoState || cut.from == kUncut) continue;
        EXPECT_LE(key, key_of(cut.from, other, shape)) << "the best variant";
      }
    }
    for (SliceState state = 0; state < table.size(); ++state) {
      bool fits = false;
      for (const std::uint32_t shape : order.sizes()[size].variants)
        fits = fits || table.cut(state, shape) != kNoState;
      EXPECT_EQ(listed.contains(state), fits);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Boards, Order,
                         ::testing::Values(std::tuple(ChipIdentity{"310P3", {}, 8, Bytes::mib(21'527)}, true),
                                           std::tuple(ChipIdentity{"310P3", {}, 8, Bytes::mib(21'527)},
                                                      false),
                                           std::tuple(ChipIdentity{"910B3", {}, 20, Bytes::gib(64)}, true),
                                           std::tuple(ChipIdentity{"910B4", {}, 20, Bytes::gib(32)}, true),
                                           std::tuple(ChipIdentity{"910B2", {}, 24, Bytes::gib(64)}, true)));

}  // namespace
}  // namespace tangram
