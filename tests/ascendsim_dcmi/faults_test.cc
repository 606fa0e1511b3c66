// Faults, resets and boots through libdcmi.so, as ascendsim-ctl brings them about.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <future>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

#include "ascendsim/dcmi/dcmi_interface_api.h"
#include "ascendsim_dcmi/simulated_machine.h"

namespace tangram::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr unsigned int kHbmMultiBit = 0x80E01801;
constexpr unsigned int kResetFinished = 0x8C2FA009;

struct Told {
  unsigned int code = 0;
  unsigned int device = 0;
  unsigned int assertion = 0;

  bool operator==(const Told&) const = default;
};

std::mutex told_mutex;
std::vector<Told> told_events;

void remember(dcmi_event* event) {
  const std::lock_guard lock(told_mutex);
  const dcmi_dms_fault_event& dms = event->event_t.dms_event;
  told_events.push_back({dms.event_id, dms.deviceid, dms.assertion});
}

std::vector<Told> told() {
  const std::lock_guard lock(told_mutex);
  return told_events;
}

template <class Condition>
bool eventually(Condition condition) {
  const auto until = steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (steady_clock::now() > until) return false;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return true;
}

std::string description_of(const char* name, const std::string& more = "") {
  std::ostringstream text;
  text << std::ifstream(std::string(MACHINES) + "/" + name).rdbuf();
  std::string description = text.str();
  const std::size_t slow = description.find("create_ms: 300");
  if (slow != std::string::npos) description.replace(slow, 14, "create_ms: 0");
  return more + description;
}

class FaultsTest : public testing::Test {
 protected:
  void play(const std::string& description = "") {
    machine_ = std::make_unique<SimulatedMachine>(description);
    setenv("ASCENDSIM_SOCKET", machine_->socket().c_str(), 1);
    ASSERT_EQ(dcmi_init(), DCMI_OK);
  }
  ~FaultsTest() override { unsetenv("ASCENDSIM_SOCKET"); }

  void control(const std::vector<std::string>& words) const {
    ASSERT_EQ(machine_->control(words).exit_code, 0) << words[0];
  }
  static unsigned int health(int card) {
    unsigned int value = 99;
    EXPECT_EQ(dcmi_get_device_health(card, 0, &value), DCMI_OK);
    return value;
  }
  static std::set<unsigned int> codes(int card) {
    int count = 0;
    unsigned int list[128] = {};
    EXPECT_EQ(dcmi_get_device_errorcode_v2(card, 0, &count, &list[0], 128), DCMI_OK);
    return {&list[0], &list[count]};
  }
  static int boot_status(int card) {
    dcmi_boot_status status = DCMI_BOOT_STATUS_UNINIT;
    EXPECT_EQ(dcmi_get_device_boot_status(card, 0, &status), DCMI_OK);
    return status;
  }
  static int create(int card, const char* name) {
    dcmi_create_vdev_res_stru wanted{};
    wanted.vdev_id = wanted.vfg_id = DCMI_VDEV_AUTO;
    std::strncpy(&wanted.template_name[0], name, sizeof wanted.template_name - 1);
    dcmi_create_vdev_out made{};
    return dcmi_create_vdevice(card, 0, &wanted, &made);
  }
  static unsigned int vdevs(int card) {
    dcmi_soc_total_resource total{};
    unsigned int size = sizeof total;
    EXPECT_EQ(dcmi_get_device_info(card, 0, DCMI_MAIN_CMD_VDEV_MNG, DCMI_VMNG_SUB_CMD_GET_TOTAL_RESOURCE,
                                   &total, &size),
              DCMI_OK);
    return total.vdev_num;
  }

  std::unique_ptr<SimulatedMachine> machine_;
};

// Without it several faults of one NPU could not be told apart, nor go one by one.
TEST_F(FaultsTest, FaultsComeAndGoByCode) {
  play();
  control({"fault", "3", "80E01801"});
  control({"fault", "3", "A4302003", "critical"});
  EXPECT_EQ(health(3), 3U);
  EXPECT_EQ(codes(3), (std::set<unsigned int>{kHbmMultiBit, 0xA4302003}));
  dcmi_event list[8] = {};
  int count = 0;
  EXPECT_EQ(dcmi_get_device_current_fault_event(3, 0, &list[0], 8, &count), DCMI_OK);
  ASSERT_EQ(count, 2);
  EXPECT_EQ(list[0].event_t.dms_event.event_id, kHbmMultiBit);
  EXPECT_EQ(list[0].event_t.dms_event.deviceid, 3);
  EXPECT_EQ(list[0].event_t.dms_event.severity, 2);
  EXPECT_GT(list[0].event_t.dms_event.alarm_raised_time, 1'600'000'000'000ULL);
  EXPECT_THAT(&list[0].event_t.dms_event.event_name[0], HasSubstr("HBM"));
  control({"clear", "3", "A4302003"});
  EXPECT_EQ(health(3), 2U);
  control({"clear", "3", "all"});
  EXPECT_EQ(health(3), 0U);
  EXPECT_EQ(health(2), 0U);
}

