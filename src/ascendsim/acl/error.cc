#include "ascendsim/acl/error.h"

#include <utility>

namespace ascendsim {
namespace {

thread_local std::string kept_message;
thread_local std::string given_message;

}  // namespace

aclError fail(aclError code, const std::string& message) {
  kept_message = "error " + std::to_string(code) + ": " + message;
  return code;
}

aclError fail(const CallResult& result, const std::string& what) {
  if (!result.connected) return fail(ACL_ERROR_RT_DRV_INTERNAL_ERROR, what + ": the driver does not answer");
  switch (result.status) {
    case Status::kOk:
      return ACL_SUCCESS;
    case Status::kInvalid:
      return fail(ACL_ERROR_RT_PARAM_INVALID, what + ": the driver refused a parameter");
    case Status::kNoSuchNpu:
      return fail(ACL_ERROR_RT_INVALID_DEVICEID, what + ": no such device");
    case Status::kDenied:
      return fail(ACL_ERROR_RT_NO_PERMISSION, what + ": no permission for the device");
    case Status::kOutOfMemory:
      return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, what + ": the device is out of memory");
    case Status::kLimit:
      return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, what + ": a limit of the driver is reached");
    case Status::kNotOpen:
      return fail(ACL_ERROR_RT_CONTEXT_NULL, what + ": the device is not set");
    case Status::kLost:
      return fail(ACL_ERROR_RT_LOST_HEARTBEAT, what + ": the device was lost");
    case Status::kTimeout:
      return fail(ACL_ERROR_RT_AICORE_TIMEOUT, what + ": a task ran too long");
    case Status::kAborted:
      return fail(ACL_ERROR_RT_STREAM_ABORT, what + ": the stream was aborted");
    case Status::kBusy:
      return fail(ACL_ERROR_RT_DRV_INTERNAL_ERROR, what + ": the NPU is cut into virtual devices (ret:13)");
    case Status::kOccupied:
      return fail(ACL_ERROR_RT_DRV_INTERNAL_ERROR, what + ": another container holds the device (ret:87)");
    case Status::kUnsupported:
    case Status::kNoSuchVdev:
      break;
  }
  return fail(ACL_ERROR_RT_DRV_INTERNAL_ERROR, what + ": the driver answered nonsense");
}

const char* take_error_message() {
  if (kept_message.empty()) return nullptr;
  given_message = std::exchange(kept_message, std::string());
  return given_message.c_str();
}

}  // namespace ascendsim
