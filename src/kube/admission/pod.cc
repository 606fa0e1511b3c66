#include "kube/admission/pod.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/quote.h"
#include "kube/protocol/names.h"

namespace tangram::kube::admission {
namespace {

using Texts = std::map<std::string, std::string, std::less<>>;

tl::unexpected<Error> wrong(std::string_view field, std::string_view wanted) {
  return fail(Code::kInvalidArgument, "admission.review.invalid",
              std::string(field) + " must be " + std::string(wanted));
}

// Null when it is absent or null.
Result<const json::object*> object_in(const json::object& parent, std::string_view key,
                                      const std::string& field) {
  const json::value* const value = parent.if_contains(key);
  if (value == nullptr || value->is_null()) return nullptr;
  if (const json::object* const object = value->if_object()) return object;
  return wrong(field, "an object");
}

Result<const json::array*> array_in(const json::object& parent, std::string_view key,
                                    const std::string& field) {
  const json::value* const value = parent.if_contains(key);
  if (value == nullptr || value->is_null()) return nullptr;
  if (const json::array* const array = value->if_array()) return array;
  return wrong(field, "a list");
}

Result<std::string> text_of(const json::value& value, const std::string& field) {
  const json::string* const text = value.if_string();
  if (text == nullptr || text->size() > kTextBytesMax) return wrong(field, "a text of at most 64 KiB");
  return std::string(text->data(), text->size());
}

Result<std::string> text_in(const json::object& parent, std::string_view key, const std::string& field) {
  const json::value* const value = parent.if_contains(key);
  if (value == nullptr || value->is_null()) return std::string();
  return text_of(*value, field);
}

std::string view_of(const json::key_value_pair& member) {
  return std::string(member.key().data(), member.key().size());
}

bool is_of_interest(std::string_view key) {
  constexpr std::array<std::string_view, 3> kPrefixes = {"tangram.dev/", "hami.io/", names::kResourcePrefix};
  const bool known = std::any_of(kPrefixes.begin(), kPrefixes.end(),
                                 [key](std::string_view prefix) { return key.starts_with(prefix); });
  return known || key == names::kHamiPredicateTime || key == names::kIngressBandwidth ||
         key == names::kEgressBandwidth;
}

// A quantity may stand there as a number.
Result<std::string> quantity_of(const json::value& value, const std::string& field) {
  if (const std::int64_t* const number = value.if_int64()) return std::to_string(*number);
  return text_of(value, field);
}

Result<bool> read_amounts(const json::object& resources, std::string_view key, const std::string& above,
                          Texts& into) {
  const std::string field = above + ".resources." + std::string(key);
  TG_TRY(const json::object* const amounts, object_in(resources, key, field));
  if (amounts == nullptr) return false;
  for (const json::key_value_pair& member : *amounts) {
    std::string name = view_of(member);
    if (!name.starts_with(names::kResourcePrefix)) continue;
    TG_TRY(std::string amount, quantity_of(member.value(), field + "[" + quoted(name) + "]"));
    into.emplace(std::move(name), std::move(amount));
  }
  return true;
}

// The annotation that the variable takes its value from, if it is one of the extender's and nothing else.
std::string_view template_field_of(const json::object& variable) {
  const json::object* const source = object_at(variable, {"valueFrom"});
  const std::string_view field = text_at(variable, {"valueFrom", "fieldRef", "fieldPath"});
  const json::value* const value = variable.if_contains("value");
  const bool alone = source != nullptr && source->size() == 1 &&
                     (value == nullptr || value->is_null() || text_at(variable, {"value"}).empty());
  // All that stands before the number.
  const std::string all = template_field(names::kTemplatePrefix);
  const std::string_view before_number = std::string_view(all).substr(0, all.size() - 2);
  return alone && field.starts_with(before_number) ? field : std::string_view();
}

Result<void> read_environment(const json::object& object, ContainerView& container) {
  TG_TRY(const json::array* const entries, array_in(object, "env", container.field + ".env"));
  container.has_environment = entries != nullptr;
  if (entries == nullptr) return {};
  const std::string name_field = container.field + ".env[].name";
  std::size_t place = 0;
  for (const json::value& entry : *entries) {
    const json::object* const variable = entry.if_object();
    if (variable == nullptr) return wrong(container.field + ".env", "a list of objects");
    TG_TRY(std::string name, text_in(*variable, "name", name_field));
    const std::string_view field = name == kTemplateVariable ? template_field_of(*variable) : std::string_view();
    if (!field.empty() && !container.template_reference) {
      container.template_reference = TemplateReference{place, std::string(field)};
    } else if (name.starts_with("ASCEND_")) {
      container.environment.push_back(std::move(name));
    }
    ++place;
  }
  return {};
}

Result<ContainerView> read_container(const json::value& value, ContainerRole role, std::string pointer,
                                     std::string field) {
  ContainerView container;
  container.role = role;
  container.pointer = std::move(pointer);
  container.field = std::move(field);
  const json::object* const object = value.if_object();
  if (object == nullptr) return wrong(container.field, "an object");
  TG_TRY(container.name, text_in(*object, "name", container.field + ".name"));
  if (role == ContainerRole::kInit && text_at(*object, {"restartPolicy"}) == "Always") {
    container.role = ContainerRole::kSidecar;
  }
  container.privileged = flag_at(*object, {"securityContext", "privileged"});
  TG_TRY_VOID(read_environment(*object, container));
  TG_TRY(const json::object* const resources,
         object_in(*object, "resources", container.field + ".resources"));
  if (resources == nullptr) return container;
  TG_TRY(container.has_limits, read_amounts(*resources, "limits", container.field, container.limits));
  TG_TRY(container.has_requests, read_amounts(*resources, "requests", container.field, container.requests));
  return container;
}

Result<void> read_containers(const json::object& spec, std::string_view key, ContainerRole role,
                             PodView& pod) {
  const std::string field = "spec." + std::string(key);
  TG_TRY(const json::array* const list, array_in(spec, key, field));
  if (list == nullptr) return {};
  if (pod.containers.size() + list->size() > kContainersMax) {
    return wrong(field, "a list that leaves the Pod at most 512 containers");
  }
  std::size_t index = 0;
  for (const json::value& value : *list) {
    const std::string number = std::to_string(index++);
    std::string pointer = "/spec/";
    pointer += key;
    pointer += '/' + number;
    std::string place = field;
    place += '[';
    place += number;
    place += ']';
    TG_TRY(ContainerView container, read_container(value, role, std::move(pointer), std::move(place)));
    pod.containers.push_back(std::move(container));
  }
  return {};
}

Result<void> read_gates(const json::object& spec, PodView& pod) {
  TG_TRY(const json::array* const gates, array_in(spec, "schedulingGates", "spec.schedulingGates"));
  pod.has_gates = gates != nullptr;
  if (gates == nullptr) return {};
  for (const json::value& value : *gates) {
    const json::object* const gate = value.if_object();
    if (gate == nullptr) return wrong("spec.schedulingGates", "a list of objects");
    TG_TRY(std::string name, text_in(*gate, "name", "spec.schedulingGates[].name"));
    pod.gates.push_back(std::move(name));
  }
  return {};
}

Result<void> read_metadata(const json::object& metadata, PodView& pod) {
  TG_TRY(pod.name, text_in(metadata, "name", "metadata.name"));
  if (pod.name.empty()) {
    TG_TRY(pod.name, text_in(metadata, "generateName", "metadata.generateName"));
    pod.name += '*';
  }
  TG_TRY(const json::object* const labels, object_in(metadata, "labels", "metadata.labels"));
  TG_TRY(const json::object* const annotations, object_in(metadata, "annotations", "metadata.annotations"));
  pod.has_labels = labels != nullptr;
  pod.has_annotations = annotations != nullptr;
  if (labels != nullptr) {
    for (const json::key_value_pair& member : *labels) {
      TG_TRY(std::string text, text_of(member.value(), "metadata.labels"));
      pod.labels.emplace(view_of(member), std::move(text));
    }
  }
  if (annotations == nullptr) return {};
  for (const json::key_value_pair& member : *annotations) {
    std::string key = view_of(member);
    if (!is_of_interest(key)) continue;
    TG_TRY(std::string text, text_of(member.value(), "metadata.annotations[" + quoted(key) + "]"));
    pod.annotations.emplace(std::move(key), std::move(text));
  }
  return {};
}

Result<void> read_spec(const json::object& spec, PodView& pod) {
  TG_TRY(pod.node_name, text_in(spec, "nodeName", "spec.nodeName"));
  TG_TRY(pod.scheduler_name, text_in(spec, "schedulerName", "spec.schedulerName"));
  TG_TRY(pod.runtime_class, text_in(spec, "runtimeClassName", "spec.runtimeClassName"));
  const json::value* const deadline = spec.if_contains("activeDeadlineSeconds");
  if (deadline != nullptr && !deadline->is_null()) {
    pod.active_deadline_seconds = number_at(spec, {"activeDeadlineSeconds"});
    if (!pod.active_deadline_seconds) return wrong("spec.activeDeadlineSeconds", "a whole number");
  }
  TG_TRY_VOID(read_gates(spec, pod));
  TG_TRY_VOID(read_containers(spec, "initContainers", ContainerRole::kInit, pod));
  TG_TRY_VOID(read_containers(spec, "containers", ContainerRole::kMain, pod));
  return read_containers(spec, "ephemeralContainers", ContainerRole::kEphemeral, pod);
}

}  // namespace

std::string template_field(std::string_view annotation) {
  std::string field = "metadata.annotations['";
  field += annotation;
  field += "']";
  return field;
}

Result<PodView> read_pod(const json::object& pod) {
  PodView view;
  TG_TRY(const json::object* const metadata, object_in(pod, "metadata", "metadata"));
  TG_TRY(const json::object* const spec, object_in(pod, "spec", "spec"));
  if (metadata == nullptr || spec == nullptr) return wrong("the object", "a Pod with metadata and spec");
  TG_TRY_VOID(read_metadata(*metadata, view));
  TG_TRY_VOID(read_spec(*spec, view));
  return view;
}

}  // namespace tangram::kube::admission
