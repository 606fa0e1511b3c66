// What tests of admission have in common: Pods as the API server would show them, a cluster that answers what
// a test says, and a second implementation of JSON patches to compare with.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/admission/cluster.h"
#include "kube/admission/review.h"
#include "kube/api/json.h"

namespace tangram::kube::admission {

using Amounts = std::initializer_list<std::pair<std::string_view, std::string_view>>;

// {"name":…,"resources":{"limits":{…},"requests":{…}}}, as the API server defaults it.
json::object container(std::string_view name, Amounts limits = {});
// A Pod "train" of these containers.
json::object pod(std::vector<json::object> containers, std::vector<json::object> init_containers = {});

// One tenant has every namespace.
class OneTenant final : public Cluster {
 public:
  Result<std::vector<TenantLimits>> tenant_of(std::string_view space) const override;
  std::vector<NamespaceQuota> quotas_of(std::string_view) const override { return quotas; }

  std::vector<TenantLimits> chain{{"team-a", {}}};
  std::vector<NamespaceQuota> quotas;
};

std::string review_of(const json::object& object, std::string_view operation = "CREATE",
                      const json::object* old_object = nullptr, std::string_view user = "alice");

// The answer to a review, taken apart.
struct Answer {
  bool allowed = false;
  std::int64_t status = 0;
  std::string message;
  std::vector<std::string> warnings;
  json::array patch;
  std::string text;  // all of it
};
Answer answer_to(const Settings& settings, const Cluster& cluster, const std::string& review);

// Applies what admission writes ("add" alone) as RFC 6902 says; ends the test for what could not be applied.
json::object patched(json::object object, const json::array& patch);

}  // namespace tangram::kube::admission
