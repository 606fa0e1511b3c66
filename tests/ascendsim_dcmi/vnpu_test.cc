// Virtual devices through libdcmi.so, with the answers that make the vendor's library awkward.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "ascendsim/dcmi/dcmi_interface_api.h"
#include "ascendsim_dcmi/simulated_machine.h"

namespace tangram::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string read_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string machine_file(const char* name) {
  std::string text = read_file(std::string(MACHINES) + "/" + name);
  const std::size_t at = text.find("create_ms: 300");
  if (at != std::string::npos) text.replace(at, 14, "create_ms: 0");
  if (at == std::string::npos)
    text.replace(text.find("compute: full"), 13, "compute: none\nvnpu: {create_ms: 0}");
  return text;
}

int create(int card, int device, const char* name, unsigned int* id = nullptr,
           unsigned int wanted_id = DCMI_VDEV_AUTO) {
  dcmi_create_vdev_res_stru wanted{};
  wanted.vdev_id = wanted_id;
  wanted.vfg_id = DCMI_VDEV_AUTO;
  std::strncpy(&wanted.template_name[0], name, sizeof wanted.template_name - 1);
  dcmi_create_vdev_out made{};
  const int code = dcmi_create_vdevice(card, device, &wanted, &made);
  if (id != nullptr) *id = made.vdev_id;
  return code;
}

dcmi_soc_total_resource total_of(int card, int device = 0) {
  dcmi_soc_total_resource total{};
  unsigned int size = sizeof total;
  EXPECT_EQ(dcmi_get_device_info(card, device, DCMI_MAIN_CMD_VDEV_MNG, DCMI_VMNG_SUB_CMD_GET_TOTAL_RESOURCE,
                                 &total, &size),
            DCMI_OK);
  return total;
}

dcmi_soc_free_resource left_of(int card, int device = 0) {
  dcmi_soc_free_resource left{};
  unsigned int size = sizeof left;
  EXPECT_EQ(dcmi_get_device_info(card, device, DCMI_MAIN_CMD_VDEV_MNG, DCMI_VMNG_SUB_CMD_GET_FREE_RESOURCE,
                                 &left, &size),
            DCMI_OK);
  return left;
}

int query(int card, unsigned int id, dcmi_vdev_query_stru* vdev,
          unsigned int command = DCMI_VMNG_SUB_CMD_GET_VDEV_RESOURCE) {
  *vdev = {};
  vdev->vdev_id = id;
  unsigned int size = sizeof *vdev;
  return dcmi_get_device_info(card, 0, DCMI_MAIN_CMD_VDEV_MNG, command, vdev, &size);
}

class DcmiVnpuTest : public testing::Test {
 protected:
  void play(const std::string& description) {
    machine_ = std::make_unique<SimulatedMachine>(description);
    setenv("ASCENDSIM_SOCKET", machine_->socket().c_str(), 1);
    ASSERT_EQ(dcmi_init(), DCMI_OK);
  }
  ~DcmiVnpuTest() override { unsetenv("ASCENDSIM_SOCKET"); }

  std::string recover_file() const { return machine_->root() + "/etc/vnpu.cfg"; }
  // As after a power cut, with a driver that is asked anew.
  void reboot() {
    machine_->kill_now();
    machine_->start();
    ASSERT_EQ(dcmi_init(), DCMI_OK);
  }

  std::unique_ptr<SimulatedMachine> machine_;
};

