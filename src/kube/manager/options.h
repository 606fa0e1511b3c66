// How a manager is set up. Values.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "model/tenant.h"

namespace tangram::kube::manager {

struct LeaseOptions {
  std::string space = "tangram-system";  // namespace of the Lease
  std::string name = "tangram-manager";
  std::string identity{};  // of this process, never of two at a time: the Pod's name and uid
  std::chrono::seconds duration{15};
  std::chrono::milliseconds renew_deadline{10'000};
  std::chrono::milliseconds retry_period{2'000};
};

// What the book goes by.
struct BookOptions {
  // A Pod that waits longer for its quota has it kept.
  std::chrono::milliseconds keep_after{600'000};
  SliceCount slice_count = SliceCount::kOne;  // what a slice counts in spec.quota.npus
  // A place that was taken for a Pod which is not bound by then is free again.
  std::chrono::milliseconds reservation{60'000};
};

struct GateOptions {
  std::size_t batch = 64;  // Pods that are admitted before the next look at the book
  // Of one patch. Together with the renew deadline less than the lease's duration, so that what a leader has
  // on its way arrives before the next one reads the cluster.
  std::chrono::milliseconds call{4'000};
  std::chrono::milliseconds retry_first{250};
  std::chrono::milliseconds retry_most{30'000};
};

struct TellOptions {
  // A Pod that is admitted sooner has no condition written.
  std::chrono::milliseconds note_after{2'000};
  std::int64_t notes_burst = 50;
  std::chrono::milliseconds note_every{50};  // in the long run
  std::int64_t wakes_burst = 20;
  std::chrono::milliseconds wake_every{50};       // in the long run
  std::chrono::milliseconds status_every{1'000};  // of one Tenant
  std::chrono::milliseconds call{10'000};         // of one write
};

struct ManagerOptions {
  LeaseOptions lease;
  BookOptions book;
  GateOptions gates;
  TellOptions tell;
  bool watch_list = true;  // as of ReflectorOptions
};

}  // namespace tangram::kube::manager