// Without it a program that waits for faults would never hear of one, or hear of those it did not ask for.
TEST_F(FaultsTest, SubscribersAreTold) {
  play();
  {
    const std::lock_guard lock(told_mutex);
    told_events.clear();
  }
  control({"fault", "1", "80E18005"});  // before the subscription
  dcmi_event_filter severe{};
  severe.filter_flag = 2;
  severe.severity = 2;
  ASSERT_EQ(dcmi_subscribe_fault_event(-1, -1, severe, remember), DCMI_OK);
  EXPECT_EQ(dcmi_subscribe_fault_event(0, 9, severe, remember), DCMI_ERR_CODE_INVALID_DEVICE_ID);
  EXPECT_EQ(dcmi_subscribe_fault_event(0, 0, severe, nullptr), DCMI_ERR_CODE_INVALID_PARAMETER);
  control({"fault", "2", "81AD8605"});  // minor
  control({"ecc", "4", "double", "2"});
  control({"clear", "4", "all"});
  EXPECT_TRUE(eventually([] { return told().size() >= 2; }));
  EXPECT_THAT(told(), ElementsAre(Told{kHbmMultiBit, 4, 1}, Told{kHbmMultiBit, 4, 0}));
}

// Without it polling would miss what happened between two calls, or never end.
TEST_F(FaultsTest, EventsCanBePolled) {
  play();
  dcmi_event event{};
  const dcmi_event_filter any{};
  const auto before = steady_clock::now();
  EXPECT_EQ(dcmi_get_fault_event(-1, -1, 200, any, &event), DCMI_ERR_CODE_TIME_OUT);
  EXPECT_GE(steady_clock::now() - before, milliseconds(200));
  control({"fault", "5", "80E01801"});
  control({"clear", "5", "80E01801"});
  ASSERT_EQ(dcmi_get_fault_event(-1, -1, 1000, any, &event), DCMI_OK);
  EXPECT_EQ(event.event_t.dms_event.assertion, 1);
  ASSERT_EQ(dcmi_get_fault_event(-1, -1, 1000, any, &event), DCMI_OK);
  EXPECT_EQ(event.event_t.dms_event.assertion, 0);
  EXPECT_EQ(event.event_t.dms_event.deviceid, 5);
  EXPECT_EQ(dcmi_get_fault_event(-1, -1, 0, any, &event), DCMI_ERR_CODE_TIME_OUT);
  control({"fault", "5", "80E01801"});
  EXPECT_EQ(dcmi_get_fault_event(6, 0, 100, any, &event), DCMI_ERR_CODE_TIME_OUT) << "of another NPU";
}

// Without it memory that decays would not be seen before it breaks.
TEST_F(FaultsTest, EccErrorsAreCounted) {
  play();
  control({"ecc", "2", "single", "7"});
  dcmi_ecc_info ecc{};
  ASSERT_EQ(dcmi_get_device_ecc_info(2, 0, DCMI_DEVICE_TYPE_HBM, &ecc), DCMI_OK);
  EXPECT_EQ(ecc.single_bit_error_cnt, 7U);
  EXPECT_EQ(health(2), 0U) << "these are mended";
  control({"ecc", "2", "double", "1"});
  ASSERT_EQ(dcmi_get_device_ecc_info(2, 0, DCMI_DEVICE_TYPE_HBM, &ecc), DCMI_OK);
  EXPECT_EQ(ecc.double_bit_error_cnt, 1U);
  EXPECT_EQ(ecc.double_bit_isolated_pages_cnt, 1U);
  EXPECT_EQ(health(2), 2U);
  ASSERT_EQ(dcmi_get_device_ecc_info(2, 0, DCMI_DEVICE_TYPE_SRAM, &ecc), DCMI_OK);
  EXPECT_EQ(ecc.double_bit_error_cnt, 0U);
}

