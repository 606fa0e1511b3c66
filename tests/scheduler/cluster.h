// The core as a cluster uses it, for tests: who is admitted is decided here, the node is chosen by the test.
#pragma once

#include <string>
#include <vector>

#include "scheduler/scheduler.h"
#include "scheduler/world.h"

namespace tangram::testing {

// Parts of a 310P3, in the sizes of its templates.
Part slice_part(std::int64_t memory_mib, std::int32_t ai_cores = 0, std::string chip = "310P3");
Part whole_part(std::int32_t npus = 1, std::string chip = "310P3");

class Cluster {
 public:
  Scheduler core;
  TimeMs now{1'000'000};

  Cluster();

  void add_node(const std::string& name, int npus = 1);
  void set_health(const std::string& node, int npus, std::uint32_t physical_id, Health health);
  void lose_node(const std::string& name);
  TenantId put_tenant(const std::string& name, const Quota& quota = {}, const std::string& parent = {});
  JobSpec spec(const std::string& tenant, Priority priority = Priority::kNormal);  // with the next id
  JobId submit(const std::string& tenant, std::vector<Part> parts, Priority priority = Priority::kNormal);
  // The reason token of the refusal; empty when it was accepted.
  std::string try_submit(const std::string& tenant, std::vector<Part> parts);
  void input(const Input& input);  // must pass check()
  void step(const Step& step);     // the same
  std::vector<JobId> admit();      // until nobody is left who may have what it asks for; applied

  NodeIndex node(const std::string& name) const;
  NpuIndex npu(const std::string& node, std::uint32_t physical_id) const;
  NodeFit fit(JobId job, const std::string& node, const NpuChoice& choice = {}) const;
  bool place(JobId job, const std::string& node, const NpuChoice& choice = {});  // whether it fitted
  void drop(JobId job);
  void run(JobId job);
  void end(JobId job);

  JobStatus status(JobId job) const;
  // "vir02@0.1 whole@1": of NPUs by physical id, parts in their order; empty: it has no place.
  std::string places(JobId job) const;
  Usage used(const std::string& tenant) const;

 private:
  NodeReported report(const std::string& name, int npus) const;

  std::uint64_t next_job_ = 1;
};

}  // namespace tangram::testing
