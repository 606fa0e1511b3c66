// The product's way to slices, against the simulated machine: daemon side, helper process, libdcmi.so,
// driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "ascendsim_dcmi/simulated_machine.h"
#include "device/dcmi_devices.h"
#include "service/residual_slices.h"

namespace tangram::test {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// A shipped machine whose cuts take so long.
std::string machine_file(const char* name, int create_ms = 0) {
  std::ostringstream raw;
  raw << std::ifstream(std::string(MACHINES) + "/" + name).rdbuf();
  std::string text = raw.str();
  const std::string wanted = "create_ms: " + std::to_string(create_ms);
  const std::string usual = "create_ms: 300";
  if (const std::size_t at = text.find(usual); at != std::string::npos) {
    text.replace(at, usual.size(), wanted);
  } else {
    text += "\nvnpu: {" + wanted + "}\n";
  }
  return text;
}

class SlicesEndToEnd : public testing::Test {
 protected:
  void play(const std::string& description, milliseconds command_deadline = milliseconds(30'000)) {
    machine_ = std::make_unique<SimulatedMachine>(description);
    device::DcmiOptions options;
    options.helper_path = HELPER_PATH;
    options.library_path = machine_->library();
    options.call_deadline = milliseconds(10'000);  // a loaded host is no hang
    options.scan_budget = milliseconds(60'000);
    options.command_deadline = command_deadline;
    devices_ = device::make_dcmi_devices(options);
  }

  DeviceScan scan() {
    auto scan = devices_->scan();
    EXPECT_TRUE(scan) << scan.error().to_string();
    return scan ? *scan : DeviceScan{};
  }

  DeviceNpu npu(std::uint32_t physical_id) {
    const DeviceScan seen = scan();
    for (const DeviceNpu& npu : seen.npus) {
      if (npu.physical_id == physical_id) return npu;
    }
    ADD_FAILURE() << "no NPU " << physical_id;
    return {};
  }

  std::vector<std::uint32_t> slices_of(std::uint32_t physical_id) {
    const DeviceSlicing slicing = npu(physical_id).slicing;
    EXPECT_TRUE(slicing.slices.valid) << slicing.note;
    std::vector<std::uint32_t> ids;
    for (const DeviceSlice& slice : slicing.slices.value) ids.push_back(slice.id);
    return ids;
  }

  DeviceSlice cut(std::uint32_t physical_id, const std::string& name, std::uint32_t id) {
    const auto slice = devices_->create_slice({physical_id, name, id});
    EXPECT_TRUE(slice) << name << ": " << slice.error().to_string();
    return slice ? *slice : DeviceSlice{};
  }

  std::unique_ptr<SimulatedMachine> machine_;
  std::unique_ptr<Devices> devices_;
};

// Without it the driver would choose where it cuts, and its choice could keep a core unused that the book has
// given.
TEST_F(SlicesEndToEnd, ASliceIsCutInTheVgroupOfItsOrder) {
  play(machine_file("one-310p3.yaml"));
  for (const std::int32_t vgroup : {2, 0, 3, 1}) {
    const auto slice =
        devices_->create_slice({0, "vir02_1c", 100U + static_cast<std::uint32_t>(vgroup), vgroup});
    ASSERT_TRUE(slice) << slice.error().to_string();
    EXPECT_EQ(slice->vgroup_id.value, static_cast<std::uint32_t>(vgroup));
  }
  ASSERT_TRUE(devices_->destroy_slice(0, 102));
  const auto taken = devices_->create_slice({0, "vir02_1c", 102, 0});
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().reason, slice_reason::kRefused);
}

// Without it a template could come out smaller than it is charged, or an NPU not be whole again afterwards.
TEST_F(SlicesEndToEnd, EveryTemplateOfA310PIsCutReadAndReturned) {
  play(machine_file("one-310p3.yaml"));
  struct Template {
    const char* name;
    int cores;
    int cpus;
    int memory_mib;
  };
  const Template templates[] = {{"vir01", 1, 1, 3072},         {"vir02", 2, 2, 6144},
                                {"vir02_1c", 2, 1, 6144},      {"vir04", 4, 4, 12288},
                                {"vir04_3c", 4, 3, 12288},     {"vir04_3c_ndvpp", 4, 3, 12288},
                                {"vir04_4c_dvpp", 4, 4, 12288}};
  const SliceResources before = npu(0).slicing.free;
  EXPECT_EQ(before.ai_cores_milli.value, 8'000);
  EXPECT_EQ(before.ai_cpus.value, 7);
  std::uint32_t id = 115;
  for (const Template& wanted : templates) {
    const DeviceSlice slice = cut(0, wanted.name, id);
    EXPECT_EQ(slice.id, id);
    EXPECT_EQ(slice.template_name.value, wanted.name);
    EXPECT_EQ(slice.resources.ai_cores_milli.value, wanted.cores * 1000) << wanted.name;
    EXPECT_EQ(slice.resources.ai_cpus.value, wanted.cpus) << wanted.name;
    EXPECT_FALSE(slice.container_used.value);
    EXPECT_EQ(slice.memory_usable.value, Bytes::mib(21527 * wanted.cores / 8)) << wanted.name;
    const DeviceNpu now = npu(0);
    ASSERT_THAT(now.slicing.slices.value, SizeIs(1)) << wanted.name;
    EXPECT_EQ(now.slicing.free.ai_cores_milli.value, (8 - wanted.cores) * 1000);
    EXPECT_EQ(now.slicing.free.ai_cpus.value, 7 - wanted.cpus);
    ASSERT_TRUE(devices_->destroy_slice(0, id));
    EXPECT_THAT(slices_of(0), IsEmpty());
    --id;
  }
  const SliceResources after = npu(0).slicing.free;
  EXPECT_EQ(after.ai_cores_milli.value, before.ai_cores_milli.value);
  EXPECT_EQ(after.memory.value, before.memory.value);
}

// Without it a job would wait for room that no wait brings, or be refused for want of it.
TEST_F(SlicesEndToEnd, EighthSliceOfA310PFindsNoRoom) {
  play(machine_file("one-310p3.yaml"));
  for (std::uint32_t id = 100; id < 107; ++id) cut(0, "vir01", id);
  const auto eighth = devices_->create_slice({0, "vir01", 107});
  ASSERT_FALSE(eighth);
  EXPECT_EQ(eighth.error().reason, slice_reason::kNoCapacity) << eighth.error().to_string();
  EXPECT_THAT(eighth.error().message, HasSubstr("-8001"));
  const auto unknown = devices_->create_slice({0, "vir05_1c_8g", 107});
  ASSERT_FALSE(unknown);
  EXPECT_THAT(slices_of(0), SizeIs(7));
  ASSERT_TRUE(devices_->destroy_slice(0, 103));
  const auto wrong = devices_->create_slice({0, "vir01_9x", 107});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().reason, slice_reason::kRefused);
  EXPECT_EQ(cut(0, "vir01", 107).id, 107U);
}

// Without it a 910B would be read by the rules of a 310P: other templates, an AI CPU more once it is cut, and
// then no word on how busy it is.
TEST_F(SlicesEndToEnd, A910BIsCutByItsBoard) {
  play(machine_file("eight-910b2.yaml"));
  EXPECT_EQ(npu(3).slicing.total.ai_cpus.value, 6);
  cut(3, "vir06_1c_16g", 150);
  const DeviceNpu now = npu(3);
  EXPECT_EQ(now.slicing.support, SliceSupport::kListed);
  EXPECT_EQ(now.slicing.total.ai_cpus.value, 7);
  EXPECT_FALSE(now.ai_core_percent.valid);
  ASSERT_THAT(now.slicing.slices.value, SizeIs(1));
  EXPECT_FALSE(now.slicing.slices.value[0].memory_used.valid) << "no 910B tells it";
  const auto unlisted = devices_->create_slice({3, "vir03_1c_8g", 151});
  ASSERT_FALSE(unlisted);
  EXPECT_EQ(unlisted.error().reason, slice_reason::kRefused);
  ASSERT_TRUE(devices_->destroy_slice(3, 150));
  EXPECT_EQ(npu(3).slicing.total.ai_cpus.value, 6);
}

// Without it slices that an operator or another manager makes beside the product would stay unseen.
TEST_F(SlicesEndToEnd, SlicesOfTheVendorsToolAreSeenAndReturnable) {
  play(machine_file("one-310p3.yaml"));
  cut(0, "vir02", 110);
  const Ran made = machine_->npu_smi({"set", "-t", "create-vnpu", "-i", "7", "-c", "0", "-f", "vir01"});
  EXPECT_THAT(made.output, HasSubstr("Create vnpu success"));
  EXPECT_THAT(slices_of(0), ElementsAre(100, 110));
  EXPECT_TRUE(devices_->destroy_slice(0, 100));
  EXPECT_THAT(slices_of(0), ElementsAre(110));
  const Ran gone = machine_->npu_smi({"set", "-t", "destroy-vnpu", "-i", "7", "-c", "0", "-v", "110"});
  EXPECT_THAT(gone.output, HasSubstr("Destroy vnpu 110 success"));
  EXPECT_TRUE(devices_->destroy_slice(0, 110)) << "gone is gone";
  const auto all = devices_->destroy_slice(0, 65535);
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().reason, slice_reason::kInvalid);
}

// Without it dead jobs' slices would come back with every boot, and nobody could stop that.
TEST_F(SlicesEndToEnd, RecoverModeDecidesWhatABootBringsBack) {
  play(machine_file("one-310p3.yaml"));
  EXPECT_TRUE(scan().slices_recover.valid);
  EXPECT_TRUE(scan().slices_recover.value) << "as the vendor ships it";
  cut(0, "vir02", 103);
  machine_->kill_now();
  machine_->start();
  EXPECT_THAT(slices_of(0), ElementsAre(103));
  const auto off = devices_->set_slices_recover(false);
  ASSERT_TRUE(off) << off.error().to_string();
  EXPECT_FALSE(scan().slices_recover.value);
  EXPECT_THAT(machine_->npu_smi({"info", "-t", "vnpu-cfg-recover"}).output, HasSubstr("Disable"));
  machine_->kill_now();
  machine_->start();
  EXPECT_THAT(slices_of(0), IsEmpty());
  ASSERT_TRUE(devices_->set_slices_recover(true));
  EXPECT_TRUE(scan().slices_recover.value);
}

// Without it a cut that takes longer than anybody waits would leave a slice that belongs to nobody.
TEST_F(SlicesEndToEnd, SlowCutIsFoundAfterItsDeadline) {
  play(machine_file("one-310p3.yaml", 20'000), milliseconds(1'500));
  ASSERT_THAT(slices_of(0), IsEmpty());
  const auto slice = devices_->create_slice({0, "vir04", 104});
  ASSERT_TRUE(slice) << slice.error().to_string();
  EXPECT_EQ(slice->template_name.value, "vir04");
  EXPECT_THAT(slices_of(0), ElementsAre(104));
  EXPECT_TRUE(devices_->destroy_slice(0, 104));
  EXPECT_THAT(slices_of(0), IsEmpty());
}

// Without it a cut that failed half-way would be booked, or its remains be left.
TEST_F(SlicesEndToEnd, FailedCutLeavesNothing) {
  play(machine_file("one-310p3.yaml"));
  ASSERT_THAT(slices_of(0), IsEmpty());
  std::filesystem::create_directories(machine_->root() + "/etc");
  std::ofstream(machine_->root() + "/etc/vnpu.cfg") << "nonsense\n";
  const auto slice = devices_->create_slice({0, "vir01", 100});
  ASSERT_FALSE(slice);
  EXPECT_EQ(slice.error().reason, slice_reason::kFileUnusable) << slice.error().to_string();
  EXPECT_THAT(slice.error().message, HasSubstr("-8014"));
  EXPECT_THAT(slices_of(0), IsEmpty());
}

// Without it a leftover would either be destroyed under the program that still uses it, or never be returned;
// and what another manager made would be taken for one.
TEST_F(SlicesEndToEnd, LeftoverIsReturnedOnceItsLastProcessIsGone) {
  if (geteuid() != 0) GTEST_SKIP() << "a container of its own takes root";
  play(machine_file("one-310p3.yaml"));
  cut(0, "vir02", 110);
  ASSERT_EQ(machine_->npu_smi({"set", "-t", "create-vnpu", "-i", "7", "-c", "0", "-f", "vir01"}).exit_code,
            0);
  service::BookedSlice ended;
  ended.id = 110;
  ended.template_name = "vir02";
  ended.state = service::BookedSlice::State::kEnded;
  service::Sightings sightings;
  TimeMs now(1'000'000);
  // The verdict on the own slice, after a look; the other one is nobody's business each time.
  const auto judge = [&] {
    now.value += 2'000;
    const service::SlicesSeen seen = service::slices_seen(scan(), std::set<std::int64_t>{});
    sightings.note(seen, now);
    const auto review = service::review_slices({ended}, seen, sightings, {}, now);
    EXPECT_THAT(review.slices, SizeIs(2));
    EXPECT_EQ(review.slices.front().verdict, service::SliceVerdict::kForeign);
    return review.slices.back().verdict;
  };
  const auto eventually = [&](service::SliceVerdict wanted) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (judge() != wanted) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(milliseconds(20));
    }
    return true;
  };

