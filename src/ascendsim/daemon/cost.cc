#include "ascendsim/daemon/cost.h"

#include <algorithm>

namespace ascendsim {
namespace {

__extension__ typedef unsigned __int128 Wide;  // products of what a stranger sent cannot overflow it

// One AI core works on tiles of this many rows and columns of the result, so a small product leaves cores
// idle.
constexpr std::uint64_t kTileRows = 128;
constexpr std::uint64_t kTileColumns = 128;
constexpr std::uint64_t kDimensionMax = std::uint64_t{1} << 31;
constexpr std::uint64_t kCostNsMax = std::uint64_t{1} << 62;

std::uint64_t saturate(Wide value) {
  return value > kCostNsMax ? kCostNsMax : static_cast<std::uint64_t>(value);
}

std::uint64_t transfer_ns(std::uint64_t bytes, std::uint64_t bytes_per_us) {
  return saturate((Wide{bytes} * 1000 + bytes_per_us - 1) / bytes_per_us);
}

std::uint64_t matrix_ns(const ChipModel& chip, const TaskEntry& task) {
  const std::uint64_t m = std::min(task.work[0], kDimensionMax);
  const std::uint64_t n = std::min(task.work[1], kDimensionMax);
  const std::uint64_t k = std::min(task.work[2], kDimensionMax);
  const Wide tiles = Wide{(m + kTileRows - 1) / kTileRows} * ((n + kTileColumns - 1) / kTileColumns);
  const Wide cores = std::clamp<Wide>(tiles, 1, chip.ai_cores);
  const std::uint64_t flops_per_us =
      task.element_bytes <= 2 ? chip.fp16_flops_per_us : chip.fp32_flops_per_us;
  const Wide flops = Wide{m} * n * k * 2;
  const Wide compute_ns = flops * 1000 / flops_per_us * chip.ai_cores / cores;
  const Wide bytes =
      (Wide{m} * k + Wide{k} * n + Wide{m} * n) * std::min<std::uint32_t>(task.element_bytes, 16);
  const Wide memory_ns = bytes * 1000 / chip.memory_bytes_per_us;
  return saturate(std::max(compute_ns, memory_ns));
}

}  // namespace

std::uint64_t task_cost_ns(const ChipModel& chip, const TaskEntry& task) {
  std::uint64_t run_ns = 0;
  switch (task.kind) {
    case TaskKind::kMatrix:
      run_ns = matrix_ns(chip, task);
      break;
    case TaskKind::kHostToDevice:
    case TaskKind::kDeviceToHost:
      run_ns = transfer_ns(task.work[0], chip.host_bytes_per_us);
      break;
    case TaskKind::kVector:
    case TaskKind::kOnDevice:
      run_ns = transfer_ns(task.work[0], chip.memory_bytes_per_us);
      break;
    case TaskKind::kMark:
    case TaskKind::kWait:
    case TaskKind::kHost:
    case TaskKind::kHostDone:
      return 0;
  }
  return chip.launch_ns + run_ns;
}

}  // namespace ascendsim
