// What is shipped for a cluster says the same as the code: names that stand in both.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "kube/admission/marks.h"
#include "kube/protocol/names.h"
#include "wire/npu_resource.h"

namespace tangram::kube::admission {
namespace {

std::string shipped(const char* name) {
  const std::ifstream file(std::filesystem::path(TANGRAM_SOURCE_DIR) / "deploy" / "admission" / name);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return text.str();
}

// Without this, a chip that is added would be one whose Pods pass when the webhook is taken away.
TEST(Manifests, PoliciesKnowEveryChip) {
  const std::string policies = shipped("policies.yaml");
  for (const wire::NpuResource& resource : wire::builtin_npu_resources()) {
    EXPECT_NE(policies.find("'" + names::resource(resource.word) + "'"), std::string::npos) << resource.word;
    EXPECT_TRUE(names::resource(resource.word).starts_with("huawei.com/Ascend"))
        << "what the webhook is asked about";
  }
}

// Without this, the API server would not ask about a variable that is refused.
TEST(Manifests, TheWebhookIsAskedAboutEveryReservedVariable) {
  const std::string webhook = shipped("webhook.yaml");
  for (const char* name :
       {"ASCEND_VISIBLE_DEVICES", "ASCEND_VNPU_SPECS", "ASCEND_RUNTIME_OPTIONS", "ASCEND_RUNTIME_MOUNTS",
        "ASCEND_RT_VISIBLE_DEVICES", "ASCEND_DEVICE_ID", "ASCEND_ALLOW_LINK"}) {
    EXPECT_TRUE(is_reserved_variable(name)) << name;
    EXPECT_NE(webhook.find("'" + std::string(name) + "'"), std::string::npos) << name;
  }
  EXPECT_FALSE(is_reserved_variable("ASCEND_HOME_PATH"));
}

// Without this, a mark that is renamed would be nobody's to guard.
TEST(Manifests, MarksAreThoseOfTheCode) {
  const std::string webhook = shipped("webhook.yaml");
  const std::string policies = shipped("policies.yaml");
  for (const std::string_view mark : {names::kGate, names::kManagedLabel, names::kTenantLabel}) {
    EXPECT_NE(webhook.find("'" + std::string(mark) + "'"), std::string::npos) << mark;
  }
  for (const std::string_view mark : {names::kRequested, names::kGranted, names::kAdmitted,
                                      names::kAllocation, names::kAllocated, names::kTemplatePrefix}) {
    EXPECT_NE(webhook.find("'" + std::string(mark) + "'"), std::string::npos) << mark;
    EXPECT_NE(policies.find("'" + std::string(mark) + "'"), std::string::npos) << mark;
  }
  EXPECT_NE(policies.find("'" + std::string(names::kNodeNpus) + "'"), std::string::npos);
  EXPECT_EQ(webhook.find("failurePolicy: Ignore"), std::string::npos);
  EXPECT_EQ(policies.find("failurePolicy: Ignore"), std::string::npos);
}

}  // namespace
}  // namespace tangram::kube::admission
