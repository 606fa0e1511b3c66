// What a scrape says of a cluster: article B's three figures, byte for byte, and what must not be there.
#include "kube/metrics/cluster_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "kube/protocol/allocation.h"
#include "kube/protocol/container_request.h"

namespace tangram::kube::metrics {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kResource = "huawei.com/Ascend310P";

json::object node(std::string_view npus) {
  json::object annotations{{"tangram.dev/npus", npus}};
  annotations["hami.io/node-register-Ascend310P"] =
      R"([{"id":"AA","count":7,"devmem":21527,"devcore":8,"type":"Ascend310P","health":true}])";
  json::object metadata{{"name", "n1"}};
  metadata["annotations"] = std::move(annotations);
  json::object made;
  made["metadata"] = std::move(metadata);
  return made;
}

constexpr std::string_view kOneNpu =
    R"({"npus":[{"uuid":"AA","index":0,"chip":"310P3","health":"ok","allocatableMiB":21527,"aiCores":8,)"
    R"("shares":7,"strays":[{"id":101}]}]})";

struct Given {
  std::string container;
  std::int64_t memory = 0;
  std::string template_name;
  bool init = false;
  bool sidecar = false;
  std::string uuid = "AA";
};

json::object pod(std::string_view name, const std::vector<Given>& all, std::string_view bound_to = "n1") {
  std::vector<ContainerGrant> grants;
  Allocation allocation;
  allocation.node = "n1";
  json::array init;
  json::array main;
  for (const Given& given : all) {
    ContainerGrant grant;
    grant.request = {given.container, given.init, given.sidecar, std::string(kResource), 1, given.memory, 0};
    grant.kind = given.template_name.empty() ? GrantKind::kWhole : GrantKind::kSlice;
    grant.template_name = given.template_name;
    allocation.containers.push_back({given.container, grant.kind, given.template_name, {{given.uuid, 0}}});
    grants.push_back(std::move(grant));
    (given.init ? init : main).push_back(json::object{{"name", given.container}});
  }
  json::object metadata{
      {"name", name}, {"namespace", "team-a"}, {"creationTimestamp", "2026-01-31T08:00:00Z"}};
  metadata["annotations"] = json::object{{"tangram.dev/granted", write_grants(grants)},
                                         {"tangram.dev/allocation", write_allocation(allocation)}};
  json::object spec;
  spec["initContainers"] = std::move(init);
  spec["containers"] = std::move(main);
  if (!bound_to.empty()) spec["nodeName"] = std::string(bound_to);
  json::object made;
  made["metadata"] = std::move(metadata);
  made["spec"] = std::move(spec);
  made["status"] = json::object{{"phase", "Running"}};
  return made;
}

class ClusterPage : public ::testing::Test {
 protected:
  void add(const json::object& object) {
    const auto row = pod_row(object);
    if (row) rows.pods["team-a/" + row->name] = *row;
  }
  std::string page() const {
    Page made;
    add_cluster(rows, quotas, made);
    return made.text();
  }

