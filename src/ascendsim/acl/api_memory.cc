// Device memory and pinned host memory: getting, giving back, mapping, asking.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "acl/acl.h"
#include "ascendsim/acl/runtime.h"

namespace ascendsim {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kHugePage = 2 * kMiB;
constexpr std::size_t kGiantPage = 1024 * kMiB;
constexpr std::size_t kAlignment = 32;
constexpr int kPolicyMask = 0xFF;  // the rest are hints of bandwidth and access

enum class Padding { kAlignedAndOneMore, kAligned, kNone };

aclError null_result(const char* what) {
  return fail(ACL_ERROR_INVALID_PARAM, std::string(what) + " is NULL");
}

bool giant(int policy) {
  return policy == ACL_MEM_MALLOC_HUGE1G_ONLY || policy == ACL_MEM_MALLOC_HUGE1G_ONLY_P2P;
}

std::size_t padded(std::size_t size, Padding padding, int policy) {
  const std::size_t extra =
      padding == Padding::kAlignedAndOneMore && !giant(policy) ? 2 * kAlignment - 1 : kAlignment - 1;
  if (padding == Padding::kNone || size > std::numeric_limits<std::size_t>::max() - extra) return size;
  return (size + extra) / kAlignment * kAlignment;
}

// Which pages to ask for, in order.
std::vector<PageSize> pages_for(int policy, std::size_t size) {
  if (giant(policy)) return {PageSize::k1GiB};
  const bool normal_only = policy == ACL_MEM_MALLOC_NORMAL_ONLY || policy == ACL_MEM_MALLOC_NORMAL_ONLY_P2P;
  const bool huge_only = policy == ACL_MEM_MALLOC_HUGE_ONLY || policy == ACL_MEM_MALLOC_HUGE_ONLY_P2P;
  if (huge_only) return {PageSize::k2MiB};
  if (normal_only || size <= kMiB) return {PageSize::k4KiB};
  return {PageSize::k2MiB, PageSize::k4KiB};
}

// Asks the ledger. Under the lock: a close of the device must not fall between the charge and its record.
aclError charge(const Device& device, std::size_t bytes, const std::vector<PageSize>& pages,
                AllocateReply* reply) {
  CallResult result;
  for (const PageSize page : pages) {
    result = Runtime::get().connection.call(RequestType::kAllocate, device.logic_id,
                                            AllocateBody{bytes, page, 0}, reply);
    if (result.ok() || !result.connected || result.status != Status::kOutOfMemory) break;
  }
  if (!result.ok()) {
    return fail(result,
                "allocate " + std::to_string(bytes) + " bytes on device " + std::to_string(device.user_id));
  }
  return ACL_SUCCESS;
}

void uncharge(const Device& device, std::uint64_t allocation) {
  if (device.closed) return;  // gone with the device
  Runtime::get().connection.send(RequestType::kFree, device.logic_id, FreeBody{allocation});
}

aclError allocate(const std::shared_ptr<Device>& device, void** pointer, std::size_t size, int policy,
                  Padding padding) {
  Runtime& runtime = Runtime::get();
  const std::size_t bytes = padded(size, padding, policy);
  AllocateReply reply{};
  if (const aclError error = charge(*device, bytes, pages_for(policy, size), &reply); error != ACL_SUCCESS)
    return error;
  const auto block = make_block(reply.bytes_charged, MemoryKind::kDevice);
  if (block == nullptr) {
    uncharge(*device, reply.allocation);
    return fail(ACL_ERROR_BAD_ALLOC,
                "this process has no room for " + std::to_string(bytes) + " bytes of addresses");
  }
  block->device = device;
  block->allocation = reply.allocation;
  runtime.blocks.add(block);
  *pointer = block->base;
  return ACL_SUCCESS;
}

aclError allocate_current(void** pointer, std::size_t size, aclrtMemMallocPolicy policy_bits, Padding padding,
                          const aclrtMallocConfig* config) {
  if (pointer == nullptr) return null_result("devPtr");
  if (size == 0) return fail(ACL_ERROR_INVALID_PARAM, "size is 0");
  const int policy = static_cast<int>(policy_bits) & kPolicyMask;
  if (policy > ACL_MEM_MALLOC_HUGE1G_ONLY_P2P) {
    return fail(ACL_ERROR_INVALID_PARAM, "policy " + std::to_string(policy) + " is not known");
  }
  Runtime& runtime = Runtime::get();
  const Runtime::Lock lock(runtime.mutex);
  const auto context = current_context(lock);
  if (context == nullptr) return fail(ACL_ERROR_RT_CONTEXT_NULL, "this thread has no device set");
  auto device = context->device;
  const std::size_t attributes = config == nullptr || config->attrs == nullptr ? 0 : config->numAttrs;
  for (std::size_t i = 0; i < attributes; ++i) {
    if (config->attrs[i].attr != ACL_RT_MEM_ATTR_DEVICE_ID) continue;
    device = runtime.find_device(config->attrs[i].value.deviceId);
    if (device == nullptr)
      return fail(ACL_ERROR_RT_INVALID_DEVICEID, "the device of the attribute is not set");
  }
  return allocate(device, pointer, size, policy, padding);
}

}  // namespace

