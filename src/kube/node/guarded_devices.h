// The devices as the keeper of slices may use them: a slice that the agent must leave alone is not returned,
// whatever the keeper makes of it.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "ports/devices.h"

namespace tangram::kube::node {

// Thread-safe as what it stands before, which must outlive it.
class GuardedDevices final : public Devices {
 public:
  // `may_return`: from any thread.
  using MayReturn = std::function<bool(std::uint32_t physical_id, std::uint32_t id)>;

  GuardedDevices(Devices& devices, MayReturn may_return)
      : devices_(devices), may_return_(std::move(may_return)) {}

  Result<DeviceScan> scan() override { return devices_.scan(); }
  Result<DeviceSlice> create_slice(const SliceOrder& order) override { return devices_.create_slice(order); }
  // Further errors: kFailedPrecondition "node.npu.excluded".
  Result<void> destroy_slice(std::uint32_t physical_id, std::uint32_t id) override {
    if (may_return_(physical_id, id)) return devices_.destroy_slice(physical_id, id);
    return fail(
        Code::kFailedPrecondition, "node.npu.excluded",
        "NPU " + std::to_string(physical_id) + " is left alone here, and with it a slice that is nobody's");
  }
  Result<void> forget_slice(std::uint32_t physical_id, std::uint32_t id) override {
    return devices_.forget_slice(physical_id, id);
  }
  Result<void> set_slices_recover(bool on) override { return devices_.set_slices_recover(on); }
  Result<void> set_device_share(std::uint32_t physical_id, bool on) override {
    return devices_.set_device_share(physical_id, on);
  }

 private:
  Devices& devices_;
  const MayReturn may_return_;
};

}  // namespace tangram::kube::node
