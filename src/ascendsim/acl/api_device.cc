// aclInit and aclFinalize, devices, what they report, contexts.
#include <algorithm>
#include <cstring>
#include <functional>

#include "acl/acl.h"
#include "ascendsim/acl/runtime.h"

namespace ascendsim {
namespace {

aclError null_result(const char* what) {
  return fail(ACL_ERROR_INVALID_PARAM, std::string(what) + " is NULL");
}

void close_all(Runtime::Lock& lock, Runtime& runtime) {
  const auto visible = runtime.visible_devices().size();
  for (std::uint32_t id = 0; id < visible; ++id) {
    if (const auto device = runtime.find_device(id)) runtime.close_device(lock, device);
  }
  set_current_context(lock, nullptr);
}

// The driver's view of one device by the program's id; the device need not be set.
aclError describe(Runtime::Lock& lock, std::int64_t user_id, NpuRecord* record) {
  Runtime& runtime = Runtime::get();
  if (const aclError error = runtime.attach(lock); error != ACL_SUCCESS) return error;
  const auto& visible = runtime.visible_devices();
  if (user_id < 0 || static_cast<std::uint64_t>(user_id) >= visible.size()) {
    return fail(
        ACL_ERROR_RT_INVALID_DEVICEID,
        "device " + std::to_string(user_id) + " does not exist: there are " + std::to_string(visible.size()));
  }
  MachineSnapshot snapshot;
  const CallResult result = query_machine(runtime.connection, &snapshot);
  if (!result.ok()) return fail(result, "query the machine");
  const std::uint32_t logic_id = visible[static_cast<std::size_t>(user_id)];
  if (logic_id >= snapshot.npus.size()) return fail(ACL_ERROR_RT_INVALID_DEVICEID, "the device has gone");
  *record = snapshot.npus[logic_id];
  return ACL_SUCCESS;
}

aclError reset_device(std::int32_t device_id, bool force) {
  Runtime& runtime = Runtime::get();
  Runtime::Lock lock(runtime.mutex);
  NpuRecord record{};
  if (const aclError error = describe(lock, device_id, &record); error != ACL_SUCCESS) return error;
  const auto device = runtime.find_device(static_cast<std::uint32_t>(device_id));
  if (device == nullptr)
    return fail(ACL_ERROR_RT_CONTEXT_NULL, "device " + std::to_string(device_id) + " is not set");
  if (device->set_count > 0) --device->set_count;
  if (force || device->set_count == 0) runtime.close_device(lock, device);
  return ACL_SUCCESS;
}

aclError synchronize_device(std::int32_t timeout_ms) {
  if (timeout_ms < -1)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "timeout " + std::to_string(timeout_ms) + " is below -1");
  Runtime& runtime = Runtime::get();
  Runtime::Lock lock(runtime.mutex);
  const auto context = current_context(lock);
  if (context == nullptr) return fail(ACL_ERROR_RT_CONTEXT_NULL, "this thread has no device set");
  const auto device = context->device;
  std::vector<std::shared_ptr<Task>> tails;
  for (const auto& one : device->contexts) {
    for (const auto& stream : one->streams) {
      if (stream->tail != nullptr) tails.push_back(stream->tail);
    }
  }
  for (const auto& tail : tails) {
    const aclError error = runtime.wait(lock, tail, timeout_ms, ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    if (error != ACL_SUCCESS) return error;
  }
  return runtime.lost(*device) ? fail(ACL_ERROR_RT_LOST_HEARTBEAT, "the device was lost") : ACL_SUCCESS;
}

aclError device_info(const NpuRecord& npu, aclrtDevAttr attribute, int64_t* value) {
  switch (attribute) {
    case ACL_DEV_ATTR_AICPU_CORE_NUM:
      *value = npu.ai_cpus;
      return ACL_SUCCESS;
    case ACL_DEV_ATTR_AICORE_CORE_NUM:
    case ACL_DEV_ATTR_CUBE_CORE_NUM:
      *value = npu.ai_cores;
      return ACL_SUCCESS;
    case ACL_DEV_ATTR_VECTOR_CORE_NUM:
      *value = npu.vector_cores;
      return ACL_SUCCESS;
    case ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE:
      *value = static_cast<int64_t>(npu.memory_bytes_total - npu.memory_bytes_system);
      return ACL_SUCCESS;
    case ACL_DEV_ATTR_L2_CACHE_SIZE:
      *value = static_cast<int64_t>(npu.l2_bytes);
      return ACL_SUCCESS;
    case ACL_DEV_ATTR_PHY_CHIP_ID:
      *value = npu.phy_id;
      return ACL_SUCCESS;
    case ACL_DEV_ATTR_IS_VIRTUAL:
      *value = npu.vdev_id == kNoVdev ? 0 : 1;
      return ACL_SUCCESS;
  }
  return fail(ACL_ERROR_INVALID_PARAM,
              "attribute " + std::to_string(static_cast<int>(attribute)) + " is not known");
}

}  // namespace
}  // namespace ascendsim