// Memory without an address of its own, for aclrtMapMem. Charged until it is freed and no longer mapped.
struct Physical {
  std::size_t bytes = 0;
  std::shared_ptr<Device> device;  // null: on the host, not charged
  std::uint64_t allocation = 0;
  Descriptor memory;

  Physical() = default;
  Physical(const Physical&) = delete;
  Physical& operator=(const Physical&) = delete;
  ~Physical() {
    if (device != nullptr) uncharge(*device, allocation);
  }
};

namespace {

std::size_t granularity_of(aclrtMemAttr attribute) {
  return attribute == ACL_HBM_MEM_HUGE1G || attribute == ACL_HBM_MEM_P2P_HUGE1G ? kGiantPage : kHugePage;
}

aclError make_physical(const aclrtPhysicalMemProp& prop, std::size_t size, std::shared_ptr<Physical>* made) {
  const std::size_t unit = granularity_of(prop.memAttr);
  if (size == 0 || size % unit != 0) {
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "size " + std::to_string(size) + " is not a multiple of " + std::to_string(unit));
  }
  auto physical = std::make_shared<Physical>();
  physical->bytes = size;
  if (prop.location.type == ACL_MEM_LOCATION_TYPE_DEVICE) {
    const auto device = Runtime::get().find_device(prop.location.id);
    if (device == nullptr)
      return fail(ACL_ERROR_RT_INVALID_DEVICEID,
                  "device " + std::to_string(prop.location.id) + " is not set");
    AllocateReply reply{};
    const PageSize page = unit == kGiantPage ? PageSize::k1GiB : PageSize::k2MiB;
    if (const aclError error = charge(*device, size, {page}, &reply); error != ACL_SUCCESS) return error;
    physical->device = device;
    physical->allocation = reply.allocation;
  }
  physical->memory = Descriptor(memfd_create("ascend-physical", MFD_CLOEXEC));
  const bool ready =
      physical->memory.valid() && ftruncate(physical->memory.get(), static_cast<off_t>(size)) == 0;
  if (!ready) return fail(ACL_ERROR_BAD_ALLOC, "this host has no room for physical memory");
  *made = std::move(physical);
  return ACL_SUCCESS;
}

bool high_bandwidth(aclrtMemAttr attribute) {
  switch (attribute) {
    case ACL_HBM_MEM:
    case ACL_HBM_MEM_HUGE:
    case ACL_HBM_MEM_NORMAL:
    case ACL_HBM_MEM_P2P_HUGE:
    case ACL_HBM_MEM_P2P_NORMAL:
    case ACL_HBM_MEM_HUGE1G:
    case ACL_HBM_MEM_P2P_HUGE1G:
      return true;
    case ACL_DDR_MEM:
    case ACL_DDR_MEM_HUGE:
    case ACL_DDR_MEM_NORMAL:
    case ACL_DDR_MEM_P2P_HUGE:
    case ACL_DDR_MEM_P2P_NORMAL:
      return false;
  }
  return false;
}

aclError memory_of(const Device& device, MemoryReply* reply) {
  const CallResult result =
      Runtime::get().connection.call(RequestType::kMemory, device.logic_id, Connection::NoBody{}, reply);
  return result.ok() ? ACL_SUCCESS : fail(result, "memory of device " + std::to_string(device.user_id));
}

}  // namespace
}  // namespace ascendsim

