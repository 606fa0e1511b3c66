#include "kube/process/leader_label.h"

#include <chrono>
#include <utility>
#include <vector>

#include "kube/api/failure.h"
#include "kube/protocol/names.h"

namespace tangram::kube::process {
namespace {

// Short: a process that ends waits for it.
CallOptions call() {
  CallOptions options;
  options.timeout = std::chrono::milliseconds(4'000);
  return options;
}

}  // namespace

LeaderLabel::LeaderLabel(ApiClient& client, std::string space, std::string pod)
    : client_(client), space_(std::move(space)), pod_(std::move(pod)) {}

Result<void> LeaderLabel::pass(bool leads) {
  if (written_ == leads) return {};
  if (leads) TG_TRY_VOID(take_from_others());
  TG_TRY_VOID(write(pod_, leads));
  written_ = leads;
  return {};
}

Result<void> LeaderLabel::take_from_others() {
  ListQuery query;
  query.selection.resource = resources::pods();
  query.selection.space = space_;
  query.selection.label_selector = std::string(names::kLeaderLabel) + "=true";
  query.selection.metadata_only = true;
  std::vector<std::string> others;
  const auto listed = client_.list(
      query,
      [&](const json::object& pod) -> Result<void> {
        const std::string_view name = meta_of(pod).name;
        if (name != pod_) others.emplace_back(name);
        return {};
      },
      call());
  if (!listed) return fail(listed.error());
  for (const std::string& other : others) TG_TRY_VOID(write(other, false));
  return {};
}

Result<void> LeaderLabel::write(const std::string& pod, bool leads) {
  json::object labels;
  labels[names::kLeaderLabel] = leads ? json::value("true") : json::value(nullptr);
  json::object patch;
  patch["metadata"] = json::object{{"labels", std::move(labels)}};
  const auto written = client_.merge_patch({resources::pods(), space_, pod}, std::move(patch), {}, call());
  if (written || failure_of(written.error()) == Failure::kNotFound) return {};
  return fail(written.error());
}

}  // namespace tangram::kube::process
