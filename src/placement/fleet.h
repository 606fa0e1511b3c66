// The NPUs of all nodes, who holds them, and where n free ones of one kind are. A *kind* is a chip model with
// its memory and cores. Kinds are numbered by memory, then chip, then cores. NPUs of one kind on one node
// form a *part*; parts with the same kind and the same number of healthy NPUs form a *pool*, in which nodes
// lie in buckets by free NPUs: finding the best node is a look at a few counters, whatever the number of
// nodes. A pool also knows, by chip of the catalogue, the state of each of its NPUs that can be cut
// (SliceIndex). An NPU is held whole or in slices, never both. Not thread-safe; copied as a whole.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "model/ids.h"
#include "model/npu.h"
#include "model/record.h"
#include "model/request.h"
#include "placement/cut_rules.h"
#include "placement/slice_choice.h"
#include "placement/slice_index.h"

namespace tangram {

inline constexpr std::uint32_t kNoKind = std::numeric_limits<std::uint32_t>::max();

inline constexpr std::int32_t kNotKept = std::numeric_limits<std::int32_t>::max();

// Which kinds and parts a search may use. An empty span restricts nothing.
struct PlacementFilter {
  std::span<const std::int32_t>
      kept_from;  // by kind: parts with at least so many healthy NPUs are somebody else's
  std::span<const std::uint8_t> allowed;  // by kind: 0 is not

  std::int32_t kept(std::uint32_t kind) const { return kept_from.empty() ? kNotKept : kept_from[kind]; }
  bool allows(std::uint32_t kind) const { return allowed.empty() || allowed[kind] != 0; }
};

struct Place {
  NodeIndex node;
  std::uint32_t kind = kNoKind;
};

// What a request for a slice comes to on the NPUs of one kind.
struct SliceOffer {
  std::uint32_t kind = kNoKind;
  std::uint32_t chip = kNoChip;  // of those of the kind that are this chip; kNoChip: any of them, whole
  SliceGrant grant;

  bool is_whole() const { return chip == kNoChip; }
};

struct SlicePlace {
  NpuIndex npu;
  std::uint32_t offer = 0;              // which of the offers
  std::optional<SlicePlacement> slice;  // none: the whole NPU
};

// What keeps a request from NPUs that are well.
enum class Shortage : std::uint8_t {
  kNpus,      // they are held whole
  kMemory,    // they are cut, or held whole, or have too little memory left
  kSlots,     // some have memory left, but no mix with one slice more is legal
  kResidual,  // slices that nobody holds stand in the way
};

// How far a report changed what jobs can ever get.
enum class FleetChange : std::uint8_t {
  kNothing,
  kCounts,  // health or holders only
  kKinds,   // which kinds exist, or how many NPUs of a kind one node has at most
};

class Fleet {
 public:
  struct CutChip {
    std::uint32_t chip = kNoChip;
    std::int64_t present = 0;
    std::int64_t healthy = 0;
  };
  struct Kind {
    std::string chip;
    Bytes memory;
    std::int32_t ai_cores = 0;
    // Over all nodes: the most NPUs one node has present, the most it has healthy, and all.
    std::int32_t present_on_node_max = 0;
    std::int32_t healthy_on_node_max = 0;
    std::int64_t present = 0;
    std::int64_t healthy = 0;
    std::int64_t free = 0;           // healthy and held by nobody
    std::int64_t cut = 0;            // healthy, with slices on them
    std::int64_t with_residual = 0;  // of those, with slices that nobody holds
    std::vector<std::uint32_t> pools;
    std::vector<CutChip> chips;  // those that can be cut, ascending
  };
  struct Slice {
    JobId job;
    SlicePlacement placement;
    std::uint32_t part = 0;  // which of the job's
  };
  struct Npu {
    NodeIndex node;
    NpuReport report;
    std::uint32_t kind = kNoKind;  // kNoKind while absent
    JobId job;
    NpuIndex next;              // of the same job, ascending
    std::vector<Slice> slices;  // of jobs, ascending; none while it is held whole
    std::uint32_t chip = kNoChip;
    SliceState state = kNoState;  // of an NPU that can be cut, with all slices that stand on it
    bool indexed = false;         // in the SliceIndex of its pool, under that state

    bool is_held() const { return job.valid() || !slices.empty(); }
    bool is_idle() const { return !is_held() && report.strays.empty(); }
  };

