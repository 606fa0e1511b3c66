// libdcmi.so of the simulated machine against a live ascendsimd.
#include "ascendsim/dcmi/dcmi_interface_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "ascendsim_dcmi/simulated_machine.h"

namespace tangram::test {
namespace {

using testing::ElementsAre;

std::vector<int> cards() {
  int count = 0;
  int list[DCMI_MAX_CARD_NUM] = {};
  EXPECT_EQ(dcmi_get_card_list(&count, &list[0], DCMI_MAX_CARD_NUM), DCMI_OK);
  return {&list[0], &list[count]};
}

class DcmiTest : public testing::Test {
 protected:
  void play(const std::string& description = "") {
    machine_ = std::make_unique<SimulatedMachine>(description);
    setenv("ASCENDSIM_SOCKET", machine_->socket().c_str(), 1);
  }
  ~DcmiTest() override { unsetenv("ASCENDSIM_SOCKET"); }

  std::unique_ptr<SimulatedMachine> machine_;
};

// Without it a program built against the header would not link with the library, or see what is none of its
// business.
TEST(DcmiExports, AreExactlyTheFunctionsOfTheHeader) {
  std::ifstream header(HEADER);
  std::set<std::string> declared;
  for (std::string line; std::getline(header, line);) {
    if (!line.starts_with("int dcmi_")) continue;
    declared.insert(line.substr(4, line.find('(') - 4));
  }
  ASSERT_GT(declared.size(), 40U);
  std::istringstream symbols(run({"/usr/bin/nm", "-D", "--defined-only", LIBRARY}).output);
  std::set<std::string> exported;
  for (std::string address, kind, name; symbols >> address >> kind >> name;) exported.insert(name);
  EXPECT_EQ(exported, declared);
}

// Without it a machine without a driver would look like one without NPUs.
TEST_F(DcmiTest, InitFailsWithoutADriver) {
  setenv("ASCENDSIM_SOCKET", "/nonexistent/ascendsim.sock", 1);
  EXPECT_EQ(dcmi_init(), DCMI_ERR_CODE_INNER_ERR);
  int count = 0;
  int list[DCMI_MAX_CARD_NUM];
  EXPECT_NE(dcmi_get_card_list(&count, &list[0], DCMI_MAX_CARD_NUM), DCMI_OK);
}

// Without it card, logic and physical ids could be mixed up unseen: only a machine where all differ shows it.
TEST_F(DcmiTest, IdsAreToldApart) {
  play(k310PMachine);
  ASSERT_EQ(dcmi_init(), DCMI_OK);
  EXPECT_THAT(cards(), ElementsAre(2, 7));
  int count = 0;
  EXPECT_EQ(dcmi_get_device_num_in_card(7, &count), DCMI_OK);
  EXPECT_EQ(count, 2);
  int logic = -1;
  unsigned int phy = 0;
  EXPECT_EQ(dcmi_get_device_logic_id(&logic, 7, 1), DCMI_OK);
  EXPECT_EQ(logic, 2);
  EXPECT_EQ(dcmi_get_device_phyid_from_logicid(2, &phy), DCMI_OK);
  EXPECT_EQ(phy, 6U);
  int card = 0;
  int device = 0;
  EXPECT_EQ(dcmi_get_card_id_device_id_from_phyid(&card, &device, 5), DCMI_OK);
  EXPECT_EQ(card, 7);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(dcmi_get_card_id_device_id_from_logicid(&card, &device, 0), DCMI_OK);
  EXPECT_EQ(card, 2);
  int device_max = 0;
  int mcu = 0;
  int cpu = 0;
  EXPECT_EQ(dcmi_get_device_id_in_card(7, &device_max, &mcu, &cpu), DCMI_OK);
  EXPECT_EQ(mcu, 2);
  EXPECT_EQ(cpu, -1);
  dcmi_unit_type type = INVALID_TYPE;
  EXPECT_EQ(dcmi_get_device_type(7, 1, &type), DCMI_OK);
  EXPECT_EQ(type, NPU_TYPE);
  EXPECT_EQ(dcmi_get_device_type(7, 2, &type), DCMI_OK);
  EXPECT_EQ(type, MCU_TYPE);
}

// Without it a scheduler would read the size of a chip from the call that its family does not support.
TEST_F(DcmiTest, MemoryComesFromTheCallOfTheFamily) {
  dcmi_hbm_info hbm{};
  dcmi_get_memory_info_stru ddr{};
  int power = 0;
  play();
  ASSERT_EQ(dcmi_init(), DCMI_OK);
  EXPECT_EQ(dcmi_get_device_hbm_info(0, 0, &hbm), DCMI_OK);
  EXPECT_EQ(hbm.memory_size, 32768U);
  EXPECT_EQ(hbm.memory_usage, 3072U);
  EXPECT_EQ(dcmi_get_device_memory_info_v3(0, 0, &ddr), DCMI_ERR_CODE_NOT_SUPPORT);
  EXPECT_EQ(dcmi_get_device_power_info(0, 0, &power), DCMI_OK);
  EXPECT_GT(power, 0);

  play(k310PMachine);
  ASSERT_EQ(dcmi_init(), DCMI_OK);
  EXPECT_EQ(dcmi_get_device_hbm_info(2, 0, &hbm), DCMI_ERR_CODE_NOT_SUPPORT);
  EXPECT_EQ(dcmi_get_device_memory_info_v3(2, 0, &ddr), DCMI_OK);
  EXPECT_EQ(ddr.memory_size, 21527U);
  EXPECT_EQ(ddr.memory_available, 21527U - 1805U);
  EXPECT_EQ(dcmi_get_device_power_info(2, 0, &power), DCMI_ERR_CODE_NOT_SUPPORT);
  EXPECT_EQ(dcmi_mcu_get_power_info(2, &power), DCMI_OK);
}

// Without it the product's handling of wrong arguments would be tested against something that accepts all.
TEST_F(DcmiTest, WrongArgumentsGetTheVendorsCodes) {
  play();
  ASSERT_EQ(dcmi_init(), DCMI_OK);
  int number = 0;
  unsigned int health = 0;
  EXPECT_EQ(dcmi_get_device_health(0, 0, nullptr), DCMI_ERR_CODE_INVALID_PARAMETER);
  EXPECT_EQ(dcmi_get_device_health(-1, 0, &health), DCMI_ERR_CODE_INVALID_PARAMETER);
  EXPECT_EQ(dcmi_get_device_health(64, 0, &health), DCMI_ERR_CODE_INVALID_PARAMETER);
  EXPECT_EQ(dcmi_get_device_health(63, 0, &health), DCMI_ERR_CODE_INVALID_DEVICE_ID);
  EXPECT_EQ(dcmi_get_device_health(0, 3, &health), DCMI_ERR_CODE_INVALID_DEVICE_ID);
  EXPECT_EQ(dcmi_get_device_temperature(0, 9, &number), DCMI_ERR_CODE_INVALID_DEVICE_ID);
  EXPECT_EQ(dcmi_get_device_utilization_rate(0, 0, 99, &health), DCMI_ERR_CODE_INVALID_PARAMETER);
  EXPECT_EQ(dcmi_get_device_num_in_card(63, &number), DCMI_ERR_CODE_INVALID_DEVICE_ID);
  EXPECT_EQ(dcmi_get_device_phyid_from_logicid(8, &health), DCMI_ERR_CODE_INVALID_DEVICE_ID);
  char version[4];
  EXPECT_EQ(dcmi_get_driver_version(&version[0], sizeof version), DCMI_ERR_CODE_INVALID_PARAMETER);
}

// Without it faults could not be rehearsed: health, error codes and their texts go together.
TEST_F(DcmiTest, HealthFollowsTheMachine) {
  play();
  ASSERT_EQ(dcmi_init(), DCMI_OK);
  unsigned int health = 9;
  EXPECT_EQ(dcmi_get_device_health(3, 0, &health), DCMI_OK);
  EXPECT_EQ(health, 0U);
  ASSERT_EQ(machine_->control({"health", "3", "critical"}).exit_code, 0);
  EXPECT_EQ(dcmi_get_device_health(3, 0, &health), DCMI_OK);
  EXPECT_EQ(health, 3U);
  int count = 0;
  unsigned int codes[128] = {};
  EXPECT_EQ(dcmi_get_device_errorcode_v2(3, 0, &count, &codes[0], 128), DCMI_OK);
  ASSERT_EQ(count, 1);
  unsigned char text[64] = {};
  EXPECT_EQ(dcmi_get_device_errorcode_string(3, 0, codes[0], &text[0], sizeof text), DCMI_OK);
  EXPECT_GT(std::strlen(reinterpret_cast<const char*>(&text[0])), 5U);

  ASSERT_EQ(machine_->control({"remove", "3"}).exit_code, 0);
  EXPECT_EQ(dcmi_get_device_health(3, 0, &health), DCMI_OK);
  EXPECT_EQ(health, DCMI_HEALTH_ABSENT);
  int celsius = 0;
  EXPECT_EQ(dcmi_get_device_temperature(3, 0, &celsius), DCMI_ERR_CODE_NOT_REDAY);
  EXPECT_EQ(dcmi_get_device_temperature(2, 0, &celsius), DCMI_OK);
  dcmi_boot_status status = DCMI_BOOT_STATUS_START_FINISH;
  EXPECT_EQ(dcmi_get_device_boot_status(3, 0, &status), DCMI_OK);
  EXPECT_EQ(status, DCMI_BOOT_STATUS_UNINIT);
}

// Without it a job's memory could not be found on its NPU, and the books of the two sides never compared.
TEST_F(DcmiTest, ProcessesAreListedWithTheirMemoryWhileTheyLive) {
  play();
  ASSERT_EQ(dcmi_init(), DCMI_OK);
  dcmi_proc_mem_info list[DCMI_MAX_PROC_NUM] = {};
  int count = -1;
  EXPECT_EQ(dcmi_get_device_resource_info(5, 0, &list[0], &count), DCMI_OK);
  EXPECT_EQ(count, 0);
  {
    Child holder({HOLDER, machine_->socket(), "5", "512"});
    ASSERT_EQ(holder.read_line(), "ready");
    EXPECT_EQ(dcmi_get_device_resource_info(5, 0, &list[0], &count), DCMI_OK);
    ASSERT_EQ(count, 1);
    EXPECT_EQ(list[0].proc_id, holder.pid());
    EXPECT_EQ(list[0].proc_mem_usage, 512UL << 20U);
  }
  for (int i = 0; i < 1000 && count != 0; ++i) {
    ASSERT_EQ(dcmi_get_device_resource_info(5, 0, &list[0], &count), DCMI_OK);
  }
  EXPECT_EQ(count, 0);
}

// Without it a restarted driver would go unnoticed, or be noticed only by chance.
TEST_F(DcmiTest, LostDriverStaysLostUntilTheNextInit) {
  play();
  ASSERT_EQ(dcmi_init(), DCMI_OK);
  machine_->kill_now();
  unsigned int health = 0;
  EXPECT_EQ(dcmi_get_device_health(0, 0, &health), DCMI_ERR_CODE_NOT_REDAY);
  EXPECT_EQ(dcmi_init(), DCMI_ERR_CODE_INNER_ERR);
  machine_->start();
  EXPECT_EQ(dcmi_init(), DCMI_OK);
  EXPECT_EQ(dcmi_get_device_health(0, 0, &health), DCMI_OK);
}

// Without it placement near linked NPUs would have nothing to read.
TEST_F(DcmiTest, LinksBetweenNpus) {
  play();
  ASSERT_EQ(dcmi_init(), DCMI_OK);
  int type = -1;
  EXPECT_EQ(dcmi_get_topo_info_by_device_id(0, 0, 0, 0, &type), DCMI_OK);
  EXPECT_EQ(type, DCMI_TOPO_TYPE_SELF);
  EXPECT_EQ(dcmi_get_topo_info_by_device_id(0, 0, 7, 0, &type), DCMI_OK);
  EXPECT_EQ(type, DCMI_TOPO_TYPE_HCCS);
  play(k310PMachine);
  ASSERT_EQ(dcmi_init(), DCMI_OK);
  EXPECT_EQ(dcmi_get_topo_info_by_device_id(7, 0, 7, 1, &type), DCMI_OK);
  EXPECT_EQ(type, DCMI_TOPO_TYPE_PIX);
}

}  // namespace
}  // namespace tangram::test
