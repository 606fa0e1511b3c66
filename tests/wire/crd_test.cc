// The custom resource definitions are made from the tables; this fails when deploy/crds has become stale.
#include "wire/crd.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace tangram::wire {
namespace {

const std::filesystem::path kFolder = std::filesystem::path(TANGRAM_SOURCE_DIR) / "deploy" / "crds";

std::string read_file(const std::filesystem::path& path) {
  const std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Without this, a cluster would refuse fields that are read, or take some that are not.
// TANGRAM_UPDATE_DOCS=1 writes the files anew.
TEST(Docs, CustomResourcesAreUpToDate) {
  std::set<std::filesystem::path> made;
  for (const CustomResource& resource : custom_resources()) {
    const std::filesystem::path path = kFolder / (resource.name + ".yaml");
    made.insert(path);
    const std::string wanted = "# Made from src/wire, do not edit.\n" + resource.yaml;
    if (std::getenv("TANGRAM_UPDATE_DOCS") != nullptr) {
      std::filesystem::create_directories(kFolder);
      std::ofstream(path) << wanted;
      continue;
    }
    EXPECT_EQ(read_file(path), wanted)
        << path << " is stale: run TANGRAM_UPDATE_DOCS=1 test_wire --gtest_filter='Docs.*'";
  }
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    EXPECT_TRUE(made.contains(entry.path())) << entry.path() << " is no custom resource's";
  }
}

// Without this, the API server would refuse the definitions: it takes structural schemas alone.
TEST(CustomResources, AreStructural) {
  std::set<std::string> names;
  for (const CustomResource& resource : custom_resources()) {
    names.insert(resource.name);
    for (const char* word :
         {"$ref", "examples", "const:", "prefixItems", "propertyNames", "multipleOf", "\\u0000"}) {
      EXPECT_EQ(resource.yaml.find(word), std::string::npos) << resource.name << ": " << word;
    }
    EXPECT_NE(resource.yaml.find("x-kubernetes-validations:"), std::string::npos) << resource.name;
    EXPECT_NE(resource.yaml.find("additionalPrinterColumns:"), std::string::npos) << resource.name;
    EXPECT_NE(resource.yaml.find("status: {}"), std::string::npos) << resource.name;
  }
  EXPECT_EQ(names, (std::set<std::string>{"chipmodels.tangram.dev", "nodeconfigs.tangram.dev",
                                          "tenants.tangram.dev"}));
}

// Without this, a Tenant of one machine would not be a Tenant of a cluster.
TEST(CustomResources, ATenantHasTheFieldsOfOneMachine) {
  const std::string yaml = custom_resources().front().yaml;
  for (const char* field :
       {"parent:", "quota:", "npus:", "memoryPerNpu:", "memoryTotal:", "aiCores:", "runningJobs:", "runTime:",
        "priorities:", "bandwidth:", "namespaceSelector:", "used:", "effective:"}) {
    EXPECT_NE(yaml.find(field), std::string::npos) << field;
  }
}

}  // namespace
}  // namespace tangram::wire