  explicit Fleet(std::shared_ptr<const Catalog> catalog = Catalog::builtin()) : rules_(std::move(catalog)) {}

  FleetChange report(const NodeReported& reported);

  // The first kind with at least `memory`; kinds from there on fit. kind_count() if none does.
  std::uint32_t first_kind_with(Bytes memory) const;
  std::uint32_t kind_count() const { return static_cast<std::uint32_t>(kinds_.size()); }
  const Kind& kind(std::uint32_t kind) const { return kinds_[kind]; }
  std::int64_t present_count() const { return present_; }

  // Whether variants of a template may be given (CutRules). True: the policy is another one than before.
  bool set_slice_variants(bool variants);

  // The part for `npus` NPUs among the kinds from `first_kind`: least memory, then fewest free NPUs that
  // still fit, then lowest node, then lowest kind.
  std::optional<Place> choose(std::int32_t npus, std::uint32_t first_kind,
                              const PlacementFilter& filter) const;
  bool fits(std::int32_t npus, std::uint32_t first_kind, const PlacementFilter& filter) const;
  // Whether some part that could hold `npus` is kept by `filter`.
  bool is_kept(std::int32_t npus, std::uint32_t first_kind, const PlacementFilter& filter) const;
  // Whether one part would fit if its unhealthy NPUs that nobody holds were healthy.
  bool fits_if_healthy(std::int32_t npus, std::uint32_t first_kind) const;
  // Whether a part that has enough NPUs has an unhealthy one.
  bool has_unhealthy(std::int32_t npus, std::uint32_t first_kind) const;
  bool exists(std::int32_t npus, std::uint32_t first_kind) const;          // counting unhealthy ones
  bool exists_healthy(std::int32_t npus, std::uint32_t first_kind) const;  // whoever holds them

  // What keeps `npus` whole NPUs from being had, in the kinds that `filter` allows, kept or not.
  Shortage shortage(std::int32_t npus, std::uint32_t first_kind, const PlacementFilter& filter) const;

  // ---- slices
  // The ask, with both amounts rounded up to what templates and NPUs have: those that come to the same get
  // the same offers, whatever is free.
  SliceAsk round_up(SliceAsk ask) const;
  // What it comes to on each kind and chip, counting unhealthy ones; the smallest first. Empty: no NPU is so
  // large, or none can be cut.
  std::vector<SliceOffer> offers(const SliceAsk& ask) const;
  bool any_cuttable() const;
  // Of all templates that could be given, nominal, ascending, each once.
  std::vector<Bytes> slice_memories() const;
  // The first offer that can be had, on the NPU where the cut loses least (CutOrder).
  std::optional<SlicePlace> choose(std::span<const SliceOffer> offers, const PlacementFilter& filter) const;
  bool fits(std::span<const SliceOffer> offers, const PlacementFilter& filter) const;
  bool is_kept(std::span<const SliceOffer> offers, const PlacementFilter& filter) const;
  bool fits_if_healthy(std::span<const SliceOffer> offers) const;
  bool exists_healthy(std::span<const SliceOffer> offers) const;
  Shortage shortage(std::span<const SliceOffer> offers) const;
  // Whether it would fit on that NPU once these jobs have ended.
  bool fits_without(NpuIndex npu, std::span<const SliceOffer> offers, std::span<const JobId> ended) const;
  // `require_legal` false: also what is none of the catalogue's mixes (what is observed is so).
  void take_slice(JobId job, NpuIndex npu, const SlicePlacement& placement, bool require_legal,
                  std::uint32_t part = 0);
  void release_slice(JobId job, NpuIndex npu, std::uint32_t part = 0);
  // What part of its NPU the job has; null: it has whole ones.
  const SlicePlacement* slice_of(JobId job, NpuIndex npu) const;
  const CutRules& rules() const { return rules_; }
  // All slices on an NPU, whoever made them.
  static std::vector<StandingSlice> standing(const Npu& npu);

  // The `npus` lowest free NPUs of the part, ascending. The part must have them.
  std::vector<NpuIndex> pick(Place place, std::int32_t npus) const;
  // Books what a job holds; `require_free` false: also NPUs that are not healthy (what is observed is so).
  void take(JobId job, const std::vector<NpuIndex>& npus, bool require_free);
  // Frees exactly the NPUs of the list that begins with `first`.
  void release(JobId job, NpuIndex first);
  std::vector<NpuIndex> held_from(NpuIndex first) const;

