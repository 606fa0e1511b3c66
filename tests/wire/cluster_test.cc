// Custom resources as the API gives them.
#include "wire/cluster.h"

#include <gtest/gtest.h>

namespace tangram::wire {
namespace {

LabelRequirement requirement(std::string key, SelectorOperator operation,
                             std::vector<std::string> values = {}) {
  return {std::move(key), operation, std::move(values)};
}

// Without this, a namespace would be nobody's, or a stranger's.
TEST(Selectors, SelectAsKubernetesDoes) {
  const Labels labels{{"team", "a"}, {"env", "prod"}};
  EXPECT_TRUE(matches({}, labels));
  EXPECT_TRUE(matches({}, {}));
  EXPECT_TRUE(matches({{{"team", "a"}}, {}}, labels));
  EXPECT_FALSE(matches({{{"team", "a"}, {"env", "test"}}, {}}, labels));
  EXPECT_FALSE(matches({{{"other", ""}}, {}}, labels));
  const auto by = [&labels](LabelRequirement one) { return matches({{}, {std::move(one)}}, labels); };
  EXPECT_TRUE(by(requirement("env", SelectorOperator::kIn, {"test", "prod"})));
  EXPECT_FALSE(by(requirement("env", SelectorOperator::kIn, {"test"})));
  EXPECT_FALSE(by(requirement("other", SelectorOperator::kIn, {"test"})));
  EXPECT_FALSE(by(requirement("env", SelectorOperator::kNotIn, {"prod"})));
  EXPECT_TRUE(by(requirement("other", SelectorOperator::kNotIn, {"prod"}))) << "without the label as well";
  EXPECT_TRUE(by(requirement("env", SelectorOperator::kExists)));
  EXPECT_FALSE(by(requirement("other", SelectorOperator::kExists)));
  EXPECT_TRUE(by(requirement("other", SelectorOperator::kDoesNotExist)));
  EXPECT_FALSE(by(requirement("env", SelectorOperator::kDoesNotExist)));
}

// Without this, a Tenant on a cluster would have other fields than on one machine, or its status break it.
TEST(ClusterTenants, AreReadFromWhatTheApiSends) {
  const auto tenant = read_cluster_tenant(R"({"metadata":{"name":"team-a","uid":"u","resourceVersion":"7"},
    "spec":{"namespaceSelector":{"matchLabels":{"team":"a"},
      "matchExpressions":[{"key":"env","operator":"NotIn","values":["test"]}]},
      "parent":"org","quota":{"npus":4,"memoryTotal":"64GiB","priorities":["high"],"later":1}},
    "status":{"used":{"npus":1}}})");
  ASSERT_TRUE(tenant) << tenant.error().message;
  EXPECT_EQ(tenant->tenant.name, "team-a");
  EXPECT_EQ(tenant->tenant.parent, "org");
  EXPECT_EQ(tenant->tenant.quota.npus, 4);
  EXPECT_EQ(tenant->tenant.quota.memory_total, Bytes::gib(64));
  EXPECT_EQ(tenant->tenant.quota.priorities.bits, 0b001);
  ASSERT_TRUE(tenant->namespaces);
  EXPECT_EQ(tenant->namespaces->match_labels.at("team"), "a");
  EXPECT_EQ(tenant->namespaces->match_expressions.front().operation, SelectorOperator::kNotIn);
  const auto bare = read_cluster_tenant(R"({"metadata":{"name":"org"}})");
  ASSERT_TRUE(bare) << bare.error().message;
  EXPECT_FALSE(bare->namespaces);
  EXPECT_EQ(bare->tenant.quota, Quota{});
  const auto catching =
      read_cluster_tenant(R"({"metadata":{"name":"rest"},"spec":{"namespaceSelector":{}}})");
  ASSERT_TRUE(catching && catching->namespaces);
  EXPECT_TRUE(catching->namespaces->selects_everything());
}

// Without this, a resource that was made before its schema's rules would be half read.
TEST(ClusterTenants, WhatIsWrongIsNamed) {
  struct Case {
    const char* json;
    const char* path;
  };
  for (
      const Case& one :
      {Case{R"({"spec":{}})", "metadata"},
       {R"({"metadata":{"name":"Team_A"}})", "metadata.name"},
       {R"({"metadata":{"name":"a"},"spec":{"quota":{"npus":-1}}})", "spec.quota.npus"},
       {R"({"metadata":{"name":"a"},"spec":{"quota":{"memoryTotal":"64"}}})", "spec.quota.memoryTotal"},
       {R"({"metadata":{"name":"a"},"spec":{"namespaceSelector":{"matchExpressions":[{"key":"k","operator":"Like"}]}}})",
        "spec.namespaceSelector.matchExpressions[0].operator"}}) {
    const auto tenant = read_cluster_tenant(one.json);
    ASSERT_FALSE(tenant) << one.json;
    EXPECT_NE(tenant.error().message.find(one.path), std::string::npos) << tenant.error().message;
  }
}

// Without this, a chip that an operator describes could not be asked for.
TEST(ClusterChips, BecomeResources) {
  const auto chip = read_cluster_chip(R"({"metadata":{"name":"big"},"spec":{"resource":"Ascend310P-48g",
    "memory":"43054MiB","inPairs":true,"chip":{"name":"310P big","match":{"chips":["310P3"]},"aiCores":8,
    "templates":[{"name":"vir04","aiCores":4,"memory":"24GiB"},
                 {"name":"vir02","aiCores":2,"memory":"12GiB","usableMemory":"11GiB"}]}}})");
  ASSERT_TRUE(chip) << chip.error().message;
  const NpuResource resource = chip->resource();
  EXPECT_EQ(resource.word, "Ascend310P-48g");
  EXPECT_EQ(resource.whole_mib, 43'054);
  EXPECT_TRUE(resource.in_pairs);
  ASSERT_EQ(resource.templates.size(), 2U);
  EXPECT_EQ(resource.templates.front(), (NpuTemplate{"vir02", 12'288, 11'264, 2})) << "the smallest first";
  for (const char* word : {"310P", "Ascend", "Ascend-", "Ascend310P-memory", "Ascend310P-core", "Ascend/x"}) {
    const auto other =
        read_cluster_chip(std::string(R"({"metadata":{"name":"x"},"spec":{"resource":")") + word +
                          R"(","chip":{"name":"c","match":{"chips":["c"]},"aiCores":8,"templates":[]}}})");
    ASSERT_FALSE(other) << word;
    EXPECT_NE(other.error().message.find("spec.resource"), std::string::npos) << other.error().message;
  }
}

