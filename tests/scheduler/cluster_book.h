// What admit, place and observe must come to, written down a second time: a list of jobs, summed up whenever
// something is asked, and a search through all ways to cut. Knows 310P3s alone, in the sizes of their
// templates.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/record.h"
#include "placement/cut_rules.h"
#include "quota/amounts.h"
#include "scheduler/scheduler.h"

namespace tangram::testing {

class ClusterBook {
 public:
  enum class Where : std::uint8_t { kQueued, kUnplaced, kPlaced };
  struct Job {
    JobSpec spec;
    std::vector<Part> parts;
    Where where = Where::kQueued;
    std::vector<PartPlace> places;
    bool observed = false;  // where it is, nobody has decided
  };

  std::map<std::uint64_t, Job> jobs;
  std::map<std::uint32_t, TenantSpec> tenants;

  static Amounts charge_of(const Job& job);
  Amounts used(std::uint32_t tenant) const;  // of the subtree
  std::vector<std::uint32_t> path(std::uint32_t tenant) const;
  bool fits_quota(const Job& job) const;

  // Who is admitted now, in this order; nothing is changed.
  std::vector<std::uint64_t> admitted() const;
  // Whether the parts fit on the node as the core shows it, by trying everything.
  static bool fits_on(const Scheduler& core, const std::vector<Part>& parts, NodeIndex node);
};

}  // namespace tangram::testing
