// What is shipped for kube-scheduler says the same as the code.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "kube/extender/extender.h"
#include "kube/protocol/names.h"
#include "wire/npu_resource.h"

namespace tangram::kube::extender {
namespace {

std::string shipped() {
  const std::ifstream file(std::filesystem::path(TANGRAM_SOURCE_DIR) / "deploy" / "scheduler-config.yaml");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Without this, Pods that ask for a chip that is missing there would wait for ever, and one that stands there
// twice would keep the scheduler from starting.
TEST(SchedulerConfig, ManagesEveryNameOfEveryChipOnce) {
  const std::string text = shipped();
  std::size_t wanted = 0;
  for (const wire::NpuResource& resource : wire::builtin_npu_resources()) {
    for (const std::string& name : {names::resource(resource.word), names::memory_resource(resource.word),
                                    names::core_resource(resource.word)}) {
      const std::string line = "- {name: " + name + ", ignoredByScheduler: true}\n";
      const std::size_t at = text.find(line);
      EXPECT_NE(at, std::string::npos) << name;
      EXPECT_EQ(text.find(line, at + 1), std::string::npos) << name;
      ++wanted;
    }
  }
  std::size_t lines = 0;
  for (std::size_t at = text.find("- {name: "); at != std::string::npos;
       at = text.find("- {name: ", at + 1)) {
    ++lines;
  }
  EXPECT_EQ(lines, wanted) << "of chips that nobody knows";
}

// Without this, the scheduler would call paths that are not there, or do without an answer.
TEST(SchedulerConfig, CallsWhatIsServed) {
  const std::string text = shipped();
  for (const char* verb : {"filter", "prioritize", "bind"}) {
    EXPECT_TRUE(Extender::is_path("/" + std::string(verb)));
    EXPECT_NE(text.find(std::string(verb) + "Verb: " + verb + "\n"), std::string::npos) << verb;
  }
  for (const char* line : {"nodeCacheCapable: true\n", "ignorable: false\n", "enableHTTPS: true\n",
                           "caFile: ", "certFile: ", "keyFile: "}) {
    EXPECT_NE(text.find(line), std::string::npos) << line;
  }
  EXPECT_EQ(text.find("insecure"), std::string::npos);
}

}  // namespace
}  // namespace tangram::kube::extender
