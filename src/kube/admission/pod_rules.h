// What becomes of a new Pod: refused with a reason, left alone, or changed. Thread-safe: pure functions of
// the Pod, the settings, and what the cluster answers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/admission/cluster.h"
#include "kube/admission/pod.h"
#include "kube/admission/review.h"
#include "kube/api/json.h"

namespace tangram::kube::admission {

struct Admitted {
  json::array patch;                  // empty: as it is
  std::vector<std::string> warnings;  // for whoever made the Pod
  std::string granted;                // as the annotation has it; empty: no NPUs
};

// Errors, besides those of marks.h, rounding.h and limits.h: "admission.privileged", "admission.bound",
// "admission.scheduler", "admission.annotation.invalid", "admission.quota.exceeded", those of Cluster.
Result<Admitted> admit_pod(const Settings& settings, const Cluster& cluster, std::string_view space,
                           const PodView& pod);

}  // namespace tangram::kube::admission
