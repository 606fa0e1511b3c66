// What the daemon tells a Prometheus about the state, the devices and itself. docs/metrics.md lists it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "service/device_watch.h"
#include "service/meters.h"
#include "service/metric_families.h"
#include "service/npu_cuts.h"
#include "service/options.h"
#include "service/state.h"
#include "service/writer.h"

namespace tangram::service {

// Tenants that have series of their own. Of more, those that hold or wait for something come first, then
// those made first.
inline constexpr std::size_t kTenantSeriesMax = 1'000;

// The part of the state that metrics are made of, small enough to be copied under the lock of the state:
// neither queued nor ended jobs are looked at one by one, and of many tenants only those that have series.
struct MetricsState {
  struct ActiveJob {
    std::string id;
    std::string name;
    std::vector<std::string> tenants;  // names: whose it is, then those above that one
    Priority priority = Priority::kNormal;
    JobState state = JobState::kStarting;
    std::vector<std::uint32_t> npus;  // physical ids
    std::optional<Bytes> slice;       // nominal, of a slice of its one NPU; none: whole NPUs
  };
  std::vector<NpuView> npus;
  std::vector<ActiveJob> jobs;
  std::vector<TenantView> tenants;  // those that have series
  std::size_t tenant_count = 0;
  std::vector<std::pair<ReasonCode, std::int64_t>> queue;
  std::size_t ended_jobs = 0;
  std::shared_ptr<const Catalog> catalog;
  OwnSlices own_slices;
};

MetricsState metrics_state(const State& state);

// All but what only the server knows. Pure.
struct MetricsSource {
  const Options& options;
  const MetricsState& state;
  const DeviceLook& look;
  const Meters& meters;
  Writer::Backlog backlog;
  std::size_t missing_walls = 0;
  std::chrono::steady_clock::time_point now;   // to tell how old the look is
  std::chrono::system_clock::time_point wall;  // the same instant
};
void add_metrics(const MetricsSource& source, MetricFamilies& families);

// Of this process, from /proc; nothing of what cannot be read.
void add_process_metrics(MetricFamilies& families);

}  // namespace tangram::service