// Without this, the node agent would use other NPUs than an operator allows.
TEST(NodeConfigs, AreRead) {
  const auto config =
      read_node_config(R"({"metadata":{"name":"half"},"spec":{"nodeSelector":{"matchLabels":{"a":"b"}},
    "sharesPerNpu":4,"cut":false,"excludedNpus":[0,3]}})");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->shares_per_npu, 4);
  EXPECT_FALSE(config->cut);
  EXPECT_EQ(config->excluded_npus, (std::vector<std::uint32_t>{0, 3}));
  EXPECT_TRUE(read_node_config(R"({"metadata":{"name":"n"},"spec":{"nodeSelector":{}}})")->cut);
  EXPECT_FALSE(read_node_config(R"({"metadata":{"name":"n"},"spec":{}})"));
}

// Without this, a manifest's amounts would come to other templates than they did with HAMi.
TEST(NpuResources, AreHamisWithTheCataloguesTemplates) {
  std::vector<std::string> words;
  for (const NpuResource& resource : builtin_npu_resources()) {
    words.push_back(resource.word);
    ASSERT_FALSE(resource.templates.empty()) << resource.word;
    std::int64_t last = 0;
    for (const NpuTemplate& shape : resource.templates) {
      EXPECT_GT(shape.memory_mib, last) << resource.word << ' ' << shape.name;
      EXPECT_LE(shape.memory_mib, resource.whole_mib) << resource.word << ' ' << shape.name;
      EXPECT_LE(shape.usable_mib, shape.memory_mib) << resource.word << ' ' << shape.name;
      EXPECT_GT(shape.ai_cores, 0);
      last = shape.memory_mib;
    }
  }
  EXPECT_EQ(words, (std::vector<std::string>{"Ascend310P", "Ascend910A", "Ascend910B2", "Ascend910B3",
                                             "Ascend910B4", "Ascend910B4-1", "Ascend910C"}));
  const NpuResource first = builtin_npu_resources().front();
  EXPECT_EQ(first.whole_mib, 21'527);
  EXPECT_EQ(first.ai_cores, 8);
  EXPECT_EQ(first.templates,
            (std::vector<NpuTemplate>{
                {"vir01", 3072, 2690, 1}, {"vir02", 6144, 5381, 2}, {"vir04", 12'288, 10'763, 4}}));
}

}  // namespace
}  // namespace tangram::wire