using ascendsim::fail;
using ascendsim::guarded;
using ascendsim::null_result;
using ascendsim::Padding;
using ascendsim::Runtime;

extern "C" {

aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  return guarded([&] {
    return ascendsim::allocate_current(devPtr, size, policy, Padding::kAlignedAndOneMore, nullptr);
  });
}

aclError aclrtMallocAlign32(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  return guarded(
      [&] { return ascendsim::allocate_current(devPtr, size, policy, Padding::kAligned, nullptr); });
}

aclError aclrtMallocCached(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  return guarded([&] {
    return ascendsim::allocate_current(devPtr, size, policy, Padding::kAlignedAndOneMore, nullptr);
  });
}

aclError aclrtMallocWithCfg(void** devPtr, size_t size, aclrtMemMallocPolicy policy, aclrtMallocConfig* cfg) {
  return guarded([&] { return ascendsim::allocate_current(devPtr, size, policy, Padding::kNone, cfg); });
}

aclError aclrtMallocForTaskScheduler(void** devPtr, size_t size, aclrtMemMallocPolicy policy,
                                     aclrtMallocConfig* cfg) {
  return guarded([&] { return ascendsim::allocate_current(devPtr, size, policy, Padding::kNone, cfg); });
}

aclError aclrtFree(void* devPtr) {
  return guarded([&] {
    if (devPtr == nullptr) return null_result("devPtr");
    Runtime& runtime = Runtime::get();
    const Runtime::Lock lock(runtime.mutex);
    const auto block = runtime.blocks.at(devPtr);
    if (block == nullptr || block->kind != ascendsim::MemoryKind::kDevice) {
      return fail(ACL_ERROR_RT_PARAM_INVALID, "devPtr is not the start of device memory");
    }
    runtime.blocks.remove(devPtr);
    ascendsim::uncharge(*block->device, block->allocation);
    return ACL_SUCCESS;
  });
}

aclError aclrtMallocHost(void** hostPtr, size_t size) {
  return guarded([&] {
    if (hostPtr == nullptr) return null_result("hostPtr");
    if (size == 0) return fail(ACL_ERROR_INVALID_PARAM, "size is 0");
    Runtime& runtime = Runtime::get();
    const Runtime::Lock lock(runtime.mutex);
    if (ascendsim::current_context(lock) == nullptr) {
      return fail(ACL_ERROR_RT_CONTEXT_NULL, "this thread has no device set");
    }
    const auto block = ascendsim::make_block(size, ascendsim::MemoryKind::kPinnedHost);
    if (block == nullptr)
      return fail(ACL_ERROR_BAD_ALLOC, "the host has no room for " + std::to_string(size) + " bytes");
    runtime.blocks.add(block);
    *hostPtr = block->base;
    return ACL_SUCCESS;
  });
}

aclError aclrtFreeHost(void* hostPtr) {
  return guarded([&] {
    if (hostPtr == nullptr) return null_result("hostPtr");
    Runtime& runtime = Runtime::get();
    const Runtime::Lock lock(runtime.mutex);
    const auto block = runtime.blocks.at(hostPtr);
    if (block == nullptr || block->kind != ascendsim::MemoryKind::kPinnedHost) {
      return fail(ACL_ERROR_RT_PARAM_INVALID, "hostPtr is not the start of memory of aclrtMallocHost");
    }
    runtime.blocks.remove(hostPtr);
    return ACL_SUCCESS;
  });
}

aclError aclrtMallocPhysical(aclrtDrvMemHandle* handle, size_t size, const aclrtPhysicalMemProp* prop,
                             uint64_t flags) {
  return guarded([&] {
    if (handle == nullptr || prop == nullptr) return null_result("handle or prop");
    const bool known = flags == 0 && prop->handleType == ACL_MEM_HANDLE_TYPE_NONE &&
                       prop->allocationType == ACL_MEM_ALLOCATION_TYPE_PINNED &&
                       (prop->location.type == ACL_MEM_LOCATION_TYPE_HOST ||
                        prop->location.type == ACL_MEM_LOCATION_TYPE_DEVICE);
    if (!known)
      return fail(ACL_ERROR_RT_PARAM_INVALID, "flags, handle, allocation or location type is not known");
    const Runtime::Lock lock(Runtime::get().mutex);
    if (ascendsim::current_context(lock) == nullptr) {
      return fail(ACL_ERROR_RT_CONTEXT_NULL, "this thread has no device set");
    }
    std::shared_ptr<ascendsim::Physical> physical;
    if (const aclError error = ascendsim::make_physical(*prop, size, &physical); error != ACL_SUCCESS)
      return error;
    Runtime::get().physicals[physical.get()] = physical;
    *handle = physical.get();
    return ACL_SUCCESS;
  });
}

