// A small world around the core for tests: nodes, tenants and jobs by name, and the loop that the service
// runs.
#pragma once

#include <string>
#include <vector>

#include "scheduler/scheduler.h"

namespace tangram::testing {

struct NodeShape {
  std::string name = "node-0";
  int npus = 8;
  std::string chip = "910B4";
  Bytes memory = Bytes::gib(32);
  int ai_cores = 20;
  std::string template_set = {};  // not empty: its NPUs can be cut by these templates
};

// One 310P3 as its driver reports it, or several.
inline NodeShape node_310p3(int npus = 1) {
  return {.name = "node-0",
          .npus = npus,
          .chip = "310P3",
          .memory = Bytes::mib(21'527),
          .ai_cores = 8,
          .template_set = "310P (24 GiB)"};
}

struct SliceShape {
  std::string tenant;
  std::int64_t memory_mib = 0;
  int ai_cores = 0;
  Priority priority = Priority::kNormal;
  std::int64_t time_limit_ms = kUnlimited;
};

struct JobShape {
  std::string tenant;
  int npus = 1;
  Priority priority = Priority::kNormal;
  Bytes memory = Bytes::gib(16);
  std::int64_t time_limit_ms = kUnlimited;
  std::int64_t bandwidth_bps = 0;
  bool no_wait = false;
  RestartPolicy restart = RestartPolicy::kNever;
  std::int32_t restarts_max = 0;
};

// Every record is applied at `now`, and what follows from it is decided and applied until nothing does.
class World {
 public:
  Scheduler core;
  TimeMs now{1'000'000};
  std::vector<Decision> decisions;  // since the last take_decisions()

  NodeReported node_report(const NodeShape& shape) const;
  void add_node(const NodeShape& shape = {});
  void set_health(const NodeShape& shape, std::uint32_t physical_id, Health health);
  TenantId put_tenant(const std::string& name, const Quota& quota = {}, const std::string& parent = {});
  JobSpec spec(const JobShape& shape);  // with the next id
  JobId submit(const JobShape& shape);
  JobSpec slice_spec(const SliceShape& shape);  // with the next id
  JobId submit_slice(const SliceShape& shape);
  std::string try_submit_slice(const SliceShape& shape);  // the token of the refusal
  // The reason token of the refusal; empty when it was accepted.
  std::string try_submit(const JobShape& shape);
  void cancel(JobId job);
  void end(JobId job, Outcome outcome = Outcome::kSucceeded);
  void pass(std::int64_t ms);      // time, then decide
  void input(const Input& input);  // must pass check()
  void settle();

  JobStatus status(JobId job) const;
  std::vector<std::uint32_t> physical_ids(JobId job) const;
  std::string slice(JobId job) const;  // "vir02@0.1": of NPU 0, in vGroup 1; "whole@0"; empty: it waits
  bool is_running(JobId job) const { return !status(job).npus.empty(); }
  ReasonCode reason(JobId job) const { return status(job).reason; }
  Usage used(const std::string& tenant) const;
  std::vector<Decision> take_decisions();

 private:
  std::uint64_t next_job_ = 1;
};

}  // namespace tangram::testing
