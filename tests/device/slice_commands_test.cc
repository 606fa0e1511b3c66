// Slices by way of a real helper process and libraries that cut, refuse, lie, hang and crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "device/fake_machine.h"

namespace tangram::device {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class SliceCommandsTest : public FakeMachineTest {
 protected:
  void put_slice(std::uint32_t physical_id, std::uint32_t id, const std::string& name) {
    switch_on("slice-" + std::to_string(physical_id) + "-" + std::to_string(id), name);
  }

  // What the library was told to do.
  std::vector<std::string> calls() const {
    std::ifstream file(dir_ + "/calls");
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

  // As the next look shows them.
  std::vector<std::uint32_t> slices_of(std::uint32_t physical_id) {
    for (const DeviceNpu& npu : npus()) {
      if (npu.physical_id != physical_id) continue;
      EXPECT_TRUE(npu.slicing.slices.valid) << npu.slicing.note;
      std::vector<std::uint32_t> ids;
      for (const DeviceSlice& slice : npu.slicing.slices.value) ids.push_back(slice.id);
      return ids;
    }
    ADD_FAILURE() << "no NPU " << physical_id;
    return {};
  }
};

// Without it the book would not be compared with what the hardware really holds.
TEST_F(SliceCommandsTest, LookShowsEverySliceWithWhatTheDriverKnowsOfIt) {
  put_slice(1, 117, "vir05_1c_8g");
  put_slice(1, 116, "vir10_3c_16g");
  switch_on("used_117");
  open(FAKE_GOOD);
  const auto scan = devices_->scan();
  ASSERT_TRUE(scan) << scan.error().to_string();
  EXPECT_TRUE(scan->slices_recover.valid && scan->slices_recover.value);
  EXPECT_TRUE(scan->slices_for_containers.valid && scan->slices_for_containers.value);
  const DeviceSlicing& slicing = scan->npus[1].slicing;
  EXPECT_EQ(slicing.support, SliceSupport::kListed);
  EXPECT_THAT(slicing.note, IsEmpty());
  EXPECT_FALSE(slicing.device_share.value);
  EXPECT_TRUE(slicing.device_share.valid);
  ASSERT_THAT(slicing.slices.value, SizeIs(2));
  const DeviceSlice& big = slicing.slices.value[0];
  const DeviceSlice& small = slicing.slices.value[1];
  EXPECT_EQ(big.id, 116U);
  EXPECT_EQ(big.template_name.value, "vir10_3c_16g");
  EXPECT_FALSE(big.container_used.value);
  EXPECT_EQ(big.resources.ai_cores_milli.value, 10'000);
  EXPECT_EQ(big.resources.memory.value, Bytes::mib(15'360));
  EXPECT_EQ(big.vgroup_id.value, 2U);
  EXPECT_EQ(big.container_id.value, 0xFFFFFFFFFFFFULL);
  EXPECT_EQ(big.memory_usable.value, Bytes::mib(7168));
  EXPECT_EQ(big.memory_used.value, Bytes::mib(2048));
  EXPECT_EQ(big.ai_core_percent.value, 37);
  EXPECT_EQ(small.id, 117U);
  EXPECT_TRUE(small.container_used.value);
  EXPECT_EQ(slicing.total.ai_cores_milli.value, 20'000);
  EXPECT_EQ(slicing.free.ai_cores_milli.value, 5'000);
  EXPECT_EQ(slicing.free.ai_cpus.value, 4);
  EXPECT_EQ(slicing.free.vpc_milli.value, 4'500);
  EXPECT_FALSE(slicing.free.pngd_milli.valid) << "-1 is how drivers say unknown";
  EXPECT_FALSE(slicing.free.venc_milli.valid) << "what a release does not write is unknown";
  EXPECT_TRUE(scan->npus[0].slicing.slices.value.empty());
}

// Without it use of a slice that the driver does not tell would be shown as 0.
TEST_F(SliceCommandsTest, UseOfASliceIsUnknownWhereTheDriverDoesNotTellIt) {
  put_slice(0, 100, "vir05_1c_8g");
  open(FAKE_GOOD);
  const auto all = npus();
  ASSERT_THAT(all[0].slicing.slices.value, SizeIs(1));
  EXPECT_FALSE(all[0].slicing.slices.value[0].memory_used.valid);
  EXPECT_FALSE(all[0].slicing.slices.value[0].ai_core_percent.valid);
}

// Without it a later driver release, whose structures have grown, would hide all slices.
TEST_F(SliceCommandsTest, GrownStructuresAreReadAndWritten) {
  switch_on("grown");
  open(FAKE_GOOD);
  const auto slice = devices_->create_slice({1, "vir05_1c_8g", 131});
  ASSERT_TRUE(slice) << slice.error().to_string();
  EXPECT_THAT(slices_of(1), ElementsAre(131));
}

// Without it a release that cannot slice would crash the helper, or look like one without slices.
TEST_F(SliceCommandsTest, MissingSymbolsMeanThatThisDriverCannot) {
  open(FAKE_BARE);
  const auto all = npus();
  ASSERT_THAT(all, SizeIs(4));
  EXPECT_FALSE(all[0].slicing.slices.valid);
  EXPECT_THAT(all[0].slicing.note, HasSubstr("dcmi_get_device_info) is not exported"));
  const auto created = devices_->create_slice({0, "vir05_1c_8g", 100});
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().reason, slice_reason::kUnsupported);
  EXPECT_EQ(created.error().code, Code::kUnimplemented);
  const auto recover = devices_->set_slices_recover(false);
  ASSERT_FALSE(recover);
  EXPECT_EQ(recover.error().reason, slice_reason::kUnsupported);
  EXPECT_THAT(recover.error().message, HasSubstr("dcmi_set_vnpu_config_recover_mode is not exported"));
  const auto shared = devices_->set_device_share(0, true);
  ASSERT_FALSE(shared);
  EXPECT_EQ(shared.error().reason, slice_reason::kUnsupported);
}

// Without it an absurd count would be walked far past the list, or nonsense be taken for slices.
TEST_F(SliceCommandsTest, GarbageIsNotASlice) {
  for (const char* library : {FAKE_GARBAGE, FAKE_GOOD}) {
    switch_on("slices_garbage");
    open(library);
    const auto all = npus();
    ASSERT_THAT(all, SizeIs(4));
    EXPECT_FALSE(all[0].slicing.slices.valid) << library;
    EXPECT_THAT(all[0].slicing.note, HasSubstr("a value that cannot be true"));
    EXPECT_FALSE(devices_->create_slice({0, "vir05_1c_8g", 100})) << "what is there is not known";
    EXPECT_THAT(calls(), IsEmpty());
  }
}

// Without it slices could not be cut where they are wanted, or returned.
TEST_F(SliceCommandsTest, CutsAndReturns) {
  open(FAKE_GOOD);
  auto slice = devices_->create_slice({5, "vir10_3c_16g", 195});
  ASSERT_TRUE(slice) << slice.error().to_string();
  EXPECT_EQ(slice->id, 195U);
  EXPECT_EQ(slice->template_name.value, "vir10_3c_16g");
  slice = devices_->create_slice({5, "vir05_1c_8g", std::nullopt});
  ASSERT_TRUE(slice) << slice.error().to_string();
  EXPECT_EQ(slice->id, 180U);
  EXPECT_THAT(slices_of(5), ElementsAre(180, 195));
  EXPECT_THAT(slices_of(4), IsEmpty());

  ASSERT_TRUE(devices_->destroy_slice(5, 195));
  EXPECT_THAT(slices_of(5), ElementsAre(180));
  EXPECT_TRUE(devices_->destroy_slice(5, 195)) << "gone is gone";
  EXPECT_THAT(calls(),
              ElementsAre("create 195 vir10_3c_16g", "create 4294967295 vir05_1c_8g", "destroy 195"));
}

// Without it one wrong number would destroy every slice of a chip, with the programs in them.
TEST_F(SliceCommandsTest, NothingButOneOwnSliceCanBeNamed) {
  put_slice(0, 100, "vir05_1c_8g");
  put_slice(1, 116, "vir05_1c_8g");
  open(FAKE_GOOD);
  for (const std::uint32_t id : {65535U, 0U, 99U, 116U, 0xFFFFFFFFU, 1124U}) {
    const auto destroyed = devices_->destroy_slice(0, id);
    ASSERT_FALSE(destroyed) << id;
    EXPECT_EQ(destroyed.error().reason, slice_reason::kInvalid);
    EXPECT_EQ(destroyed.error().code, Code::kInvalidArgument);
    const auto created = devices_->create_slice({0, "vir05_1c_8g", id});
    ASSERT_FALSE(created) << id;
    EXPECT_EQ(created.error().reason, slice_reason::kInvalid);
  }
  for (const char* name : {"", "vir05 1c", "../vir05", "vir05_1c_8g_of_a_long_name", "vir\n"}) {
    const auto created = devices_->create_slice({0, name, 101});
    ASSERT_FALSE(created) << name;
    EXPECT_EQ(created.error().reason, slice_reason::kInvalid);
  }
  EXPECT_THAT(calls(), IsEmpty());
  const auto nowhere = devices_->destroy_slice(2, 132);
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().reason, "device.npu.unknown");
}

// Without it -8001 would mean nothing: the driver answers it for want of room, a wrong name and a slice in
// use.
TEST_F(SliceCommandsTest, AmbiguousCodeIsSettledByALook) {
  open(FAKE_GOOD);
  ASSERT_TRUE(devices_->create_slice({0, "vir10_3c_16g", 100}));
  ASSERT_TRUE(devices_->create_slice({0, "vir05_1c_8g", 101}));
  auto full = devices_->create_slice({0, "vir10_3c_16g", 102});
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().reason, slice_reason::kNoCapacity);
  EXPECT_THAT(full.error().message, HasSubstr("-8001"));
  EXPECT_THAT(full.error().message, HasSubstr("free: 5 AI cores, 4 AI CPUs, 7680MiB"));
  auto wrong = devices_->create_slice({0, "vir00_1c_8g", 102});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().reason, slice_reason::kRefused);
  EXPECT_THAT(wrong.error().hint, HasSubstr("template-info"));
  auto taken = devices_->create_slice({0, "vir05_1c_8g", 101});
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().reason, slice_reason::kExists);

  switch_on("destroy_code", "-8001");
  auto busy = devices_->destroy_slice(0, 100);
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().reason, slice_reason::kInUse);
  switch_off("destroy_code");
  switch_on("create_code", "-8001");
  switch_on("create_works");
  const auto made = devices_->create_slice({0, "vir05_1c_8g", 103});
  ASSERT_TRUE(made) << made.error().to_string();
  EXPECT_EQ(made->id, 103U);
}

// Without it an order without an id could take another's new slice for its own.
TEST_F(SliceCommandsTest, FailedOrderWithoutAnIdOwnsNothing) {
  switch_on("create_code", "-8005");
  switch_on("create_works");
  open(FAKE_GOOD);
  const auto made = devices_->create_slice({0, "vir05_1c_8g", std::nullopt});
  ASSERT_FALSE(made);
  EXPECT_TRUE(is_unsettled(made.error())) << made.error().to_string();
  EXPECT_THAT(made.error().message, HasSubstr("slice 100 came into being"));
}

// Without it a library that returns a wrong id would put a job on a slice that does not exist.
TEST_F(SliceCommandsTest, IdThatTheLibraryMadeUpIsNotBelieved) {
  switch_on("create_misnames");
  open(FAKE_GOOD);
  const auto made = devices_->create_slice({0, "vir05_1c_8g", std::nullopt});
  ASSERT_TRUE(made) << made.error().to_string();
  EXPECT_EQ(made->id, 100U);
}

// Without it a slice in which a program runs could be destroyed under it.
TEST_F(SliceCommandsTest, SliceInUseIsNotEvenAskedFor) {
  put_slice(0, 100, "vir05_1c_8g");
  switch_on("used_100");
  open(FAKE_GOOD);
  const auto destroyed = devices_->destroy_slice(0, 100);
  ASSERT_FALSE(destroyed);
  EXPECT_EQ(destroyed.error().reason, slice_reason::kInUse);
  EXPECT_THAT(calls(), IsEmpty());
}

// Without it a driver that puts the slice back, because it cannot write its file, would leave a ghost.
TEST_F(SliceCommandsTest, SuccessThatTheHardwareDoesNotShowIsNone) {
  put_slice(0, 100, "vir05_1c_8g");
  switch_on("destroy_lies");
  open(FAKE_GOOD);
  const auto destroyed = devices_->destroy_slice(0, 100);
  ASSERT_FALSE(destroyed);
  EXPECT_EQ(destroyed.error().reason, slice_reason::kRefused);
  EXPECT_THAT(destroyed.error().message, HasSubstr("still there"));
}

// Without it a cut that hangs would be booked as failed, and the slice that comes of it belong to nobody.
TEST_F(SliceCommandsTest, CutThatHangsIsUnsettledUntilTheHardwareShowsIt) {
  switch_on("create_hangs");
  open(FAKE_GOOD);
  auto slice = devices_->create_slice({0, "vir05_1c_8g", 100});
  ASSERT_FALSE(slice);
  EXPECT_TRUE(is_unsettled(slice.error())) << slice.error().to_string();
  EXPECT_THAT(slice.error().to_string(), HasSubstr("dcmi_create_vdevice did not answer in time"));
  EXPECT_THAT(slices_of(0), IsEmpty());
  switch_off("create_hangs");

  switch_on("create_hangs_late");
  slice = devices_->create_slice({0, "vir05_1c_8g", 101});
  ASSERT_TRUE(slice) << slice.error().to_string();
  EXPECT_EQ(slice->id, 101U);
  switch_on("destroy_hangs");
  const auto destroyed = devices_->destroy_slice(0, 101);
  ASSERT_FALSE(destroyed);
  EXPECT_TRUE(is_unsettled(destroyed.error()));
  EXPECT_THAT(slices_of(0), ElementsAre(101));
}

// Without it the look that should settle an order could itself hang and be taken for an empty NPU.
TEST_F(SliceCommandsTest, OrderIsUnsettledWhenTheLookAfterItHangs) {
  switch_on("create_hangs_late");
  options_.command_deadline = milliseconds(2000);
  open(FAKE_GOOD);
  ASSERT_THAT(npus(), SizeIs(4));
  std::thread later([this] {
    while (calls().empty()) std::this_thread::sleep_for(milliseconds(5));
    switch_on("query_hangs_0");
  });
  const auto slice = devices_->create_slice({0, "vir05_1c_8g", 101});
  later.join();
  ASSERT_FALSE(slice);
  EXPECT_TRUE(is_unsettled(slice.error())) << slice.error().to_string();
}

// Without it one NPU whose slices cannot be read would make the others look ill, or all look uncut.
TEST_F(SliceCommandsTest, HangingQuestionAboutSlicesLeavesTheRestKnown) {
  put_slice(1, 116, "vir05_1c_8g");
  open(FAKE_GOOD);
  switch_on("query_hangs_0");
  options_.hang_backoff = milliseconds(3'600'000);
  options_.hang_backoff_max = milliseconds(3'600'000);
  open(FAKE_GOOD);
  auto all = npus();
  ASSERT_THAT(all, SizeIs(4));
  EXPECT_EQ(all[0].health, Health::kOk);
  EXPECT_FALSE(all[0].slicing.slices.valid);
  EXPECT_THAT(all[0].slicing.note, HasSubstr("dcmi_get_device_info did not answer in time"));
  ASSERT_THAT(all[1].slicing.slices.value, SizeIs(1));
  const auto start = std::chrono::steady_clock::now();
  all = npus();
  EXPECT_LT(std::chrono::steady_clock::now() - start, options_.call_deadline) << "it was asked again";
  EXPECT_FALSE(all[0].slicing.slices.valid);
}

// Without it article B's driver would never be told to stop bringing back the slices of dead jobs.
TEST_F(SliceCommandsTest, SettingsAreSetAndVerified) {
  open(FAKE_GOOD);
  ASSERT_TRUE(devices_->set_slices_recover(false));
  ASSERT_TRUE(devices_->set_device_share(1, true));
  auto scan = devices_->scan();
  ASSERT_TRUE(scan);
  EXPECT_TRUE(scan->slices_recover.valid);
  EXPECT_FALSE(scan->slices_recover.value);
  EXPECT_TRUE(scan->npus[1].slicing.device_share.value);
  EXPECT_FALSE(scan->npus[0].slicing.device_share.value);
  switch_on("recover_code", "-8002");
  const auto denied = devices_->set_slices_recover(true);
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().reason, slice_reason::kNotPermitted);
  EXPECT_EQ(denied.error().code, Code::kPermissionDenied);
  switch_on("share_code", "-8005");
  const auto refused = devices_->set_device_share(1, false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, slice_reason::kRefused);
}

// Without it a look and an order at the same time would meet in a library that is not thread-safe.
TEST_F(SliceCommandsTest, ManyCallersWaitForEachOther) {
  open(FAKE_GOOD);
  std::vector<std::thread> callers;
  std::atomic<int> failures{0};
  for (const std::uint32_t npu : {0U, 1U, 4U, 5U}) {
    callers.emplace_back([this, npu, &failures] {
      const std::uint32_t id = first_slice_id(npu) + 3;
      if (!devices_->create_slice({npu, "vir05_1c_8g", id})) ++failures;
      if (!devices_->scan()) ++failures;
      if (!devices_->destroy_slice(npu, id)) ++failures;
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(failures.load(), 0);
  for (const DeviceNpu& npu : npus()) EXPECT_THAT(npu.slicing.slices.value, IsEmpty());
}

}  // namespace
}  // namespace tangram::device
