#include "scheduler/world.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace tangram::testing {

NodeReported World::node_report(const NodeShape& shape) const {
  NodeReported reported;
  reported.node = shape.name;
  for (int i = 0; i < shape.npus; ++i) {
    reported.npus.push_back(
        {static_cast<std::uint32_t>(i), shape.chip, shape.memory, shape.ai_cores, Health::kOk});
    reported.npus.back().cuttable = !shape.template_set.empty();
    reported.npus.back().template_set = shape.template_set;
  }
  return reported;
}

void World::add_node(const NodeShape& shape) {
  input(node_report(shape));
}

void World::set_health(const NodeShape& shape, std::uint32_t physical_id, Health health) {
  NodeReported reported = node_report(shape);
  for (NpuReport& npu : reported.npus) {
    const std::optional<NpuIndex> index = core.find_npu(shape.name, npu.physical_id);
    if (index) npu.health = core.npus()[index->value].report.health;
    if (npu.physical_id == physical_id) npu.health = health;
  }
  input(reported);
}

TenantId World::put_tenant(const std::string& name, const Quota& quota, const std::string& parent) {
  const TenantId id = core.find_tenant(name).value_or(core.next_tenant_id());
  input(TenantPut{id, {name, parent, quota}});
  return id;
}

JobSpec World::spec(const JobShape& shape) {
  JobSpec spec;
  spec.id = JobId(next_job_++);
  spec.tenant = core.find_tenant(shape.tenant).value_or(TenantId());
  spec.priority = shape.priority;
  spec.request.npus = shape.npus;
  spec.request.memory_per_npu = shape.memory;
  spec.bandwidth_bps = shape.bandwidth_bps;
  spec.time_limit_ms = shape.time_limit_ms;
  spec.no_wait = shape.no_wait;
  spec.restart = shape.restart;
  spec.restarts_max = shape.restarts_max;
  return spec;
}

JobId World::submit(const JobShape& shape) {
  const JobSpec wanted = spec(shape);
  input(JobSubmitted{wanted});
  return wanted.id;
}

JobSpec World::slice_spec(const SliceShape& shape) {
  JobSpec wanted =
      spec({.tenant = shape.tenant, .priority = shape.priority, .time_limit_ms = shape.time_limit_ms});
  wanted.request.kind = RequestKind::kSlice;
  wanted.request.memory_per_npu = Bytes::mib(shape.memory_mib);
  wanted.request.ai_cores = shape.ai_cores;
  return wanted;
}

JobId World::submit_slice(const SliceShape& shape) {
  const JobSpec wanted = slice_spec(shape);
  input(JobSubmitted{wanted});
  return wanted.id;
}

std::string World::try_submit_slice(const SliceShape& shape) {
  const JobSpec wanted = slice_spec(shape);
  const Result<void> checked = core.check(JobSubmitted{wanted});
  if (!checked) return checked.error().reason;
  input(JobSubmitted{wanted});
  return {};
}

std::string World::slice(JobId job) const {
  const JobStatus now_it_is = status(job);
  if (now_it_is.npus.empty()) return {};
  const std::string npu = "@" + std::to_string(physical_ids(job).front());
  if (!now_it_is.slice) return "whole" + npu;
  return now_it_is.slice->template_name + npu + "." + std::to_string(now_it_is.slice->vgroup);
}

std::string World::try_submit(const JobShape& shape) {
  const JobSpec wanted = spec(shape);
  const Result<void> checked = core.check(JobSubmitted{wanted});
  if (!checked) return checked.error().reason;
  input(JobSubmitted{wanted});
  return {};
}

void World::cancel(JobId job) {
  input(JobCancelled{job});
}

void World::end(JobId job, Outcome outcome) {
  input(AttemptEnded{job, status(job).attempt, outcome, core.restarts_after(job, outcome)});
}

void World::pass(std::int64_t ms) {
  now = TimeMs(now.value + ms);
  settle();
}

void World::input(const Input& input) {
  const Result<void> checked = core.check(input);
  ASSERT_TRUE(checked) << checked.error().to_string();
  core.apply(input, now);
  settle();
}

void World::settle() {
  for (int rounds = 0;; ++rounds) {
    ASSERT_LT(rounds, 1000) << "deciding does not come to rest";
    const std::vector<Decision> batch = core.decide(now);
    if (batch.empty()) return;
    for (const Decision& decision : batch) {
      core.apply(decision, now);
      decisions.push_back(decision);
    }
  }
}

JobStatus World::status(JobId job) const {
  const std::optional<JobStatus> status = core.job(job);
  if (status) return *status;
  JobStatus ended;
  ended.state = JobState::kEnded;
  return ended;
}

std::vector<std::uint32_t> World::physical_ids(JobId job) const {
  std::vector<std::uint32_t> ids;
  const std::vector<NpuView> views = core.npus();
  for (const NpuIndex npu : status(job).npus) ids.push_back(views[npu.value].report.physical_id);
  return ids;
}

Usage World::used(const std::string& tenant) const {
  return core.tenant(*core.find_tenant(tenant))->used;
}

std::vector<Decision> World::take_decisions() {
  return std::exchange(decisions, {});
}

}  // namespace tangram::testing