// Without it nothing would show whether a caller survives a driver that does not answer.
TEST_F(FaultsTest, ASlowAndAHangingNpu) {
  play();
  control({"slow", "6", "300"});
  auto before = steady_clock::now();
  EXPECT_EQ(health(6), 0U);
  EXPECT_GE(steady_clock::now() - before, milliseconds(300));
  before = steady_clock::now();
  EXPECT_EQ(health(5), 0U);
  EXPECT_LT(steady_clock::now() - before, milliseconds(250)) << "the others are as quick as ever";
  control({"hang", "6"});
  std::future<unsigned int> hanging = std::async(std::launch::async, [] { return health(6); });
  EXPECT_EQ(hanging.wait_for(milliseconds(500)), std::future_status::timeout);
  control({"slow", "6", "0"});
  EXPECT_EQ(hanging.get(), 0U);
}

// Without it a create that fails halfway, as they do, could not be rehearsed.
TEST_F(FaultsTest, CreatesFailWithAndWithoutALeftover) {
  play(description_of("one-310p3.yaml"));
  control({"fail-create", "0", "1"});
  EXPECT_EQ(create(7, "vir01"), DCMI_ERR_CODE_INNER_ERR);
  EXPECT_EQ(vdevs(7), 0U);
  EXPECT_EQ(create(7, "vir01"), DCMI_OK) << "it was to be one";
  control({"fail-create", "0", "1", "leak"});
  EXPECT_EQ(create(7, "vir02"), DCMI_ERR_CODE_INNER_ERR);
  EXPECT_EQ(vdevs(7), 2U) << "an orphan";
  control({"leak", "0", "vir04_3c"});
  EXPECT_EQ(vdevs(7), 3U);
  const Ran refused = machine_->control({"leak", "0", "vir04"});
  EXPECT_EQ(refused.exit_code, 2) << "there is no room";
  control({"refuse-destroy", "0", "on"});
  EXPECT_EQ(dcmi_set_destroy_vdevice(7, 0, 100), DCMI_ERR_CODE_INVALID_PARAMETER);
  EXPECT_EQ(dcmi_set_destroy_vdevice(7, 0, DCMI_VDEV_ALL), DCMI_ERR_CODE_INVALID_PARAMETER);
  control({"refuse-destroy", "0", "1"});
  EXPECT_EQ(dcmi_set_destroy_vdevice(7, 0, 100), DCMI_ERR_CODE_INVALID_PARAMETER);
  EXPECT_EQ(dcmi_set_destroy_vdevice(7, 0, 100), DCMI_OK);
}

// Without it a reset would be tried, and believed, while a neighbour's slices are on the linked chips.
TEST_F(FaultsTest, AResetIsRefusedWhileLinkedChipsAreCut) {
  play(description_of("eight-910b2.yaml", "boot_ms: 600\nvnpu: {create_ms: 0}\n"));
  ASSERT_EQ(create(5, "vir06_1c_16g"), DCMI_OK);
  EXPECT_EQ(dcmi_set_device_reset(2, 0, INBAND_CHANNEL), DCMI_ERR_CODE_OPER_NOT_PERMITTED);
  ASSERT_EQ(dcmi_set_destroy_vdevice(5, 0, DCMI_VDEV_ALL), DCMI_OK);
  control({"fault", "2", "80E18005"});
  dcmi_event event{};
  const dcmi_event_filter any{};
  ASSERT_EQ(dcmi_get_fault_event(2, 0, 1000, any, &event), DCMI_OK);
  ASSERT_EQ(dcmi_set_device_reset(2, 0, INBAND_CHANNEL), DCMI_OK);
  EXPECT_LT(boot_status(2), 16);
  EXPECT_EQ(health(2), DCMI_HEALTH_ABSENT);
  int celsius = 0;
  EXPECT_EQ(dcmi_get_device_temperature(2, 0, &celsius), DCMI_ERR_CODE_NOT_REDAY);
  EXPECT_EQ(boot_status(3), 16) << "the others run on";
  EXPECT_TRUE(eventually([] { return boot_status(2) == 16; }));
  EXPECT_EQ(health(2), 0U);
  dcmi_event_filter finished{};
  finished.filter_flag = 1;
  finished.event_id = kResetFinished;
  ASSERT_EQ(dcmi_get_fault_event(2, 0, 2000, finished, &event), DCMI_OK);
  EXPECT_EQ(event.event_t.dms_event.assertion, 2);
}

// Without it the two chips of one board would be reset one by one, which the board cannot do.
TEST_F(FaultsTest, ABoardIsResetByItsFirstChip) {
  play(description_of("mixed.yaml", "boot_ms: 300\nvnpu: {create_ms: 0}\n"));
  EXPECT_EQ(dcmi_set_device_reset(8, 1, INBAND_CHANNEL), DCMI_ERR_CODE_NOT_SUPPORT);
  ASSERT_EQ(dcmi_set_device_reset(8, 0, INBAND_CHANNEL), DCMI_OK);
  unsigned int value = 0;
  EXPECT_EQ(dcmi_get_device_health(8, 1, &value), DCMI_OK);
  EXPECT_EQ(value, DCMI_HEALTH_ABSENT);
  EXPECT_EQ(health(4), 0U);
}

