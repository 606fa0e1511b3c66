#include "kube/admission/marks.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/quote.h"
#include "kube/protocol/names.h"

namespace tangram::kube::admission {
namespace {

using Texts = std::map<std::string, std::string, std::less<>>;

bool has_gate(const PodView& pod) {
  return std::find(pod.gates.begin(), pod.gates.end(), names::kGate) != pod.gates.end();
}

bool is_managed(const PodView& pod) {
  return pod.labels.contains(names::kManagedLabel);
}

// What a new Pod may carry because admission writes it anew, whatever it says.
bool is_written_anew(std::string_view key) {
  return key == names::kRequested || key == names::kGranted || key == names::kManagedLabel ||
         key == names::kTenantLabel;
}

bool is_protected(names::Mark mark, bool with_npus) {
  return mark == names::Mark::kOwn || (mark == names::Mark::kAdopted && with_npus);
}

tl::unexpected<Error> forged(const std::string& what, std::string hint) {
  return fail(Code::kPermissionDenied, "admission.forged", what + " is set by Tangram alone",
              std::move(hint));
}

using MarkOf = names::Mark (*)(std::string_view key);

// The first key that is protected and has not the same value in both; empty: none.
std::string changed_mark(const Texts& before, const Texts& after, MarkOf mark_of, bool with_npus) {
  const auto value_in = [](const Texts& texts, const std::string& key) {
    const auto at = texts.find(key);
    return at == texts.end() ? nullptr : &at->second;
  };
  for (const Texts* const side : {&before, &after}) {
    for (const auto& [key, value] : *side) {
      if (!is_protected(mark_of(key), with_npus)) continue;
      const std::string* const old = value_in(before, key);
      const std::string* const now = value_in(after, key);
      if (old == nullptr || now == nullptr || *old != *now) return key;
    }
  }
  return {};
}

Result<void> check_unchanged(const PodView& before, const PodView& after, bool with_npus,
                             const std::string& hint) {
  const std::string annotation =
      changed_mark(before.annotations, after.annotations, names::mark_of_annotation, with_npus);
  if (!annotation.empty()) return forged("metadata.annotations[" + quoted(annotation) + "]", hint);
  const std::string label = changed_mark(before.labels, after.labels, names::mark_of_label, with_npus);
  if (!label.empty()) return forged("metadata.labels[" + quoted(label) + "]", hint);
  return {};
}

tl::unexpected<Error> reserved(const ContainerView& container, std::string_view variable) {
  return fail(
      Code::kInvalidArgument, "admission.environment.reserved",
      container.field + ".env[" + quoted(variable) + "] is set by Tangram to what the container is given",
      "remove it; ask for NPUs in resources.limits");
}

Result<void> check_environment(const ContainerView& container, bool has_slice = false) {
  for (const std::string& name : container.environment) {
    if (is_reserved_variable(name)) return reserved(container, name);
  }
  if (container.template_reference && !has_slice) return reserved(container, kTemplateVariable);
  return {};
}

}  // namespace

bool is_reserved_variable(std::string_view name) {
  // Of the vendor's runtime, which also takes them from Pods that ask for nothing.
  constexpr std::array<std::string_view, 7> kReserved = {
      "ASCEND_VISIBLE_DEVICES",    "ASCEND_VNPU_SPECS", "ASCEND_RUNTIME_OPTIONS", "ASCEND_RUNTIME_MOUNTS",
      "ASCEND_RT_VISIBLE_DEVICES", "ASCEND_DEVICE_ID",  "ASCEND_ALLOW_LINK"};
  return std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end();
}

Result<void> check_new(const PodView& pod, bool with_npus, std::span<const ContainerView* const> sliced) {
  for (const ContainerView& container : pod.containers) {
    const bool has_slice = std::find(sliced.begin(), sliced.end(), &container) != sliced.end();
    TG_TRY_VOID(check_environment(container, has_slice));
  }
  if (!with_npus) {
    const std::string hint = "remove it: the Pod asks for no NPUs";
    if (has_gate(pod)) return forged("the gate " + std::string(names::kGate), hint);
    return check_unchanged(PodView(), pod, false, hint);
  }
  PodView carried = pod;
  const auto written_anew = [](const auto& member) { return is_written_anew(member.first); };
  std::erase_if(carried.annotations, written_anew);
  std::erase_if(carried.labels, written_anew);
  return check_unchanged(PodView(), carried, true, "remove it; a Pod's copy is given NPUs of its own");
}

Result<void> check_marks_kept(const PodView& before, const PodView& after) {
  const bool managed = is_managed(before);
  TG_TRY_VOID(
      check_unchanged(before, after, managed, "leave it as it is; a Pod that is to be another is made anew"));
  if (has_gate(before) && !has_gate(after)) {
    return forged("the gate " + std::string(names::kGate),
                  "it opens when the tenant's quota has room; `tangram why` says what it waits for");
  }
  std::set<std::string, std::less<>> known;
  for (const ContainerView& container : before.containers) known.insert(container.name);
  for (const ContainerView& container : after.containers) {
    if (container.role != ContainerRole::kEphemeral || known.contains(container.name)) continue;
    TG_TRY_VOID(check_environment(container));
    if (managed && container.privileged) {
      return fail(Code::kPermissionDenied, "admission.privileged",
                  container.field + " (" + quoted(container.name) +
                      ") is privileged, and would see every NPU of the node",
                  "debug without privileges: kubectl debug --profile=general");
    }
  }
  return {};
}

}  // namespace tangram::kube::admission
