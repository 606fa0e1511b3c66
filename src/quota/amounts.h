// The countable dimensions of a quota as one array, so that "does it fit" is one loop. Values only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "model/reason.h"
#include "model/tenant.h"

namespace tangram {

// Index into Amounts. The order is that of Dimension, without the limits of a single job.
enum class Countable : std::uint8_t { kNpus, kMemoryTotal, kAiCores, kRunningJobs, kBandwidth };
inline constexpr std::size_t kCountableCount = 5;
inline constexpr std::array<Countable, kCountableCount> kCountables = {
    Countable::kNpus, Countable::kMemoryTotal, Countable::kAiCores, Countable::kRunningJobs,
    Countable::kBandwidth};

// NPUs, bytes, cores, jobs, bits per second.
using Amounts = std::array<std::int64_t, kCountableCount>;

constexpr std::size_t index_of(Countable countable) {
  return static_cast<std::size_t>(countable);
}

Amounts limits_of(const Quota& quota);
Amounts to_amounts(const Usage& usage);
Usage to_usage(const Amounts& amounts);

// What a slice charges: nominal memory and AI cores of its template, and as many NPUs as the policy says.
Amounts charge_of_slice(SliceCount count, Bytes memory, std::int32_t ai_cores, std::int64_t bandwidth_bps);

Dimension dimension_of(Countable countable);
ReasonCode wait_reason(Countable countable);   // too little left now
ReasonCode never_reason(Countable countable);  // asks for more than the whole limit

// `quota` with its limit in `dimension` set to `limit` (not for kPriorities).
Quota with_limit(Quota quota, Dimension dimension, std::int64_t limit);

}  // namespace tangram
