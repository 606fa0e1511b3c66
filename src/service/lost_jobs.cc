#include "service/lost_jobs.h"

#include <chrono>

namespace tangram::service {

std::vector<LostJob> lost_jobs(const State& state, const DeviceLook& look, std::int64_t lost_after_ms) {
  std::vector<LostJob> lost;
  for (const NpuView& npu : state.core().npus()) {
    if (!npu.job.valid() && npu.slices.empty()) continue;
    const auto found = look.losses.find(npu.report.physical_id);
    if (found == look.losses.end() || !found->second.lost) continue;
    if (look.at - found->second.since < std::chrono::milliseconds(lost_after_ms)) continue;
    const auto add = [&](JobId job) {
      const auto status = state.core().job(job);
      if (status) lost.push_back({job, status->attempt, state.kind(job), found->second.why});
    };
    if (npu.job.valid()) add(npu.job);
    for (const NpuView::Slice& slice : npu.slices) add(slice.job);
  }
  return lost;
}

}  // namespace tangram::service
