// A cluster for the steps apart: nodes of eight NPUs, Pods of a few shapes, most of them placed and the
// others waiting. Deterministic: a fixed generator, no clock.
#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/scheduler.h"

namespace tangram::bench {

struct PlaceShape {
  int nodes = 1000;  // of 8 NPUs that can be cut
  int pods = 10'000;
  int tenants = 100;
};

class PlaceLoad {
 public:
  explicit PlaceLoad(const PlaceShape& shape);

  // What an extender is asked for one Pod: all nodes are filtered and scored, the best one is chosen, its
  // place is taken. Whether one was found.
  bool place_next();
  // A placed Pod ends, another one comes, whoever may is admitted.
  void turn_over();

  // A Pod with parts that nobody has asked for before is admitted, and asked for with ask(): how many nodes
  // have room.
  JobId admit_unlike_others();
  std::size_t ask(JobId job) const;

  const Scheduler& scheduler() const { return scheduler_; }
  std::int64_t placed() const { return static_cast<std::int64_t>(placed_.size()); }
  int busy_percent() const;

 private:
  std::uint32_t random(std::uint32_t below);
  void submit();
  void admit();

  Scheduler scheduler_;
  TimeMs now_{1'000'000};
  std::vector<TenantId> tenants_;
  std::vector<NodeIndex> nodes_;
  std::vector<JobId> unplaced_;
  std::vector<JobId> placed_;
  std::uint64_t next_job_ = 1;
  std::uint64_t seed_ = 0x9e3779b97f4a7c15U;
};

}  // namespace tangram::bench