  std::filesystem::permissions(machine_->root(), std::filesystem::perms(0755));
  const std::string holder = machine_->root() + "/holder";  // where a user of no rights can run it
  std::filesystem::copy_file(HOLDER, holder);
  std::string major;
  std::ifstream(machine_->root() + "/driver/run/device-major") >> major;
  Child container({"/usr/bin/unshare", "--mount", "/bin/sh", "-c",
                   "mount -t tmpfs none /dev && mknod -m 666 /dev/davinci110 c " + major +
                       " 110 && exec setpriv --reuid 1000 --regid 1000 --clear-groups " + holder + " " +
                       machine_->socket() + " 0 64"});
  ASSERT_EQ(container.read_line(), "ready");
  EXPECT_TRUE(eventually(service::SliceVerdict::kWait)) << "a container uses it";
  const auto refused = devices_->destroy_slice(0, 110);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, slice_reason::kInUse);
  EXPECT_THAT(slices_of(0), ElementsAre(100, 110));
  container.kill_now();
  EXPECT_TRUE(eventually(service::SliceVerdict::kReclaim));
  ASSERT_TRUE(devices_->destroy_slice(0, 110));
  EXPECT_THAT(slices_of(0), ElementsAre(100));
}

// Without it an order to a driver that goes away would be booked as refused.
TEST_F(SlicesEndToEnd, DriverThatIsAwayTakesNoOrders) {
  play(machine_file("one-310p3.yaml"));
  cut(0, "vir01", 100);
  machine_->kill_now();
  const auto slice = devices_->create_slice({0, "vir01", 101});
  ASSERT_FALSE(slice);
  EXPECT_EQ(slice.error().code, Code::kUnavailable) << slice.error().to_string();
  EXPECT_FALSE(devices_->destroy_slice(0, 100));
  machine_->start();
  EXPECT_EQ(cut(0, "vir01", 101).id, 101U);
}

// Without it the operator of article B's machine would not be told that its driver is too old, or be told for
// ever.
TEST_F(SlicesEndToEnd, OldDriverWorksAndIsReportedUntilTheUpgrade) {
  std::string description = machine_file("one-310p3.yaml");
  play(description);
  DeviceScan now = scan();
  EXPECT_EQ(now.driver_version, "22.0.4");
  EXPECT_EQ(now.driver.kind, DriverStanding::Kind::kBelow);
  cut(0, "vir01", 100);
  machine_->kill_now();
  const std::string old = "\"22.0.4\"";
  description.replace(description.find(old), old.size(), "\"25.5.0\"");
  std::ofstream(machine_->root() + "/machine.yaml") << description;
  machine_->start();
  now = scan();
  EXPECT_EQ(now.driver_version, "25.5.0");
  EXPECT_EQ(now.driver.kind, DriverStanding::Kind::kSupported);
  EXPECT_THAT(now.driver.note, IsEmpty());
}

}  // namespace
}  // namespace tangram::test
