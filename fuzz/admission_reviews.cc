// What the API server, or whoever reaches the webhook's address, may send: '0' the body of a review, '1' the
// annotation tangram.dev/granted, '2' tangram.dev/allocation, '3' a quantity, '4' a Tenant of the API, '5' a
// node's tangram.dev/npus.
#include <cstddef>
#include <cstdint>
#include <string>

#include "input.h"
#include "kube/admission/quantity.h"
#include "kube/admission/review.h"
#include "kube/api/json.h"
#include "kube/protocol/allocation.h"
#include "kube/protocol/container_request.h"
#include "kube/protocol/node_npus.h"
#include "require.h"
#include "wire/cluster.h"

namespace tangram::fuzz {
namespace {

namespace admission = kube::admission;

// Lets in what any limit would let in.
class OneTenant final : public admission::Cluster {
 public:
  Result<std::vector<admission::TenantLimits>> tenant_of(std::string_view) const override {
    return std::vector<admission::TenantLimits>{{"team-a", {}}};
  }
  std::vector<admission::NamespaceQuota> quotas_of(std::string_view) const override {
    return {{"npus", "limits.huawei.com/Ascend310P-memory", 100'000, 1'000}};
  }
};

void check_review(Input& input) {
  static const admission::Settings settings;
  const OneTenant cluster;
  const auto answer = admission::answer_review(settings, cluster, input.rest());
  if (!answer) return require_presentable(answer.error());
  const auto whole = kube::parse_object(*answer);
  require(whole.has_value(), "an answer is JSON");
  const kube::json::object* const response = kube::object_at(*whole, {"response"});
  require(response != nullptr && !kube::text_at(*response, {"uid"}).empty(), "an answer names its question");
  const bool allowed = kube::flag_at(*response, {"allowed"});
  const std::string_view message = kube::text_at(*response, {"status", "message"});
  require(allowed == message.empty(), "who is refused is told why");
  require(allowed || kube::text_at(*response, {"patch"}).empty(), "nothing is changed of what is refused");
}

void check_grants(Input& input) {
  const auto grants = kube::read_grants(input.rest());
  if (!grants) return require_presentable(grants.error());
  require(grants->size() <= kube::kNpuContainersMax, "a Pod has a bounded number of containers");
  const auto again = kube::read_grants(kube::write_grants(*grants));
  require(again.has_value() && *again == *grants, "what is written is read");
}

void check_allocation(Input& input) {
  const auto allocation = kube::read_allocation(input.rest());
  if (!allocation) return require_presentable(allocation.error());
  const auto again = kube::read_allocation(kube::write_allocation(*allocation));
  require(again.has_value() && *again == *allocation, "what is written is read");
}

void check_inventory(Input& input) {
  const auto inventory = kube::read_node_npus(input.rest());
  if (!inventory) return require_presentable(inventory.error());
  const auto again = kube::read_node_npus(kube::write_node_npus(*inventory));
  require(again.has_value() && *again == *inventory, "what is written is read");
}

void check_quantity(Input& input) {
  const auto value = admission::whole_quantity(input.rest());
  if (!value) return;
  const auto again = admission::whole_quantity(std::to_string(*value));
  require(again.has_value() && *again == *value, "a whole number is itself");
}

void check_tenant(Input& input) {
  const auto tenant = wire::read_cluster_tenant(input.rest());
  if (!tenant) return require_presentable(tenant.error());
  require(!tenant->tenant.name.empty(), "a tenant has a name");
}

}  // namespace
}  // namespace tangram::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tangram::fuzz::Input input(data, size);
  switch (input.byte()) {
    case '0':
      tangram::fuzz::check_review(input);
      return 0;
    case '1':
      tangram::fuzz::check_grants(input);
      return 0;
    case '2':
      tangram::fuzz::check_allocation(input);
      return 0;
    case '3':
      tangram::fuzz::check_quantity(input);
      return 0;
    case '4':
      tangram::fuzz::check_tenant(input);
      return 0;
    case '5':
      tangram::fuzz::check_inventory(input);
      return 0;
    default:
      return -1;
  }
}