using ascendsim::fail;
using ascendsim::guarded;
using ascendsim::null_result;
using ascendsim::Runtime;

extern "C" {

aclError aclInit(const char*) {
  return guarded([] {
    Runtime& runtime = Runtime::get();
    const Runtime::Lock lock(runtime.mutex);
    if (++runtime.init_count == 1) return ACL_SUCCESS;
    return fail(ACL_ERROR_REPEAT_INITIALIZE, "aclInit was called before");
  });
}

aclError aclFinalize() {
  return guarded([] {
    Runtime& runtime = Runtime::get();
    Runtime::Lock lock(runtime.mutex);
    if (runtime.init_count == 0) return fail(ACL_ERROR_UNINITIALIZE, "aclInit was not called");
    runtime.init_count = 0;
    ascendsim::close_all(lock, runtime);
    return ACL_SUCCESS;
  });
}

aclError aclFinalizeReference(uint64_t* refCount) {
  return guarded([&] {
    Runtime& runtime = Runtime::get();
    Runtime::Lock lock(runtime.mutex);
    if (runtime.init_count == 0) return fail(ACL_ERROR_UNINITIALIZE, "aclInit was not called");
    --runtime.init_count;
    if (refCount != nullptr) *refCount = runtime.init_count;
    if (runtime.init_count == 0) ascendsim::close_all(lock, runtime);
    return ACL_SUCCESS;
  });
}

const char* aclGetRecentErrMsg() {
  return ascendsim::take_error_message();
}

aclError aclrtGetVersion(int32_t* majorVersion, int32_t* minorVersion, int32_t* patchVersion) {
  return guarded([&] {
    if (majorVersion == nullptr || minorVersion == nullptr || patchVersion == nullptr)
      return null_result("version");
    *majorVersion = ACL_MAJOR_VERSION;
    *minorVersion = ACL_MINOR_VERSION;
    *patchVersion = ACL_PATCH_VERSION;
    return ACL_SUCCESS;
  });
}

aclError aclrtSetDevice(int32_t deviceId) {
  return guarded([&] {
    Runtime& runtime = Runtime::get();
    Runtime::Lock lock(runtime.mutex);
    std::shared_ptr<ascendsim::Device> device;
    if (const aclError error = runtime.open_device(lock, deviceId, &device); error != ACL_SUCCESS)
      return error;
    ++device->set_count;
    ascendsim::set_current_context(lock, device->primary);
    return ACL_SUCCESS;
  });
}

aclError aclrtResetDevice(int32_t deviceId) {
  return guarded([&] { return ascendsim::reset_device(deviceId, false); });
}

aclError aclrtResetDeviceForce(int32_t deviceId) {
  return guarded([&] { return ascendsim::reset_device(deviceId, true); });
}

aclError aclrtGetDevice(int32_t* deviceId) {
  return guarded([&] {
    if (deviceId == nullptr) return null_result("deviceId");
    const Runtime::Lock lock(Runtime::get().mutex);
    const auto context = ascendsim::current_context(lock);
    if (context == nullptr) return fail(ACL_ERROR_RT_CONTEXT_NULL, "this thread has no device set");
    *deviceId = static_cast<int32_t>(context->device->user_id);
    return ACL_SUCCESS;
  });
}

aclError aclrtGetDeviceCount(uint32_t* count) {
  return guarded([&] {
    if (count == nullptr) return null_result("count");
    *count = 0;
    Runtime& runtime = Runtime::get();
    Runtime::Lock lock(runtime.mutex);
    if (const aclError error = runtime.attach(lock); error != ACL_SUCCESS) return error;
    *count = static_cast<uint32_t>(runtime.visible_devices().size());
    return *count == 0 ? fail(ACL_ERROR_RT_NO_DEVICE, "this process may use no device") : ACL_SUCCESS;
  });
}

aclError aclrtGetRunMode(aclrtRunMode* runMode) {
  return guarded([&] {
    if (runMode == nullptr) return null_result("runMode");
    *runMode = ACL_HOST;
    return ACL_SUCCESS;
  });
}

aclError aclrtSynchronizeDevice() {
  return guarded([] { return ascendsim::synchronize_device(-1); });
}

aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout) {
  return guarded([&] { return ascendsim::synchronize_device(timeout); });
}

