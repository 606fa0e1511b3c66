#include "kube/admission/pod_rules.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/quote.h"
#include "kube/admission/marks.h"
#include "kube/admission/patch.h"
#include "kube/admission/quantity.h"
#include "kube/protocol/names.h"
#include "wire/schema.h"

namespace tangram::kube::admission {
namespace {

constexpr std::string_view kDefaultScheduler = "default-scheduler";
// What the CNI's plugin takes; a Pod with another would fail when it starts.
constexpr std::int64_t kCniRateMin = 1'000;
constexpr std::int64_t kCniRateMax = 1'000'000'000'000'000;

// A container's request with where it stands in the Pod.
struct Placed {
  const ContainerView* container = nullptr;
  Rounded rounded;
};

bool is_slice(const Placed& placed) {
  return placed.rounded.granted.kind == GrantKind::kSlice;
}

std::string_view annotation(const PodView& pod, std::string_view key) {
  const auto at = pod.annotations.find(key);
  return at == pod.annotations.end() ? std::string_view() : std::string_view(at->second);
}

tl::unexpected<Error> bad_annotation(std::string_view key, std::string_view value, std::string_view wanted) {
  return fail(
      Code::kInvalidArgument, "admission.annotation.invalid",
      "metadata.annotations[" + quoted(key) + "] is " + quoted(value) + " and must be " + std::string(wanted),
      "correct it, or remove it");
}

Result<std::vector<Placed>> round_all(const Settings& settings, const PodView& pod) {
  std::vector<Placed> placed;
  for (const ContainerView& container : pod.containers) {
    TG_TRY(std::optional<Rounded> rounded, round_container(settings.resources, container));
    if (rounded) placed.push_back({&container, std::move(*rounded)});
  }
  if (placed.size() > kNpuContainersMax) {
    return fail(Code::kInvalidArgument, "admission.request.invalid",
                std::to_string(placed.size()) + " containers ask for NPUs; at most " +
                    std::to_string(kNpuContainersMax) + " of a Pod may",
                "spread them over several Pods");
  }
  return placed;
}

// What a Pod asked for before its first rounding stands in its annotation. That is taken as long as it comes
// to the same: nobody gains by writing something else there.
void recall_requests(const Settings& settings, const PodView& pod, std::vector<Placed>& placed) {
  const auto known = read_requests(annotation(pod, names::kRequested));
  if (!known) return;
  for (Placed& one : placed) {
    const ContainerRequest& now = one.rounded.requested;
    const auto before = std::find_if(known->begin(), known->end(), [&](const ContainerRequest& request) {
      return request.container == now.container && request.resource == now.resource &&
             request.init == now.init && request.sidecar == now.sidecar && request.cores == 0;
    });
    const auto resource =
        std::find_if(settings.resources.begin(), settings.resources.end(),
                     [&](const auto& candidate) { return names::resource(candidate.word) == now.resource; });
    if (before == known->end() || resource == settings.resources.end()) continue;
    Result<Rounded> again = round_request(*resource, *before, one.container->field);
    if (!again) continue;
    const ContainerGrant& then = again->granted;
    const ContainerGrant& granted = one.rounded.granted;
    const bool same = then.kind == granted.kind && then.template_name == granted.template_name &&
                      then.request.count == granted.request.count &&
                      then.request.memory_mib == granted.request.memory_mib;
    if (same) one.rounded = std::move(*again);
  }
}

// What no Pod with NPUs may be.
Result<void> check_form(const Settings& settings, const PodView& pod) {
  for (const ContainerView& container : pod.containers) {
    if (!container.privileged) continue;
    return fail(Code::kPermissionDenied, "admission.privileged",
                container.field + " (" + quoted(container.name) +
                    ") is privileged, and would see every NPU of the node",
                "remove securityContext.privileged: NPUs need no privileges");
  }
  if (!pod.node_name.empty()) {
    return fail(Code::kInvalidArgument, "admission.bound",
                "spec.nodeName is " + quoted(pod.node_name) +
                    ", but NPUs are given where a scheduler places "
                    "the Pod",
                "remove it; choose nodes by spec.nodeSelector or spec.affinity");
  }
  const std::string& scheduler = pod.scheduler_name;
  const bool ours = scheduler.empty() || scheduler == settings.scheduler || scheduler == kDefaultScheduler ||
                    scheduler == names::kHamiScheduler;
  if (!ours) {
    return fail(Code::kInvalidArgument, "admission.scheduler",
                "spec.schedulerName is " + quoted(scheduler) + ", which gives nobody NPUs",
                "write " + settings.scheduler + ", or leave it out");
  }
  const std::string_view mode = annotation(pod, names::kHamiMode);
  if (!mode.empty()) {
    return fail(Code::kUnimplemented, "admission.request.unsupported",
                "metadata.annotations[" + quoted(names::kHamiMode) + "] is " + quoted(mode) +
                    ", but NPUs are shared in slices alone",
                "remove it to have a slice of the chip's templates");
  }
  return {};
}

// Bits per second of one of the CNI's annotations; 0: not there.
Result<std::int64_t> cni_rate(const PodView& pod, std::string_view key) {
  const std::string_view text = annotation(pod, key);
  if (text.empty()) return 0;
  const auto rate = whole_quantity(text);
  if (!rate || *rate < 0) return bad_annotation(key, text, "bits per second, such as 10G");
  return *rate;
}

Result<PodDemand> full_demand(const Settings& settings, const PodView& pod,
                              const std::vector<Placed>& placed) {
  std::vector<Rounded> rounded;
  rounded.reserve(placed.size());
  for (const Placed& one : placed) rounded.push_back(one.rounded);
  PodDemand demand = demand_of(rounded, settings.slices);
  if (const std::string_view text = annotation(pod, names::kPriority); !text.empty()) {
    const Result<Priority> priority = wire::parse_priority(text, names::kPriority);
    if (!priority) return bad_annotation(names::kPriority, text, "high, normal or low");
    demand.priority = *priority;
  }
  if (pod.active_deadline_seconds) {
    demand.time_limit_ms =
        std::clamp(*pod.active_deadline_seconds, std::int64_t{0}, kUnlimited / 1'000) * 1'000;
  }
  if (const std::string_view text = annotation(pod, names::kTimeLimit); !text.empty()) {
    const Result<std::int64_t> limit = parse_duration_ms(text, names::kTimeLimit);
    if (!limit || *limit < 1'000) return bad_annotation(names::kTimeLimit, text, "a duration, such as 24h");
    demand.time_limit_ms = std::min(*limit, demand.time_limit_ms.value_or(*limit));
  }
  TG_TRY(const std::int64_t ingress, cni_rate(pod, names::kIngressBandwidth));
  TG_TRY(const std::int64_t egress, cni_rate(pod, names::kEgressBandwidth));
  demand.bandwidth_bps = std::max(ingress, egress);
  if (const std::string_view text = annotation(pod, names::kBandwidth); !text.empty()) {
    const Result<std::int64_t> rate = parse_bits_per_second(text, names::kBandwidth);
    if (!rate || *rate < kCniRateMin || *rate > kCniRateMax) {
      return bad_annotation(names::kBandwidth, text, "a rate from 1Kbps to 1000000Gbps, such as 10Gbps");
    }
    demand.bandwidth_bps = std::max(demand.bandwidth_bps, *rate);
  }
  return demand;
}

Result<void> check_namespace_quotas(const std::vector<NamespaceQuota>& quotas, std::string_view space,
                                    const std::vector<Placed>& placed) {
  for (const NamespaceQuota& quota : quotas) {
    std::vector<Rounded> of_this;
    for (const Placed& one : placed) {
      if (quota.key == "limits." + one.rounded.requested.resource + "-memory") of_this.push_back(one.rounded);
    }
    const std::int64_t asked = demand_of(of_this, SliceCount::kOne).memory_mib;
    if (asked == 0 || quota.used <= quota.hard - asked) continue;
    return fail(Code::kPolicyRefused, "admission.quota.exceeded",
                "exceeded quota: " + quota.name + " of namespace " + std::string(space) +
                    ", requested: " + quota.key + "=" + std::to_string(asked) +
                    ", used: " + std::to_string(quota.used) + ", limited: " + std::to_string(quota.hard),
                "ask for less memory, or wait until Pods of the namespace end");
  }
  return {};
}

std::optional<std::int64_t> deadline_of(const PodView& pod, const std::vector<TenantLimits>& chain,
                                        const PodDemand& demand) {
  if (annotation(pod, names::kTimeLimit).empty() && pod.active_deadline_seconds) {
    return pod.active_deadline_seconds;
  }
  const std::optional<std::int64_t> limit =
      demand.time_limit_ms ? demand.time_limit_ms : run_time_limit_ms(chain);
  return limit ? std::optional(std::max<std::int64_t>(1, *limit / 1'000)) : std::nullopt;
}

PodChanges changes_of(const Settings& settings, const PodView& pod, const std::vector<TenantLimits>& chain,
                      const PodDemand& demand, const std::vector<Placed>& placed) {
  PodChanges changes;
  std::vector<ContainerRequest> requests;
  std::vector<ContainerGrant> grants;
  for (const Placed& one : placed) {
    const ContainerGrant& grant = one.rounded.granted;
    const std::string& resource = grant.request.resource;
    ContainerChange change{
        one.container,
        {{resource, grant.request.count}, {resource + "-memory", grant.request.memory_mib.value_or(0)}}};
    if (is_slice(one)) change.template_annotation = names::template_annotation(grants.size());
    changes.containers.push_back(std::move(change));
    requests.push_back(one.rounded.requested);
    grants.push_back(grant);
  }
  changes.labels = {{std::string(names::kManagedLabel), "true"},
                    {std::string(names::kTenantLabel), chain.front().name}};
  changes.annotations = {{std::string(names::kRequested), write_requests(requests)},
                         {std::string(names::kGranted), write_grants(grants)}};
  if (!annotation(pod, names::kBandwidth).empty()) {
    for (const std::string_view key : {names::kIngressBandwidth, names::kEgressBandwidth}) {
      if (annotation(pod, key).empty()) {
        changes.annotations.emplace(key, std::to_string(demand.bandwidth_bps));
      }
    }
  }
  changes.gate = names::kGate;
  if (pod.runtime_class.empty()) changes.runtime_class = settings.runtime_class;
  changes.scheduler = settings.scheduler;
  changes.active_deadline_seconds = deadline_of(pod, chain, demand);
  return changes;
}

std::vector<std::string> warnings_of(const Settings& settings, const PodView& pod,
                                     const std::vector<Placed>& placed) {
  std::vector<std::string> warnings;
  for (const ContainerView& container : pod.containers) {
    for (const std::string& name : unknown_resources(settings.resources, container)) {
      warnings.push_back(container.field + ": no chip is asked for as " + quoted(name) +
                         "; kubectl get chipmodels, and docs/kubernetes.md, say which are");
    }
  }
  for (const Placed& one : placed) {
    for (const std::string& warning : one.rounded.warnings) warnings.push_back(warning);
  }
  return warnings;
}

}  // namespace

Result<Admitted> admit_pod(const Settings& settings, const Cluster& cluster, std::string_view space,
                           const PodView& pod) {
  TG_TRY(std::vector<Placed> placed, round_all(settings, pod));
  std::vector<const ContainerView*> sliced;
  for (const Placed& one : placed) {
    if (is_slice(one)) sliced.push_back(one.container);
  }
  TG_TRY_VOID(check_new(pod, !placed.empty(), sliced));
  if (placed.empty()) {
    return Admitted{{}, warnings_of(settings, pod, placed), {}};
  }
  TG_TRY_VOID(check_form(settings, pod));
  TG_TRY(const std::vector<TenantLimits> chain, cluster.tenant_of(space));
  if (chain.empty()) {
    return fail(Code::kPermissionDenied, "admission.tenant.none",
                "namespace " + std::string(space) + " belongs to no Tenant");
  }
  recall_requests(settings, pod, placed);
  TG_TRY(const PodDemand demand, full_demand(settings, pod, placed));
  TG_TRY_VOID(check_limits(chain, demand));
  TG_TRY_VOID(check_namespace_quotas(cluster.quotas_of(space), space, placed));
  const PodChanges changes = changes_of(settings, pod, chain, demand, placed);
  return Admitted{make_patch(pod, changes), warnings_of(settings, pod, placed),
                  changes.annotations.at(std::string(names::kGranted))};
}

}  // namespace tangram::kube::admission
