// Which jobs have lost an NPU that they hold.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "service/device_watch.h"
#include "service/state.h"

namespace tangram::service {

struct LostJob {
  JobId job;
  std::int32_t attempt = 0;
  wire::JobKind kind = wire::JobKind::kProgram;
  std::string why;  // "NPU 3 is critical: …"
};

// Those whose NPU, or the one that their slice is cut of, was lost in every look for at least
// `lost_after_ms`. Pure.
std::vector<LostJob> lost_jobs(const State& state, const DeviceLook& look, std::int64_t lost_after_ms);

}  // namespace tangram::service
