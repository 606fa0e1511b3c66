// Every edge of what a container may ask for, by the numbers of each chip.
#include "kube/admission/rounding.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <tuple>

#include "kube/protocol/names.h"

namespace tangram::kube::admission {
namespace {

const std::vector<wire::NpuResource>& resources() {
  static const std::vector<wire::NpuResource> all = wire::builtin_npu_resources();
  return all;
}

const wire::NpuResource& resource_of(std::string_view word) {
  for (const wire::NpuResource& one : resources()) {
    if (one.word == word) return one;
  }
  ADD_FAILURE() << word;
  return resources().front();
}

using Texts = std::map<std::string, std::string, std::less<>>;

ContainerView asking(const Texts& amounts, ContainerRole role = ContainerRole::kMain) {
  ContainerView container;
  container.name = "main";
  container.field = "spec.containers[0]";
  container.pointer = "/spec/containers/0";
  container.role = role;
  container.has_limits = container.has_requests = true;
  container.limits = container.requests = amounts;
  return container;
}

Result<std::optional<Rounded>> ask(const char* word, const char* count, const char* memory,
                                   const char* core = nullptr) {
  Texts amounts;
  if (count != nullptr) amounts.emplace(names::resource(word), count);
  if (memory != nullptr) amounts.emplace(names::memory_resource(word), memory);
  if (core != nullptr) amounts.emplace(names::core_resource(word), core);
  return round_container(resources(), asking(amounts));
}

struct Given {
  const char* word;
  const char* count;          // null: not said
  const char* memory;         // null: not said
  const char* template_name;  // "": whole
  std::int64_t npus;
  std::int64_t memory_mib;
};

// Without this, a Pod would be given another slice than HAMi's users know, or be charged for another.
TEST(Rounding, GivesTheSmallestTemplateOrTheWhole) {
  for (const Given& one : {Given{"Ascend310P", "1", "0", "vir01", 1, 3072},
                           {"Ascend310P", "1", "1", "vir01", 1, 3072},
                           {"Ascend310P", "1", "1024", "vir01", 1, 3072},
                           {"Ascend310P", "1", "3072", "vir01", 1, 3072},
                           {"Ascend310P", "1", "3073", "vir02", 1, 6144},
                           {"Ascend310P", "1", "4096", "vir02", 1, 6144},
                           {"Ascend310P", "1", "4Ki", "vir02", 1, 6144},
                           {"Ascend310P", "1", "6144", "vir02", 1, 6144},
                           {"Ascend310P", "1", "6145", "vir04", 1, 12288},
                           {"Ascend310P", "1", "7k", "vir04", 1, 12288},
                           {"Ascend310P", "1", "12288", "vir04", 1, 12288},
                           {"Ascend310P", "1", "12289", "", 1, 21527},
                           {"Ascend310P", "1", "13000", "", 1, 21527},
                           {"Ascend310P", "1", "21527", "", 1, 21527},
                           {"Ascend310P", "1", nullptr, "", 1, 21527},
                           {"Ascend310P", "2", nullptr, "", 2, 21527},
                           {"Ascend310P", "2", "13000", "", 2, 21527},
                           {"Ascend310P", nullptr, "4096", "vir02", 1, 6144},
                           {"Ascend910A", "1", "2184", "vir02", 1, 2184},
                           {"Ascend910A", "1", "2185", "vir04", 1, 4369},
                           {"Ascend910A", "1", "17476", "vir16", 1, 17476},
                           {"Ascend910A", "1", "17477", "", 1, 32768},
                           {"Ascend910B2", "1", "8192", "vir06_1c_16g", 1, 16384},
                           {"Ascend910B2", "1", "16385", "vir12_3c_32g", 1, 32768},
                           {"Ascend910B3", "1", "16384", "vir05_1c_16g", 1, 16384},
                           {"Ascend910B4", "1", "8192", "vir05_1c_8g", 1, 8192},
                           {"Ascend910B4", "1", "8193", "vir10_3c_16g", 1, 16384},
                           {"Ascend910B4", "1", "16385", "", 1, 32768},
                           {"Ascend910B4-1", "1", "16384", "vir05_1c_16g", 1, 16384},
                           {"Ascend910B4-1", "1", "32768", "vir10_3c_32g", 1, 32768},
                           {"Ascend910C", "1", "16384", "vir05_1c_16g", 1, 16384},
                           {"Ascend910C", "1", nullptr, "", 2, 65536},
                           {"Ascend910C", "2", nullptr, "", 2, 65536},
                           {"Ascend910C", "1", "40000", "", 2, 65536},
                           {"Ascend910C", "4", "65536", "", 4, 65536}}) {
    const std::string what = std::string(one.word) + ": " + (one.count == nullptr ? "-" : one.count) + " × " +
                             (one.memory == nullptr ? "-" : one.memory);
    const auto rounded = ask(one.word, one.count, one.memory);
    ASSERT_TRUE(rounded) << what << ": " << rounded.error().message;
    ASSERT_TRUE(*rounded) << what;
    const ContainerGrant& granted = (*rounded)->granted;
    EXPECT_EQ(granted.template_name, one.template_name) << what;
    EXPECT_EQ(granted.kind, granted.template_name.empty() ? GrantKind::kWhole : GrantKind::kSlice) << what;
    EXPECT_EQ(granted.request.count, one.npus) << what;
    EXPECT_EQ(granted.request.memory_mib, one.memory_mib) << what;
    EXPECT_EQ((*rounded)->requested.resource, names::resource(one.word)) << what;
  }
}

struct Refused {
  const char* word;
  const char* count;
  const char* memory;
  const char* core;
  const char* in_message;  // field or value
  const char* in_hint;     // what would be right
};

// Without this, somebody would wait for ever for what nobody can give, or be given less than he asked for.
TEST(Rounding, RefusesWithWhatWouldBeRight) {
  for (const Refused& one :
       {Refused{"Ascend310P", "1", "21528", nullptr, "21528 MiB", "at most 21527"},
        {"Ascend310P", "1", "24576", nullptr, "24576 MiB", "at most 21527"},
        {"Ascend310P", "1", "24577", nullptr, "24577 MiB", "at most 21527"},
        {"Ascend310P", "1", "16Gi", nullptr, "\"16Gi\"", "16384"},
        {"Ascend310P", "1", "99999999999999999999", nullptr, "too large", "MiB"},
        {"Ascend310P", "1", "0.5", nullptr, "a fraction", "whole number"},
        {"Ascend310P", "1", "-1", nullptr, "\"-1\"", "0 or more"},
        {"Ascend310P", "1", "all", nullptr, "\"all\"", "whole number"},
        {"Ascend310P", "-1", nullptr, nullptr, "\"-1\"", "0 or more"},
        {"Ascend310P", "4097", nullptr, nullptr, "4097", "1 to 4096"},
        {"Ascend310P", "3000000000", nullptr, nullptr, "too much", "at most 2147483647"},
        {"Ascend310P", "2", "4096", nullptr, "2 NPUs", "1 of huawei.com/Ascend310P"},
        {"Ascend310P", "2", "0", nullptr, "2 NPUs", "more than 12288 MiB"},
        {"Ascend310P", "0", "4096", nullptr, "is 0", "remove huawei.com/Ascend310P-memory"},
        {"Ascend310P", "1", "4096", "50", "-core", "remove it"},
        {"Ascend310P", "1", nullptr, "50", "-core", "remove it"},
        {"Ascend310P", nullptr, nullptr, "50", "-core", "remove it"},
        {"Ascend910C", "3", nullptr, nullptr, "asks for 3", "2 or 4"},
        {"Ascend910C", "2", "16384", nullptr, "2 NPUs", "1 of huawei.com/Ascend910C"}}) {
    const auto rounded = ask(one.word, one.count, one.memory, one.core);
    ASSERT_FALSE(rounded) << one.in_message;
    EXPECT_NE(rounded.error().message.find(one.in_message), std::string::npos) << rounded.error().message;
    EXPECT_NE(rounded.error().hint.find(one.in_hint), std::string::npos) << rounded.error().hint;
    EXPECT_NE(rounded.error().message.find("spec.containers[0]"), std::string::npos)
        << rounded.error().message;
  }
}

// Without this, a Pod that asks for nothing would be held back, or sent where NPUs are.
TEST(Rounding, ANumberOfZeroIsNoRequest) {
  for (const auto& [count, memory, core] :
       {std::tuple{"0", "0", "0"}, {"0", "0", nullptr}, {"0", nullptr, nullptr}}) {
    const auto rounded = ask("Ascend310P", count, memory, core);
    ASSERT_TRUE(rounded) << rounded.error().message;
    EXPECT_FALSE(*rounded);
  }
  EXPECT_FALSE(*ask("Ascend310P", nullptr, "0"));
  EXPECT_FALSE(*round_container(resources(), asking({})));
  EXPECT_FALSE(*round_container(resources(), asking({{"huawei.com/other", "1"}})));
  EXPECT_TRUE(*ask("Ascend310P", "1", nullptr, "0")) << "no share of the cores is asked for";
}

// Without this, a container would get NPUs that no node has beside each other, or of another chip than it
// named.
TEST(Rounding, AContainerHasOneKind) {
  const auto two =
      round_container(resources(), asking({{"huawei.com/Ascend310P", "1"}, {"huawei.com/Ascend910B4", "1"}}));
  ASSERT_FALSE(two);
  EXPECT_NE(two.error().message.find("huawei.com/Ascend910B4"), std::string::npos) << two.error().message;
  const auto one = round_container(
      resources(), asking({{"huawei.com/Ascend910B4-1", "1"}, {"huawei.com/Ascend910B4", "0"}}));
  ASSERT_TRUE(one && *one);
  EXPECT_EQ((*one)->granted.request.resource, "huawei.com/Ascend910B4-1");
}

// Without this, what a manifest says in requests alone would be passed over, and two amounts be one of them.
TEST(Rounding, RequestsCountAsLimitsDo) {
  ContainerView container = asking({{"huawei.com/Ascend310P", "1"}});
  container.limits.clear();
  ASSERT_TRUE(*round_container(resources(), container));
  container.limits = {{"huawei.com/Ascend310P", "1"}, {"huawei.com/Ascend310P-memory", "3k"}};
  container.requests = {{"huawei.com/Ascend310P", "1"}, {"huawei.com/Ascend310P-memory", "3000"}};
  ASSERT_TRUE(*round_container(resources(), container));
  container.requests["huawei.com/Ascend310P-memory"] = "4000";
  const auto differing = round_container(resources(), container);
  ASSERT_FALSE(differing);
  EXPECT_NE(differing.error().message.find("4000"), std::string::npos) << differing.error().message;
}

// Without this, a program that needs all of its slice's nominal memory would fail without a word.
TEST(Rounding, WarnsOfWhatAProgramCannotUse) {
  EXPECT_TRUE((*ask("Ascend310P", "1", "4096"))->warnings.empty());
  const auto rounded = ask("Ascend310P", "1", "6000");
  ASSERT_EQ((*rounded)->warnings.size(), 1U);
  EXPECT_NE((*rounded)->warnings.front().find("5381 MiB"), std::string::npos) << (*rounded)->warnings.front();
}

// Without this, nobody would learn why a Pod has more memory than it asked for.
TEST(Rounding, SaysWhyItIsNotWhatWasAskedFor) {
  EXPECT_EQ((*ask("Ascend310P", "1", "6144"))->granted.why, "");
  EXPECT_EQ((*ask("Ascend310P", "1", nullptr))->granted.why, "");
  EXPECT_NE((*ask("Ascend310P", "1", "4096"))->granted.why.find("vir02"), std::string::npos);
  EXPECT_NE((*ask("Ascend310P", "1", "13000"))->granted.why.find("13000 MiB"), std::string::npos);
  EXPECT_NE((*ask("Ascend910C", "1", nullptr))->granted.why.find("pairs"), std::string::npos);
}

// Without this, an init container would be taken for one that runs beside the others, or the other way round.
TEST(Rounding, KnowsTheRoles) {
  const Texts one{{"huawei.com/Ascend310P", "1"}};
  const auto init = round_container(resources(), asking(one, ContainerRole::kInit));
  EXPECT_TRUE((*init)->requested.init && !(*init)->requested.sidecar);
  const auto sidecar = round_container(resources(), asking(one, ContainerRole::kSidecar));
  EXPECT_TRUE((*sidecar)->requested.init && (*sidecar)->requested.sidecar);
  EXPECT_FALSE(round_container(resources(), asking(one, ContainerRole::kEphemeral)));
}

// Without this, a misspelt chip would wait for ever without a word; others' resources would be called wrong.
TEST(Rounding, KnowsWhichNamesNoChipHas) {
  const ContainerView container = asking({{"huawei.com/Ascend310P3", "1"},
                                          {"huawei.com/Ascend310P-memory", "1"},
                                          {"huawei.com/Ascend910B4-1", "1"},
                                          {"huawei.com/npu", "1"}});
  EXPECT_EQ(unknown_resources(resources(), container), std::vector<std::string>{"huawei.com/Ascend310P3"});
}

// Without this, a chip that the vendor does not cut would be cut.
TEST(Rounding, AChipThatIsNotCutIsGivenWhole) {
  wire::NpuResource duo = resource_of("Ascend310P");
  duo.templates.clear();
  duo.not_cut = "the vendor supports no slices on this card";
  ContainerRequest request;
  request.resource = "huawei.com/Ascend310P";
  request.memory_mib = 4096;
  const auto rounded = round_request(duo, request, "spec.containers[0]");
  ASSERT_TRUE(rounded);
  EXPECT_EQ(rounded->granted.kind, GrantKind::kWhole);
  EXPECT_NE(rounded->granted.why.find("no slices"), std::string::npos);
}

// Without this, the API server's second question about a Pod could change it again; and somebody could be
// given less than he asked for.
RC_GTEST_PROP(Rounding, WhatIsGivenIsEnoughAndRoundsToItself, ()) {
  const wire::NpuResource& resource = resources()[*rc::gen::inRange<std::size_t>(0, resources().size())];
  ContainerRequest request;
  request.container = "main";
  request.resource = names::resource(resource.word);
  request.count = *rc::gen::inRange<std::int64_t>(1, 9);
  if (*rc::gen::inRange(0, 4) > 0) {
    request.memory_mib =
        *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(0, 70'000), rc::gen::inRange<std::int64_t>(0, 13'000));
  }
  const auto rounded = round_request(resource, request, "spec.containers[0]");
  if (!rounded) {
    RC_ASSERT(!rounded.error().hint.empty());
    return;
  }
  const ContainerGrant& granted = rounded->granted;
  RC_ASSERT(granted.request.memory_mib.value() >= request.memory_mib.value_or(0));
  RC_ASSERT(granted.request.count >= request.count);
  RC_ASSERT(granted.kind == GrantKind::kWhole || granted.request.count == 1);
  // No smaller template has as much.
  for (const wire::NpuTemplate& shape : resource.templates) {
    const bool enough = request.memory_mib && shape.memory_mib >= *request.memory_mib;
    RC_ASSERT(!enough || shape.memory_mib >= *granted.request.memory_mib);
  }
  const auto again = round_request(resource, granted.request, "spec.containers[0]");
  RC_ASSERT(again.has_value());
  RC_ASSERT(again->granted.request == granted.request);
  RC_ASSERT(again->granted.template_name == granted.template_name);
  RC_ASSERT(again->granted.why.empty());
}

}  // namespace
}  // namespace tangram::kube::admission