  std::size_t npu_count() const { return npus_.size(); }
  const Npu& npu(NpuIndex index) const { return npus_[index.value]; }
  std::size_t node_count() const { return nodes_.size(); }
  const std::string& node_name(NodeIndex node) const { return nodes_[node.value].name; }
  const std::vector<NpuIndex>& npus_of(NodeIndex node) const { return nodes_[node.value].npus; }
  // Changes whenever an NPU of the node does; another epoch when what requests come to may be something else.
  std::uint32_t version(NodeIndex node) const { return nodes_[node.value].version; }
  std::uint32_t epoch() const { return epoch_; }
  std::optional<NodeIndex> find_node(std::string_view name) const;
  std::optional<NpuIndex> find_npu(NodeIndex node, std::uint32_t physical_id) const;

  // From a snapshot: nodes by name in their order, then NPUs in theirs; then rebuild().
  void restore_node(std::string name);
  void restore_npu(NodeIndex node, const NpuReport& report);
  void rebuild();

 private:
  struct Part {
    std::uint32_t kind = kNoKind;
    std::uint32_t pool = 0;
    std::int32_t present = 0;
    std::int32_t healthy = 0;
    std::int32_t free = 0;
    std::int32_t unhealthy_unheld = 0;
    std::int32_t cut = 0;            // healthy, with slices on them
    std::int32_t with_residual = 0;  // of those, with slices that nobody holds
    std::int32_t all_residual = 0;   // of those, with no others
    std::vector<CutChip> chips;      // those that can be cut, ascending
  };
  struct Node {
    std::string name;
    std::vector<NpuIndex> npus;  // ascending by physical id
    std::vector<Part> parts;     // ascending by kind
    std::uint32_t version = 0;
  };
  struct Pool {
    std::uint32_t kind = kNoKind;
    std::int32_t healthy = 0;
    std::int32_t parts = 0;
    std::vector<std::int32_t> counts;  // parts by free NPUs, 0 to healthy
    std::vector<std::uint64_t> nodes;  // one bit a node, words_ words for each number of free NPUs
    struct Cuts {
      std::uint32_t chip = kNoChip;
      SliceIndex index;  // healthy NPUs that are not held whole
    };
    std::vector<Cuts> cuts;  // ascending by chip
  };

  NpuIndex add_npu(NodeIndex node, const NpuReport& report);
  std::uint32_t find_kind(const NpuReport& report) const;
  void collect_kinds();
  void build_parts(NodeIndex node);
  void drop_parts(NodeIndex node);
  void sum_kinds();
  std::uint32_t pool_for(std::uint32_t kind, std::int32_t healthy);
  void put_in_pool(NodeIndex node, const Part& part);
  void remove_from_pool(NodeIndex node, const Part& part);
  Part& part_of(const Npu& npu);
  std::uint32_t first_node(const Pool& pool, std::int32_t free) const;
  // Takes an NPU out of what its part counts (-1), and puts it back as it is by then (+1).
  void tally(NpuIndex index, Part& part, std::int32_t sign);
  static void classify(const Npu& npu, Part& part, std::int32_t sign);
  void index_cuts(NpuIndex index, Pool& pool);
  void unindex_cuts(NpuIndex index, Pool& pool);
  static const SliceIndex* find_index(const Pool& pool, std::uint32_t chip);
  void restate(Npu& npu) const;
  std::optional<SliceIndex::Best> best_cut(const SliceOffer& offer, const PlacementFilter& filter) const;
  NpuIndex uncut_npu(const SliceOffer& offer, const PlacementFilter& filter, NpuIndex lowest) const;
  std::optional<Place> choose_in(std::uint32_t kind, std::int32_t npus, const PlacementFilter& filter) const;
  bool accepts(const Npu& npu, const SliceOffer& offer, const std::vector<StandingSlice>& slices) const;

  CutRules rules_;
  std::vector<Kind> kinds_;
  std::vector<Npu> npus_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> nodes_by_name_;
  std::vector<Pool> pools_;
  std::size_t words_ = 1;
  std::uint32_t epoch_ = 0;
  std::int64_t present_ = 0;
};

}  // namespace tangram
