// One question of the API server about a Pod, and its answer: AdmissionReview of admission.k8s.io/v1, for
// CREATE and UPDATE. Whatever comes in, an answer or an error goes out; what cannot be read is refused, never
// let through. Source: k8s.io/api admission/v1. Thread-safe, when `cluster` is.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/admission/cluster.h"
#include "wire/npu_resource.h"

namespace tangram::kube::admission {

// Two Pods (before, after) of what etcd takes, and what their JSON is larger.
inline constexpr std::size_t kReviewBytesMax = std::size_t{8} << 20;

struct Settings {
  std::vector<wire::NpuResource> resources = wire::builtin_npu_resources();
  // Who places Pods with NPUs. A Pod that names nobody, the default or HAMi's is given to it; others are
  // refused, because nobody would give their Pods an NPU.
  std::string scheduler = "default-scheduler";
  std::string runtime_class{};         // for Pods with NPUs that name none; empty: the default one
  std::vector<std::string> trusted{};  // users who may change marks: the service accounts of Tangram's parts
  SliceCount slices = SliceCount::kOne;  // how a slice counts among a tenant's NPUs
};

// The body of the answer. kInvalidArgument "admission.review.invalid" for what is no review: then there is
// nobody to answer to.
Result<std::string> answer_review(const Settings& settings, const Cluster& cluster, std::string_view body);

}  // namespace tangram::kube::admission
