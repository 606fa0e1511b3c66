#include "packing_policies.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/invariant.h"
#include "placement/slice_index.h"

namespace tangram::bench {
namespace {

constexpr std::uint32_t kWhole = 1000;
constexpr std::uint32_t kPartner = 100;  // added to a template: its vGroup has another slice

class Product final : public Packer {
 public:
  Product(const Catalog::Chip& chip, std::uint32_t npus, bool variants)
      : chip_(chip), order_(chip.model, chip.table, variants), state_(npus, kUncut), singles_(npus) {
    for (std::uint32_t npu = 0; npu < npus; ++npu) index_.put(order_, NpuIndex(npu), kUncut);
  }

  std::optional<Packed> place(const PackedClass& wanted) override {
    if (wanted.whole) {
      if (index_.count(kUncut) == 0) return std::nullopt;
      const NpuIndex npu = index_.npus(kUncut).back();
      index_.remove(order_, npu, kUncut);
      return Packed{npu.value, kWhole};
    }
    const std::optional<SliceIndex::Best> best = index_.best(order_, size_of(wanted));
    if (!best) return std::nullopt;
    const std::uint32_t npu = best->npu.value;
    move(npu, best->cut.to);
    if (!shares_vgroup(chip_.model, best->cut.shape)) return Packed{npu, best->cut.shape};
    // A new single core stands beside one that is alone, or begins a vGroup.
    std::vector<std::uint8_t>& groups = singles_[npu];
    auto group = std::find(groups.begin(), groups.end(), std::uint8_t{1});
    if (group == groups.end()) group = std::find(groups.begin(), groups.end(), std::uint8_t{0});
    if (group == groups.end()) group = groups.insert(groups.end(), 0);
    ++*group;
    return Packed{npu, best->cut.shape + kPartner * static_cast<std::uint32_t>(group - groups.begin() + 1)};
  }

  void release(const Packed& packed) override {
    if (packed.what == kWhole) {
      index_.put(order_, NpuIndex(packed.npu), kUncut);
      return;
    }
    const std::uint32_t shape = packed.what % kPartner;
    bool partner = false;
    if (packed.what >= kPartner) {
      std::uint8_t& group = singles_[packed.npu][packed.what / kPartner - 1];
      --group;
      partner = group == 1;
    }
    move(packed.npu, chip_.table.heal(state_[packed.npu], shape, partner));
  }

 private:
  std::uint32_t size_of(const PackedClass& wanted) const {
    for (std::uint32_t i = 0; i < order_.sizes().size(); ++i) {
      if (order_.sizes()[i].ai_cores == wanted.ai_cores) return i;
    }
    TG_ASSERT(false, "the board has the class");
    return 0;
  }

  void move(std::uint32_t npu, SliceState to) {
    TG_ASSERT(to != kNoState, "only legal steps are taken");
    index_.remove(order_, NpuIndex(npu), state_[npu]);
    state_[npu] = to;
    index_.put(order_, NpuIndex(npu), to);
  }

  const Catalog::Chip& chip_;
  CutOrder order_;
  SliceIndex index_;
  std::vector<SliceState> state_;
  std::vector<std::vector<std::uint8_t>> singles_;  // by NPU: single cores of each vGroup that has had some
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

std::unique_ptr<Packer> make_product(const Catalog::Chip& chip, std::uint32_t npus, bool variants) {
  return std::make_unique<Product>(chip, npus, variants);
}
std::unique_ptr<Packer> make_best_fit(const Catalog::Chip& chip, std::uint32_t npus, bool variants) {
  return std::make_unique<BestFit>(chip, npus, variants);
}
std::unique_ptr<Packer> make_hami(const Catalog::Chip& chip, std::uint32_t npus, HamiBoard board,
                                  bool spread) {
  return std::make_unique<Hami>(chip, npus, board, spread);
}

}  // namespace tangram::bench
