// The whole way to an NPU: daemon side, real helper process, and libraries that behave and misbehave.
#include "device/dcmi_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "device/fake_machine.h"

namespace tangram::device {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

int pidfd_of(pid_t pid) {
  return static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
}

std::string mapped_files() {
  std::ifstream maps("/proc/self/maps");
  return {std::istreambuf_iterator<char>(maps), {}};
}

class DcmiDevicesTest : public FakeMachineTest {};

// Without it the core would place jobs on wrong device nodes: card ids that skip numbers are not physical
// ids.
TEST_F(DcmiDevicesTest, ReportsEveryNpuWithItsPhysicalId) {
  open(FAKE_GOOD);
  const auto scan = devices_->scan();
  ASSERT_TRUE(scan) << scan.error().to_string();
  EXPECT_EQ(scan->driver_version, "25.2.0");
  ASSERT_THAT(scan->npus, SizeIs(4));
  EXPECT_EQ(scan->npus[0].chips_on_card, 1);
  EXPECT_EQ(scan->npus[2].chips_on_card, 2) << "card 7 has two";
  const std::uint32_t physical[] = {0, 1, 4, 5};
  const std::int32_t cards[] = {0, 3, 7, 7};
  const std::int32_t chips[] = {0, 0, 0, 1};
  for (std::size_t i = 0; i < 4; ++i) {
    const DeviceNpu& npu = scan->npus[i];
    EXPECT_EQ(npu.physical_id, physical[i]);
    EXPECT_EQ(npu.card_id, cards[i]);
    EXPECT_EQ(npu.chip_id, chips[i]);
    EXPECT_EQ(npu.logic_id, static_cast<std::int32_t>(i));
    EXPECT_EQ(npu.chip, "910B4");
    EXPECT_EQ(npu.board_id.value, 0x33U);
    EXPECT_EQ(npu.health, Health::kOk);
    EXPECT_EQ(npu.ai_cores.value, 20);
    EXPECT_EQ(npu.memory_total.value, Bytes::gib(32));
    EXPECT_EQ(npu.memory_used.value, Bytes::mib(3000 + physical[i]));
    EXPECT_EQ(npu.temperature_celsius.value, 39);
    EXPECT_EQ(npu.power_milliwatt.value, 88'200);
    ASSERT_THAT(npu.processes.value, SizeIs(1));
    EXPECT_EQ(npu.processes.value[0].pid, 1234 + cards[i]);
    EXPECT_EQ(npu.processes.value[0].memory, Bytes::mib(512));
  }
}

// Without it a busy sliced chip would look idle: -8255 comes with the value 0.
TEST_F(DcmiDevicesTest, UnsupportedUtilisationIsUnknownAndNotZero) {
  open(FAKE_GOOD);
  const auto all = npus();
  ASSERT_THAT(all, SizeIs(4));
  EXPECT_TRUE(all[0].ai_core_percent.valid);
  EXPECT_EQ(all[0].ai_core_percent.value, 42);
  EXPECT_FALSE(all[1].ai_core_percent.valid);
}

// Without it a crash of the vendor's code would be a crash of the daemon.
TEST_F(DcmiDevicesTest, NeverMapsTheVendorsLibraryIntoTheCaller) {
  open(FAKE_GOOD);
  ASSERT_THAT(npus(), SizeIs(4));
  EXPECT_THAT(mapped_files(), testing::Not(HasSubstr("fake_dcmi")));
}

// Without it an older driver would make the whole machine unreadable instead of some fields.
TEST_F(DcmiDevicesTest, MissingSymbolsOnlyInvalidateTheirFields) {
  open(FAKE_BARE);
  const auto all = npus();
  ASSERT_THAT(all, SizeIs(4));
  EXPECT_EQ(all[2].physical_id, 4U);
  EXPECT_EQ(all[2].health, Health::kUnknown);
  EXPECT_THAT(all[2].health_note, HasSubstr("dcmi_get_device_health is not exported"));
  EXPECT_FALSE(all[2].memory_total.valid);
  EXPECT_FALSE(all[2].ai_cores.valid);
  EXPECT_FALSE(all[2].processes.valid);
}

// Without it nonsense from a broken driver would reach quotas, or overrun a buffer.
TEST_F(DcmiDevicesTest, GarbageBecomesUnknown) {
  open(FAKE_GARBAGE);
  const auto all = npus();
  ASSERT_THAT(all, SizeIs(4));
  for (const DeviceNpu& npu : all) {
    EXPECT_EQ(npu.health, Health::kUnknown);
    EXPECT_FALSE(npu.board_id.valid);
    EXPECT_FALSE(npu.ai_cores.valid);
    EXPECT_FALSE(npu.memory_total.valid);
    EXPECT_FALSE(npu.memory_used.valid);
    EXPECT_FALSE(npu.ai_core_percent.valid);
    EXPECT_FALSE(npu.temperature_celsius.valid);
    EXPECT_FALSE(npu.power_milliwatt.valid);
    EXPECT_FALSE(npu.processes.valid);
  }
}

// Without it an absurd number of cards would be walked, far past the list.
TEST_F(DcmiDevicesTest, AbsurdCardCountIsAnError) {
  switch_on("huge_count");
  open(FAKE_GARBAGE);
  const auto scan = devices_->scan();
  ASSERT_FALSE(scan);
  EXPECT_EQ(scan.error().code, Code::kUnavailable);
  EXPECT_THAT(scan.error().message, HasSubstr("dcmi_get_card_list answered a value that cannot be true"));
}

// Without it an operator without a driver would not learn where the library was expected.
TEST_F(DcmiDevicesTest, MissingLibraryNamesThePathsThatWereSearched) {
  open("/nonexistent/libdcmi.so");
  auto scan = devices_->scan();
  ASSERT_FALSE(scan);
  EXPECT_EQ(scan.error().reason, "device.library.missing");
  EXPECT_THAT(scan.error().message, HasSubstr("/nonexistent/libdcmi.so"));

  if (std::filesystem::exists("/usr/local/dcmi/libdcmi.so")) GTEST_SKIP() << "a driver is installed here";
  open("");
  scan = devices_->scan();
  ASSERT_FALSE(scan);
  EXPECT_THAT(scan.error().message, HasSubstr("/usr/local/dcmi/libdcmi.so"));
  EXPECT_THAT(scan.error().message, HasSubstr("/usr/local/Ascend/driver/lib64/driver/libdcmi.so"));
}

// Without it any shared library given by mistake would be called through null pointers.
TEST_F(DcmiDevicesTest, LibraryWithoutTheBasicsIsRefused) {
  open(FAKE_EMPTY);
  const auto scan = devices_->scan();
  ASSERT_FALSE(scan);
  EXPECT_THAT(scan.error().message, HasSubstr("lacks dcmi_init"));
}

// Without it a wrong installation would show as a crash or a hang instead of a sentence.
TEST_F(DcmiDevicesTest, MissingHelperProgramIsNamed) {
  options_.helper_path = "/nonexistent/tangram-dcmi-helper";
  devices_ = make_dcmi_devices(options_);
  const auto scan = devices_->scan();
  ASSERT_FALSE(scan);
  EXPECT_EQ(scan.error().reason, "device.helper.missing");
  EXPECT_THAT(scan.error().message, HasSubstr("/nonexistent/tangram-dcmi-helper"));
}

// Without it one hung NPU would blind the daemon to all the others.
TEST_F(DcmiDevicesTest, HungNpuIsUnknownAndTheOthersStayReadable) {
  switch_on("hang_0");
  open(FAKE_GOOD);
  auto all = npus();
  ASSERT_THAT(all, SizeIs(4));
  EXPECT_EQ(all[0].health, Health::kUnknown);
  EXPECT_THAT(all[0].health_note, HasSubstr("dcmi_get_device_health did not answer in time"));
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(all[i].health, Health::kOk);

  switch_off("hang_0");
  for (int i = 0; i < 200 && all[0].health != Health::kOk; ++i) {
    std::this_thread::sleep_for(milliseconds(5));
    all = npus();
    ASSERT_THAT(all, SizeIs(4));
  }
  EXPECT_EQ(all[0].health, Health::kOk);
  EXPECT_THAT(all[0].health_note, IsEmpty());
}

// Without it a driver that is slow, as one under load is, would make every NPU unusable: each call has its
// time, and a look at an NPU is many calls.
TEST_F(DcmiDevicesTest, SlowCallsAreNoHang) {
  options_.call_deadline = milliseconds(400);
  switch_on("slow_ms", "90");
  open(FAKE_GOOD);
  const auto all = npus();
  ASSERT_THAT(all, SizeIs(4));
  for (const DeviceNpu& npu : all) {
    EXPECT_EQ(npu.health, Health::kOk) << npu.health_note;
    EXPECT_TRUE(npu.power_milliwatt.valid);
  }
}

// Without it the use of the first NPUs would take the time in which the others could have shown that they are
// well.
TEST_F(DcmiDevicesTest, HealthIsAskedBeforeUse) {
  open(FAKE_GOOD);
  ASSERT_THAT(npus(), SizeIs(4));
  options_.init_deadline = milliseconds(1'000);
  options_.scan_budget = milliseconds(3'000);
  open(FAKE_GOOD);
  ASSERT_THAT(npus(), SizeIs(4));
  switch_on("slow_ms", "150");
  const auto all = npus();
  ASSERT_THAT(all, SizeIs(4));
  int used = 0;
  for (const DeviceNpu& npu : all) {
    EXPECT_EQ(npu.health, Health::kOk) << npu.health_note;
    EXPECT_TRUE(npu.memory_total.valid) << "as last known";
    used += npu.power_milliwatt.valid ? 1 : 0;
  }
  EXPECT_LT(used, 4);
}

// Without it a card that cannot even say how many chips it has would hide all cards.
TEST_F(DcmiDevicesTest, HungCardKeepsItsNpusAndTheOthersStayReadable) {
  open(FAKE_GOOD);
  ASSERT_THAT(npus(), SizeIs(4));
  switch_on("hang_card_7");
  const auto all = npus();
  ASSERT_THAT(all, SizeIs(4));
  for (const DeviceNpu& npu : all) EXPECT_EQ(npu.health, Health::kOk);
}

// Without it a look at a machine full of hung NPUs would take minutes, and the daemon with it.
TEST_F(DcmiDevicesTest, LookEndsWithinItsBudgetAndSaysWhatWasNotAsked) {
  open(FAKE_GOOD);
  ASSERT_THAT(npus(), SizeIs(4));
  options_.call_deadline = milliseconds(300);
  options_.init_deadline = milliseconds(400);
  options_.scan_budget = milliseconds(1000);
  open(FAKE_GOOD);
  ASSERT_THAT(npus(), SizeIs(4));
  for (const char* fault : {"hang_0", "hang_3", "hang_7"}) switch_on(fault);
  const auto start = std::chrono::steady_clock::now();
  const auto all = npus();
  EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(10'000));
  ASSERT_THAT(all, SizeIs(4));
  for (const DeviceNpu& npu : all) EXPECT_EQ(npu.health, Health::kUnknown);
  EXPECT_THAT(all[3].health_note, HasSubstr("not asked"));
}

// Without it a killed daemon would leave a helper behind for ever, hung in the driver.
TEST_F(DcmiDevicesTest, HungHelperDiesWithItsParent) {
  options_.call_deadline = milliseconds(3'600'000);
  options_.scan_budget = milliseconds(36'000'000);
  switch_on("hang_0");
  const pid_t daemon = fork();
  if (daemon == 0) {
    open(FAKE_GOOD);
    static_cast<void>(devices_->scan());
    _exit(0);
  }
  std::set<pid_t> helpers;
  for (int i = 0; i < 2000 && helpers.empty(); ++i) {
    helpers = children_of(daemon);
    std::this_thread::sleep_for(milliseconds(5));
  }
  const int helper = helpers.empty() ? -1 : pidfd_of(*helpers.begin());
  kill(daemon, SIGKILL);
  waitpid(daemon, nullptr, 0);
  ASSERT_GE(helper, 0) << "the helper was not seen";
  pollfd waiting{helper, POLLIN, 0};
  EXPECT_EQ(poll(&waiting, 1, 10'000), 1) << "the helper still runs";
  close(helper);
}

// Without it a library that a tenant wrote could run with the daemon's rights.
TEST_F(DcmiDevicesTest, LibraryThatEverybodyCanWriteToIsRefused) {
  const std::string copy = dir_ + "/libdcmi.so";
  std::filesystem::copy_file(FAKE_GOOD, copy);
  std::filesystem::permissions(copy, std::filesystem::perms(0777));
  open(copy);
  const auto scan = devices_->scan();
  ASSERT_FALSE(scan);
  EXPECT_THAT(scan.error().message, HasSubstr("every user can write to it"));
}

// Without it every look would wait for the deadline of an NPU that is known to hang.
TEST_F(DcmiDevicesTest, HungNpuIsLeftAloneDuringItsPause) {
  switch_on("hang_3");
  options_.hang_backoff = milliseconds(3'600'000);
  options_.hang_backoff_max = milliseconds(3'600'000);
  open(FAKE_GOOD);
  ASSERT_THAT(npus(), SizeIs(4));
  switch_off("hang_3");  // a call would answer now, so an unknown health shows that none was made
  const auto all = npus();
  ASSERT_THAT(all, SizeIs(4));
  EXPECT_EQ(all[1].health, Health::kUnknown);
  EXPECT_THAT(all[1].health_note, HasSubstr("asked again after 3600000 ms"));
}

// Without it an NPU that hangs would lose its size, and with it the quota arithmetic of its tenant.
TEST_F(DcmiDevicesTest, HungNpuKeepsItsSize) {
  open(FAKE_GOOD);
  ASSERT_THAT(npus(), SizeIs(4));
  switch_on("hang_0");
  const auto all = npus();
  ASSERT_THAT(all, SizeIs(4));
  EXPECT_EQ(all[0].health, Health::kUnknown);
  EXPECT_EQ(all[0].memory_total.value, Bytes::gib(32));
  EXPECT_FALSE(all[0].memory_used.valid);
}

// Without it a segmentation fault in the vendor's code would end the readings for good.
TEST_F(DcmiDevicesTest, CrashingCallIsNamedAndTheHelperReplaced) {
  switch_on("crash_3");
  open(FAKE_GOOD);
  const auto all = npus();
  ASSERT_THAT(all, SizeIs(4));
  EXPECT_EQ(all[1].health, Health::kUnknown);
  EXPECT_THAT(all[1].health_note, HasSubstr("dcmi_get_device_health"));
  EXPECT_THAT(all[1].health_note, HasSubstr("SIGSEGV"));
  EXPECT_EQ(all[3].health, Health::kOk);
}

// Without it a helper that the kernel killed (out of memory, an operator) would need a restart of the daemon.
TEST_F(DcmiDevicesTest, KilledHelperIsReplacedAtTheNextLook) {
  open(FAKE_GOOD);
  ASSERT_THAT(npus(), SizeIs(4));
  const auto pids = helper_pids();
  ASSERT_THAT(pids, SizeIs(1));
  kill(*pids.begin(), SIGKILL);
  const auto all = npus();
  ASSERT_THAT(all, SizeIs(4));
  EXPECT_EQ(all[0].health, Health::kOk);
}

// Without it a daemon that starts before the driver would stay blind.
TEST_F(DcmiDevicesTest, DriverThatComesLateIsPickedUp) {
  switch_on("init_fails");
  open(FAKE_GOOD);
  const auto scan = devices_->scan();
  ASSERT_FALSE(scan);
  EXPECT_EQ(scan.error().reason, "device.driver.away");
  EXPECT_THAT(scan.error().message, HasSubstr("-8005"));
  switch_off("init_fails");
  EXPECT_THAT(npus(), SizeIs(4));
}

// Without it a restarted driver would leave every NPU absent until the daemon restarts: dcmi_init builds its
// tables once.
TEST_F(DcmiDevicesTest, RestartedDriverIsPickedUpInTheSameLook) {
  open(FAKE_GOOD);
  ASSERT_THAT(npus(), SizeIs(4));
  switch_on("lost");  // answers -8012 to whoever initialised before
  const auto all = npus();
  ASSERT_THAT(all, SizeIs(4));
  for (const DeviceNpu& npu : all) EXPECT_EQ(npu.health, Health::kOk);
}

// Without it an ill NPU would show no reason.
TEST_F(DcmiDevicesTest, IllNpuNamesItsErrorCodes) {
  switch_on("ill_7");
  open(FAKE_GOOD);
  const auto all = npus();
  ASSERT_THAT(all, SizeIs(4));
  EXPECT_EQ(all[1].health, Health::kOk);
  EXPECT_EQ(all[2].health, Health::kAlarm);
  EXPECT_EQ(all[2].health_note, "error codes 80E01801 81078603");
}

// Without it an operator would go on being told to upgrade a driver that was upgraded, until a restart.
TEST_F(DcmiDevicesTest, OldDriverIsReportedUntilItIsUpgraded) {
  open(FAKE_GOOD);
  auto scan = devices_->scan();
  ASSERT_TRUE(scan) << scan.error().to_string();
  EXPECT_EQ(scan->driver.kind, DriverStanding::Kind::kBelow);
  EXPECT_THAT(scan->driver.note, HasSubstr("driver 25.2.0 is older than 25.5"));
  EXPECT_THAT(scan->npus, SizeIs(4)) << "it works nevertheless";
  switch_on("new_driver");
  scan = devices_->scan();
  ASSERT_TRUE(scan) << scan.error().to_string();
  EXPECT_EQ(scan->driver_version, "25.5.1");
  EXPECT_EQ(scan->driver.kind, DriverStanding::Kind::kSupported);
  EXPECT_THAT(scan->driver.note, IsEmpty());
}

// Without it a size that an NPU kept from before it hung could not be told from one read now.
TEST_F(DcmiDevicesTest, ReadingsCarryTheirTime) {
  const auto start = std::chrono::steady_clock::now();
  open(FAKE_GOOD);
  const auto first = npus();
  ASSERT_THAT(first, SizeIs(4));
  const auto between = std::chrono::steady_clock::now();
  EXPECT_GT(first[0].memory_used.at, start);
  EXPECT_LT(first[0].memory_used.at, between);
  EXPECT_EQ(first[0].mcu_version, "MCU 1.0");
  switch_on("hang_0");
  const auto second = npus();
  ASSERT_THAT(second, SizeIs(4));
  EXPECT_EQ(second[0].memory_total.at, first[0].memory_total.at);
  EXPECT_GT(second[1].memory_total.at, between);
}

// Without it fault events would reach nobody, or point at the wrong NPU: they name logic ids.
TEST_F(DcmiDevicesTest, EventsAreHandedOnOnceWithTheirNpu) {
  for (const bool pushed : {false, true}) {
    if (pushed) switch_on("events_pushed");
    switch_on("event-0", "2 80E01801 2 1");
    open(FAKE_GOOD);
    auto scan = devices_->scan();
    ASSERT_TRUE(scan) << scan.error().to_string();
    ASSERT_THAT(scan->events, SizeIs(1)) << pushed;
    EXPECT_EQ(scan->events[0].physical_id, 4U);
    EXPECT_EQ(scan->events[0].code, 0x80E01801U);
    EXPECT_EQ(scan->events[0].severity, 2);
    EXPECT_EQ(scan->events[0].kind, DeviceEvent::Kind::kOccurred);
    EXPECT_EQ(scan->events[0].name, "HBM multi-bit error");
    EXPECT_EQ(scan->events[0].raised_at_ms, 1'700'000'000'123ULL);
    scan = devices_->scan();
    ASSERT_TRUE(scan);
    EXPECT_THAT(scan->events, IsEmpty());
    // An order for an NPU that no look has shown makes one of its own.
    devices_ = nullptr;
    switch_on("event-1", "0 81078603 1 0");
    open(FAKE_GOOD);
    EXPECT_TRUE(devices_->destroy_slice(0, 100));
    scan = devices_->scan();
    ASSERT_TRUE(scan);
    ASSERT_THAT(scan->events, SizeIs(1));
    EXPECT_EQ(scan->events[0].kind, DeviceEvent::Kind::kRecovered);
  }
}

// Without it a library whose events or modes hang would take health and slices with it.
TEST_F(DcmiDevicesTest, HangingSideQuestionsCostNothingElse) {
  switch_on("events_hang");
  switch_on("modes_hang");
  open(FAKE_GOOD);
  const auto scan = devices_->scan();
  ASSERT_TRUE(scan) << scan.error().to_string();
  ASSERT_THAT(scan->npus, SizeIs(4));
  for (const DeviceNpu& npu : scan->npus) {
    EXPECT_EQ(npu.health, Health::kOk);
    EXPECT_TRUE(npu.slicing.slices.valid);
  }
  EXPECT_FALSE(scan->slices_recover.valid);
}

// Without it cards that appeared after dcmi_init would never be seen.
TEST_F(DcmiDevicesTest, HelperIsRenewedAfterItsPeriod) {
  options_.reinit_period = milliseconds(0);
  open(FAKE_GOOD);
  ASSERT_THAT(npus(), SizeIs(4));
  const auto before = helper_pids();
  ASSERT_THAT(npus(), SizeIs(4));
  EXPECT_THAT(helper_pids(), SizeIs(1));
  EXPECT_NE(helper_pids(), before);
}

}  // namespace
}  // namespace tangram::device
