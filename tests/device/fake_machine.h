// A machine whose libdcmi.so is one of the fake libraries, read through a real helper process.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "device/dcmi_devices.h"

namespace tangram::device {

std::set<pid_t> children_of(pid_t parent);
std::set<pid_t> helper_pids();  // of this process

class FakeMachineTest : public testing::Test {
 protected:
  FakeMachineTest();
  ~FakeMachineTest() override;

  void open(const std::string& library);
  void switch_on(const std::string& fault, const std::string& value = "on");
  void switch_off(const std::string& fault);
  std::vector<DeviceNpu> npus();

  DcmiOptions options_;
  std::string dir_;
  std::unique_ptr<Devices> devices_;
};

}  // namespace tangram::device
