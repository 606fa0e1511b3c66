#include "kube/api/lease_record.h"

#include <algorithm>

namespace tangram::kube {
namespace {

constexpr std::int64_t kDurationSecondsMax = 86'400;

// The integers of the API are those of 32 bits here.
constexpr std::int64_t kTransitionsMax = 2'147'483'646;

}  // namespace

LeaseRecord lease_record(const json::object& lease) {
  LeaseRecord record;
  record.resource_version = meta_of(lease).resource_version;
  const json::object* const spec = object_at(lease, {"spec"});
  if (spec == nullptr) return record;
  record.holder = text_at(*spec, {"holderIdentity"});
  record.acquire_time = text_at(*spec, {"acquireTime"});
  record.renew_time = text_at(*spec, {"renewTime"});
  record.duration_seconds = std::clamp<std::int64_t>(number_at(*spec, {"leaseDurationSeconds"}).value_or(0),
                                                     0, kDurationSecondsMax);
  record.transitions =
      std::clamp<std::int64_t>(number_at(*spec, {"leaseTransitions"}).value_or(0), 0, kTransitionsMax);
  return record;
}

json::object lease_spec(const LeaseRecord& record) {
  json::object spec{{"holderIdentity", record.holder},
                    {"leaseDurationSeconds", record.duration_seconds},
                    {"leaseTransitions", record.transitions},
                    {"renewTime", record.renew_time}};
  if (!record.acquire_time.empty()) spec["acquireTime"] = record.acquire_time;
  return spec;
}

}  // namespace tangram::kube