  ClusterRows rows{{{"n1", *node_row(node(kOneNpu))}}, {}, {}};
  std::vector<QuotaLimit> quotas;
};

// Without this, whoever moves from HAMi would find other figures than article B shows: a count, the quota's
// unit, bytes.
TEST_F(ClusterPage, TheArticlesThreeMetricsHaveItsValues) {
  add(pod("a", {{"main", 3072, "vir01"}}));
  add(pod("b", {{"main", 6144, "vir02"}}));
  add(pod("c", {{"main", 12288, "vir04"}}));
  const std::string text = page();
  EXPECT_THAT(text, HasSubstr("\nhami_gpu_shared_count{node=\"n1\",device_uuid=\"AA\",device_index=\"0\","
                              "device_type=\"Ascend310P\",zone=\"vGPU\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("\nhami_resource_quota_used{namespace=\"team-a\",quota_name="
                              "\"huawei.com/Ascend310P-memory\",limit=\"0\",zone=\"vGPU\"} 21504\n"));
  for (const auto& [name, bytes] :
       {std::pair("a", "3221225472"), std::pair("b", "6442450944"), std::pair("c", "12884901888")}) {
    EXPECT_THAT(text,
                HasSubstr("hami_vgpu_memory_allocated_bytes{namespace=\"team-a\",node=\"n1\",pod=\"" +
                          std::string(name) + "\",container_index=\"0\",device_uuid=\"AA\",zone=\"vGPU\"} " +
                          bytes + "\n"));
  }
}

// Without this, HAMi's dashboards would have gaps.
TEST_F(ClusterPage, HamisOtherNamesAreThere) {
  add(pod("a", {{"main", 3072, "vir01"}}));
  quotas = {{"team-a", "huawei.com/Ascend310P-memory", 50'000},
            {"team-a", "huawei.com/Ascend310P-memory", 9'000},
            {"idle", "huawei.com/Ascend310P-memory", 0}};
  const std::string npu = "node=\"n1\",device_uuid=\"AA\",device_index=\"0\",";
  const std::string zone = "device_type=\"Ascend310P\",zone=\"vGPU\"} ";
  const std::string text = page();
  for (const std::string& line :
       {"hami_gpu_memory_limit_bytes{" + npu + zone + "22572695552\n",
        "hami_gpu_core_limit_ratio{" + npu + zone + "8\n",
        "hami_gpu_memory_allocated_bytes{" + npu + "device_cores=\"8\"," + zone + "3221225472\n",
        "hami_gpu_core_allocated_ratio{" + npu + zone + "0\n",
        "hami_node_gpu_overview{" + npu + "device_cores=\"8\",device_memory_limit=\"21527\"," + zone +
            "3221225472\n",
        "hami_node_gpu_memory_allocated_ratio{" + npu + zone + "0.14270",
        std::string("hami_resource_quota_limit{namespace=\"team-a\",quota_name="
                    "\"huawei.com/Ascend310P-memory\",zone=\"vGPU\"} 9000\n"),
        std::string("limit=\"9000\",zone=\"vGPU\"} 3072\n"),
        std::string("hami_resource_quota_used{namespace=\"idle\",quota_name="
                    "\"huawei.com/Ascend310P-memory\",limit=\"0\",zone=\"vGPU\"} 0\n")}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

// Without this, something that nobody knows would be shown as 0, and be taken for a fact.
TEST_F(ClusterPage, WhatIsNotKnownIsAbsent) {
  rows.nodes["n1"] = *node_row(node(R"({"npus":[{"uuid":"ZZ","index":1,"chip":"new","health":"bad"}]})"));
  const std::string text = page();
  for (const char* name : {"hami_gpu_memory_limit_bytes", "hami_gpu_core_limit_ratio",
                           "hami_node_gpu_memory_allocated_ratio", "tangram_npu_memory_capacity_bytes",
                           "tangram_queued_pod_oldest_timestamp_seconds", "hami_resource_quota_limit"}) {
    EXPECT_THAT(text, Not(HasSubstr(name)));
  }
  EXPECT_THAT(text, HasSubstr("tangram_npu_healthy{node=\"n1\",npu=\"1\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("device_cores=\"\",device_memory_limit=\"\",device_type=\"\""));
}

// Without this, an init container that has ended would be counted beside the containers after it, or one that
// needs more than they do be forgotten.
TEST_F(ClusterPage, AnInitContainerSharesWhatComesAfterIt) {
  add(pod("small",
          {{"init", 3072, "vir01", true}, {"side", 3072, "vir01", true, true}, {"main", 6144, "vir02"}}));
  add(pod("large", {{"init", 12288, "vir04", true}, {"main", 3072, "vir01"}}));
  const std::string text = page();
  EXPECT_THAT(text, HasSubstr("tangram_npu_memory_allocated_bytes{node=\"n1\",npu=\"0\"} 22548578304\n"))
      << "3072 + 6144 + 12288 MiB";
  EXPECT_THAT(text, HasSubstr("tangram_npu_shares_allocated{node=\"n1\",npu=\"0\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("pod=\"small\",container=\"main\",node=\"n1\",npu=\"0\",template=\"vir02\"}"));
  EXPECT_THAT(text, Not(HasSubstr("pod=\"small\",container=\"init\"")));
  // The place of a container counts all of them, those without NPUs included.
  EXPECT_THAT(text, HasSubstr("pod=\"small\",container_index=\"2\""));
  EXPECT_THAT(text, HasSubstr("limit=\"0\",zone=\"vGPU\"} 21504\n"));
}

// Without this, a Pod that has ended, or waits, would go on holding what it was given.
TEST_F(ClusterPage, OnlyBoundPodsHold) {
  json::object ended = pod("ended", {{"main", 3072, "vir01"}});
  ended["status"] = json::object{{"phase", "Succeeded"}};
  add(ended);
  add(pod("placed", {{"main", 3072, "vir01"}}, ""));
  add(pod("elsewhere", {{"main", 3072, "vir01"}}, "n2"));
  json::object queued = pod("queued", {{"main", 3072, "vir01"}}, "");
  queued["spec"].as_object()["schedulingGates"] = *parse_array(R"([{"name":"tangram.dev/quota"}])");
  add(queued);
  const std::string text = page();
  EXPECT_THAT(text, HasSubstr("tangram_npu_memory_allocated_bytes{node=\"n1\",npu=\"0\"} 0\n"));
  EXPECT_THAT(text, Not(HasSubstr("hami_vgpu_memory_allocated_bytes")));
  EXPECT_THAT(text, HasSubstr("tangram_queued_pod_oldest_timestamp_seconds 1769846400\n"));
}

// Without this, limits of tenants could not be watched, or one without a limit would seem to have one.
TEST_F(ClusterPage, TenantsAreTheirStatus) {
  rows.tenants["a"] = *tenant_row(
      *parse_object(R"({"status":{"used":{"npus":2,"memoryTotal":"6GiB","aiCores":4,"runningJobs":1},)"
                    R"("effective":{"npus":4},"queued":7}})"));
  rows.tenants["new"] = *tenant_row(*parse_object("{}"));
  const std::string text = page();
  EXPECT_THAT(text, HasSubstr("tangram_tenant_npus_limit{tenant=\"a\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("tangram_tenant_npus_allocated{tenant=\"a\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("tangram_tenant_memory_allocated_bytes{tenant=\"a\"} 6442450944\n"));
  EXPECT_THAT(text, HasSubstr("tangram_tenant_queued_jobs{tenant=\"a\"} 7\n"));
  EXPECT_THAT(text, Not(HasSubstr("tangram_tenant_memory_limit_bytes")));
  EXPECT_THAT(text, Not(HasSubstr("tenant=\"new\"")));
}

// Without this, an object that somebody wrote by hand could end the process.
TEST_F(ClusterPage, WhatCannotBeReadIsNotThere) {
  for (const char* text :
       {"{}", R"({"metadata":7})", R"({"metadata":{"annotations":{"tangram.dev/npus":"7"}}})",
        R"({"metadata":{"annotations":{"tangram.dev/npus":"{}"}}})"}) {
    EXPECT_FALSE(node_row(*parse_object(text))) << text;
    EXPECT_TRUE(pod_row(*parse_object(text))) << "a Pod that holds nothing";
    EXPECT_TRUE(tenant_row(*parse_object(text))) << text;
  }
  const auto odd = node_row(node(R"({"npus":[7,{"uuid":8,"index":"x","shares":[]}]})"));
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->npus.size(), 1U);
}

}  // namespace
}  // namespace tangram::kube::metrics
