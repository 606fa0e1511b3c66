#include "packing_policies.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/invariant.h"
#include "placement/fleet.h"

namespace tangram::bench {
namespace {

constexpr std::uint32_t kWhole = 1000;
// Nodes as they are in a cluster.
constexpr std::uint32_t kNpusPerNode = 8;

// The fleet that the scheduler of the service asks, by the same calls.
class Product final : public Packer {
 public:
  Product(const Catalog::Chip& chip, std::uint32_t npus, const PackedClass& whole, bool variants) {
    fleet_.set_slice_variants(variants);
    for (std::uint32_t first = 0; first < npus; first += kNpusPerNode) {
      NodeReported node;
      node.node = "node-" + std::to_string(first / kNpusPerNode);
      for (std::uint32_t i = 0; i < std::min(kNpusPerNode, npus - first); ++i) {
        node.npus.push_back({i,
                             chip.model.match.chips.front(),
                             whole.memory,
                             static_cast<std::int32_t>(whole.ai_cores),
                             Health::kOk,
                             true,
                             chip.model.name,
                             {}});
      }
      fleet_.report(node);
    }
  }

  std::optional<Packed> place(const PackedClass& wanted) override {
    const JobId job(next_job_);
    const auto npu = wanted.whole ? take_whole(job) : take_slice(job, wanted);
    if (!npu) return std::nullopt;
    return Packed{npu->value, next_job_++};
  }

  void release(const Packed& packed) override { fleet_.release(JobId(packed.what), NpuIndex(packed.npu)); }

 private:
  std::optional<NpuIndex> take_whole(JobId job) {
    const std::optional<Place> place = fleet_.choose(1, 0, {});
    if (!place) return std::nullopt;
    const std::vector<NpuIndex> picked = fleet_.pick(*place, 1);
    fleet_.take(job, picked, true);
    return picked.front();
  }

  std::optional<NpuIndex> take_slice(JobId job, const PackedClass& wanted) {
    std::vector<SliceOffer>& offers = offers_[wanted.memory];
    if (offers.empty()) offers = fleet_.offers(fleet_.round_up({wanted.memory, 0}));
    const std::optional<SlicePlace> place = fleet_.choose(offers, {});
    if (!place) return std::nullopt;
    TG_ASSERT(place->slice.has_value(), "the board has a template of the class");
    fleet_.take_slice(job, place->npu, *place->slice, true);
    return place->npu;
  }

  Fleet fleet_;
  std::map<Bytes, std::vector<SliceOffer>> offers_;
  std::uint32_t next_job_ = 1;
};

// Single cores are packed as tightly as can be: a favour, since they are not moved on the real chip.
class BestFit final : public Packer {
 public:
  BestFit(const Catalog::Chip& chip, std::uint32_t npus, bool variants)
      : chip_(chip), sizes_(slice_sizes(chip.model, variants)), state_(npus, kUncut) {
    for (std::uint32_t npu = 0; npu < npus; ++npu) by_free_[{cores(kUncut), kUncut}].insert(npu);
  }

  std::optional<Packed> place(const PackedClass& wanted) override {
    if (wanted.whole) {
      const auto uncut = by_free_.find({cores(kUncut), kUncut});
      if (uncut == by_free_.end()) return std::nullopt;
      const std::uint32_t npu = *uncut->second.begin();
      erase(npu);
      return Packed{npu, kWhole};
    }
    for (const auto& [key, npus] : by_free_) {
      for (const SliceSize& size : sizes_) {
        if (size.ai_cores != wanted.ai_cores) continue;
        for (const std::uint32_t shape : size.variants) {
          const SliceState next = chip_.table.cut(key.second, shape);
          if (next == kNoState) continue;
          const std::uint32_t npu = *npus.begin();
          move(npu, next);
          return Packed{npu, shape};
        }
      }
    }
    return std::nullopt;
  }

  void release(const Packed& packed) override {
    if (packed.what == kWhole) {
      by_free_[{cores(kUncut), kUncut}].insert(packed.npu);
      return;
    }
    SliceMix mix = chip_.table.mix(state_[packed.npu]);
    --mix.counts[packed.what];
    const std::optional<SliceState> left = chip_.table.find(tightest(chip_.model, mix.counts));
    TG_ASSERT(left.has_value(), "a slice less is a legal mix, too");
    move(packed.npu, *left);
  }