aclError aclrtFreePhysical(aclrtDrvMemHandle handle) {
  return guarded([&] {
    if (handle == nullptr) return null_result("handle");
    const Runtime::Lock lock(Runtime::get().mutex);
    const bool known = Runtime::get().physicals.erase(handle) == 1;
    return known ? ACL_SUCCESS : fail(ACL_ERROR_RT_INVALID_HANDLE, "not a handle of aclrtMallocPhysical");
  });
}

aclError aclrtReserveMemAddress(void** virPtr, size_t size, size_t alignment, void* expectPtr,
                                uint64_t flags) {
  return guarded([&] {
    if (virPtr == nullptr) return null_result("virPtr");
    if (size == 0 || alignment != 0 || flags > 1) {
      return fail(ACL_ERROR_RT_PARAM_INVALID, "size must not be 0, alignment must be 0, flags 0 or 1");
    }
    const Runtime::Lock lock(Runtime::get().mutex);
    // Begins on a huge page, as everything that will be mapped there does.
    const std::size_t span = size + ascendsim::kHugePage;
    if (span < size) return fail(ACL_ERROR_RT_PARAM_INVALID, "size is too large");
    void* found = mmap(expectPtr, span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (found == MAP_FAILED) return fail(ACL_ERROR_BAD_ALLOC, "this process has no such range of addresses");
    const auto start = reinterpret_cast<std::uintptr_t>(found);
    const std::size_t skipped = (ascendsim::kHugePage - start % ascendsim::kHugePage) % ascendsim::kHugePage;
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t kept = (size + page - 1) / page * page;
    char* base = static_cast<char*>(found) + skipped;
    if (skipped != 0) munmap(found, skipped);
    if (skipped + kept < span) munmap(base + kept, span - skipped - kept);
    Runtime::get().reservations[reinterpret_cast<std::uintptr_t>(base)] = kept;
    *virPtr = base;
    return ACL_SUCCESS;
  });
}

aclError aclrtReleaseMemAddress(void* virPtr) {
  return guarded([&] {
    if (virPtr == nullptr) return null_result("virPtr");
    Runtime& runtime = Runtime::get();
    const Runtime::Lock lock(runtime.mutex);
    auto& reservations = Runtime::get().reservations;
    const auto found = reservations.find(reinterpret_cast<std::uintptr_t>(virPtr));
    if (found == reservations.end())
      return fail(ACL_ERROR_RT_PARAM_INVALID, "virPtr is not the start of a reservation");
    if (runtime.blocks.at(virPtr) != nullptr)
      return fail(ACL_ERROR_RT_PARAM_INVALID, "the range is still mapped");
    munmap(virPtr, found->second);
    reservations.erase(found);
    return ACL_SUCCESS;
  });
}

aclError aclrtMapMem(void* virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle, uint64_t flags) {
  return guarded([&] {
    if (virPtr == nullptr || handle == nullptr) return null_result("virPtr or handle");
    Runtime& runtime = Runtime::get();
    const Runtime::Lock lock(runtime.mutex);
    const auto physical = runtime.physicals.find(handle);
    if (physical == runtime.physicals.end())
      return fail(ACL_ERROR_RT_INVALID_HANDLE, "not a handle of aclrtMallocPhysical");
    if (offset != 0 || flags != 0 || size == 0 || size > physical->second->bytes) {
      return fail(ACL_ERROR_RT_PARAM_INVALID,
                  "offset and flags must be 0, and size at most that of the handle");
    }
    const auto address = reinterpret_cast<std::uintptr_t>(virPtr);
    auto reservation = runtime.reservations.upper_bound(address);
    const bool reserved = reservation != runtime.reservations.begin() &&
                          size <= std::prev(reservation)->second &&
                          address - std::prev(reservation)->first <= std::prev(reservation)->second - size;
    if (!reserved) return fail(ACL_ERROR_RT_PARAM_INVALID, "the range is not reserved");
    if (runtime.blocks.around(virPtr) != nullptr)
      return fail(ACL_ERROR_RT_PARAM_INVALID, "the range is mapped already");
    void* mapped = mmap(virPtr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
                        physical->second->memory.get(), 0);
    if (mapped == MAP_FAILED) return fail(ACL_ERROR_RT_PARAM_INVALID, "virPtr is not aligned to pages");
    madvise(mapped, size, MADV_DONTFORK);
    auto block = std::make_shared<ascendsim::Block>(mapped, size, ascendsim::MemoryKind::kMapped);
    block->device = physical->second->device;
    block->backing = physical->second;
    runtime.blocks.add(block);
    return ACL_SUCCESS;
  });
}

aclError aclrtUnmapMem(void* virPtr) {
  return guarded([&] {
    if (virPtr == nullptr) return null_result("virPtr");
    Runtime& runtime = Runtime::get();
    Runtime::Lock lock(runtime.mutex);
    const auto block = runtime.blocks.at(virPtr);
    if (block == nullptr || block->kind != ascendsim::MemoryKind::kMapped) {
      return fail(ACL_ERROR_RT_PARAM_INVALID, "nothing is mapped at virPtr");
    }
    runtime.wait_unused(lock, block);
    void* bare =
        mmap(virPtr, block->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    runtime.blocks.remove(virPtr);
    return bare == MAP_FAILED ? fail(ACL_ERROR_INTERNAL_ERROR, "cannot unmap") : ACL_SUCCESS;
  });
}

aclError aclrtMemGetAllocationGranularity(aclrtPhysicalMemProp* prop, aclrtMemGranularityOptions option,
                                          size_t* granularity) {
  return guarded([&] {
    if (prop == nullptr || granularity == nullptr) return null_result("prop or granularity");
    if (option != ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM &&
        option != ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED) {
      return fail(ACL_ERROR_RT_PARAM_INVALID, "option is not known");
    }
    *granularity = ascendsim::granularity_of(prop->memAttr);
    return ACL_SUCCESS;
  });
}

aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t* free, size_t* total) {
  return guarded([&] {
    if (free == nullptr || total == nullptr) return null_result("free or total");
    const Runtime::Lock lock(Runtime::get().mutex);
    const auto context = ascendsim::current_context(lock);
    if (context == nullptr) return fail(ACL_ERROR_RT_CONTEXT_NULL, "this thread has no device set");
    *free = 0;
    *total = 0;
    if (!ascendsim::high_bandwidth(attr)) return ACL_SUCCESS;  // this chip has no such memory
    ascendsim::MemoryReply memory{};
    if (const aclError error = ascendsim::memory_of(*context->device, &memory); error != ACL_SUCCESS)
      return error;
    *free = memory.bytes_free;
    *total = memory.bytes_usable;
    return ACL_SUCCESS;
  });
}

aclError aclrtGetMemUsageInfo(int32_t deviceId, aclrtMemUsageInfo* memUsageInfo, size_t inputNum,
                              size_t* outputNum) {
  return guarded([&] {
    if (memUsageInfo == nullptr || outputNum == nullptr) return null_result("memUsageInfo or outputNum");
    if (inputNum == 0) return fail(ACL_ERROR_INVALID_PARAM, "inputNum is 0");
    const Runtime::Lock lock(Runtime::get().mutex);
    const auto device =
        deviceId < 0 ? nullptr : Runtime::get().find_device(static_cast<std::uint32_t>(deviceId));
    if (device == nullptr)
      return fail(ACL_ERROR_RT_INVALID_DEVICEID, "device " + std::to_string(deviceId) + " is not set");
    ascendsim::MemoryReply memory{};
    if (const aclError error = ascendsim::memory_of(*device, &memory); error != ACL_SUCCESS) return error;
    memUsageInfo[0] = aclrtMemUsageInfo{};
    std::memcpy(memUsageInfo[0].name, "APP", sizeof "APP");
    memUsageInfo[0].curMemSize = memory.bytes_own;
    memUsageInfo[0].memPeakSize = memory.bytes_own_peak;
    *outputNum = 1;
    return ACL_SUCCESS;
  });
}

}  // extern "C"
