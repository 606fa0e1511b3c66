// Questions of the API server and their answers, as they go over the wire.
#include "kube/admission/review.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <boost/json/serialize.hpp>
#include <limits>

#include "kube/admission/pod.h"
#include "kube/protocol/container_request.h"
#include "kube_admission/support.h"

namespace tangram::kube::admission {
namespace {

class Review : public ::testing::Test {
 protected:
  Answer create(const json::object& object) { return answer_to(settings, cluster, review_of(object)); }
  Answer update(const json::object& before, const json::object& after, std::string_view user = "alice") {
    return answer_to(settings, cluster, review_of(after, "UPDATE", &before, user));
  }
  // The Pod as it is let in; fails the test when it is refused.
  json::object admitted(const json::object& object) {
    const Answer answer = create(object);
    EXPECT_TRUE(answer.allowed) << answer.message;
    return patched(object, answer.patch);
  }
  void expect_refused(const json::object& object, std::string_view reason, std::string_view in_message,
                      std::int64_t status = 422) {
    const Answer answer = create(object);
    EXPECT_FALSE(answer.allowed) << reason;
    EXPECT_EQ(answer.status, status) << answer.message;
    EXPECT_NE(answer.message.find(reason), std::string::npos) << answer.message;
    EXPECT_NE(answer.message.find(in_message), std::string::npos) << answer.message;
    EXPECT_TRUE(answer.patch.empty());
  }

