#include "scheduler/cluster.h"

#include <gtest/gtest.h>

#include <array>
#include <utility>

namespace tangram::testing {

Part slice_part(std::int64_t memory_mib, std::int32_t ai_cores, std::string chip) {
  return {RequestKind::kSlice, 1, Bytes::mib(memory_mib), ai_cores, std::move(chip)};
}

Part whole_part(std::int32_t npus, std::string chip) {
  return {RequestKind::kWhole, npus, Bytes::mib(21'527), 8, std::move(chip)};
}

Cluster::Cluster() {
  SettingsChanged settings;
  settings.places_elsewhere = true;
  input(settings);
}

NodeReported Cluster::report(const std::string& name, int npus) const {
  NodeShape shape = node_310p3(npus);
  shape.name = name;
  return World().node_report(shape);
}

void Cluster::add_node(const std::string& name, int npus) {
  input(report(name, npus));
}

void Cluster::set_health(const std::string& node, int npus, std::uint32_t physical_id, Health health) {
  NodeReported reported = report(node, npus);
  reported.npus[physical_id].health = health;
  input(reported);
}

void Cluster::lose_node(const std::string& name) {
  input(NodeReported{name, {}});
}

TenantId Cluster::put_tenant(const std::string& name, const Quota& quota, const std::string& parent) {
  const TenantId id = core.find_tenant(name).value_or(core.next_tenant_id());
  input(TenantPut{id, {name, parent, quota}});
  return id;
}

JobSpec Cluster::spec(const std::string& tenant, Priority priority) {
  JobSpec spec;
  spec.id = JobId(next_job_++);
  spec.tenant = core.find_tenant(tenant).value_or(TenantId());
  spec.priority = priority;
  return spec;
}

JobId Cluster::submit(const std::string& tenant, std::vector<Part> parts, Priority priority) {
  const PartsSubmitted submitted{spec(tenant, priority), std::move(parts)};
  step(submitted);
  return submitted.spec.id;
}

std::string Cluster::try_submit(const std::string& tenant, std::vector<Part> parts) {
  const PartsSubmitted submitted{spec(tenant), std::move(parts)};
  const Result<void> checked = core.check(Step(submitted));
  if (!checked) return checked.error().reason;
  step(submitted);
  return {};
}

void Cluster::input(const Input& input) {
  const Result<void> checked = core.check(input);
  ASSERT_TRUE(checked) << checked.error().to_string();
  core.apply(input, now);
}

void Cluster::step(const Step& step) {
  const Result<void> checked = core.check(step);
  ASSERT_TRUE(checked) << checked.error().to_string();
  core.apply(step, now);
}

std::vector<JobId> Cluster::admit() {
  std::vector<JobId> admitted;
  for (std::vector<Admission> batch = core.admit(now); !batch.empty(); batch = core.admit(now)) {
    for (const Admission& admission : batch) {
      if (const auto* job = std::get_if<JobAdmitted>(&admission)) admitted.push_back(job->job);
      core.apply(admission, now);
    }
  }
  return admitted;
}

NodeIndex Cluster::node(const std::string& name) const {
  return core.find_node(name).value_or(NodeIndex());
}

NpuIndex Cluster::npu(const std::string& node, std::uint32_t physical_id) const {
  return core.find_npu(node, physical_id).value_or(NpuIndex());
}

NodeFit Cluster::fit(JobId job, const std::string& name, const NpuChoice& choice) const {
  const std::array nodes = {node(name)};
  const Result<std::vector<NodeFit>> fits = core.place(job, nodes, choice);
  EXPECT_TRUE(fits) << fits.error().to_string();
  return fits ? fits->front() : NodeFit{};
}

bool Cluster::place(JobId job, const std::string& name, const NpuChoice& choice) {
  const Result<std::optional<JobPlaced>> placed = core.choose_place(job, node(name), choice);
  EXPECT_TRUE(placed) << placed.error().to_string();
  if (!placed || !*placed) return false;
  step(**placed);
  return true;
}

void Cluster::drop(JobId job) {
  step(PlaceDropped{job, status(job).attempt});
}

void Cluster::run(JobId job) {
  input(AttemptRunning{job, status(job).attempt});
}

void Cluster::end(JobId job) {
  input(AttemptEnded{job, status(job).attempt, Outcome::kSucceeded, false});
}

JobStatus Cluster::status(JobId job) const {
  const std::optional<JobStatus> status = core.job(job);
  if (status) return *status;
  JobStatus ended;
  ended.state = JobState::kEnded;
  return ended;
}

std::string Cluster::places(JobId job) const {
  std::string text;
  for (const PartPlace& place : status(job).places) {
    for (const NpuIndex index : place.npus) {
      if (!text.empty()) text += " ";
      text += place.slice ? place.slice->template_name : "whole";
      text += "@" + std::to_string(core.npu(index)->report.physical_id);
      if (place.slice) text += "." + std::to_string(place.slice->vgroup);
    }
  }
  return text;
}

Usage Cluster::used(const std::string& tenant) const {
  return core.tenant(*core.find_tenant(tenant))->used;
}

}  // namespace tangram::testing
