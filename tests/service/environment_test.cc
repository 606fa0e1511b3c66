#include "service/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tangram::service {
namespace {

using testing::ElementsAre;
using testing::Pair;

std::map<std::string, std::string> told(const LaunchSpec& spec, bool private_devices,
                                        std::map<std::string, std::string> env = {}) {
  tell_devices(spec, private_devices, env);
  return env;
}

// Without this, a program in a slice would look for a device that it cannot see, or take itself for the only
// one.
TEST(Environment, ASliceIsDeviceZeroOfItsNpu) {
  LaunchSpec spec;
  spec.slice = {5, 183, "vir04"};
  for (const bool private_devices : {true, false}) {
    EXPECT_THAT(told(spec, private_devices),
                ElementsAre(Pair("ASCEND_RT_VISIBLE_DEVICES", "0"), Pair("ASCEND_VISIBLE_DEVICES", "5"),
                            Pair("ASCEND_VNPU_SPECS", "vir04")));
  }
}

// Without this, a job of whole NPUs would seem to hold a slice.
TEST(Environment, WholeNpusTellOfNoSlice) {
  LaunchSpec spec;
  spec.npus = {2, 7};
  EXPECT_THAT(told(spec, true),
              ElementsAre(Pair("ASCEND_RT_VISIBLE_DEVICES", "0,1"), Pair("ASCEND_VISIBLE_DEVICES", "2,7")));
  EXPECT_THAT(told(spec, false),
              ElementsAre(Pair("ASCEND_RT_VISIBLE_DEVICES", "2,7"), Pair("ASCEND_VISIBLE_DEVICES", "2,7")));
}

// Without this, a variable of the tenant's would stand where the truth belongs.
TEST(Environment, WhatATenantSaysIsOverwritten) {
  const std::map<std::string, std::string> lies = {{"ASCEND_VISIBLE_DEVICES", "0-7"},
                                                   {"ASCEND_RT_VISIBLE_DEVICES", "0,1,2,3"},
                                                   {"ASCEND_VNPU_SPECS", "vir16"},
                                                   {"OTHER", "kept"}};
  LaunchSpec spec;
  spec.slice = {0, 100, "vir01"};
  EXPECT_THAT(told(spec, true, lies),
              ElementsAre(Pair("ASCEND_RT_VISIBLE_DEVICES", "0"), Pair("ASCEND_VISIBLE_DEVICES", "0"),
                          Pair("ASCEND_VNPU_SPECS", "vir01"), Pair("OTHER", "kept")));
  spec.slice.reset();
  EXPECT_THAT(told(spec, true, lies), ElementsAre(Pair("ASCEND_RT_VISIBLE_DEVICES", ""),
                                                  Pair("ASCEND_VISIBLE_DEVICES", ""), Pair("OTHER", "kept")));
}

}  // namespace
}  // namespace tangram::service
