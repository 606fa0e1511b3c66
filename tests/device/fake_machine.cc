#include "device/fake_machine.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace tangram::device {

std::set<pid_t> children_of(pid_t parent) {
  std::set<pid_t> pids;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(parent) + "/task")) {
    std::ifstream children(entry.path() / "children");
    pid_t pid = 0;
    while (children >> pid) pids.insert(pid);
  }
  return pids;
}

std::set<pid_t> helper_pids() {
  return children_of(getpid());
}

FakeMachineTest::FakeMachineTest() {
  char name[] = "/tmp/tangram-device-test-XXXXXX";
  dir_ = mkdtemp(&name[0]);
  setenv("FAKE_DCMI_DIR", dir_.c_str(), 1);
  options_.call_deadline = std::chrono::milliseconds(1000);
  options_.command_deadline = std::chrono::milliseconds(1000);
  options_.hang_backoff = std::chrono::milliseconds(1);
}

FakeMachineTest::~FakeMachineTest() {
  devices_.reset();
  EXPECT_THAT(helper_pids(), testing::IsEmpty()) << "a helper was left behind";
  unsetenv("FAKE_DCMI_DIR");
  std::filesystem::remove_all(dir_);
}

void FakeMachineTest::open(const std::string& library) {
  options_.helper_path = HELPER_PATH;
  options_.library_path = library;
  devices_ = make_dcmi_devices(options_);
}

void FakeMachineTest::switch_on(const std::string& fault, const std::string& value) {
  std::ofstream(dir_ + "/" + fault) << value;
}

void FakeMachineTest::switch_off(const std::string& fault) {
  std::filesystem::remove(dir_ + "/" + fault);
}

std::vector<DeviceNpu> FakeMachineTest::npus() {
  auto scan = devices_->scan();
  EXPECT_TRUE(scan) << scan.error().to_string();
  return scan ? scan->npus : std::vector<DeviceNpu>{};
}

}  // namespace tangram::device