// Without it the steps of a reset over the management channel would be one step.
TEST_F(FaultsTest, TheThreeStepsOfAnOutbandReset) {
  play(description_of("one-310p3.yaml", "boot_ms: 0\n"));
  int state = 0;
  EXPECT_EQ(dcmi_get_device_outband_channel_state(7, 0, &state), DCMI_OK);
  EXPECT_EQ(state, 1);
  ASSERT_EQ(dcmi_set_device_pre_reset(7, 0), DCMI_OK);
  EXPECT_EQ(health(7), DCMI_HEALTH_ABSENT);
  ASSERT_EQ(dcmi_set_device_reset(7, 0, OUTBAND_CHANNEL), DCMI_OK);
  EXPECT_EQ(health(7), DCMI_HEALTH_ABSENT) << "before the bus is looked at again";
  ASSERT_EQ(dcmi_set_device_rescan(7, 0), DCMI_OK);
  EXPECT_EQ(health(7), 0U);
}

// Without it a reboot, and the slices it brings back, would need a hand on the power switch.
TEST_F(FaultsTest, ARebootBeginsAnew) {
  play(description_of("one-310p3.yaml"));
  ASSERT_EQ(create(7, "vir02"), DCMI_OK);
  control({"leak", "0", "vir01"});
  control({"fault", "0", "80E18005"});
  control({"reboot", "700"});
  ASSERT_TRUE(eventually([] { return dcmi_init() == DCMI_OK; }));
  EXPECT_EQ(vdevs(7), 1U) << "the one that the recover file knows";
  EXPECT_TRUE(eventually([] { return boot_status(7) == 16; }));
  EXPECT_EQ(health(7), 0U);
}

// Without it a run of faults could not be repeated.
TEST_F(FaultsTest, ScriptsAndChance) {
  play();
  const std::string path = machine_->root() + "/script";
  std::ofstream(path) << "# two faults\n0 fault 1 80E01801\n200 remove 2   # off the bus\n";
  const auto before = steady_clock::now();
  const Ran ran = machine_->control({"script", path});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.output, "0 fault 1 80E01801\n200 remove 2\n");
  EXPECT_GE(steady_clock::now() - before, milliseconds(200));
  EXPECT_EQ(health(1), 2U);
  EXPECT_EQ(health(2), DCMI_HEALTH_ABSENT);
  const std::vector<std::string> dry = {"random", "--seed", "42", "--seconds", "30", "--dry-run"};
  const Ran plan = machine_->control(dry);
  EXPECT_THAT(plan.output, testing::StartsWith("# seed 42\n"));
  EXPECT_EQ(machine_->control(dry).output, plan.output);
  EXPECT_NE(machine_->control({"random", "--seed", "43", "--seconds", "30", "--dry-run"}).output,
            plan.output);
  EXPECT_EQ(health(1), 2U) << "a dry run does nothing";
  const Ran played = machine_->control({"random", "--seed", "7", "--seconds", "1", "--gap-ms", "50"});
  EXPECT_EQ(played.exit_code, 0);
  for (int card = 0; card < 8; ++card) EXPECT_EQ(health(card), 0U) << "all is mended at the end";
}

// Without it a slip in a script would do something else, or nothing, unseen.
TEST_F(FaultsTest, BadActionsAreRefused) {
  play();
  const auto refused = [this](const std::vector<std::string>& words) {
    return machine_->control(words).exit_code == 2;
  };
  EXPECT_TRUE(refused({"explode", "3"}));
  EXPECT_TRUE(refused({"hang", "64"}));
  EXPECT_TRUE(refused({"hang", "9"})) << "no such NPU";
  EXPECT_TRUE(refused({"ecc", "3", "triple", "1"}));
  EXPECT_TRUE(refused({"fault", "3", "xyz"}));
  EXPECT_TRUE(refused({"slow", "3", "-1"}));
  EXPECT_TRUE(refused({"health", "3", "fine"}));
  const std::string path = machine_->root() + "/script";
  std::ofstream(path) << "0 remove 3\nsoon remove 4\n";
  EXPECT_TRUE(refused({"script", path}));
  EXPECT_EQ(health(3), 0U) << "nothing of a bad script is done";
}

}  // namespace
}  // namespace tangram::test