// Without it a slice's id, size and place in the chip could be told wrongly.
TEST_F(DcmiVnpuTest, CreateQueryDestroy) {
  play(machine_file("one-310p3.yaml"));
  unsigned int id = 0;
  ASSERT_EQ(create(7, 0, "vir02", &id), DCMI_OK);
  EXPECT_EQ(id, 100U);
  ASSERT_EQ(create(7, 0, "vir01", &id), DCMI_OK);
  EXPECT_EQ(id, 101U);
  const dcmi_soc_total_resource total = total_of(7);
  EXPECT_EQ(total.vdev_num, 2U);
  EXPECT_EQ(total.vdev_id[1], 101U);
  EXPECT_EQ(total.computing.aic, 8);
  EXPECT_EQ(total.computing.device_aicpu, 7);
  EXPECT_EQ(total.computing.memory_size, 21527U);
  EXPECT_EQ(total.vfg_num, 4U);
  EXPECT_EQ(total.media.pngd, -1) << "unknown";
  EXPECT_EQ(total.computing.host_aicpu, 0xFFFF) << "unknown";
  const dcmi_soc_free_resource left = left_of(7);
  EXPECT_EQ(left.computing.aic, 5);
  EXPECT_EQ(left.computing.memory_size, 21527U - 5381 - 2690);
  EXPECT_EQ(left.media.vpc, 8);
  EXPECT_EQ(left.vfg_bitmap, 0xCU);
  dcmi_vdev_query_stru vdev{};
  ASSERT_EQ(query(7, 100, &vdev), DCMI_OK);
  EXPECT_STREQ(vdev.query_info.name, "vir02");
  EXPECT_EQ(vdev.query_info.vfid, 1U);
  EXPECT_EQ(vdev.query_info.is_container_used, 0U);
  EXPECT_EQ(vdev.query_info.container_id, 0U);
  EXPECT_EQ(vdev.query_info.computing.memory_size, 5381U);
  EXPECT_EQ(query(7, 102, &vdev), DCMI_ERR_CODE_DEVICE_NOT_EXIST);
  EXPECT_EQ(dcmi_set_destroy_vdevice(7, 0, 100), DCMI_OK);
  EXPECT_EQ(dcmi_set_destroy_vdevice(7, 0, 100), DCMI_ERR_CODE_DEVICE_NOT_EXIST);
  EXPECT_EQ(total_of(7).vdev_num, 1U);
}

// Without it a buffer of another release's size would be written past its end.
TEST_F(DcmiVnpuTest, SmallBuffersAreRefused) {
  play(machine_file("one-310p3.yaml"));
  dcmi_soc_total_resource total{};
  unsigned int size = sizeof total - 1;
  EXPECT_EQ(
      dcmi_get_device_info(7, 0, DCMI_MAIN_CMD_VDEV_MNG, DCMI_VMNG_SUB_CMD_GET_TOTAL_RESOURCE, &total, &size),
      DCMI_ERR_CODE_INVALID_PARAMETER);
  std::vector<char> large(4096);
  size = 4096;
  EXPECT_EQ(dcmi_get_device_info(7, 0, DCMI_MAIN_CMD_VDEV_MNG, DCMI_VMNG_SUB_CMD_GET_TOTAL_RESOURCE,
                                 large.data(), &size),
            DCMI_OK);
  EXPECT_EQ(size, sizeof total);
}

// Without it the product would be tried against codes that tell more than the real ones do.
TEST_F(DcmiVnpuTest, OneCodeForManyReasons) {
  play(machine_file("one-310p3.yaml"));
  EXPECT_EQ(create(7, 0, "vir16"), DCMI_ERR_CODE_INVALID_PARAMETER) << "no such template";
  EXPECT_EQ(create(7, 0, ""), DCMI_ERR_CODE_INVALID_PARAMETER);
  EXPECT_EQ(create(7, 0, "vir01", nullptr, 116), DCMI_ERR_CODE_INVALID_PARAMETER) << "an id of another chip";
  ASSERT_EQ(create(7, 0, "vir04"), DCMI_OK);
  EXPECT_EQ(create(7, 0, "vir04"), DCMI_ERR_CODE_INVALID_PARAMETER) << "no AICPU left";
  EXPECT_EQ(create(7, 0, "vir01", nullptr, 100), DCMI_ERR_CODE_INVALID_PARAMETER) << "taken";
  EXPECT_EQ(dcmi_set_destroy_vdevice(7, 0, 500), DCMI_ERR_CODE_INVALID_PARAMETER);
  EXPECT_EQ(dcmi_set_destroy_vdevice(7, 0, 105), DCMI_ERR_CODE_DEVICE_NOT_EXIST);
  EXPECT_EQ(create(7, 3, "vir01"), DCMI_ERR_CODE_INVALID_DEVICE_ID);
  ASSERT_EQ(machine_->control({"remove", "0"}).exit_code, 0);
  EXPECT_EQ(create(7, 0, "vir01"), DCMI_ERR_CODE_NOT_REDAY);
}

