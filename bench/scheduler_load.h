// A cluster under load: nodes of eight NPUs, tenants in three levels, a long queue, and a steady state in
// which one job ends and what then fits is decided. Deterministic: a fixed generator, no clock.
#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/scheduler.h"

namespace tangram::bench {

struct LoadShape {
  int nodes = 125;  // of 8 NPUs
  int pending = 10'000;
  int organisations = 10;  // with a limit each; below each, `teams` tenants, below each of those, `projects`
  int teams = 3;
  int projects = 2;             // 10 + 30 + 60 = 100 tenants
  bool all_different = false;   // no two jobs are of one group: each asks for another bandwidth
  bool past_the_bound = false;  // all pending jobs have waited past the bound: NPUs are kept for the first
};

class Load {
 public:
  explicit Load(const LoadShape& shape);

  // One job ends, one is submitted, and all that follows is decided and applied. Returns the number of
  // decisions.
  int step();
  Scheduler& scheduler() { return scheduler_; }
  TimeMs now() const { return now_; }
  std::int64_t starts() const { return starts_; }
  std::int64_t reasons() const { return reasons_; }
  int busy_percent() const;

 private:
  std::uint32_t random(std::uint32_t below);
  JobSpec random_job();
  void add_tenants(const LoadShape& shape);
  int settle();

  LoadShape shape_;
  Scheduler scheduler_;
  TimeMs now_{1'000'000};
  std::vector<TenantId> projects_;
  std::vector<std::pair<JobId, std::int32_t>> active_;  // and the attempt
  std::uint64_t next_job_ = 1;
  std::uint64_t seed_ = 0x9e3779b97f4a7c15U;
  std::int64_t starts_ = 0;
  std::int64_t reasons_ = 0;
};

}  // namespace tangram::bench
