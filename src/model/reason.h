// Why a job waits or is refused. Codes only: texts in English and Chinese are made in `wire`.
#pragma once

#include <cstdint>
#include <string_view>

namespace tangram {

enum class ReasonCode : std::uint8_t {
  kNone,
  // Quota of the tenant or of an ancestor. Those marked "never" refuse a submit, the others wait.
  kQuotaNpus,
  kQuotaMemoryTotal,
  kQuotaAiCores,
  kQuotaRunningJobs,
  kQuotaBandwidth,
  kQuotaKept,          // the quota is kept for an older job of the same tenant that waited past the bound
  kQuotaMemoryPerNpu,  // never
  kQuotaRunTime,       // never
  kQuotaPriority,      // never
  kQuotaNpusNever,     // asks for more than the whole limit
  kQuotaMemoryTotalNever,
  kQuotaAiCoresNever,
  kQuotaRunningJobsNever,  // the limit is 0
  kQuotaBandwidthNever,
  // Capacity.
  kNpusBusy,       // enough NPUs exist, too few are free
  kNpusUnhealthy,  // enough would be free, were they healthy
  kNpusKept,       // free ones are kept for a job that waited past the bound
  kNpusNever,      // no node has that many of one model
  kMemoryNever,    // no NPU has that much memory
  kNoDevices,      // no NPU is there at present (the driver is away, or shows none)
  // The request itself.
  kSliceUnsupported,  // no NPU that is known can be cut
  kShareUnsupported,
  // Capacity, of slices. At the end: numbers are in snapshots.
  kSlotsBusy,       // NPUs have enough memory left, but no mix with one slice more is legal
  kMemoryBusy,      // NPUs are held whole, or cut, or have too little memory left
  kSlicesResidual,  // it would fit, were slices returned that no job holds and nothing uses
  kAiCoresNever,    // no NPU has that many AI cores
};
// The last one: what is read from a snapshot is compared with it.
inline constexpr ReasonCode kReasonLast = ReasonCode::kAiCoresNever;

// The stable token of machines, "quota.npus.exceeded". Never changes once released.
std::string_view token(ReasonCode code);

}  // namespace tangram