// Without it 65535 would be an unknown id, or the other chips would lose theirs.
TEST_F(DcmiVnpuTest, OneIdDestroysAllOfAChip) {
  play(machine_file("mixed.yaml"));
  for (int i = 0; i < 3; ++i) ASSERT_EQ(create(8, 0, "vir01"), DCMI_OK);
  unsigned int id = 0;
  ASSERT_EQ(create(8, 1, "vir02", &id), DCMI_OK);
  EXPECT_EQ(id, 100U + 16 * 6);
  EXPECT_EQ(dcmi_set_destroy_vdevice(8, 0, DCMI_VDEV_ALL), DCMI_OK);
  EXPECT_EQ(total_of(8, 0).vdev_num, 0U);
  EXPECT_EQ(total_of(8, 1).vdev_num, 1U);
  EXPECT_THAT(read_file(recover_file()), testing::Not(HasSubstr("\n5:")));
  EXPECT_THAT(read_file(recover_file()), HasSubstr("\n6:196:"));
}

// Without it the seventh AICPU of a cut 910B, and its silence about load, would stay unseen.
TEST_F(DcmiVnpuTest, ACut910BGainsAnAiCpuAndLosesItsLoad) {
  play(machine_file("eight-910b2.yaml"));
  unsigned int percent = 9;
  EXPECT_EQ(total_of(3).computing.device_aicpu, 6);
  EXPECT_EQ(dcmi_get_device_utilization_rate(3, 0, DCMI_UTILIZATION_RATE_AICORE, &percent), DCMI_OK);
  ASSERT_EQ(create(3, 0, "vir06_1c_16g"), DCMI_OK);
  EXPECT_EQ(total_of(3).computing.device_aicpu, 7);
  EXPECT_EQ(left_of(3).computing.device_aicpu, 6);
  percent = 9;
  EXPECT_EQ(dcmi_get_device_utilization_rate(3, 0, DCMI_UTILIZATION_RATE_AICORE, &percent),
            DCMI_ERR_CODE_NOT_SUPPORT);
  EXPECT_EQ(percent, 0U) << "a zero that means nothing";
  dcmi_vdev_query_stru vdev{};
  EXPECT_EQ(query(3, 148, &vdev, DCMI_VMNG_SUB_CMD_GET_VDEV_ACTIVITY), DCMI_ERR_CODE_NOT_SUPPORT);
  const unsigned int off = 0;
  EXPECT_EQ(dcmi_set_device_info(3, 0, DCMI_MAIN_CMD_VDEV_MNG, DCMI_VMNG_SUB_CMD_SET_SRIOV_SWITCH, &off,
                                 sizeof off),
            DCMI_ERR_CODE_OPER_NOT_PERMITTED);
  EXPECT_EQ(create(3, 0, "vir03_1c_8g"), DCMI_ERR_CODE_INVALID_PARAMETER) << "not one of this board";
  EXPECT_EQ(dcmi_set_destroy_vdevice(3, 0, 148), DCMI_OK);
  EXPECT_EQ(total_of(3).computing.device_aicpu, 6);
}

// Without it the per-slice figures of a 310P would be missing where a driver gives them.
TEST_F(DcmiVnpuTest, A310PSaysHowBusyASliceIs) {
  play(machine_file("one-310p3.yaml"));
  ASSERT_EQ(create(7, 0, "vir04"), DCMI_OK);
  dcmi_vdev_query_stru vdev{};
  ASSERT_EQ(query(7, 100, &vdev, DCMI_VMNG_SUB_CMD_GET_VDEV_ACTIVITY), DCMI_OK);
  EXPECT_EQ(vdev.query_info.computing.vdev_memory_total, 10763ULL * 1024);
  EXPECT_EQ(vdev.query_info.computing.vdev_aicore_utilization, 0U);
}

// Without it the orphans that a reboot makes could not be rehearsed.
TEST_F(DcmiVnpuTest, ARebootBringsThemBackUnlessRecoverIsOff) {
  play(machine_file("one-310p3.yaml"));
  unsigned int mode = 9;
  EXPECT_EQ(dcmi_get_vnpu_config_recover_mode(&mode), DCMI_OK);
  EXPECT_EQ(mode, 1U) << "as delivered";
  ASSERT_EQ(create(7, 0, "vir01"), DCMI_OK);
  ASSERT_EQ(create(7, 0, "vir02"), DCMI_OK);
  ASSERT_EQ(dcmi_set_destroy_vdevice(7, 0, 100), DCMI_OK);
  EXPECT_THAT(read_file(recover_file()),
              HasSubstr("[vnpu-config start]\n0:101:npu-smi set -t create-vnpu -i 7 -c 0 -f vir02 -v 101\n"
                        "[vnpu-config end]\n"));
  reboot();
  EXPECT_EQ(total_of(7).vdev_num, 1U);
  EXPECT_EQ(total_of(7).vdev_id[0], 101U);
  ASSERT_EQ(dcmi_set_vnpu_config_recover_mode(0), DCMI_OK);
  EXPECT_EQ(dcmi_get_vnpu_config_recover_mode(&mode), DCMI_OK);
  EXPECT_EQ(mode, 0U);
  reboot();
  EXPECT_EQ(total_of(7).vdev_num, 0U);
  ASSERT_EQ(create(7, 0, "vir04"), DCMI_OK);
  EXPECT_THAT(read_file(recover_file()), testing::Not(HasSubstr("vir04"))) << "switched off: not written";
  EXPECT_EQ(dcmi_set_vnpu_config_recover_mode(2), DCMI_ERR_CODE_INVALID_PARAMETER);
}

