#include "place_load.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "base/invariant.h"

namespace tangram::bench {

PlaceLoad::PlaceLoad(const PlaceShape& shape) {
  SettingsChanged settings;
  settings.places_elsewhere = true;
  scheduler_.apply(Input(settings), now_);
  for (int node = 0; node < shape.nodes; ++node) {
    NodeReported reported;
    reported.node = "node-" + std::to_string(node);
    for (std::uint32_t i = 0; i < 8; ++i) {
      reported.npus.push_back({i, "310P3", Bytes::mib(21'527), 8, Health::kOk, true, "310P (24 GiB)"});
    }
    scheduler_.apply(Input(reported), now_);
    nodes_.push_back(scheduler_.find_node(reported.node).value_or(NodeIndex()));
  }
  for (int tenant = 0; tenant < shape.tenants; ++tenant) {
    TenantSpec spec;
    spec.name = "tenant-" + std::to_string(tenant);
    tenants_.push_back(scheduler_.next_tenant_id());
    scheduler_.apply(Input(TenantPut{tenants_.back(), spec}), now_);
  }
  for (int pod = 0; pod < shape.pods; ++pod) submit();
  admit();
  for (int pod = 0; pod < shape.pods; ++pod) place_next();
}

std::uint32_t PlaceLoad::random(std::uint32_t below) {
  seed_ ^= seed_ << 13;
  seed_ ^= seed_ >> 7;
  seed_ ^= seed_ << 17;
  return static_cast<std::uint32_t>(seed_ >> 33) % below;
}

void PlaceLoad::submit() {
  const auto slice = [](std::int64_t mib) {
    return Part{RequestKind::kSlice, 1, Bytes::mib(mib), 0, "310P3"};
  };
  const auto whole = [](std::int32_t npus) {
    return Part{RequestKind::kWhole, npus, Bytes::mib(21'527), 8, "310P3"};
  };
  const std::vector<Part> shapes[] = {
      {slice(3072)},   {slice(3072)}, {slice(6144)}, {slice(6144)}, {slice(12'288)},
      {slice(12'288)}, {whole(1)},    {whole(2)},    {whole(8)},    {slice(3072), slice(12'288)}};
  PartsSubmitted submitted;
  submitted.spec.id = JobId(next_job_++);
  submitted.spec.tenant = tenants_[random(static_cast<std::uint32_t>(tenants_.size()))];
  submitted.spec.priority = static_cast<Priority>(random(3));
  submitted.parts = shapes[random(10)];
  scheduler_.apply(Step(submitted), now_);
}

void PlaceLoad::admit() {
  for (auto batch = scheduler_.admit(now_); !batch.empty(); batch = scheduler_.admit(now_)) {
    for (const Admission& admission : batch) {
      if (const auto* admitted = std::get_if<JobAdmitted>(&admission)) unplaced_.push_back(admitted->job);
      scheduler_.apply(admission, now_);
    }
  }
}

bool PlaceLoad::place_next() {
  TG_ASSERT(!unplaced_.empty(), "somebody waits for a place");
  const std::size_t at = random(static_cast<std::uint32_t>(unplaced_.size()));
  const JobId job = unplaced_[at];
  const Result<std::vector<NodeFit>> fits = scheduler_.place(job, nodes_);
  TG_ASSERT(fits.has_value(), "who is admitted is told");
  const NodeFit* best = nullptr;
  for (const NodeFit& fit : *fits) {
    if (fit.fits && (best == nullptr || fit.score > best->score)) best = &fit;
  }
  if (best == nullptr) return false;
  const NodeIndex node = nodes_[static_cast<std::size_t>(best - fits->data())];
  const JobPlaced placed =
      scheduler_.choose_place(job, node).value_or(std::nullopt).value_or(JobPlaced{job, 0, {}});
  TG_ASSERT(!placed.places.empty(), "what fits has a place");
  scheduler_.apply(Step(placed), now_);
  unplaced_[at] = unplaced_.back();
  unplaced_.pop_back();
  placed_.push_back(job);
  return true;
}

void PlaceLoad::turn_over() {
  TG_ASSERT(!placed_.empty(), "a loaded cluster runs something");
  JobId& ended = placed_[random(static_cast<std::uint32_t>(placed_.size()))];
  scheduler_.apply(Input(AttemptEnded{ended, 1, Outcome::kSucceeded, false}), now_);
  ended = placed_.back();
  placed_.pop_back();
  submit();
  admit();
}

JobId PlaceLoad::admit_unlike_others() {
  PartsSubmitted submitted;
  submitted.spec.id = JobId(next_job_++);
  submitted.spec.tenant = tenants_.front();
  const auto unlike = static_cast<std::int64_t>(submitted.spec.id.value % 3000);
  submitted.parts = {{RequestKind::kSlice, 1, Bytes::mib(1 + unlike), 0, "310P3"},
                     {RequestKind::kSlice, 1, Bytes::mib(6144), 0, "310P3"}};
  scheduler_.apply(Step(submitted), now_);
  admit();
  return submitted.spec.id;
}

std::size_t PlaceLoad::ask(JobId job) const {
  const Result<std::vector<NodeFit>> fits = scheduler_.place(job, nodes_);
  TG_ASSERT(fits.has_value(), "who is admitted is told");
  return static_cast<std::size_t>(
      std::count_if(fits->begin(), fits->end(), [](const NodeFit& fit) { return fit.fits; }));
}

int PlaceLoad::busy_percent() const {
  std::int64_t busy = 0;
  const std::vector<NpuView> npus = scheduler_.npus();
  for (const NpuView& npu : npus) busy += npu.mode == NpuMode::kFree ? 0 : 1;
  return static_cast<int>(busy * 100 / static_cast<std::int64_t>(npus.size()));
}

}  // namespace tangram::bench
