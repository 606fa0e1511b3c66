#include "kube_admission/support.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <cstdlib>

#include "net/base64.h"

namespace tangram::kube::admission {
namespace {

std::string unescaped(std::string_view segment) {
  std::string text;
  for (std::size_t i = 0; i < segment.size(); ++i) {
    if (segment[i] == '~' && i + 1 < segment.size()) {
      text += segment[++i] == '0' ? '~' : '/';
    } else {
      text += segment[i];
    }
  }
  return text;
}

void add_at(json::value& at, std::string_view pointer, const json::value& value) {
  if (!pointer.starts_with('/')) std::abort();
  pointer.remove_prefix(1);
  const std::size_t end = pointer.find('/');
  const std::string key = unescaped(pointer.substr(0, end));
  const bool last = end == std::string_view::npos;
  if (json::array* const list = at.if_array()) {
    if (last) {
      if (key != "-") std::abort();
      list->push_back(value);
      return;
    }
    return add_at(list->at(static_cast<std::size_t>(std::stoul(key))), pointer.substr(end), value);
  }
  json::object* const object = at.if_object();
  if (object == nullptr) std::abort();
  if (last) {
    object->insert_or_assign(key, value);
    return;
  }
  json::value* const child = object->if_contains(key);
  if (child == nullptr) std::abort();  // the standard: the parent must exist
  add_at(*child, pointer.substr(end), value);
}

}  // namespace

json::object container(std::string_view name, Amounts limits) {
  json::object made{{"name", name}, {"image", "busybox"}};
  json::object resources;
  json::object amounts;
  for (const auto& [key, value] : limits) amounts[key] = std::string(value);
  if (!amounts.empty()) {
    resources["limits"] = amounts;
    resources["requests"] = amounts;
  }
  made["resources"] = std::move(resources);
  return made;
}

json::object pod(std::vector<json::object> containers, std::vector<json::object> init_containers) {
  json::object spec{{"schedulerName", "default-scheduler"}};
  json::array list;
  for (json::object& one : containers) list.push_back(std::move(one));
  spec["containers"] = std::move(list);
  if (!init_containers.empty()) {
    json::array init;
    for (json::object& one : init_containers) init.push_back(std::move(one));
    spec["initContainers"] = std::move(init);
  }
  json::object made{{"apiVersion", "v1"}, {"kind", "Pod"}};
  made["metadata"] = json::object{{"name", "train"}, {"namespace", "team-a-space"}};
  made["spec"] = std::move(spec);
  return made;
}

Result<std::vector<TenantLimits>> OneTenant::tenant_of(std::string_view space) const {
  if (!chain.empty()) return chain;
  return fail(Code::kPermissionDenied, "admission.tenant.none",
              "namespace " + std::string(space) + " belongs to no Tenant");
}

std::string review_of(const json::object& object, std::string_view operation, const json::object* old_object,
                      std::string_view user) {
  json::object request{{"uid", "u-1"}, {"operation", operation}, {"namespace", "team-a-space"}};
  request["resource"] = json::object{{"group", ""}, {"version", "v1"}, {"resource", "pods"}};
  request["userInfo"] = json::object{{"username", user}};
  request["object"] = object;
  if (old_object != nullptr) request["oldObject"] = *old_object;
  json::object review{{"apiVersion", "admission.k8s.io/v1"}, {"kind", "AdmissionReview"}};
  review["request"] = std::move(request);
  return json::serialize(review);
}

Answer answer_to(const Settings& settings, const Cluster& cluster, const std::string& review) {
  Answer answer;
  const Result<std::string> text = answer_review(settings, cluster, review);
  EXPECT_TRUE(text) << text.error().message;
  if (!text) return answer;
  answer.text = *text;
  const json::object whole = *parse_object(*text);
  EXPECT_EQ(text_at(whole, {"apiVersion"}), "admission.k8s.io/v1");
  EXPECT_EQ(text_at(whole, {"response", "uid"}), "u-1");
  answer.allowed = flag_at(whole, {"response", "allowed"});
  answer.status = number_at(whole, {"response", "status", "code"}).value_or(0);
  answer.message = text_at(whole, {"response", "status", "message"});
  if (const json::array* const warnings = array_at(whole, {"response", "warnings"})) {
    for (const json::value& warning : *warnings) answer.warnings.emplace_back(warning.as_string().c_str());
  }
  const std::string_view patch = text_at(whole, {"response", "patch"});
  EXPECT_EQ(patch.empty(), text_at(whole, {"response", "patchType"}).empty());
  if (!patch.empty()) answer.patch = *parse_array(*net::decode_base64(patch));
  return answer;
}

json::object patched(json::object object, const json::array& patch) {
  json::value whole = std::move(object);
  for (const json::value& operation : patch) {
    const json::object& one = operation.as_object();
    if (text_at(one, {"op"}) != "add") std::abort();
    add_at(whole, text_at(one, {"path"}), one.at("value"));
  }
  return whole.as_object();
}

}  // namespace tangram::kube::admission
