#include "device/dcmi_devices.h"

#include <algorithm>
#include <utility>

#include "device/dcmi/helper_session.h"
#include "device/dcmi/npu_scanner.h"
#include "device/dcmi/slice_commands.h"
#include "device/dcmi/slice_settlement.h"
#include "device/serial_worker.h"

namespace tangram::device {
namespace {

// A budget that cannot hold a start and a question would never ask anything.
DcmiOptions with_room(DcmiOptions options) {
  options.scan_budget = std::max(options.scan_budget, options.init_deadline + 2 * options.call_deadline);
  return options;
}

class DcmiDevices final : public Devices {
 public:
  explicit DcmiDevices(DcmiOptions options) : options_(with_room(std::move(options))) {}

  Result<DeviceScan> scan() override {
    return worker_.run([this] { return scanner_.scan(); });
  }

  Result<DeviceSlice> create_slice(const SliceOrder& order) override {
    TG_TRY_VOID(check_order(order));
    return order_about<DeviceSlice>(order.physical_id,
                                    [&](NpuAddress at) { return commands_.create(at, order); });
  }

  Result<void> destroy_slice(std::uint32_t physical_id, std::uint32_t id) override {
    TG_TRY_VOID(check_slice_id(physical_id, id));
    return order_about<void>(physical_id,
                             [=, this](NpuAddress at) { return commands_.destroy(at, physical_id, id); });
  }

  Result<void> forget_slice(std::uint32_t physical_id, std::uint32_t id) override {
    TG_TRY_VOID(check_slice_id(physical_id, id));
    if (!options_.machine_root) return {};
    return order_about<void>(physical_id,
                             [=, this](NpuAddress at) { return commands_.forget(at, physical_id, id); });
  }

  Result<void> set_slices_recover(bool on) override {
    return worker_.run([=, this] { return commands_.set_slices_recover(on); });
  }

  Result<void> set_device_share(std::uint32_t physical_id, bool on) override {
    return order_about<void>(
        physical_id, [=, this](NpuAddress at) { return commands_.set_device_share(at, physical_id, on); });
  }

 private:
  template <class T, class Order>
  Result<T> order_about(std::uint32_t physical_id, Order order) {
    return worker_.run([&]() -> Result<T> {
      TG_TRY(const NpuAddress at, scanner_.locate(physical_id));
      auto done = order(at);
      if (done || done.error().reason != kUnreadable) return done;
      // The driver may have restarted: the old helper has the tables of the old one.
      scanner_.forget_helper();
      TG_TRY(const NpuAddress again, scanner_.locate(physical_id));
      return order(again);
    });
  }

  const DcmiOptions options_;
  HelperSession session_{options_};
  NpuScanner scanner_{session_, options_};
  SliceCommands commands_{session_, options_};
  SerialWorker worker_;  // ends first: the helper was started by its thread
};

}  // namespace

std::unique_ptr<Devices> make_dcmi_devices(DcmiOptions options) {
  return std::make_unique<DcmiDevices>(std::move(options));
}

}  // namespace tangram::device
