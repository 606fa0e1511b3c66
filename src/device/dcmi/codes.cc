#include "device/dcmi/codes.h"

#include "device/dcmi/abi.h"
#include "device/dcmi/reading.h"

namespace tangram::device {
namespace {

std::string_view meaning(std::int32_t code) {
  switch (code) {
    case abi::kOk:
      return "success";
    case abi::kInvalidParameter:
      return "invalid parameter";
    case abi::kNotPermitted:
      return "operation not permitted";
    case abi::kMemory:
      return "memory error";
    case abi::kSecureFunction:
      return "secure function error";
    case abi::kInner:
      return "inner error; the driver may be missing or still starting";
    case abi::kTimeout:
      return "timeout";
    case abi::kInvalidDevice:
      return "invalid device id";
    case abi::kDeviceNotExist:
      return "device does not exist";
    case abi::kIoctl:
      return "ioctl failed";
    case abi::kSend:
      return "sending to the device failed";
    case abi::kReceive:
      return "receiving from the device failed";
    case abi::kNotReady:
      return "not ready; the card may have dropped";
    case abi::kNotInContainer:
      return "not supported in a container, or device busy";
    case abi::kFile:
      return "file operation failed";
    case abi::kReset:
      return "reset failed";
    case abi::kAborted:
      return "aborted";
    case abi::kUpgrading:
      return "firmware upgrade running";
    case abi::kOccupied:
      return "resource occupied";
    case abi::kPartition:
      return "wrong partition";
    case abi::kConfigMissing:
      return "configuration does not exist";
    case abi::kNotSupported:
      return "not supported";
    case kCodeImplausible:
      return "a value that cannot be true";
    default:
      return "unknown code";
  }
}

}  // namespace

std::string code_text(std::int32_t code) {
  return std::to_string(code) + " (" + std::string(meaning(code)) + ")";
}

std::string failure_text(std::string_view vendor_call, std::int32_t code) {
  const std::string text(vendor_call);
  if (code == kCodeSymbolMissing) return text + " is not exported by the installed libdcmi.so";
  if (code == kCodeImplausible) return text + " answered a value that cannot be true";
  return text + " answered " + code_text(code);
}

}  // namespace tangram::device
