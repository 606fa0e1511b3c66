// The rules of docs/scheduling.md written down a second time: slow, obvious, and without looking at the
// core's code or structures. Scans everything, every time.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "model/record.h"

namespace tangram::testing {

class Oracle {
 public:
  struct Npu {
    std::string node;
    std::size_t node_order = 0;
    NpuReport report;
    std::optional<std::uint64_t> job;
    std::map<std::uint64_t, SlicePlacement> slices;  // by job

    bool is_free() const { return !job && slices.empty() && report.strays.empty(); }
  };
  struct Job {
    JobSpec spec;
    bool queued = true;
    bool cancelled = false;
    std::int32_t attempt = 0;
    std::int64_t queued_at = 0;
    std::array<std::int64_t, 5> charge{};  // NPUs, memory, cores, jobs, bandwidth
    std::vector<NpuIndex> npus;
    std::optional<SlicePlacement> slice;
  };
  enum class Fate { kStart, kNever, kImpossible, kQuota, kQuotaKept, kNpusKept, kBusy };
  struct Verdict {
    Fate fate = Fate::kBusy;
    std::vector<NpuIndex> npus;
    std::optional<SlicePlacement> slice;
  };

  void apply(const Input& input, std::int64_t now);
  void apply(const Decision& decision, std::int64_t now);

  // All starts that follow at `now`, best rank first, each applied to this oracle. `ambiguous` is set when a
  // job past the bound is blocked at several levels of the tree: the rules leave open at which of them the
  // quota is kept.
  std::vector<JobStarted> starts(std::int64_t now, bool& ambiguous);
  // The verdict on each queued job when all who rank before it had their turn; nothing is started.
  std::map<std::uint64_t, Verdict> verdicts(std::int64_t now, bool& ambiguous) const;

  std::array<std::int64_t, 5> usage(std::uint32_t tenant) const;  // of the subtree, summed from the jobs
  static std::array<std::int64_t, 5> limits(const Quota& quota);
  std::vector<std::uint32_t> path(std::uint32_t tenant) const;

  std::map<std::uint64_t, Job> jobs;
  std::map<std::uint32_t, TenantSpec> tenants;
  std::vector<Npu> npus;  // by NpuIndex
  std::int64_t keep_after = 600'000;
  bool variants = true;
  SliceCount slice_count = SliceCount::kOne;

  // Whether the job would find room if slices that nobody holds were gone, quotas and what is kept aside.
  bool fits_without_residual(const Job& job) const;
  // The mix on an NPU by name, ours and strays; whether the rules allow it.
  bool is_legal_mix(const Npu& npu) const;

 private:
  using Kind = std::tuple<std::int64_t, std::string, std::int32_t>;  // memory, chip, cores
  struct Keeping {
    std::vector<std::uint32_t> quota_of;             // tenants for whose subtree nobody else starts
    std::vector<std::tuple<Kind, std::int32_t>> of;  // parts of the kind with so many healthy NPUs or more
  };

  // What a request for a slice comes to on NPUs of one kind and chip.
  struct Option {
    std::int64_t memory = 0;
    std::int32_t cores = 0;
    Kind kind;
    std::uint32_t chip = 0;
    bool whole = false;
  };
  struct Cut {
    NpuIndex npu;
    std::optional<SlicePlacement> slice;
  };

  Verdict judge_slice(const Job& job, std::int64_t now, Keeping& keeping, bool& ambiguous) const;
  std::vector<Option> options(const Job& job, bool healthy_only) const;
  bool exists_healthy(const Job& job, const std::vector<Option>& all) const;
  std::array<std::int64_t, 5> charge_for(const Job& job, const Option& option) const;
  std::array<std::int64_t, 5> charge_of(const Job& job, const SlicePlacement& slice) const;
  bool within_quota(const Job& job, const std::array<std::int64_t, 5>& charge) const;
  std::optional<Cut> place(const std::vector<Option>& options, const Keeping& keeping) const;
  std::optional<Cut> place_in(const Option& option, const Keeping& keeping) const;
  bool is_kept(const Npu& npu, const Keeping& keeping) const;
  // Fate::kNever, kQuota or kQuotaKept, if a limit or what is kept stands in the way of what costs the least.
  std::optional<Verdict> judge_limits(const Job& job, const std::array<std::int64_t, 5>& least, bool exists,
                                      bool exists_healthy, std::int64_t now, Keeping& keeping,
                                      bool& ambiguous) const;

  static Kind kind_of(const NpuReport& report) { return {report.memory.count, report.chip, report.ai_cores}; }
  std::vector<std::uint64_t> ranked(std::int64_t now) const;
  bool is_overdue(const Job& job, std::int64_t now) const { return job.queued_at + keep_after <= now; }
  std::vector<Kind> kinds_for(const Job& job, bool healthy_only) const;
  std::array<std::int64_t, 5> charge_for(const Job& job, const Kind& kind) const;
  bool within_quota(const Job& job, const Kind& kind) const;
  Verdict judge(const Job& job, std::int64_t now, Keeping& keeping, bool& ambiguous) const;
  std::optional<std::vector<NpuIndex>> place(const Job& job, const std::vector<Kind>& kinds,
                                             const Keeping& keeping) const;
  void observe(const AllocationObserved& observed, std::int64_t now);
  void add_nodes(const NodeReported& reported);
};

}  // namespace tangram::testing
