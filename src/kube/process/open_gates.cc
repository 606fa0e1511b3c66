#include "kube/process/open_gates.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "kube/api/failure.h"
#include "kube/protocol/names.h"

namespace tangram::kube::process {
namespace {

struct Gated {
  std::string space;
  std::string name;
  std::string uid;
  std::size_t place = 0;  // of the gate in the Pod's list
};

Result<std::vector<Gated>> gated_pods(ApiClient& client) {
  ListQuery query;
  query.selection.resource = resources::pods();
  query.selection.label_selector = std::string(names::kManagedLabel) + "=true";
  std::vector<Gated> found;
  const auto listed = client.list(query, [&found](const json::object& pod) -> Result<void> {
    const json::array* const gates = array_at(pod, {"spec", "schedulingGates"});
    for (std::size_t i = 0; gates != nullptr && i < gates->size(); ++i) {
      const json::object* const gate = (*gates)[i].if_object();
      if (gate == nullptr || text_at(*gate, {"name"}) != names::kGate) continue;
      const ObjectMeta meta = meta_of(pod);
      found.push_back({std::string(meta.space), std::string(meta.name), std::string(meta.uid), i});
    }
    return {};
  });
  if (!listed) return fail(listed.error());
  return found;
}

json::array opening(const Gated& pod) {
  const std::string gate = "/spec/schedulingGates/" + std::to_string(pod.place);
  json::array patch;
  patch.push_back(json::object{{"op", "test"}, {"path", "/metadata/uid"}, {"value", pod.uid}});
  patch.push_back(json::object{{"op", "test"}, {"path", gate + "/name"}, {"value", names::kGate}});
  patch.push_back(json::object{{"op", "remove"}, {"path", gate}});
  return patch;
}

}  // namespace

Result<std::size_t> open_gates(ApiClient& client, int passes) {
  std::size_t opened = 0;
  for (int pass = 0; pass < passes; ++pass) {
    if (pass > 0) client.timing().rest(std::chrono::milliseconds(500), nullptr);
    TG_TRY(const std::vector<Gated> pods, gated_pods(client));
    if (pods.empty()) return opened;
    for (const Gated& pod : pods) {
      const auto written = client.json_patch({resources::pods(), pod.space, pod.name}, opening(pod));
      if (written) {
        ++opened;
        continue;
      }
      // It has changed or gone meanwhile: the next look will tell.
      const Failure failure = failure_of(written.error());
      const bool again = failure == Failure::kNotFound || failure == Failure::kInvalid ||
                         failure == Failure::kConflict || is_transient(failure);
      if (!again) return fail(written.error());
    }
  }
  TG_TRY(const std::vector<Gated> left, gated_pods(client));
  if (left.empty()) return opened;
  return fail(Code::kAborted, "kube.gates.stay",
              std::to_string(left.size()) + " Pods still have the gate " + std::string(names::kGate),
              "run it again");
}

}  // namespace tangram::kube::process