const char* aclrtGetSocName() {
  // Fixed for the life of the machine, and the pointer must stay valid.
  static char name[64] = "";
  static std::mutex name_mutex;
  const std::lock_guard guard(name_mutex);
  guarded([] {
    if (name[0] != '\0') return ACL_SUCCESS;
    Runtime::Lock lock(Runtime::get().mutex);
    ascendsim::NpuRecord record{};
    if (const aclError error = ascendsim::describe(lock, 0, &record); error != ACL_SUCCESS) return error;
    std::memcpy(name, record.soc_name, sizeof record.soc_name);
    return ACL_SUCCESS;
  });
  return name[0] == '\0' ? nullptr : name;
}

aclError aclGetDeviceCapability(uint32_t deviceId, aclDeviceInfo deviceInfo, int64_t* value) {
  return guarded([&] {
    if (value == nullptr) return null_result("value");
    Runtime::Lock lock(Runtime::get().mutex);
    ascendsim::NpuRecord record{};
    if (const aclError error = ascendsim::describe(lock, deviceId, &record); error != ACL_SUCCESS)
      return error;
    switch (deviceInfo) {
      case ACL_DEVICE_INFO_AI_CORE_NUM:
        *value = record.ai_cores;
        return ACL_SUCCESS;
      case ACL_DEVICE_INFO_VECTOR_CORE_NUM:
        *value = record.vector_cores;
        return ACL_SUCCESS;
      case ACL_DEVICE_INFO_L2_SIZE:
        *value = static_cast<int64_t>(record.l2_bytes);
        return ACL_SUCCESS;
      case ACL_DEVICE_INFO_UNDEFINED:
        break;
    }
    return fail(ACL_ERROR_INVALID_PARAM,
                "deviceInfo " + std::to_string(static_cast<int>(deviceInfo)) + " is not known");
  });
}

aclError aclrtGetDeviceInfo(uint32_t deviceId, aclrtDevAttr attr, int64_t* value) {
  return guarded([&] {
    if (value == nullptr) return null_result("value");
    Runtime::Lock lock(Runtime::get().mutex);
    ascendsim::NpuRecord record{};
    if (const aclError error = ascendsim::describe(lock, deviceId, &record); error != ACL_SUCCESS)
      return error;
    return ascendsim::device_info(record, attr, value);
  });
}

