#include "kube/admission/patch.h"

#include <algorithm>
#include <utility>

#include "kube/admission/quantity.h"

namespace tangram::kube::admission {
namespace {

using Texts = std::map<std::string, std::string, std::less<>>;

// "add" also takes the place of a member that is there.
void add(json::array& patch, std::string path, json::value value) {
  json::object operation{{"op", "add"}, {"path", std::move(path)}};
  operation["value"] = std::move(value);
  patch.push_back(std::move(operation));
}

std::string child(const std::string& pointer, std::string_view key) {
  return pointer + '/' + pointer_segment(key);
}

void add_texts(json::array& patch, const std::string& pointer, bool is_there, const Texts& present,
               const std::map<std::string, std::string>& wanted) {
  json::object all;
  for (const auto& [key, value] : wanted) {
    const auto at = present.find(key);
    if (at != present.end() && at->second == value) continue;
    if (is_there) {
      add(patch, child(pointer, key), json::value(value));
    } else {
      all[key] = value;
    }
  }
  // A member of an object that is absent cannot be added.
  if (!all.empty()) add(patch, pointer, std::move(all));
}

void add_amounts(json::array& patch, const std::string& pointer, bool is_there, const Texts& present,
                 const std::map<std::string, std::int64_t>& wanted) {
  std::map<std::string, std::string> texts;
  for (const auto& [key, amount] : wanted) {
    const auto at = present.find(key);
    // 3000 may stand there as "3k".
    const bool same = at != present.end() && whole_quantity(at->second) == amount;
    if (!same) texts.emplace(key, std::to_string(amount));
  }
  add_texts(patch, pointer, is_there, {}, texts);
}

void add_template(json::array& patch, const ContainerChange& change) {
  if (change.template_annotation.empty()) return;
  const ContainerView& container = *change.container;
  const std::string environment = container.pointer + "/env";
  const std::string field = template_field(change.template_annotation);
  if (const auto& present = container.template_reference) {
    // A container that another webhook has added moves the numbers on.
    if (present->field == field) return;
    return add(patch, environment + '/' + std::to_string(present->place) + "/valueFrom/fieldRef/fieldPath",
               json::value(field));
  }
  json::object entry{{"name", kTemplateVariable}};
  entry["valueFrom"] = json::object{{"fieldRef", json::object{{"fieldPath", field}}}};
  if (container.has_environment) return add(patch, environment + "/-", std::move(entry));
  json::array list;
  list.push_back(std::move(entry));
  add(patch, environment, std::move(list));
}

void add_gate(json::array& patch, const PodView& pod, const std::string& gate) {
  if (gate.empty() || std::find(pod.gates.begin(), pod.gates.end(), gate) != pod.gates.end()) return;
  json::object entry{{"name", gate}};
  if (pod.has_gates) return add(patch, "/spec/schedulingGates/-", std::move(entry));
  json::array list;
  list.push_back(std::move(entry));
  add(patch, "/spec/schedulingGates", std::move(list));
}

void add_word(json::array& patch, const char* path, const std::string& present, const std::string& wanted) {
  if (!wanted.empty() && wanted != present) add(patch, path, json::value(wanted));
}

}  // namespace

std::string pointer_segment(std::string_view key) {
  std::string segment;
  for (const char c : key) {
    if (c == '~') {
      segment += "~0";
    } else if (c == '/') {
      segment += "~1";
    } else {
      segment += c;
    }
  }
  return segment;
}

json::array make_patch(const PodView& pod, const PodChanges& changes) {
  json::array patch;
  for (const ContainerChange& change : changes.containers) {
    const ContainerView& container = *change.container;
    const std::string resources = container.pointer + "/resources";
    add_amounts(patch, resources + "/limits", container.has_limits, container.limits, change.amounts);
    add_amounts(patch, resources + "/requests", container.has_requests, container.requests, change.amounts);
    add_template(patch, change);
  }
  add_texts(patch, "/metadata/labels", pod.has_labels, pod.labels, changes.labels);
  add_texts(patch, "/metadata/annotations", pod.has_annotations, pod.annotations, changes.annotations);
  add_gate(patch, pod, changes.gate);
  add_word(patch, "/spec/runtimeClassName", pod.runtime_class, changes.runtime_class);
  add_word(patch, "/spec/schedulerName", pod.scheduler_name, changes.scheduler);
  if (changes.active_deadline_seconds && changes.active_deadline_seconds != pod.active_deadline_seconds) {
    add(patch, "/spec/activeDeadlineSeconds", json::value(*changes.active_deadline_seconds));
  }
  return patch;
}

}  // namespace tangram::kube::admission
