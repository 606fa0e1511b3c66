#include "service/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <fstream>

namespace tangram::service {
namespace {

using ::testing::HasSubstr;

// Without this, whoever reads why the daemon does not start would be shown a file's bytes, as long as they
// are.
TEST(Config, ShowsWhatItRefusesInOneShortLine) {
  const std::string long_text(100'000, 'x');
  const std::string hostile = "\\e[2J" + long_text + "\"";
  const std::array<std::string, 4> texts = {"socket: \"" + hostile + "\n", "\"" + hostile + ": 1\n",
                                            "logLevel: \"" + hostile + "\n",
                                            "keepAfter: \"" + hostile + "\n"};
  for (const std::string& text : texts) {
    const auto config = parse_config(text, "f.yaml", "");
    ASSERT_FALSE(config) << text.substr(0, 40);
    EXPECT_LT(config.error().message.size(), 400U) << text.substr(0, 40);
    EXPECT_EQ(config.error().message.find('\x1b'), std::string::npos) << config.error().message;
  }
}

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
slices: {chips: /a/chips.yaml, variants: false, countAs: none, returnForeign: true, foreignGrace: 30s,
         forbidRecover: false}
limits: {jobs: 10, jobsPerTenant: 5, bytesPerTenant: 2MiB, tenants: 3, tokens: 4}
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
  EXPECT_EQ(config->options.device_group.name, "npu");
  EXPECT_EQ(config->options.device_group.file, "f.yaml");
  EXPECT_TRUE(config->options.device_group.has_section);
  EXPECT_EQ(config->mounts, (std::vector<DriverMount>{{"/b", "/c"}}));
  EXPECT_EQ(config->options.uids.first, 300'000U);
  EXPECT_EQ(config->options.host_defaults.cpu_milli, 500);
  EXPECT_EQ(config->options.host_defaults.memory, Bytes::gib(2));
  EXPECT_EQ(config->options.ended_max, 7U);
  EXPECT_EQ(config->options.snapshot_every, 500U);
  EXPECT_EQ(config->chips_file, "/a/chips.yaml");
  EXPECT_FALSE(config->options.slice_variants);
  EXPECT_EQ(config->options.slice_count, SliceCount::kNone);
  EXPECT_TRUE(config->options.slice_policy.foreign.reclaim);
  EXPECT_EQ(config->options.slice_policy.foreign.grace_ms, 30'000);
  EXPECT_FALSE(config->options.slice_policy.forbid_recover);
  EXPECT_EQ(config->options.tokens_max, 4);
}

// Without this, the API would listen elsewhere than it is told, or let in more than it may.
TEST(Config, ReadsHowTheApiIsReached) {
  const auto config = parse_config(R"(
listen:
  - {address: 0.0.0.0, port: 8443, tls: {certificate: /c.pem, key: /k.pem}}
  - {address: "::1", port: 0}
  - {address: 127.1.2.3, port: 80}
limits: {connections: 100, connectionsPerTenant: 20, connectionsUnknown: 8, headerTime: 3s, memory: 32MiB,
         handshakesPerSecond: 11, requestsPerSecond: 7, requestBurst: 9}
audit: {file: /a/audit.log, size: 1MiB, files: 2}
)",
                                   "f.yaml", "/r");
  ASSERT_TRUE(config) << config.error().to_string();
  ASSERT_EQ(config->listen.size(), 3U);
  EXPECT_EQ(config->listen[0].address, "0.0.0.0");
  EXPECT_EQ(config->listen[0].port, 8443);
  EXPECT_EQ(config->listen[0].key, "/k.pem");
  EXPECT_TRUE(config->listen[0].has_tls());
  EXPECT_FALSE(config->listen[1].has_tls());
  EXPECT_EQ(config->api.connections, 100);
  EXPECT_EQ(config->api.connections_per_tenant, 20);
  EXPECT_EQ(config->api.connections_unknown, 8);
  EXPECT_EQ(config->api.handshakes_per_second, 11);
  EXPECT_EQ(config->api.header_time_ms, 3'000);
  EXPECT_EQ(config->api.memory, 32 << 20);
  EXPECT_EQ(config->api.requests_per_second, 7);
  EXPECT_EQ(config->api.request_burst, 9);
  EXPECT_EQ(config->audit.file, "/a/audit.log");
  EXPECT_EQ(config->audit.files, 2);
  const auto defaults = parse_config("", "f.yaml", "/r");
  EXPECT_EQ(defaults->audit.file, "/r/log/audit.log");
  EXPECT_TRUE(defaults->listen.empty());
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

// Without this, a slip in a path would fill the memory, or let the start wait for ever, instead of being
// told.
TEST(Config, ReadsNoFileWithoutEndAndNoPipe) {
  const std::filesystem::path directory = std::filesystem::temp_directory_path() / "tg-config-endless";
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  const std::string pipe = directory / "pipe";
  const std::string large = directory / "large";
  const std::string config = directory / "tangramd.yaml";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::ofstream(large) << std::string((1U << 20U) + 1, ' ');
  const std::pair<std::string, std::string> cases[] = {
      {"/dev/zero", "it is a device, not a plain file"},
      {pipe, "it is a pipe, not a plain file"},
      {large, "it is larger than 1MiB"},
  };
  for (const auto& [file, why] : cases) {
    const auto alone = load_config(file, "", true);
    ASSERT_FALSE(alone) << file;
    EXPECT_EQ(alone.error().code, Code::kInvalidArgument);
    EXPECT_EQ(alone.error().message, "cannot read " + file + ": " + why);
    std::ofstream(config) << "slices: {chips: " << file << "}\n";
    const auto named = load_config(config, "", true);
    ASSERT_FALSE(named) << file;
    EXPECT_EQ(named.error().code, Code::kInvalidArgument);
    EXPECT_EQ(named.error().message, "slices.chips: cannot read " + file + ": " + why);
  }
  std::filesystem::remove_all(directory);
}

// Without this, an operator's chips would be named and not read, or a mistake in them be found when a job
// fails.
TEST(Config, ReadsTheFileOfChipsThatItNames) {
  const std::filesystem::path directory = std::filesystem::temp_directory_path() / "tg-config-chips";
  std::filesystem::create_directories(directory);
  const std::string config = directory / "tangramd.yaml";
  const std::string chips = directory / "chips.yaml";
  std::ofstream(config) << "slices: {chips: " << chips << "}\n";
  EXPECT_THAT(load_config(config, "", true).error().message, HasSubstr("cannot read " + chips));
  std::ofstream(chips) << R"(apiVersion: tangram.dev/v1
kind: ChipCatalog
chips:
  - {name: own, match: {chips: [910X]}, aiCores: 4, templates: [{name: half, aiCores: 5, memory: 8GiB}]}
)";
  const auto wrong = load_config(config, "", true);
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr(chips + ": line 4"));
  std::ofstream(chips) << R"(apiVersion: tangram.dev/v1
kind: ChipCatalog
chips:
  - {name: own, match: {chips: [910X]}, aiCores: 4, templates: [{name: half, aiCores: 2, memory: 8GiB}]}
)";
  const auto right = load_config(config, "", true);
  ASSERT_TRUE(right) << right.error().to_string();
  ASSERT_EQ(right->options.chips.size(), 1U);
  EXPECT_EQ(right->options.chips[0].name, "own");
  std::filesystem::remove_all(directory);
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
    ::testing::Values(
        Bad{"node: a\nnodes: b\n", "config.unknown_field", "f.yaml line 2: nodes"},
        Bad{"devices:\n  libary: /x\n", "config.unknown_field", "line 2: devices.libary"},
        Bad{"slices: {chips: relative}\n", "config.bad_value", "slices.chips"},
        Bad{"slices: {variants: perhaps}\n", "config.bad_value", "slices.variants"},
        Bad{"slices: {countAs: half}\n", "config.bad_value", "slices.countAs"},
        Bad{"slices: {returnForeign: 1}\n", "config.bad_value", "slices.returnForeign"},
        Bad{"slices: {foreignGrace: 10}\n", "config.bad_value", "slices.foreignGrace"},
        Bad{"node: [a]\n", "config.wrong_type", "line 1: node"},
        Bad{"node: \xff\n", "config.syntax", "not UTF-8"},
        Bad{"listen: [{address: \"127.0.0.1\\0.1\", port: 80}]\n", "config.bad_value", "control character"},
        Bad{"devices: 3\n", "config.wrong_type", "devices"},
        Bad{"keepAfter: 10\n", "config.bad_value", "line 1: keepAfter"},
        Bad{"jobs:\n  defaults:\n    memory: lots\n", "config.bad_value", "line 3"},
        Bad{"jobs: {uids: {first: 0}}\n", "config.bad_value", "jobs.uids.first"},
        Bad{"socket: relative\n", "config.bad_value", "absolute"},
        Bad{"limits: {bytesPerTenant: 1KiB}\n", "config.bad_value", "limits.bytesPerTenant"},
        Bad{"limits: {jobs: 99999999999999999999}\n", "config.bad_value", "limits.jobs"},
        Bad{"listen: [{address: 0.0.0.0, port: 80}]\n", "config.bad_value",
            "line 1: listen[0]: 0.0.0.0 without tls"},
        Bad{"listen: [{address: \"::\", port: 80}]\n", "config.bad_value", "without tls"},
        Bad{"listen: [{address: 10.0.0.1, port: 80}]\n", "config.bad_value", "without tls"},
        Bad{"listen: [{address: localhost, port: 80}]\n", "config.bad_value", "no numeric"},
        Bad{"listen: [{port: 80}]\n", "config.bad_value", "address is missing"},
        Bad{"listen: [{address: 127.0.0.1}]\n", "config.bad_value", "port is missing"},
        Bad{"listen: [{address: 127.0.0.1, port: 65536}]\n", "config.bad_value", "listen[0].port"},
        Bad{"listen: [{address: 127.0.0.1, port: 1, tls: {key: /k}}]\n", "config.bad_value",
            "both certificate and key"},
        Bad{"listen: [{address: 127.0.0.1, port: 1, tsl: {}}]\n", "config.unknown_field", "tsl"},
        Bad{"listen: [{address: 127.0.0.1, port: 80}, {address: 127.0.0.1, port: 80}]\n", "config.bad_value",
            "line 1: listen[1]: 127.0.0.1 port 80 is taken by listen[0] already"},
        Bad{"listen: [{address: \"::1\", port: 80}, {address: \"0:0::1\", port: 80}]\n", "config.bad_value",
            "is taken by listen[0] already"},
        Bad{"listen: [{address: 127.0.0.1, port: 80}, {address: 0.0.0.0, port: 80, tls: {certificate: /c, "
            "key: "
            "/c}}]\n",
            "config.bad_value", "is taken by listen[0] already (127.0.0.1)"},
        Bad{"listen: {address: 127.0.0.1}\n", "config.wrong_type", "listen"},
        Bad{"limits: {connectionsUnknown: 600}\n", "config.bad_value", "more than half"},
        Bad{"limits: {requestsPerSecond: 0}\n", "config.bad_value", "requestsPerSecond"},
        Bad{"audit: {size: 1KiB}\n", "config.bad_value", "audit.size"},
        Bad{"node: a\nnode: b\n", "config.duplicate_field", "line 2: node"},
        Bad{"cgroup: /\n", "config.bad_value", "line 1: cgroup"},
        Bad{"cgroup: ../x\n", "config.bad_value", "line 1: cgroup"},
        Bad{"cgroup: a//b\n", "config.bad_value", "cgroup"},
        Bad{"cgroup: \"a b\"\n", "config.bad_value", "cgroup"}, Bad{"a: [\n", "config.syntax", "line"},
        Bad{"logLevel: loud\n", "config.bad_value", "logLevel"}));

}  // namespace
}  // namespace tangram::service