// Without it the memory of all managers of a machine would seem to outlast the switch that erases it.
TEST_F(DcmiVnpuTest, TurningRecoverOffForgetsEveryDevice) {
  play(machine_file("one-310p3.yaml"));
  ASSERT_EQ(create(7, 0, "vir04"), DCMI_OK);
  ASSERT_EQ(dcmi_set_vnpu_config_recover_mode(0), DCMI_OK);
  EXPECT_THAT(read_file(recover_file()), Not(HasSubstr("\n0:100:")));
  EXPECT_EQ(total_of(7).vdev_num, 1U);
  ASSERT_EQ(dcmi_set_vnpu_config_recover_mode(1), DCMI_OK);
  reboot();
  EXPECT_EQ(total_of(7).vdev_num, 0U);
}

// Without it a slice could stay behind that nobody was told of: what cannot be written down is undone.
TEST_F(DcmiVnpuTest, ADamagedFileBlocksEveryCreate) {
  play(machine_file("one-310p3.yaml"));
  ASSERT_EQ(create(7, 0, "vir01"), DCMI_OK);
  std::ofstream(recover_file()) << "what is this\n";
  EXPECT_EQ(create(7, 0, "vir02"), DCMI_ERR_CODE_FILE_OPERATE_FAIL);
  EXPECT_EQ(total_of(7).vdev_num, 1U);
  EXPECT_EQ(dcmi_set_destroy_vdevice(7, 0, 100), DCMI_ERR_CODE_FILE_OPERATE_FAIL);
  EXPECT_EQ(total_of(7).vdev_num, 1U) << "made again, as the vendor's library does";
}

