#include "placement/cut_order.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

namespace tangram {
namespace {

// The most cores that can still be cut in slices of some sizes, of any variant. A cut leads to a state with
// more slices, so the question ends, and each state is asked once.
class Room {
 public:
  Room(const SliceTable& table, std::vector<SliceSize> sizes)
      : table_(table), sizes_(std::move(sizes)), known_(table.size(), kUnknown) {}

  std::int64_t cores_at(SliceState state) {
    if (known_[state] != kUnknown) return known_[state];
    std::int64_t most = 0;
    for (const SliceSize& size : sizes_) {
      for (const std::uint32_t shape : size.variants) {
        const SliceState next = table_.cut(state, shape);
        if (next != kNoState) most = std::max(most, size.ai_cores + cores_at(next));
      }
    }
    known_[state] = most;
    return most;
  }

 private:
  static constexpr std::int64_t kUnknown = -1;
  const SliceTable& table_;
  std::vector<SliceSize> sizes_;
  std::vector<std::int64_t> known_;
};

}  // namespace

CutOrder::CutOrder(const ChipModel& chip, const SliceTable& table, bool variants)
    : sizes_(slice_sizes(chip, variants)) {
  measure(table);
  rank_cuts(chip, table);
  measure_memory(chip, table);
}

void CutOrder::measure_memory(const ChipModel& chip, const SliceTable& table) {
  const std::int64_t has = chip.has[index_of(ChipResource::kMemory)];
  for (const SliceSize& size : sizes_) {
    std::int64_t least = kUnlimited;
    for (const std::uint32_t shape : size.variants) {
      least = std::min(least, chip.templates[shape].takes[index_of(ChipResource::kMemory)]);
    }
    std::vector<std::uint8_t>& fits = has_memory_.emplace_back(table.size());
    for (SliceState state = 0; state < table.size(); ++state) {
      const std::int64_t used = taken(chip, table.mix(state), ChipResource::kMemory);
      fits[state] = has >= kUnlimited || used + least <= has ? 1 : 0;
    }
  }
}

void CutOrder::measure(const SliceTable& table) {
  Room any(table, sizes_);
  for (SliceState state = 0; state < table.size(); ++state) {
    dead_.push_back(table.free_ai_cores(state) - any.cores_at(state));
    stranded_.push_back(state == kUncut ? 0 : table.free_ai_cores(state));
  }
  for (const SliceSize& size : sizes_) {
    Room alone(table, {size});
    for (SliceState state = 0; state < table.size(); ++state) {
      stranded_[state] += table.free_ai_cores(state) - alone.cores_at(state);
    }
  }
}

void CutOrder::rank_cuts(const ChipModel& chip, const SliceTable& table) {
  // Dead, stranded, free cores, AICPU left, state, template: the smaller the better.
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, SliceState, std::uint32_t>;
  for (const SliceSize& size : sizes_) {
    std::vector<std::pair<Key, SliceState>> found;
    for (SliceState state = 0; state < table.size(); ++state) {
      std::optional<std::pair<Key, SliceState>> best;
      for (const std::uint32_t shape : size.variants) {
        const SliceState next = table.cut(state, shape);
        if (next == kNoState) continue;
        const Key key{dead_[next] - dead_[state],
                      stranded_[next] - stranded_[state],
                      table.free_ai_cores(next),
                      -chip.templates[shape].ai_cpus(),
                      state,
                      shape};
        if (!best || key < best->first) best = std::pair(key, next);
        if (state == kUncut) break;
      }
      if (best) found.push_back(*best);
    }
    std::sort(found.begin(), found.end());
    std::vector<Cut> cuts;
    std::vector<std::uint32_t> ranks(table.size(), kNoRank);
    for (const auto& [key, next] : found) {
      const SliceState from = std::get<4>(key);
      ranks[from] = static_cast<std::uint32_t>(cuts.size());
      cuts.push_back({from, next, std::get<5>(key)});
    }
    cuts_.push_back(std::move(cuts));
    ranks_.push_back(std::move(ranks));
  }
}

}  // namespace tangram