 private:
  std::int64_t cores(SliceState state) const { return chip_.table.free_ai_cores(state); }
  void erase(std::uint32_t npu) {
    const auto place = by_free_.find({cores(state_[npu]), state_[npu]});
    place->second.erase(npu);
    if (place->second.empty()) by_free_.erase(place);
  }
  void move(std::uint32_t npu, SliceState to) {
    erase(npu);
    state_[npu] = to;
    by_free_[{cores(to), to}].insert(npu);
  }

  const Catalog::Chip& chip_;
  std::vector<SliceSize> sizes_;
  std::vector<SliceState> state_;
  std::map<std::pair<std::int64_t, SliceState>, std::set<std::uint32_t>> by_free_;
};

class Hami final : public Packer {
 public:
  Hami(const Catalog::Chip& chip, std::uint32_t npus, HamiBoard board, bool spread)
      : sizes_(slice_sizes(chip.model, false)), board_(board), spread_(spread), used_(npus) {
    slots_ = board_.memory.count / sizes_.front().memory.count;
    for (std::uint32_t npu = 0; npu < npus; ++npu) by_use_[used_[npu]].insert(npu);
  }

  std::optional<Packed> place(const PackedClass& wanted) override {
    std::int64_t memory = board_.memory.count;
    if (!wanted.whole) {
      for (const SliceSize& size : sizes_) {
        if (size.ai_cores == wanted.ai_cores) memory = size.memory.count;
      }
    }
    const Buckets::iterator chosen =
        spread_ ? find(by_use_.begin(), by_use_.end(), memory) : find_last(memory);
    if (chosen == by_use_.end()) return std::nullopt;
    const std::uint32_t npu = *chosen->second.rbegin();  // it looks from the end of its list
    move(npu, used_[npu].memory + memory, used_[npu].slots + 1);
    return Packed{npu, static_cast<std::uint32_t>(memory >> 20)};
  }

  void release(const Packed& packed) override {
    const Use& use = used_[packed.npu];
    move(packed.npu, use.memory - (std::int64_t{packed.what} << 20), use.slots - 1);
  }

 private:
  // Its score of a device: used slots and memory as parts of what there is. Cores are not counted in slices.
  struct Use {
    std::int64_t score = 0;
    std::int64_t memory = 0;
    std::int64_t slots = 0;
    friend auto operator<=>(const Use&, const Use&) = default;
  };
  using Buckets = std::map<Use, std::set<std::uint32_t>>;

  bool fits(const Use& use, std::int64_t memory) const {
    return use.slots < slots_ && use.memory + memory <= board_.memory.count;
  }
  Buckets::iterator find(Buckets::iterator from, Buckets::iterator to, std::int64_t memory) const {
    while (from != to && !fits(from->first, memory)) ++from;
    return from;
  }
  Buckets::iterator find_last(std::int64_t memory) {
    for (auto at = by_use_.end(); at != by_use_.begin();) {
      if (fits((--at)->first, memory)) return at;
    }
    return by_use_.end();
  }
  void move(std::uint32_t npu, std::int64_t memory, std::int64_t slots) {
    const auto place = by_use_.find(used_[npu]);
    place->second.erase(npu);
    if (place->second.empty()) by_use_.erase(place);
    used_[npu] = {(memory >> 20) * slots_ + slots * (board_.memory.count >> 20), memory, slots};
    by_use_[used_[npu]].insert(npu);
  }

  std::vector<SliceSize> sizes_;
  HamiBoard board_;
  bool spread_;
  std::int64_t slots_ = 0;
  std::vector<Use> used_;
  Buckets by_use_;
};

}  // namespace

std::unique_ptr<Packer> make_product(const Catalog::Chip& chip, std::uint32_t npus, const PackedClass& whole,
                                     bool variants) {
  return std::make_unique<Product>(chip, npus, whole, variants);
}
std::unique_ptr<Packer> make_best_fit(const Catalog::Chip& chip, std::uint32_t npus, bool variants) {
  return std::make_unique<BestFit>(chip, npus, variants);
}
std::unique_ptr<Packer> make_hami(const Catalog::Chip& chip, std::uint32_t npus, HamiBoard board,
                                  bool spread) {
  return std::make_unique<Hami>(chip, npus, board, spread);
}

}  // namespace tangram::bench