  Settings settings;
  OneTenant cluster;
};

json::object with_npu(std::string_view memory = "4096") {
  return pod({container("main", {{"huawei.com/Ascend310P", "1"}, {"huawei.com/Ascend310P-memory", memory}})});
}

json::object& metadata(json::object& object) {
  return object.at("metadata").as_object();
}
json::object& spec(json::object& object) {
  return object.at("spec").as_object();
}
json::object& main_container(json::object& object) {
  return spec(object).at("containers").as_array()[0].as_object();
}

json::object annotated(json::object object, std::string_view key, std::string_view value) {
  json::object annotations;
  if (const json::object* const present = object_at(object, {"metadata", "annotations"}))
    annotations = *present;
  annotations[key] = std::string(value);
  metadata(object)["annotations"] = std::move(annotations);
  return object;
}

json::object labelled(json::object object, std::string_view key, std::string_view value) {
  json::object labels;
  if (const json::object* const present = object_at(object, {"metadata", "labels"})) labels = *present;
  labels[key] = std::string(value);
  metadata(object)["labels"] = std::move(labels);
  return object;
}

json::object with_environment(json::object object, std::string_view name) {
  json::array env;
  env.push_back(json::object{{"name", name}, {"value", "0"}});
  main_container(object)["env"] = std::move(env);
  return object;
}

// Without this, a Pod would be let in without a gate, or nobody would know what it asked for and was given.
TEST_F(Review, APodWithNpusIsRoundedGatedAndMarked) {
  const json::object after = admitted(with_npu());
  EXPECT_EQ(text_at(after, {"metadata", "labels", "tangram.dev/managed"}), "true");
  EXPECT_EQ(text_at(after, {"metadata", "labels", "tangram.dev/tenant"}), "team-a");
  const auto view = read_pod(after);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->gates, std::vector<std::string>{"tangram.dev/quota"});
  EXPECT_EQ(view->containers.front().limits.at("huawei.com/Ascend310P-memory"), "6144");
  EXPECT_EQ(view->containers.front().requests.at("huawei.com/Ascend310P-memory"), "6144");
  const auto requested = read_requests(view->annotations.at("tangram.dev/requested"));
  const auto granted = read_grants(view->annotations.at("tangram.dev/granted"));
  ASSERT_TRUE(requested && granted);
  EXPECT_EQ(requested->front().memory_mib, 4096);
  EXPECT_EQ(granted->front().template_name, "vir02");
  EXPECT_EQ(granted->front().request.memory_mib, 6144);
}

// Without this, Pods that have nothing to do with NPUs would be changed or hurt.
TEST_F(Review, OtherPodsAreLeftAlone) {
  cluster.chain.clear();  // not even a tenant is needed
  for (const json::object& object :
       {pod({container("main")}), pod({container("main", {{"nvidia.com/gpu", "1"}})}),
        pod({container("main", {{"huawei.com/Ascend310P", "0"}})}),
        annotated(pod({container("main")}), "hami.io/vgpu-node", "n1"),
        with_environment(pod({container("main")}), "ASCEND_HOME_PATH"),
        annotated(pod({container("main")}), "tangram.dev/priority", "high")}) {
    const Answer answer = create(object);
    EXPECT_TRUE(answer.allowed) << answer.message;
    EXPECT_TRUE(answer.patch.empty());
  }
  json::object privileged = pod({container("main")});
  main_container(privileged)["securityContext"] = json::object{{"privileged", true}};
  EXPECT_TRUE(create(privileged).allowed);
}

// Without this, the second question about a Pod (another webhook changed it) would forget what it asked for.
TEST_F(Review, AskedAgainNothingChanges) {
  for (const json::object& object : {with_npu("4096"), with_npu("13000"), with_npu("1"),
                                     pod({container("main", {{"huawei.com/Ascend910C", "1"}})}),
                                     pod({container("a", {{"huawei.com/Ascend310P", "2"}}), container("b")},
                                         {container("i", {{"huawei.com/Ascend310P-memory", "7000"}})}),
                                     annotated(annotated(with_npu(), "tangram.dev/bandwidth", "1Gbps"),
                                               "tangram.dev/time-limit", "90m")}) {
    const json::object once = admitted(object);
    const Answer again = create(once);
    EXPECT_TRUE(again.allowed) << again.message;
    EXPECT_TRUE(again.patch.empty()) << json::serialize(again.patch);
  }
}

// Without this, a copy of a Pod (kubectl get -o yaml) with another size would be booked as the old one.
TEST_F(Review, WhatAnAnnotationClaimsCountsOnlyWhereItIsSo) {
  const json::object copy = annotated(
      annotated(with_npu("3072"), "tangram.dev/requested",
                R"([{"container":"main","resource":"huawei.com/Ascend310P","count":1,"memoryMiB":13000}])"),
      "tangram.dev/granted", R"([{"container":"main","resource":"huawei.com/Ascend310P","kind":"whole"}])");
  const json::object after = admitted(copy);
  EXPECT_EQ(
      read_requests(text_at(after, {"metadata", "annotations", "tangram.dev/requested"}))->front().memory_mib,
      3072);
  EXPECT_EQ(
      read_grants(text_at(after, {"metadata", "annotations", "tangram.dev/granted"}))->front().template_name,
      "vir01");
  const json::object stranger = labelled(with_npu(), "tangram.dev/tenant", "team-b");
  EXPECT_EQ(text_at(admitted(stranger), {"metadata", "labels", "tangram.dev/tenant"}), "team-a");
}

// Without this, a tenant could write itself an allocation.
TEST_F(Review, ForgedAllocationsAreRefused) {
  for (const char* key : {"tangram.dev/admitted", "tangram.dev/allocation", "tangram.dev/allocated",
                          "hami.io/Ascend310P-devices-to-allocate", "hami.io/Ascend310P-devices-allocated"}) {
    expect_refused(annotated(with_npu(), key, "x"), "admission.forged", key, 403);
    expect_refused(annotated(pod({container("main")}), key, "x"), "admission.forged", key, 403);
  }
  for (const char* key : {"hami.io/vgpu-node", "hami.io/bind-phase", "huawei.com/Ascend310P"}) {
    expect_refused(annotated(with_npu(), key, "x"), "admission.forged", key, 403);
  }
  expect_refused(labelled(with_npu(), "hami.io/vgpu-node", "n1"), "admission.forged", "hami.io/vgpu-node",
                 403);
  expect_refused(labelled(pod({container("main")}), "tangram.dev/managed", "true"), "admission.forged",
                 "tangram.dev/managed", 403);
  expect_refused(annotated(pod({container("main")}), "tangram.dev/granted", "[]"), "admission.forged",
                 "tangram.dev/granted", 403);
  json::object gated = pod({container("main")});
  spec(gated)["schedulingGates"] = json::array{json::object{{"name", "tangram.dev/quota"}}};
  expect_refused(gated, "admission.forged", "tangram.dev/quota", 403);
}

// Without this, a container could take the devices of others through the vendor's runtime.
TEST_F(Review, TheRuntimesEnvironmentIsReserved) {
  for (const char* name : {"ASCEND_VISIBLE_DEVICES", "ASCEND_VNPU_SPECS", "ASCEND_RUNTIME_OPTIONS",
                           "ASCEND_RUNTIME_MOUNTS", "ASCEND_RT_VISIBLE_DEVICES", "ASCEND_DEVICE_ID"}) {
    expect_refused(with_environment(with_npu(), name), "admission.environment.reserved", name);
    expect_refused(with_environment(pod({container("main")}), name), "admission.environment.reserved", name);
  }
}

// Without this, a privileged init container would see every NPU of the node; the fault of a HAMi that looked
// at the main containers alone.
TEST_F(Review, PrivilegedContainersAreRefusedByName) {
  json::object object = pod({container("main", {{"huawei.com/Ascend310P", "1"}})}, {container("setup")});
  spec(object).at("initContainers").as_array()[0].as_object()["securityContext"] =
      json::object{{"privileged", true}};
  expect_refused(object, "admission.privileged", "spec.initContainers[0] (\"setup\")", 403);
}

// Without this, a Pod could go past the gate, or to somebody who gives it no NPU.
TEST_F(Review, NodeAndSchedulerAreNotAPodsToChoose) {
  json::object bound = with_npu();
  spec(bound)["nodeName"] = "n1";
  expect_refused(bound, "admission.bound", "\"n1\"");
  json::object other = with_npu();
  spec(other)["schedulerName"] = "volcano";
  expect_refused(other, "admission.scheduler", "\"volcano\"");
  json::object hami = with_npu();
  spec(hami)["schedulerName"] = "hami-scheduler";
  EXPECT_EQ(text_at(admitted(hami), {"spec", "schedulerName"}), "default-scheduler");
  settings.runtime_class = "ascend";
  EXPECT_EQ(text_at(admitted(with_npu()), {"spec", "runtimeClassName"}), "ascend");
  json::object own = with_npu();
  spec(own)["runtimeClassName"] = "mine";
  EXPECT_EQ(text_at(admitted(own), {"spec", "runtimeClassName"}), "mine");
}

// Without this, who wants shared cores would get a slice and not know.
TEST_F(Review, SoftSharingIsRefused) {
  expect_refused(annotated(with_npu(), "huawei.com/vnpu-mode", "hami-core"), "admission.request.unsupported",
                 "hami-core");
}

// Without this, the label by which HAMi's users opt out would be a way around the quota.
TEST_F(Review, HamisOptOutIsNone) {
  EXPECT_EQ(text_at(admitted(labelled(with_npu(), "hami.io/webhook", "ignore")),
                    {"metadata", "labels", "tangram.dev/tenant"}),
            "team-a");
}

// Without this, a namespace without a tenant would have NPUs without a limit.
TEST_F(Review, ANamespaceNeedsATenant) {
  cluster.chain.clear();
  expect_refused(with_npu(), "admission.tenant.none", "team-a-space", 403);
}

// Without this, an impossible Pod would wait for ever, and the error would not say what is allowed.
TEST_F(Review, TenantLimitsAreChecked) {
  cluster.chain.front().quota.memory_per_npu = Bytes::gib(4);
  expect_refused(with_npu("4097"), "quota.memory_per_npu.above_limit", "at most 4GiB", 403);
  EXPECT_TRUE(create(with_npu("4096")).allowed);
  cluster.chain.front().quota.priorities = PrioritySet{0b100};
  expect_refused(with_npu(), "quota.priority.forbidden", "may use: low", 403);
  EXPECT_TRUE(create(annotated(with_npu(), "tangram.dev/priority", "low")).allowed);
  expect_refused(annotated(with_npu(), "tangram.dev/priority", "urgent"), "admission.annotation.invalid",
                 "\"urgent\"");
}

// Without this, a run-time limit would be a number that nothing enforces.
TEST_F(Review, ARunTimeLimitBecomesADeadline) {
  const auto deadline = [this](const json::object& object) {
    return number_at(admitted(object), {"spec", "activeDeadlineSeconds"});
  };
  EXPECT_EQ(deadline(with_npu()), std::nullopt);
  EXPECT_EQ(deadline(annotated(with_npu(), "tangram.dev/time-limit", "90m")), 5'400);
  cluster.chain.front().quota.run_time_ms = 24LL * 3'600'000;
  EXPECT_EQ(deadline(with_npu()), 86'400);
  EXPECT_EQ(deadline(annotated(with_npu(), "tangram.dev/time-limit", "1h")), 3'600);
  json::object own = with_npu();
  spec(own)["activeDeadlineSeconds"] = 600;
  EXPECT_EQ(deadline(own), 600);
  spec(own)["activeDeadlineSeconds"] = 100'000;
  expect_refused(own, "quota.run_time.above_limit", "at most 1d", 403);
  spec(own)["activeDeadlineSeconds"] = std::numeric_limits<std::int64_t>::max();
  expect_refused(own, "quota.run_time.above_limit", "at most 1d", 403);
  expect_refused(annotated(with_npu(), "tangram.dev/time-limit", "soon"), "admission.annotation.invalid",
                 "\"soon\"");
}

// Without this, bandwidth would be booked and never shaped, or not counted where the CNI's own words are
// used.
TEST_F(Review, BandwidthGoesToTheCni) {
  const json::object after = admitted(annotated(with_npu(), "tangram.dev/bandwidth", "2Gbps"));
  EXPECT_EQ(text_at(after, {"metadata", "annotations", "kubernetes.io/ingress-bandwidth"}), "2000000000");
  EXPECT_EQ(text_at(after, {"metadata", "annotations", "kubernetes.io/egress-bandwidth"}), "2000000000");
  const json::object mixed = admitted(annotated(annotated(with_npu(), "tangram.dev/bandwidth", "2Gbps"),
                                                "kubernetes.io/egress-bandwidth", "10M"));
  EXPECT_EQ(text_at(mixed, {"metadata", "annotations", "kubernetes.io/egress-bandwidth"}), "10M");
  cluster.chain.front().quota.bandwidth_bps = 1'000'000'000;
  expect_refused(annotated(with_npu(), "kubernetes.io/egress-bandwidth", "2G"), "quota.bandwidth.above_limit",
                 "at most 1Gbps", 403);
  expect_refused(annotated(with_npu(), "tangram.dev/bandwidth", "1bps"), "admission.annotation.invalid",
                 "1Kbps");
  expect_refused(annotated(with_npu(), "kubernetes.io/ingress-bandwidth", "fast"),
                 "admission.annotation.invalid", "fast");
}

// Without this, a ResourceQuota written for HAMi would no longer hold; the last of several would win, and a
// whole NPU that nobody gave a size would slip through.
TEST_F(Review, NamespaceQuotasWrittenForHamiHold) {
  cluster.quotas = {{"npus", "limits.huawei.com/Ascend310P-memory", 10'000, 9'000},
                    {"more", "limits.huawei.com/Ascend310P-memory", 100'000, 0}};
  expect_refused(with_npu("2000"), "admission.quota.exceeded",
                 "exceeded quota: npus of namespace team-a-space, requested: "
                 "limits.huawei.com/Ascend310P-memory=3072, used: 9000, limited: 10000",
                 403);
  cluster.quotas.front().used = 3'856;  // exactly what a vir02 leaves
  EXPECT_TRUE(create(with_npu("4096")).allowed);
  cluster.quotas.front().used = 0;
  expect_refused(pod({container("main", {{"huawei.com/Ascend310P", "1"}})}), "admission.quota.exceeded",
                 "=21527", 403);
  EXPECT_TRUE(create(pod({container("main", {{"huawei.com/Ascend910B4", "1"}})})).allowed) << "another chip";
  cluster.quotas.front().hard = 0;
  expect_refused(with_npu("1"), "admission.quota.exceeded", "limited: 0", 403);
}

// Without this, a misspelt chip would wait for ever without a word.
TEST_F(Review, WarnsOfNamesThatNoChipHas) {
  const Answer answer = create(pod({container("main", {{"huawei.com/Ascend310P3", "1"}})}));
  EXPECT_TRUE(answer.allowed);
  ASSERT_EQ(answer.warnings.size(), 1U);
  EXPECT_NE(answer.warnings.front().find("huawei.com/Ascend310P3"), std::string::npos);
}

// Without this, a tenant could open its own gate, change its tenant, or point at another's NPU.
TEST_F(Review, MarksStayAsTheyAre) {
  const json::object before = admitted(with_npu());
  EXPECT_TRUE(update(before, labelled(before, "app", "train")).allowed);
  EXPECT_TRUE(update(before, annotated(before, "note", "x")).allowed);
  json::object opened = before;
  spec(opened)["schedulingGates"] = json::array();
  json::object bare = before;
  metadata(bare).erase("labels");
  for (const json::object& after :
       {opened, bare, labelled(before, "tangram.dev/tenant", "team-b"),
        annotated(before, "tangram.dev/granted", "[]"), annotated(before, "tangram.dev/admitted", "now"),
        annotated(before, "hami.io/bind-phase", "success"),
        annotated(before, "huawei.com/Ascend310P", R"([{"UUID":"u"}])")}) {
    const Answer answer = update(before, after);
    EXPECT_FALSE(answer.allowed) << json::serialize(after);
    EXPECT_EQ(answer.status, 403);
    EXPECT_NE(answer.message.find("admission.forged"), std::string::npos) << answer.message;
  }
  settings.trusted = {"system:serviceaccount:kube-system:tangram-manager"};
  EXPECT_TRUE(update(before, opened, settings.trusted.front()).allowed);
}

// Without this, another vendor's manager could no longer mark its own Pods.
TEST_F(Review, MarksOfOthersOnOtherPodsAreTheirs) {
  const json::object before = pod({container("main", {{"nvidia.com/gpu", "1"}})});
  EXPECT_TRUE(update(before, annotated(before, "hami.io/vgpu-node", "n1")).allowed);
  EXPECT_TRUE(update(before, labelled(before, "hami.io/vgpu-node", "n1")).allowed);
  EXPECT_FALSE(update(before, labelled(before, "tangram.dev/managed", "true")).allowed);
}

// Without this, `kubectl debug` would be a way to every NPU of the node.
TEST_F(Review, AContainerThatIsAddedGetsNoPrivileges) {
  const json::object before = admitted(with_npu());
  const auto with_debugger = [&before](const json::object& more) {
    json::object debugger = container("debugger");
    for (const auto& member : more) debugger[member.key()] = member.value();
    json::object after = before;
    spec(after)["ephemeralContainers"] = json::array{debugger};
    return after;
  };
  EXPECT_TRUE(update(before, with_debugger({})).allowed);
  const json::object privileged = with_debugger({{"securityContext", json::object{{"privileged", true}}}});
  const Answer answer = update(before, privileged);
  EXPECT_FALSE(answer.allowed);
  EXPECT_NE(answer.message.find("debugger"), std::string::npos) << answer.message;
  EXPECT_TRUE(update(privileged, privileged).allowed) << "it was there before";
  const json::object variable = json::object{{"name", "ASCEND_VISIBLE_DEVICES"}, {"value", "0"}};
  EXPECT_FALSE(update(before, with_debugger({{"env", json::array{variable}}})).allowed);
}

// Without this, what cannot be read would be let through.
TEST_F(Review, WhatCannotBeReadIsRefused) {
  for (const std::string& body :
       {std::string(), std::string("{}"), std::string("[]"), std::string("{"),
        std::string(R"({"apiVersion":"admission.k8s.io/v1beta1","request":{"uid":"u"}})"),
        std::string(R"({"apiVersion":"admission.k8s.io/v1","request":{}})"),
        std::string(kReviewBytesMax + 1, ' ')}) {
    const auto answer = answer_review(settings, cluster, body);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().reason, "admission.review.invalid");
  }
  json::object no_list = with_npu();
  spec(no_list)["containers"] = 5;
  expect_refused(no_list, "admission.review.invalid", "spec.containers");
  json::object no_text = with_npu();
  main_container(no_text).at("resources").as_object().at("limits").as_object()["huawei.com/Ascend310P"] =
      true;
  expect_refused(no_text, "admission.review.invalid", "huawei.com/Ascend310P");
  EXPECT_FALSE(answer_to(settings, cluster, review_of(with_npu(), "DELETE")).allowed);
  std::string service = review_of(with_npu());
  service.replace(service.find("\"pods\""), 6, "\"services\"");
  EXPECT_FALSE(answer_to(settings, cluster, service).allowed);
}

// Without this, a number that the API server does not quote would not be one.
TEST_F(Review, AmountsMayBeNumbers) {
  json::object object = pod({container("main")});
  main_container(object)["resources"] = json::object{
      {"limits", json::object{{"huawei.com/Ascend310P", 1}, {"huawei.com/Ascend310P-memory", 4096}}}};
  EXPECT_EQ(read_pod(admitted(object))->containers.front().limits.at("huawei.com/Ascend310P-memory"), "6144");
}

// Without this, some Pod would be changed anew each time it is looked at, or what is let in would be refused
// when another webhook makes the API server ask again.
RC_GTEST_PROP(Reviews, AnAdmittedPodIsAdmittedAsItIs, ()) {
  const auto amount = [] { return std::to_string(*rc::gen::inRange(0, 23'000)); };
  const auto some_container = [&](const std::string& name) {
    const std::string word = *rc::gen::element<std::string>("Ascend310P", "Ascend910B4", "Ascend910C");
    json::object amounts;
    if (*rc::gen::inRange(0, 3) > 0) amounts["huawei.com/" + word] = std::to_string(*rc::gen::inRange(0, 3));
    if (*rc::gen::inRange(0, 3) > 0) amounts["huawei.com/" + word + "-memory"] = amount();
    json::object made = container(name);
    if (*rc::gen::arbitrary<bool>()) made["resources"].as_object()["limits"] = amounts;
    if (*rc::gen::arbitrary<bool>()) made["resources"].as_object()["requests"] = amounts;
    if (*rc::gen::inRange(0, 4) == 0) made["restartPolicy"] = "Always";
    return made;
  };
  json::object object =
      pod({some_container("a"), some_container("b")}, {some_container("c"), some_container("d")});
  if (*rc::gen::arbitrary<bool>()) object = annotated(object, "tangram.dev/time-limit", "1500s");
  if (*rc::gen::arbitrary<bool>()) object = annotated(object, "tangram.dev/bandwidth", "1500Kbps");
  if (*rc::gen::arbitrary<bool>()) object = labelled(object, "app", "x");
  const Settings settings;
  OneTenant cluster;
  cluster.chain.front().quota.run_time_ms = *rc::gen::element<std::int64_t>(500, 1'500'000, kUnlimited);
  const Answer first = answer_to(settings, cluster, review_of(object));
  if (!first.allowed) {
    RC_ASSERT(!first.message.empty());
    return;
  }
  const Answer second = answer_to(settings, cluster, review_of(patched(object, first.patch)));
  RC_ASSERT(second.allowed);
  RC_ASSERT(second.patch.empty());
}

}  // namespace
}  // namespace tangram::kube::admission
