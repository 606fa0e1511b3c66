// The variable by which the vendor's runtime cuts a slice: its value comes from the Pod that is started.
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "kube/admission/pod.h"
#include "kube/protocol/names.h"
#include "kube_admission/support.h"

namespace tangram::kube::admission {
namespace {

class TemplateVariable : public ::testing::Test {
 protected:
  json::object admitted(const json::object& object) {
    const Answer answer = answer_to(settings, cluster, review_of(object));
    EXPECT_TRUE(answer.allowed) << answer.message;
    return patched(object, answer.patch);
  }
  Answer asked(const json::object& object) { return answer_to(settings, cluster, review_of(object)); }

  Settings settings;
  OneTenant cluster;
};

json::object npu_container(std::string_view name, std::string_view memory) {
  return container(name, {{"huawei.com/Ascend310P", "1"}, {"huawei.com/Ascend310P-memory", memory}});
}

json::object variable(std::string_view field) {
  json::object entry{{"name", "ASCEND_VNPU_SPECS"}};
  entry["valueFrom"] = json::object{{"fieldRef", json::object{{"apiVersion", "v1"}, {"fieldPath", field}}}};
  return entry;
}

json::object with_variable(json::object made, json::object entry) {
  json::array list;
  list.push_back(std::move(entry));
  made["env"] = std::move(list);
  return made;
}

// "name=field" of each entry of a container's environment.
std::string environment_of(const json::object& object, const char* kind, std::size_t index) {
  const json::object& one = object.at("spec").at(kind).at(index).as_object();
  std::string text;
  const json::array* const list = array_at(one, {"env"});
  if (list == nullptr) return "none";
  for (const json::value& entry : *list) {
    text += text_at(entry.as_object(), {"name"});
    text += '=';
    text += text_at(entry.as_object(), {"valueFrom", "fieldRef", "fieldPath"});
    text += text_at(entry.as_object(), {"value"});
    text += ' ';
  }
  return text;
}

// Without this, a container could be given the slice of another template than its own, or none.
TEST_F(TemplateVariable, EachSliceHasItsOwnAnnotation) {
  json::object second = npu_container("second", "7000");
  json::array own;
  own.push_back(json::object{{"name", "A"}, {"value", "b"}});
  second["env"] = own;
  const json::object after = admitted(pod({container("none"), npu_container("first", "13000"), second,
                                           npu_container("third", "1")},
                                          {npu_container("init", "4096")}));
  EXPECT_EQ(environment_of(after, "initContainers", 0),
            "ASCEND_VNPU_SPECS=metadata.annotations['tangram.dev/template-0'] ");
  EXPECT_EQ(environment_of(after, "containers", 0), "none");
  EXPECT_EQ(environment_of(after, "containers", 1), "none") << "a whole NPU";
  EXPECT_EQ(environment_of(after, "containers", 2),
            "A=b ASCEND_VNPU_SPECS=metadata.annotations['tangram.dev/template-2'] ");
  EXPECT_EQ(environment_of(after, "containers", 3),
            "ASCEND_VNPU_SPECS=metadata.annotations['tangram.dev/template-3'] ");
  // Another webhook has changed something else: the API server asks again.
  EXPECT_TRUE(asked(after).patch.empty());
}

// Without this, a container that another webhook puts in front would shift the templates of the others.
TEST_F(TemplateVariable, ANumberMovesOn) {
  const std::string field = template_field(names::template_annotation(0));
  const json::object after = admitted(
      pod({npu_container("added", "4096"), with_variable(npu_container("main", "1"), variable(field))}));
  EXPECT_EQ(environment_of(after, "containers", 0),
            "ASCEND_VNPU_SPECS=metadata.annotations['tangram.dev/template-0'] ");
  EXPECT_EQ(environment_of(after, "containers", 1),
            "ASCEND_VNPU_SPECS=metadata.annotations['tangram.dev/template-1'] ");
}

// Without this, somebody would have the runtime cut a slice that nobody counts.
TEST_F(TemplateVariable, WhatSomebodyElseWritesIsRefused) {
  const std::string field = template_field(names::template_annotation(0));
  json::object with_value = variable(field);
  with_value["value"] = "vir04";
  json::object two_sources = variable(field);
  two_sources["valueFrom"].as_object()["configMapKeyRef"] = json::object{{"name", "a"}, {"key", "b"}};
  for (const json::object& object : {
           pod({with_variable(container("main"), variable(field))}),                   // without NPUs
           pod({with_variable(npu_container("main", "13000"), variable(field))}),      // a whole one
           pod({npu_container("main", "1"), with_variable(container("b"), variable(field))}),
           pod({with_variable(npu_container("main", "1"), with_value)}),
           pod({with_variable(npu_container("main", "1"), two_sources)}),
           pod({with_variable(npu_container("main", "1"), variable("metadata.annotations['mine']"))}),
           pod({with_variable(npu_container("main", "1"), variable("metadata.name"))}),
       }) {
    const Answer answer = asked(object);
    EXPECT_FALSE(answer.allowed) << json::serialize(object);
    EXPECT_NE(answer.message.find("admission.environment.reserved"), std::string::npos) << answer.message;
  }
}

// Without this, a tenant could write the template that its own container is given.
TEST_F(TemplateVariable, TheAnnotationIsNobodysToWrite) {
  json::object forged = pod({npu_container("main", "1")});
  forged.at("metadata").as_object()["annotations"] =
      json::object{{names::template_annotation(0), "vir04"}};
  EXPECT_NE(asked(forged).message.find("admission.forged"), std::string::npos);
  const json::object before = admitted(pod({npu_container("main", "1")}));
  json::object after = before;
  after.at("metadata").at("annotations").as_object()[names::template_annotation(0)] = "vir04";
  EXPECT_FALSE(answer_to(settings, cluster, review_of(after, "UPDATE", &before)).allowed);
}

}  // namespace
}  // namespace tangram::kube::admission
