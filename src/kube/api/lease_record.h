// A Lease as leader election uses it. Values; pure functions.
// Source: k8s.io/api coordination/v1 LeaseSpec; client-go tools/leaderelection.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "kube/api/json.h"

namespace tangram::kube {

struct LeaseRecord {
  std::string holder;  // empty: nobody's
  std::int64_t duration_seconds = 0;
  std::string acquire_time;  // MicroTime, as written
  std::string renew_time;
  std::int64_t transitions = 0;  // how often it went to another holder
  std::string resource_version;  // of the object

  friend bool operator==(const LeaseRecord&, const LeaseRecord&) = default;
};

// Missing fields are empty or 0: a Lease may have been made by hand. Negative numbers become 0, and a
// duration is at most a day: who took the lease must not keep others out for ever by a slip of the keyboard.
LeaseRecord lease_record(const json::object& lease);

// The field `spec`, for a create or a merge patch.
json::object lease_spec(const LeaseRecord& record);

}  // namespace tangram::kube
