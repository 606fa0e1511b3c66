// Orders to the driver about slices, each followed by a look at what the hardware then shows.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "device/dcmi/helper_session.h"
#include "device/dcmi/reading.h"
#include "device/dcmi_devices.h"
#include "ports/device_slices.h"

namespace tangram::device {

// The reason when the slices of an NPU cannot be read before an order: nothing was tried.
inline constexpr std::string_view kUnreadable = "device.npu.unreadable";

// Errors are those of Devices. One thread at a time.
class SliceCommands {
 public:
  SliceCommands(HelperSession& session, const DcmiOptions& options) : session_(session), options_(options) {}

  // `at` is where the NPU of the order stands. Orders have been checked.
  Result<DeviceSlice> create(NpuAddress at, const SliceOrder& order);
  Result<void> destroy(NpuAddress at, std::uint32_t physical_id, std::uint32_t id);
  // DcmiOptions::machine_root is set.
  Result<void> forget(NpuAddress at, std::uint32_t physical_id, std::uint32_t id);
  Result<void> set_slices_recover(bool on);
  Result<void> set_device_share(NpuAddress at, std::uint32_t physical_id, bool on);

 private:
  Result<HelperAnswer> ask(const HelperRequest& request);
  Result<DeviceSlicing> look(NpuAddress at, std::uint32_t physical_id);

  HelperSession& session_;
  const DcmiOptions& options_;
};

}  // namespace tangram::device
