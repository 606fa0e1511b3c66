// Who shares the NPUs, and how much each may hold. Tenants form a tree: a job charges its tenant and every
// ancestor.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/units.h"
#include "model/ids.h"

namespace tangram {

// The order of the classes is the order of service.
enum class Priority : std::uint8_t { kHigh = 0, kNormal = 1, kLow = 2 };
inline constexpr int kPriorityCount = 3;

// A set of priorities, one bit each.
struct PrioritySet {
  std::uint8_t bits = 0b111;

  static constexpr PrioritySet all() { return PrioritySet{0b111}; }
  constexpr bool contains(Priority priority) const { return (bits >> static_cast<int>(priority) & 1) != 0; }
  constexpr void insert(Priority priority) {
    bits = static_cast<std::uint8_t>(bits | (1U << static_cast<int>(priority)));
  }
  friend bool operator==(PrioritySet, PrioritySet) = default;
};

// The dimensions of a quota, in the order in which they are checked and shown.
enum class Dimension : std::uint8_t {
  kNpus,          // NPUs held at once
  kMemoryPerNpu,  // need per NPU of one job; a static limit
  kMemoryTotal,  // device memory held at once: a whole NPU counts with its allocatable size, a slice with the
                 // nominal size of its template
  kAiCores,      // AI cores held at once
  kRunningJobs,  // jobs starting or running at once
  kRunTime,      // time limit of one job; a static limit
  kPriorities,   // priorities that may be used; a static limit
  kBandwidth,    // bits per second booked at once (booked only: nothing shapes traffic yet)
};
inline constexpr int kDimensionCount = 8;

// What one slice counts in the dimension kNpus. In all others it counts with what it is.
enum class SliceCount : std::uint8_t {
  kOne,   // as one NPU
  kNone,  // not at all: memory, AI cores and jobs bound it alone
};

// Limits of one tenant. Defaults: everything unlimited, all priorities allowed.
struct Quota {
  std::int64_t npus = kUnlimited;
  Bytes memory_per_npu = Bytes::unlimited();
  Bytes memory_total = Bytes::unlimited();
  std::int64_t ai_cores = kUnlimited;
  std::int64_t running_jobs = kUnlimited;
  std::int64_t run_time_ms = kUnlimited;
  PrioritySet priorities = PrioritySet::all();
  std::int64_t bandwidth_bps = kUnlimited;

  friend bool operator==(const Quota&, const Quota&) = default;
};

// What a job charges, and what a tenant uses at an instant.
struct Usage {
  std::int64_t npus = 0;
  Bytes memory_total;
  std::int64_t ai_cores = 0;
  std::int64_t running_jobs = 0;
  std::int64_t bandwidth_bps = 0;

  friend bool operator==(const Usage&, const Usage&) = default;
};

struct TenantSpec {
  std::string name;    // [a-z0-9]([-a-z0-9]*[a-z0-9])?, at most 63 characters
  std::string parent;  // empty: at the top
  Quota quota;

  friend bool operator==(const TenantSpec&, const TenantSpec&) = default;
};

std::string_view to_string(Priority priority);    // "high"
std::string_view to_string(SliceCount count);     // "one", "none"
std::string_view to_string(Dimension dimension);  // "npus", "memoryPerNpu", … as in YAML and JSON

}  // namespace tangram