aclError aclrtQueryDeviceStatus(int32_t deviceId, aclrtDeviceStatus* deviceStatus) {
  return guarded([&] {
    if (deviceStatus == nullptr) return null_result("deviceStatus");
    Runtime::Lock lock(Runtime::get().mutex);
    ascendsim::NpuRecord record{};
    if (const aclError error = ascendsim::describe(lock, deviceId, &record); error != ACL_SUCCESS)
      return error;
    const bool usable =
        record.health != ascendsim::Health::kAbsent && record.health != ascendsim::Health::kCritical;
    *deviceStatus = usable ? ACL_RT_DEVICE_STATUS_NORMAL : ACL_RT_DEVICE_STATUS_ABNORMAL;
    return ACL_SUCCESS;
  });
}

aclError aclrtGetDeviceUtilizationRate(int32_t deviceId, aclrtUtilizationInfo* utilizationInfo) {
  return guarded([&] {
    if (utilizationInfo == nullptr) return null_result("utilizationInfo");
    if (utilizationInfo->utilizationExtend != nullptr) {
      return fail(ACL_ERROR_INVALID_PARAM, "utilizationExtend must be NULL");
    }
    Runtime::Lock lock(Runtime::get().mutex);
    ascendsim::NpuRecord record{};
    if (const aclError error = ascendsim::describe(lock, deviceId, &record); error != ACL_SUCCESS)
      return error;
    utilizationInfo->cubeUtilization = static_cast<int32_t>(record.aicore_percent);
    utilizationInfo->vectorUtilization = static_cast<int32_t>(record.vector_percent);
    utilizationInfo->aicpuUtilization = 0;
    utilizationInfo->memoryUtilization = -1;
    return ACL_SUCCESS;
  });
}

aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId) {
  return guarded([&] {
    if (context == nullptr) return null_result("context");
    Runtime& runtime = Runtime::get();
    Runtime::Lock lock(runtime.mutex);
    std::shared_ptr<ascendsim::Device> device;
    if (const aclError error = runtime.open_device(lock, deviceId, &device); error != ACL_SUCCESS)
      return error;
    aclError error = ACL_SUCCESS;
    const auto created = runtime.create_context(lock, device, &error);
    if (created == nullptr) return error;
    ascendsim::set_current_context(lock, created);
    *context = created.get();
    return ACL_SUCCESS;
  });
}

aclError aclrtDestroyContext(aclrtContext context) {
  return guarded([&] {
    if (context == nullptr) return null_result("context");
    Runtime& runtime = Runtime::get();
    Runtime::Lock lock(runtime.mutex);
    const auto found = runtime.contexts.find(context);
    if (found == runtime.contexts.end()) return fail(ACL_ERROR_RT_CONTEXT_NULL, "not a context");
    const auto doomed = found->second;
    const auto device = doomed->device;
    if (doomed == device->primary) {
      return fail(ACL_ERROR_RT_PARAM_INVALID, "the default context goes with aclrtResetDevice");
    }
    runtime.drop_context(lock, doomed);
    // Opened by aclrtCreateContext alone: the last context takes the device with it.
    if (device->set_count == 0 && device->contexts.size() == 1) runtime.close_device(lock, device);
    return ACL_SUCCESS;
  });
}

aclError aclrtSetCurrentContext(aclrtContext context) {
  return guarded([&] {
    if (context == nullptr) return null_result("context");
    Runtime& runtime = Runtime::get();
    const Runtime::Lock lock(runtime.mutex);
    const auto found = runtime.contexts.find(context);
    if (found == runtime.contexts.end()) return fail(ACL_ERROR_RT_CONTEXT_NULL, "not a context");
    ascendsim::set_current_context(lock, found->second);
    return ACL_SUCCESS;
  });
}

aclError aclrtGetCurrentContext(aclrtContext* context) {
  return guarded([&] {
    if (context == nullptr) return null_result("context");
    const Runtime::Lock lock(Runtime::get().mutex);
    const auto current = ascendsim::current_context(lock);
    if (current == nullptr) return fail(ACL_ERROR_RT_CONTEXT_NULL, "this thread has no device set");
    *context = current.get();
    return ACL_SUCCESS;
  });
}

}  // extern "C"
