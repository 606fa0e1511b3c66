#include "kube/admission/pod.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "kube_admission/support.h"

namespace tangram::kube::admission {
namespace {

// Without this, a field would be read from the wrong place, and a refusal name another one.
TEST(Pod, IsReadWhereItsFieldsAre) {
  const auto object = parse_object(R"({"metadata":{"generateName":"train-","labels":{"app":"x"},
    "annotations":{"tangram.dev/priority":"low","a.example/b":"c"}},
    "spec":{"schedulerName":"s","runtimeClassName":"r","nodeName":"n","activeDeadlineSeconds":9,
    "schedulingGates":[{"name":"g"}],
    "initContainers":[{"name":"i"},{"name":"s","restartPolicy":"Always"}],
    "containers":[{"name":"m","securityContext":{"privileged":true},
      "env":[{"name":"ASCEND_VNPU_SPECS","value":"vir04"},{"name":"PATH"}],
      "resources":{"limits":{"cpu":"1","huawei.com/Ascend310P":"1"}}}],
    "ephemeralContainers":[{"name":"e"}]}})");
  ASSERT_TRUE(object);
  const auto pod = read_pod(*object);
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ(pod->name, "train-*");
  EXPECT_EQ(pod->labels.at("app"), "x");
  EXPECT_EQ(pod->annotations.size(), 1U) << "only those that matter";
  EXPECT_EQ(pod->gates, std::vector<std::string>{"g"});
  EXPECT_EQ(pod->node_name + pod->scheduler_name + pod->runtime_class, "nsr");
  EXPECT_EQ(pod->active_deadline_seconds, 9);
  ASSERT_EQ(pod->containers.size(), 4U);
  EXPECT_EQ(pod->containers[0].role, ContainerRole::kInit);
  EXPECT_EQ(pod->containers[1].role, ContainerRole::kSidecar);
  EXPECT_EQ(pod->containers[1].field, "spec.initContainers[1]");
  EXPECT_EQ(pod->containers[1].pointer, "/spec/initContainers/1");
  const ContainerView& main = pod->containers[2];
  EXPECT_TRUE(main.privileged && main.has_limits && !main.has_requests);
  EXPECT_EQ(main.limits.size(), 1U);
  EXPECT_EQ(main.environment, std::vector<std::string>{"ASCEND_VNPU_SPECS"});
  EXPECT_EQ(pod->containers[3].role, ContainerRole::kEphemeral);
}

// Without this, a body that no API server sends could end the process, or be let through half read.
TEST(Pod, WhatIsNoPodIsRefusedWithTheField) {
  struct Case {
    const char* spec;
    const char* field;
  };
  for (const Case& one :
       {Case{R"({"containers":{}})", "spec.containers"},
        {R"({"containers":[1]})", "spec.containers[0]"},
        {R"({"containers":[{"resources":1}]})", "spec.containers[0].resources"},
        {R"({"containers":[{"resources":{"limits":[]}}]})", "spec.containers[0].resources.limits"},
        {R"({"containers":[{"env":[1]}]})", "spec.containers[0].env"},
        {R"({"initContainers":[{"name":7}]})", "spec.initContainers[0].name"},
        {R"({"schedulingGates":[1]})", "spec.schedulingGates"},
        {R"({"nodeName":[]})", "spec.nodeName"},
        {R"({"activeDeadlineSeconds":"9"})", "spec.activeDeadlineSeconds"}}) {
    const auto pod = read_pod(*parse_object(std::string(R"({"metadata":{},"spec":)") + one.spec + "}"));
    ASSERT_FALSE(pod) << one.spec;
    EXPECT_EQ(pod.error().reason, "admission.review.invalid");
    EXPECT_TRUE(pod.error().message.starts_with(one.field)) << pod.error().message;
  }
  EXPECT_FALSE(read_pod(*parse_object("{}")));
  EXPECT_FALSE(read_pod(*parse_object(R"({"metadata":{"labels":{"a":1}},"spec":{}})")));
  const json::object many = pod(std::vector<json::object>(kContainersMax + 1, container("c")));
  EXPECT_FALSE(read_pod(many));
}

}  // namespace
}  // namespace tangram::kube::admission
