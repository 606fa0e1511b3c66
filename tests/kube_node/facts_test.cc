#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "kube/api/json.h"
#include "kube/node/inventory.h"
#include "kube/node/metrics.h"
#include "kube/node/npu_facts.h"
#include "kube/node/other_drivers.h"

namespace tangram::kube::node {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

DeviceNpu a_310p3(std::uint32_t index) {
  DeviceNpu npu;
  npu.physical_id = index;
  npu.card_id = static_cast<std::int32_t>(index);
  npu.chip = "310P3";
  npu.uuid = "UUID" + std::to_string(index);
  npu.pcie_address = "0000:C1:00.0";
  npu.health = Health::kOk;
  npu.ai_cores = Sample<std::int32_t>::known(8);
  npu.memory_total = Sample<Bytes>::known(Bytes::mib(21527));
  npu.slicing.support = SliceSupport::kListed;
  npu.slicing.slices.valid = true;
  return npu;
}

DeviceScan scan_of(std::vector<DeviceNpu> npus) {
  DeviceScan scan;
  scan.driver_version = "25.5.0";
  scan.npus = std::move(npus);
  return scan;
}

MachineFacts facts(const DeviceScan& scan, const MachineFacts& before = {}, const HandOut& book = {}) {
  return facts_of(scan, builtin_rules(), book, before);
}

std::vector<std::string> names_of(const std::vector<TemplateFact>& templates) {
  std::vector<std::string> names;
  for (const TemplateFact& one : templates) names.push_back(one.name);
  return names;
}

// Without it the node would not show the seven shares of article and users.
TEST(Facts, A310P3IsOfferedSevenTimesWithTheTemplatesOfItsChip) {
  const MachineFacts now = facts(scan_of({a_310p3(0)}));
  ASSERT_THAT(now.npus, SizeIs(1));
  EXPECT_EQ(now.npus[0].shares, 7U);
  EXPECT_TRUE(now.npus[0].healthy);
  EXPECT_THAT(names_of(now.npus[0].templates), testing::IsSupersetOf({"vir01", "vir02", "vir04"}));
}

// Without it Pods would be failed by the kubelet because the driver was slow for a moment.
TEST(Facts, AnNpuThatIsAwayKeepsItsSharesAndIsNotHealthy) {
  const MachineFacts before = facts(scan_of({a_310p3(0), a_310p3(1)}));
  DeviceNpu silent = a_310p3(0);
  silent.health = Health::kUnknown;
  silent.memory_total = {};
  silent.slicing.slices = {};
  silent.uuid.clear();
  const MachineFacts now = facts(scan_of({silent}), before);  // the second is not listed at all
  ASSERT_THAT(now.npus, SizeIs(2));
  for (const NpuFacts& npu : now.npus) {
    EXPECT_EQ(npu.shares, 7U);
    EXPECT_FALSE(npu.healthy);
    EXPECT_NE(npu.note, "");
  }
  EXPECT_EQ(now.npus[0].uuid, "UUID0");
  const MachineFacts back = facts(scan_of({a_310p3(0), a_310p3(1)}), now);
  EXPECT_TRUE(back.npus[0].healthy && back.npus[1].healthy);  // and comes back without a restart
  EXPECT_FALSE(without_driver(back, "the driver is away").npus[0].healthy);
}

// Without it two NPUs that a driver calls alike would be one for everybody who reads that.
TEST(Facts, NoTwoNpusHaveOneName) {
  DeviceNpu twin = a_310p3(1);
  twin.uuid = "UUID0";
  const MachineFacts now = facts(scan_of({a_310p3(0), twin}));
  EXPECT_EQ(now.npus[0].uuid, "UUID0");
  EXPECT_EQ(now.npus[1].uuid, "npu-1");
  EXPECT_TRUE(read_node_npus(write_node_npus(inventory_of(now))));
}

// Without it a machine with two kinds of chips would be offered as one of them.
TEST(Facts, EachChipHasItsResourceUnlessTheOperatorNamesOne) {
  DeviceNpu other = a_310p3(1);
  other.chip = "910B4";
  DeviceNpu strange = a_310p3(2);
  strange.chip = "310B4";
  const MachineFacts now = facts(scan_of({a_310p3(0), other, strange}));
  EXPECT_EQ(now.npus[0].resource, "huawei.com/Ascend310P");
  EXPECT_EQ(now.npus[1].resource, "huawei.com/Ascend910B4");
  EXPECT_EQ(now.npus[2].resource, "");
  EXPECT_EQ(inventory_of(now).npus[0].template_set, "310P (24 GiB)");
  FactRules rules = builtin_rules();
  rules.resource = "huawei.com/Ascend310B";
  const MachineFacts named = facts_of(scan_of({strange}), rules, HandOut(), MachineFacts());
  EXPECT_EQ(named.npus[0].resource, "huawei.com/Ascend310B");
  const auto annotations = node_annotations(now, {});
  EXPECT_TRUE(annotations.contains("hami.io/node-register-Ascend310P"));
  EXPECT_TRUE(annotations.contains("hami.io/node-register-Ascend910B4"));
}

// Without it a slice that takes room from all Pods would be nobody's business.
TEST(Facts, SlicesThatNobodyHasAreNamed) {
  DeviceNpu npu = a_310p3(0);
  DeviceSlice slice;
  slice.id = 101;
  slice.template_name = Sample<std::string>::known("vir02");
  npu.slicing.slices.value = {slice};
  const MachineFacts now = facts(scan_of({npu}));
  ASSERT_THAT(now.npus[0].strays, SizeIs(1));
  EXPECT_EQ(now.npus[0].strays[0].id, 101U);
  const HandOut book({{{"u", "s", "p", "c"}, {"UUID0-1"}, true, {0}, "vir02", 101, Handed::State::kHeld}});
  EXPECT_THAT(facts(scan_of({npu}), {}, book).npus[0].strays, IsEmpty());
  EXPECT_THAT(ground_of(now, scan_of({npu})).slices, ElementsAre(101));
}

// Without it the rest of Tangram and tools made for HAMi would read nothing, or something else.
TEST(Inventory, IsOursAndHamisWords) {
  DeviceScan scan = scan_of({a_310p3(0), a_310p3(1)});
  scan.npus[1].health = Health::kAlarm;
  scan.npus[1].health_note = "error code 80E01801";
  scan.driver = {DriverStanding::Kind::kBelow, "driver 23.0 is older than 25.5"};
  const auto noon = std::chrono::system_clock::time_point(std::chrono::seconds(1'700'000'000));
  const auto annotations = node_annotations(facts(scan), noon);
  ASSERT_THAT(annotations, SizeIs(3));
  const json::object ours = *parse_object(annotations.at("tangram.dev/npus"));
  EXPECT_EQ(text_at(ours, {"driver"}), "25.5.0");
  EXPECT_THAT(annotations.at("tangram.dev/npus"), HasSubstr("older than 25.5"));
  const json::array& npus = *array_at(ours, {"npus"});
  EXPECT_EQ(number_at(npus[0].as_object(), {"allocatableMiB"}), 21527);
  EXPECT_EQ(number_at(npus[0].as_object(), {"shares"}), 7);
  EXPECT_EQ(text_at(npus[0].as_object(), {"health"}), "ok");
  EXPECT_EQ(text_at(npus[1].as_object(), {"health"}), "bad");
  EXPECT_EQ(text_at(npus[1].as_object(), {"note"}), "error code 80E01801");
  EXPECT_EQ(annotations.at("hami.io/node-register-Ascend310P"),
            R"([{"id":"UUID0","count":7,"devmem":21527,"devcore":8,"type":"Ascend310P","health":true},)"
            R"({"id":"UUID1","index":1,"count":7,"devmem":21527,"devcore":8,"type":"Ascend310P"}])");
  EXPECT_EQ(annotations.at("hami.io/node-handshake-Ascend310P"), "Reported_2023.11.14 22:13:20");
}

// Without it nobody would see what a Pod uses of its slice, or a number that the driver never told.
TEST(Metrics, TellWhatTheDriverTellsAndNothingElse) {
  DeviceNpu npu = a_310p3(0);
  DeviceSlice slice;
  slice.id = 101;
  slice.template_name = Sample<std::string>::known("vir02");
  slice.memory_used = Sample<Bytes>::known(Bytes::mib(1));
  npu.slicing.slices.value = {slice};
  const std::vector<Handed> entries{
      {{"u", "team-a", "one", "main"}, {"UUID0-1"}, true, {0}, "vir02", 101, Handed::State::kHeld},
      {{"v", "team-a", "two", "main"}, {"UUID0-2"}, true, {0}, "vir01", 102, Handed::State::kEnded}};
  const DeviceScan scan = scan_of({npu});
  const std::string page = metrics_text(facts(scan, {}, HandOut(entries)), scan.npus, entries);
  EXPECT_THAT(page, HasSubstr("tangram_node_npu_healthy{npu=\"0\",uuid=\"UUID0\",chip=\"310P3\"} 1\n"));
  EXPECT_THAT(
      page,
      HasSubstr(
          "tangram_node_container_memory_used_bytes{namespace=\"team-a\",pod=\"one\",container=\"main\","
          "npu=\"0\",uuid=\"UUID0\"} 1048576\n"));
  EXPECT_THAT(page,
              HasSubstr("hami_vgpu_memory_used_bytes{namespace=\"team-a\",pod=\"one\",container=\"main\","
                        "vdevice_index=\"0\",device_uuid=\"UUID0\"} 1048576\n"));
  EXPECT_THAT(page, HasSubstr("slice=\"101\",template=\"vir02\"} 1\n"));
  EXPECT_THAT(page, testing::Not(HasSubstr("utilization")));  // not told
  EXPECT_THAT(page, testing::Not(HasSubstr("memory_limit")));
  EXPECT_THAT(page, testing::Not(HasSubstr("two")));
}

// Without it topology hints would be of node 0 for every NPU.
TEST(Numa, IsWhatSysfsSaysOfTheAddress) {
  namespace fs = std::filesystem;
  const fs::path sysfs = fs::temp_directory_path() / ("numa-" + std::to_string(getpid()));
  const fs::path device = sysfs / "bus/pci/devices/0000:c1:00.0";
  fs::create_directories(device);
  EXPECT_EQ(numa_node_of(sysfs.string(), "0000:C1:00.0"), std::nullopt);
  std::ofstream(device / "numa_node") << "1\n";
  EXPECT_EQ(numa_node_of(sysfs.string(), "0000:C1:00.0"), 1);
  std::ofstream(device / "numa_node") << "-1\n";
  EXPECT_EQ(numa_node_of(sysfs.string(), "0000:C1:00.0"), std::nullopt);
  EXPECT_EQ(numa_node_of(sysfs.string(), ""), std::nullopt);
  fs::remove_all(sysfs);
}

constexpr const char* kOurs = "huawei.com/Ascend310P";

// Without it two drivers would give away the same chips.
TEST(OtherDrivers, AreSeenByTheirSocketsAndByWhatTheNodeOffers) {
  const json::object empty = *parse_object(R"({"metadata": {}, "status": {"allocatable": {"cpu": "8"}}})");
  EXPECT_THAT(other_drivers({}, kOurs, empty), IsEmpty());
  EXPECT_THAT(other_drivers({"nvidia.sock", "rdma.sock"}, kOurs, empty), IsEmpty());
  EXPECT_THAT(other_drivers({"Ascend310P.sock"}, kOurs, empty), SizeIs(1));
  const json::object hami = *parse_object(
      R"({"metadata": {"annotations": {"hami.io/node-register-Ascend310P": "[]"}},
          "status": {"allocatable": {"huawei.com/Ascend310P": "7"}}})");
  EXPECT_THAT(other_drivers({}, kOurs, hami), ElementsAre(HasSubstr("huawei.com/Ascend310P")));
  const json::object cluster = *parse_object(R"({"status": {"allocatable": {"huawei.com/npu-core": "8"}}})");
  EXPECT_THAT(other_drivers({}, kOurs, cluster), SizeIs(1));
}

// Without it the agent could never be restarted: the numbers on the node are its own.
TEST(OtherDrivers, WhatTheAgentItselfLeftIsNone) {
  const json::object own = *parse_object(
      R"({"metadata": {"annotations": {"tangram.dev/npus": "{}"}},
          "status": {"allocatable": {"huawei.com/Ascend310P": "7", "huawei.com/Ascend310P-memory": "3"}}})");
  EXPECT_THAT(other_drivers({}, kOurs, own), IsEmpty());
  const json::object found = *parse_object(
      R"({"metadata": {"annotations": {"tangram.dev/npus":
              "{\"npus\": [{\"uuid\": \"u\", \"index\": 0, \"health\": \"ok\",
                            \"resource\": \"huawei.com/Ascend310P\"},
                           {\"uuid\": \"w\", \"index\": 1, \"health\": \"ok\",
                            \"resource\": \"huawei.com/Ascend910B4\"}]}"}},
          "status": {"allocatable": {"huawei.com/Ascend310P": "7", "huawei.com/Ascend910B4": "4"}}})");
  EXPECT_THAT(other_drivers({}, "", found), IsEmpty());  // the resources are named after the chips
  const json::object gone = *parse_object(R"({"status": {"allocatable": {"huawei.com/Ascend310P": "0"}}})");
  EXPECT_THAT(other_drivers({}, kOurs, gone), IsEmpty());
}

}  // namespace
}  // namespace tangram::kube::node
