#include "service/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tangram::service {
namespace {

using ::testing::HasSubstr;

// Without this, a documented field would not do what it says.
TEST(Config, ReadsEveryField) {
  const auto config = parse_config(R"(
node: box
socket: /tmp/x.sock
cgroup: other
keepAfter: 5m
logLevel: debug
devices:
  library: /a/libdcmi.so
  directory: /a/dev
  driver: /a/driver
  group: npu
  scanInterval: 1s
  lostAfter: 3s
  mounts: [{source: /b, target: /c}]
jobs:
  uids: {first: 300000, count: 50}
  defaults: {cpus: 0.5, memory: 2GiB, processes: 100}
  logSize: 1MiB
  grace: 3s
  ascendHome: /opt/Ascend
limits: {jobs: 10, jobsPerTenant: 5, tenants: 3}
retention: {endedJobs: 1h, endedJobsMax: 7, journal: 30d, snapshotEvery: 500, sweepInterval: 1s}
)",
                                   "f.yaml", "/r");
  ASSERT_TRUE(config) << config.error().to_string();
  EXPECT_EQ(config->options.node, "box");
  EXPECT_EQ(config->places.socket, "/tmp/x.sock");
  EXPECT_EQ(config->places.state, "/r/lib");
  EXPECT_EQ(config->cgroup, "other");
  EXPECT_EQ(config->options.keep_after_ms, 300'000);
  EXPECT_EQ(config->device_library, "/a/libdcmi.so");
  EXPECT_EQ(config->mounts, (std::vector<DriverMount>{{"/b", "/c"}}));
  EXPECT_EQ(config->options.uids.first, 300'000U);
  EXPECT_EQ(config->options.host_defaults.cpu_milli, 500);
  EXPECT_EQ(config->options.host_defaults.memory, Bytes::gib(2));
  EXPECT_EQ(config->options.ended_max, 7U);
  EXPECT_EQ(config->options.snapshot_every, 500U);
}

// Without this, an empty file or none would not mean the documented defaults.
TEST(Config, AnEmptyFileIsTheDefaults) {
  const auto config = parse_config("", "f.yaml", "");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->places.socket, "/run/tangram/tangram.sock");
  EXPECT_EQ(config->options.scan_interval_ms, 2'000);
  EXPECT_TRUE(load_config("/nonexistent/x.yaml", "", false));
  EXPECT_FALSE(load_config("/nonexistent/x.yaml", "", true));
  EXPECT_FALSE(load_config("/", "", false)) << "a directory reads as empty";
  EXPECT_EQ(parse_config("cgroup: /a/b-c.slice\n", "f.yaml", "")->cgroup, "/a/b-c.slice");
}

struct Bad {
  const char* text;
  const char* reason;
  const char* message;
};

class ConfigBad : public ::testing::TestWithParam<Bad> {};

// Without this, a slip of the pen would be ignored, or be reported without its place.
TEST_P(ConfigBad, IsAnErrorThatNamesItsLine) {
  const auto config = parse_config(GetParam().text, "f.yaml", "");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().reason, GetParam().reason);
  EXPECT_THAT(config.error().message, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, ConfigBad,
    ::testing::Values(Bad{"node: a\nnodes: b\n", "config.unknown_field", "f.yaml line 2: nodes"},
                      Bad{"devices:\n  libary: /x\n", "config.unknown_field", "line 2: devices.libary"},
                      Bad{"node: [a]\n", "config.wrong_type", "line 1: node"},
                      Bad{"devices: 3\n", "config.wrong_type", "devices"},
                      Bad{"keepAfter: 10\n", "config.bad_value", "line 1: keepAfter"},
                      Bad{"jobs:\n  defaults:\n    memory: lots\n", "config.bad_value", "line 3"},
                      Bad{"jobs: {uids: {first: 0}}\n", "config.bad_value", "jobs.uids.first"},
                      Bad{"socket: relative\n", "config.bad_value", "absolute"},
                      Bad{"limits: {jobs: 99999999999999999999}\n", "config.bad_value", "limits.jobs"},
                      Bad{"node: a\nnode: b\n", "config.duplicate_field", "line 2: node"},
                      Bad{"cgroup: /\n", "config.bad_value", "line 1: cgroup"},
                      Bad{"cgroup: ../x\n", "config.bad_value", "line 1: cgroup"},
                      Bad{"cgroup: a//b\n", "config.bad_value", "cgroup"},
                      Bad{"cgroup: \"a b\"\n", "config.bad_value", "cgroup"},
                      Bad{"a: [\n", "config.syntax", "line"},
                      Bad{"logLevel: loud\n", "config.bad_value", "logLevel"}));

}  // namespace
}  // namespace tangram::service
