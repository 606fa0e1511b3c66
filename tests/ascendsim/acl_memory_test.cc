#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "ascendsim/simulated_machine.h"

namespace ascendsim {
namespace {

constexpr std::size_t kMiB = 1U << 20;

std::size_t free_bytes() {
  std::size_t free = 0;
  std::size_t total = 0;
  EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total), ACL_SUCCESS);
  return free;
}

// Without this, the first calls of every program would meet other codes than on the real machine.
TEST(AclMemory, InitAndDeviceSemantics) {
  const SimulatedMachine machine(slow_machine_yaml());
  run_program(machine, [] {
    EXPECT_EQ(aclFinalize(), ACL_ERROR_UNINITIALIZE);
    EXPECT_EQ(aclInit(nullptr), ACL_SUCCESS);
    EXPECT_EQ(aclInit(nullptr), ACL_ERROR_REPEAT_INITIALIZE);
    std::uint64_t count = 9;
    EXPECT_EQ(aclFinalizeReference(&count), ACL_SUCCESS);
    EXPECT_EQ(count, 1U);

    std::int32_t device = -1;
    EXPECT_EQ(aclrtGetDevice(&device), ACL_ERROR_RT_CONTEXT_NULL);
    void* pointer = nullptr;
    EXPECT_EQ(aclrtMalloc(&pointer, 100, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(aclrtSetDevice(4), ACL_ERROR_RT_INVALID_DEVICEID);
    EXPECT_STREQ(aclGetRecentErrMsg(), "error 107001: device 4 does not exist: there are 4");
    EXPECT_EQ(aclGetRecentErrMsg(), nullptr) << "reading takes it away";
    EXPECT_EQ(aclrtSetDevice(-1), ACL_ERROR_RT_INVALID_DEVICEID);
    EXPECT_EQ(aclrtSetDevice(2), ACL_SUCCESS);
    EXPECT_EQ(aclrtSetDevice(2), ACL_SUCCESS);
    EXPECT_EQ(aclrtGetDevice(&device), ACL_SUCCESS);
    EXPECT_EQ(device, 2);
    std::thread([] {
      std::int32_t none = 0;
      EXPECT_EQ(aclrtGetDevice(&none), ACL_ERROR_RT_CONTEXT_NULL) << "a device is set per thread";
    }).join();
    EXPECT_EQ(aclrtResetDevice(2), ACL_SUCCESS);
    EXPECT_EQ(aclrtGetDevice(&device), ACL_SUCCESS) << "counted";
    EXPECT_EQ(aclrtResetDevice(2), ACL_SUCCESS);
    EXPECT_EQ(aclrtGetDevice(&device), ACL_ERROR_RT_CONTEXT_NULL);

    EXPECT_EQ(aclrtGetDevice(nullptr), ACL_ERROR_INVALID_PARAM);
    EXPECT_EQ(aclrtGetDeviceCount(nullptr), ACL_ERROR_INVALID_PARAM);
    aclrtRunMode mode = ACL_DEVICE;
    EXPECT_EQ(aclrtGetRunMode(&mode), ACL_SUCCESS);
    EXPECT_EQ(mode, ACL_HOST);
    EXPECT_STREQ(aclrtGetSocName(), "Ascend910B4");
    std::int64_t value = 0;
    EXPECT_EQ(aclGetDeviceCapability(0, ACL_DEVICE_INFO_AI_CORE_NUM, &value), ACL_SUCCESS);
    EXPECT_EQ(value, 20);
    EXPECT_EQ(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE, &value), ACL_SUCCESS);
    EXPECT_EQ(value, static_cast<std::int64_t>(1000 * kMiB));
  });
}

// Without this, torch could not tell "out of memory, free the cache and try again" from a fatal error.
TEST(AclMemory, OutOfMemoryIsExactly207001) {
  const SimulatedMachine machine(slow_machine_yaml());
  run_program(machine, [] {
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    EXPECT_EQ(free_bytes(), 1000 * kMiB);
    void* most = nullptr;
    void* more = nullptr;
    ASSERT_EQ(aclrtMallocAlign32(&most, 1000 * kMiB, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    EXPECT_EQ(free_bytes(), 0U);
    EXPECT_EQ(aclrtMalloc(&more, 1, ACL_MEM_MALLOC_HUGE_FIRST), 207001);
    EXPECT_EQ(aclrtMalloc(&more, ~std::size_t{0}, ACL_MEM_MALLOC_HUGE_FIRST), 207001);
    EXPECT_EQ(aclrtFree(most), ACL_SUCCESS);
    EXPECT_EQ(aclrtFree(most), ACL_ERROR_RT_PARAM_INVALID);
    EXPECT_EQ(aclrtFree(nullptr), ACL_ERROR_INVALID_PARAM);
    EXPECT_EQ(aclrtMalloc(&more, 0, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_INVALID_PARAM);
    EXPECT_EQ(aclrtMalloc(nullptr, 10, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_INVALID_PARAM);
    EXPECT_EQ(free_bytes(), 1000 * kMiB);
  });
}

// Without this, a quota counted by a program's own sizes would disagree with the driver's pages.
TEST(AclMemory, SizesAreRoundedAsTheDriverRounds) {
  const SimulatedMachine machine(slow_machine_yaml());
  run_program(machine, [] {
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    const auto cost = [](auto allocate) {
      const std::size_t before = free_bytes();
      void* pointer = nullptr;
      EXPECT_EQ(allocate(&pointer), ACL_SUCCESS);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pointer) % 64, 0U);
      const std::size_t charged = before - free_bytes();
      EXPECT_EQ(aclrtFree(pointer), ACL_SUCCESS);
      return charged;
    };
    EXPECT_EQ(cost([](void** p) { return aclrtMalloc(p, 1, ACL_MEM_MALLOC_HUGE_FIRST); }), 4096U);
    EXPECT_EQ(cost([](void** p) { return aclrtMalloc(p, 4096, ACL_MEM_MALLOC_HUGE_FIRST); }), 8192U)
        << "32 bytes of pad";
    EXPECT_EQ(cost([](void** p) { return aclrtMallocAlign32(p, 4096, ACL_MEM_MALLOC_HUGE_FIRST); }), 4096U);
    EXPECT_EQ(cost([](void** p) { return aclrtMalloc(p, 3 * kMiB, ACL_MEM_MALLOC_HUGE_FIRST); }), 4 * kMiB);
    EXPECT_EQ(cost([](void** p) { return aclrtMalloc(p, 3 * kMiB, ACL_MEM_MALLOC_NORMAL_ONLY); }),
              3 * kMiB + 4096);
    EXPECT_EQ(
        cost([](void** p) { return aclrtMallocWithCfg(p, 2 * kMiB, ACL_MEM_MALLOC_HUGE_ONLY, nullptr); }),
        2 * kMiB);
    EXPECT_EQ(cost([](void** p) { return aclrtMallocCached(p, 100, ACL_MEM_MALLOC_HUGE_ONLY); }), 2 * kMiB);
    void* pointer = nullptr;
    EXPECT_EQ(aclrtMalloc(&pointer, 1, ACL_MEM_MALLOC_HUGE1G_ONLY), 207001) << "a page of 1 GiB does not fit";
  });
}

// Without this, programs that rely on one address space per device (all real ones) would break.
TEST(AclMemory, ContextsDoNotIsolateMemory) {
  const SimulatedMachine machine(slow_machine_yaml());
  run_program(machine, [] {
    aclrtContext first = nullptr;
    aclrtContext second = nullptr;
    ASSERT_EQ(aclrtCreateContext(&first, 1), ACL_SUCCESS);
    void* pointer = nullptr;
    ASSERT_EQ(aclrtMalloc(&pointer, 64, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    const char text[] = "written under the first";
    ASSERT_EQ(aclrtMemcpy(pointer, 64, text, sizeof text, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
    ASSERT_EQ(aclrtCreateContext(&second, 1), ACL_SUCCESS);
    aclrtContext current = nullptr;
    ASSERT_EQ(aclrtGetCurrentContext(&current), ACL_SUCCESS);
    EXPECT_EQ(current, second);
    char back[64] = "";
    EXPECT_EQ(aclrtMemcpy(back, sizeof back, pointer, sizeof text, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
    EXPECT_STREQ(back, text);
    EXPECT_EQ(aclrtDestroyContext(first), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemcpy(back, sizeof back, pointer, sizeof text, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
    EXPECT_EQ(aclrtSetCurrentContext(first), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(aclrtFree(pointer), ACL_SUCCESS);
    EXPECT_EQ(aclrtDestroyContext(second), ACL_SUCCESS);
    EXPECT_EQ(aclrtMalloc(&pointer, 64, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_CONTEXT_NULL);
  });
}

// Without this, a reset would leak device memory, or a program would go on with dead handles.
TEST(AclMemory, ResetGivesEverythingBack) {
  const SimulatedMachine machine(slow_machine_yaml());
  run_program(machine, [&machine] {
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    void* pointer = nullptr;
    aclrtStream stream = nullptr;
    ASSERT_EQ(aclrtMalloc(&pointer, 100 * kMiB, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
    EXPECT_EQ(machine.memory_used_by_programs(0), 102 * kMiB);
    ASSERT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
    EXPECT_EQ(machine.memory_used_by_programs(0), 0U);
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    EXPECT_EQ(aclrtFree(pointer), ACL_ERROR_RT_PARAM_INVALID);
    EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_STREAM_CONTEXT);
    EXPECT_EQ(aclrtMalloc(&pointer, 10, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  });
}

// Without this, the ways that bytes move would each have to be found out by a program.
TEST(AclMemory, CopiesAndFills) {
  const SimulatedMachine machine(slow_machine_yaml());
  run_program(machine, [] {
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    char* device = nullptr;
    ASSERT_EQ(aclrtMalloc(reinterpret_cast<void**>(&device), 1024, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemset(device, 1024, 7, 1024), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemset(device, 10, 7, 11), ACL_ERROR_RT_PARAM_INVALID);
    EXPECT_EQ(aclrtMemset(device, 1 << 20, 7, 1 << 20), ACL_ERROR_RT_PARAM_INVALID) << "beyond the memory";
    std::vector<char> host(1024, 1);
    EXPECT_EQ(aclrtMemcpy(host.data(), 1024, device, 1024, ACL_MEMCPY_DEFAULT), ACL_SUCCESS);
    EXPECT_EQ(host, std::vector<char>(1024, 7));
    EXPECT_EQ(aclrtMemcpy(host.data(), 10, device, 11, ACL_MEMCPY_DEVICE_TO_HOST),
              ACL_ERROR_RT_PARAM_INVALID);
    EXPECT_EQ(aclrtMemcpy(host.data(), 10, device, 0, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemcpy(nullptr, 10, device, 5, ACL_MEMCPY_DEVICE_TO_HOST), ACL_ERROR_INVALID_PARAM);
    // Two rows of four bytes out of a matrix with rows of 16.
    for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<char>(i % 100);
    EXPECT_EQ(aclrtMemcpy2d(device, 8, host.data(), 16, 4, 2, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemcpy2d(device, 3, host.data(), 16, 4, 2, ACL_MEMCPY_HOST_TO_DEVICE),
              ACL_ERROR_RT_PARAM_INVALID);
    std::vector<char> back(12);
    EXPECT_EQ(aclrtMemcpy(back.data(), 12, device, 12, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
    EXPECT_EQ(back, (std::vector<char>{0, 1, 2, 3, 7, 7, 7, 7, 16, 17, 18, 19}));
    EXPECT_EQ(aclrtFree(device), ACL_SUCCESS);
  });
}

// Without this, allocators that map physical memory themselves (torch, vLLM) would not run.
TEST(AclMemory, PhysicalMemoryIsMappedAndCharged) {
  const SimulatedMachine machine(slow_machine_yaml());
  run_program(machine, [] {
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    aclrtPhysicalMemProp prop{};
    prop.memAttr = ACL_HBM_MEM_HUGE;
    prop.location = {0, ACL_MEM_LOCATION_TYPE_DEVICE};
    std::size_t unit = 0;
    ASSERT_EQ(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &unit),
              ACL_SUCCESS);
    EXPECT_EQ(unit, 2 * kMiB);
    aclrtDrvMemHandle handle = nullptr;
    EXPECT_EQ(aclrtMallocPhysical(&handle, unit + 1, &prop, 0), ACL_ERROR_RT_PARAM_INVALID);
    ASSERT_EQ(aclrtMallocPhysical(&handle, 2 * unit, &prop, 0), ACL_SUCCESS);
    EXPECT_EQ(free_bytes(), 996 * kMiB);
    char* range = nullptr;
    ASSERT_EQ(aclrtReserveMemAddress(reinterpret_cast<void**>(&range), 8 * unit, 0, nullptr, 1), ACL_SUCCESS);
    ASSERT_EQ(aclrtMapMem(range + unit, 2 * unit, 0, handle, 0), ACL_SUCCESS);
    EXPECT_EQ(aclrtMapMem(range + unit, 2 * unit, 0, handle, 0), ACL_ERROR_RT_PARAM_INVALID)
        << "mapped already";
    EXPECT_EQ(aclrtMapMem(range + 7 * unit, 2 * unit, 0, handle, 0), ACL_ERROR_RT_PARAM_INVALID)
        << "beyond the range";
    EXPECT_EQ(aclrtMemset(range + unit, 2 * unit, 5, 2 * unit), ACL_SUCCESS);
    EXPECT_EQ(aclrtFreePhysical(handle), ACL_SUCCESS);
    EXPECT_EQ(free_bytes(), 996 * kMiB) << "still mapped";
    char byte = 0;
    EXPECT_EQ(aclrtMemcpy(&byte, 1, range + 3 * unit - 1, 1, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
    EXPECT_EQ(byte, 5);
    EXPECT_EQ(aclrtUnmapMem(range + unit), ACL_SUCCESS);
    EXPECT_EQ(free_bytes(), 1000 * kMiB);
    EXPECT_EQ(aclrtReleaseMemAddress(range), ACL_SUCCESS);
    prop.location.type = ACL_MEM_LOCATION_TYPE_HOST;
    ASSERT_EQ(aclrtMallocPhysical(&handle, unit, &prop, 0), ACL_SUCCESS);
    EXPECT_EQ(free_bytes(), 1000 * kMiB) << "host memory is not the device's";
    EXPECT_EQ(aclrtFreePhysical(handle), ACL_SUCCESS);
  });
}

// Without this, what a program reads about its own use would differ from the machine's books.
TEST(AclMemory, UsageIsTheDriversView) {
  const SimulatedMachine machine(slow_machine_yaml());
  run_program(machine, [] {
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    void* pointer = nullptr;
    ASSERT_EQ(aclrtMallocAlign32(&pointer, 10 * kMiB, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    ASSERT_EQ(aclrtFree(pointer), ACL_SUCCESS);
    ASSERT_EQ(aclrtMallocAlign32(&pointer, 4 * kMiB, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    aclrtMemUsageInfo usage{};
    std::size_t entries = 0;
    ASSERT_EQ(aclrtGetMemUsageInfo(0, &usage, 1, &entries), ACL_SUCCESS);
    EXPECT_EQ(entries, 1U);
    EXPECT_EQ(usage.curMemSize, 4 * kMiB);
    EXPECT_EQ(usage.memPeakSize, 10 * kMiB);
    std::size_t free = 1;
    std::size_t total = 1;
    EXPECT_EQ(aclrtGetMemInfo(ACL_DDR_MEM, &free, &total), ACL_SUCCESS);
    EXPECT_EQ(free + total, 0U) << "the chip has no such memory";
    EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, nullptr, &total), ACL_ERROR_INVALID_PARAM);
  });
}

}  // namespace
}  // namespace ascendsim
