#include "scheduler_load.h"

#include <string>
#include <utility>
#include <variant>

#include "base/invariant.h"

namespace tangram::bench {

Load::Load(const LoadShape& shape) : shape_(shape) {
  scheduler_.apply(Input(SettingsChanged{600'000}), now_);
  for (int node = 0; node < shape.nodes; ++node) {
    NodeReported reported;
    reported.node = "node-" + std::to_string(node);
    for (std::uint32_t i = 0; i < 8; ++i)
      reported.npus.push_back({i, "910B4", Bytes::gib(32), 20, Health::kOk});
    scheduler_.apply(Input(reported), now_);
  }
  add_tenants(shape);
  while (scheduler_.queue_length() < static_cast<std::size_t>(shape.pending)) {
    scheduler_.apply(Input(JobSubmitted{random_job()}), now_);
    if (next_job_ % 64 == 0) settle();
  }
  if (shape.past_the_bound) now_ = TimeMs(now_.value + 700'000);
  settle();
}

void Load::add_tenants(const LoadShape& shape) {
  const auto put = [this](const std::string& name, const std::string& parent, std::int64_t npus) {
    TenantSpec spec;
    spec.name = name;
    spec.parent = parent;
    spec.quota.npus = npus;
    const TenantId id = scheduler_.next_tenant_id();
    scheduler_.apply(Input(TenantPut{id, spec}), now_);
    return id;
  };
  // Each level may hold more than its share: some limits bind, some do not, as in a cluster that is in use.
  const std::int64_t npus = std::int64_t{8} * shape.nodes;
  for (int organisation = 0; organisation < shape.organisations; ++organisation) {
    const std::string name = "org-" + std::to_string(organisation);
    put(name, "", npus * 12 / 10 / shape.organisations);
    for (int team = 0; team < shape.teams; ++team) {
      const std::string team_name = name + "-team-" + std::to_string(team);
      put(team_name, name, npus * 2 / shape.organisations / shape.teams);
      for (int project = 0; project < shape.projects; ++project) {
        projects_.push_back(put(team_name + "-project-" + std::to_string(project), team_name,
                                npus * 3 / shape.organisations / shape.teams / shape.projects));
      }
    }
  }
}

std::uint32_t Load::random(std::uint32_t below) {
  seed_ ^= seed_ << 13;
  seed_ ^= seed_ >> 7;
  seed_ ^= seed_ << 17;
  return static_cast<std::uint32_t>(seed_ >> 33) % below;
}

JobSpec Load::random_job() {
  constexpr std::int32_t kSizes[] = {1, 1, 1, 1, 1, 1, 2, 2, 4, 8};
  JobSpec job;
  job.id = JobId(next_job_++);
  job.tenant = projects_[random(static_cast<std::uint32_t>(projects_.size()))];
  job.priority = static_cast<Priority>(random(3));
  job.request.npus = kSizes[random(10)];
  job.request.memory_per_npu = random(2) == 0 ? Bytes::gib(16) : Bytes::gib(32);
  if (shape_.all_different) job.bandwidth_bps = static_cast<std::int64_t>(job.id.value);
  return job;
}

int Load::settle() {
  int count = 0;
  for (std::vector<Decision> batch = scheduler_.decide(now_); !batch.empty();
       batch = scheduler_.decide(now_)) {
    for (const Decision& decision : batch) {
      if (const auto* started = std::get_if<JobStarted>(&decision)) {
        active_.emplace_back(started->job, started->attempt);
        ++starts_;
      } else {
        ++reasons_;
      }
      scheduler_.apply(decision, now_);
      ++count;
    }
  }
  return count;
}

int Load::step() {
  TG_ASSERT(!active_.empty(), "a loaded cluster runs something");
  std::pair<JobId, std::int32_t>& ended = active_[random(static_cast<std::uint32_t>(active_.size()))];
  const AttemptEnded record{ended.first, ended.second, Outcome::kSucceeded, false};
  ended = active_.back();
  active_.pop_back();
  now_ = TimeMs(now_.value + 1);
  scheduler_.apply(Input(record), now_);
  int decisions = settle();
  // As many come as have started: the queue keeps its length.
  while (scheduler_.queue_length() < static_cast<std::size_t>(shape_.pending)) {
    scheduler_.apply(Input(JobSubmitted{random_job()}), now_);
  }
  decisions += settle();
  return decisions;
}

int Load::busy_percent() const {
  int busy = 0;
  const std::vector<NpuView> npus = scheduler_.npus();
  for (const NpuView& npu : npus) busy += npu.job.valid() ? 1 : 0;
  return busy * 100 / static_cast<int>(npus.size());
}

}  // namespace tangram::bench