// Without it creates would be instant, and a program that dies in one would leave nothing behind.
TEST_F(DcmiVnpuTest, ASlowCreateLeavesAnOrphanWhenItsCallerDies) {
  std::string description = machine_file("one-310p3.yaml");
  description.replace(description.find("create_ms: 0"), 12, "create_ms: 1500");
  play(description);
  const auto before = std::chrono::steady_clock::now();
  ASSERT_EQ(create(7, 0, "vir01"), DCMI_OK);
  EXPECT_GE(std::chrono::steady_clock::now() - before, std::chrono::milliseconds(1500));
  {
    const Child creating(
        {machine_->root() + "/driver/tools/npu-smi", "set", "-t", "create-vnpu", "-f", "vir02"});
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (total_of(7).vdev_num < 2 && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  EXPECT_EQ(total_of(7).vdev_num, 2U);
  EXPECT_THAT(read_file(recover_file()), testing::Not(HasSubstr("vir02")));
}

// Without it the switches of the host and of a chip would be mere constants.
TEST_F(DcmiVnpuTest, ModesCanBeSwitched) {
  play(machine_file("mixed.yaml"));
  int value = 9;
  EXPECT_EQ(dcmi_get_vdevice_mode(&value), DCMI_OK);
  EXPECT_EQ(value, 0);
  ASSERT_EQ(dcmi_set_vdevice_mode(1), DCMI_OK);
  EXPECT_EQ(create(8, 0, "vir01"), DCMI_ERR_CODE_OPER_NOT_PERMITTED) << "not in the docker mode";
  ASSERT_EQ(dcmi_set_vdevice_mode(0), DCMI_OK);
  ASSERT_EQ(create(8, 0, "vir01"), DCMI_OK);
  EXPECT_NE(dcmi_set_vdevice_mode(1), DCMI_OK) << "devices of the other mode exist";
  EXPECT_EQ(dcmi_get_device_share_enable(4, 0, &value), DCMI_OK);
  EXPECT_EQ(value, 0);
  EXPECT_EQ(dcmi_set_device_share_enable(4, 0, 1), DCMI_OK);
  EXPECT_EQ(dcmi_get_device_share_enable(4, 0, &value), DCMI_OK);
  EXPECT_EQ(value, 1);
  EXPECT_EQ(dcmi_get_device_share_enable(8, 0, &value), DCMI_OK);
  EXPECT_EQ(value, 0) << "of one chip alone";
}

// Without it chips that cannot be cut would be offered, or the A3 of an old driver.
TEST_F(DcmiVnpuTest, WhatCannotBeCutSaysSo) {
  std::string a3 = machine_file("eight-910b2.yaml");
  for (std::size_t at = 0; (at = a3.find("910B2", at)) != std::string::npos;) a3.replace(at, 5, "Ascend910");
  a3.replace(a3.find("board_id: 0x30"), 14, "board_id: 0xb1");
  play(a3);
  EXPECT_EQ(create(0, 0, "vir12_3c_32g"), DCMI_ERR_CODE_NOT_SUPPORT) << "driver 25.5";
  a3.replace(a3.find("25.5.0"), 6, "26.0.1");
  play(a3);
  EXPECT_EQ(create(0, 0, "vir12_3c_32g"), DCMI_ERR_CODE_OPER_NOT_PERMITTED) << "two dies are one";
  ASSERT_EQ(dcmi_set_multi_die_policy(DCMI_MULTI_DIE_INDEPENDENT), DCMI_OK);
  EXPECT_EQ(create(0, 0, "vir12_3c_32g"), DCMI_OK);
  EXPECT_NE(dcmi_set_multi_die_policy(DCMI_MULTI_DIE_UNION), DCMI_OK) << "while there are slices";
}

// Without it the mixed machine would lack the A3, or its dies be cut as one device, or only where all boards
// are A3.
TEST_F(DcmiVnpuTest, TheDiesOfAnA3AreCutBesideOtherBoards) {
  play(machine_file("mixed.yaml"));
  EXPECT_EQ(create(11, 0, "vir05_1c_16g"), DCMI_ERR_CODE_OPER_NOT_PERMITTED) << "two dies are one";
  unsigned int id = 0;
  ASSERT_EQ(create(1, 0, "vir05_1c_16g", &id), DCMI_OK) << "a 910B3 is none of them";
  EXPECT_NE(dcmi_set_multi_die_policy(DCMI_MULTI_DIE_INDEPENDENT), DCMI_OK) << "while there are slices";
  ASSERT_EQ(dcmi_set_destroy_vdevice(1, 0, id), DCMI_OK);
  ASSERT_EQ(dcmi_set_multi_die_policy(DCMI_MULTI_DIE_INDEPENDENT), DCMI_OK);
  for (const char* shape : {"vir10_3c_32g", "vir05_1c_16g"})
    ASSERT_EQ(create(11, 1, shape), DCMI_OK) << shape;
  EXPECT_EQ(create(11, 1, "vir12_3c_32g"), DCMI_ERR_CODE_INVALID_PARAMETER) << "of dies with 24 cores";
  EXPECT_EQ(total_of(11, 1).vdev_num, 2U);
  EXPECT_EQ(total_of(11, 0).vdev_num, 0U);
  ASSERT_EQ(create(11, 0, "vir05_1c_16g", &id), DCMI_OK);
  EXPECT_EQ(id, 100U + 16 * 8);
}

// Without it the shipped descriptions could be broken, or not be what they say.
TEST_F(DcmiVnpuTest, TheShippedMachinesStart) {
  int cards[DCMI_MAX_CARD_NUM] = {};
  int count = 0;
  std::vector<int> counts;
  for (const char* name : {"eight-910b4.yaml", "one-310p3.yaml", "eight-910b2.yaml", "mixed.yaml"}) {
    play(machine_file(name));
    ASSERT_EQ(dcmi_get_card_list(&count, &cards[0], DCMI_MAX_CARD_NUM), DCMI_OK);
    counts.push_back(count);
  }
  EXPECT_THAT(counts, ElementsAre(8, 1, 8, 6));
  char version[32] = {};
  play(read_file(std::string(MACHINES) + "/one-310p3.yaml"));
  EXPECT_EQ(dcmi_get_driver_version(&version[0], sizeof version), DCMI_OK);
  EXPECT_STREQ(&version[0], "22.0.4");
}

}  // namespace
}  // namespace tangram::test
