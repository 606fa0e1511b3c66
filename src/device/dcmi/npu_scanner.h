// Looks at every NPU through the helper: what there is, how it fares, how it is cut.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "device/dcmi/backoff.h"
#include "device/dcmi/helper_session.h"
#include "device/dcmi/reading.h"
#include "device/dcmi_devices.h"
#include "ports/devices.h"

namespace tangram::device {

// Keeps the others readable when a card or an NPU hangs. One thread at a time.
class NpuScanner {
 public:
  NpuScanner(HelperSession& session, const DcmiOptions& options);

  // Devices::scan().
  Result<DeviceScan> scan();

  // Where the NPU stands, asked anew: an order must never reach another chip than the one that is meant.
  Result<NpuAddress> locate(std::uint32_t physical_id);

  // The next question goes to a new helper, which sees the driver as it is by then.
  void forget_helper();

 private:
  struct Card {
    std::vector<std::int32_t> devices;  // as last listed
    Backoff backoff;
  };
  struct Npu {
    std::optional<NpuIdentity> identity;  // as last known
    bool identity_checked = false;        // since the driver was last seen whole
    std::string unreadable;               // why it has no identity
    Sample<Bytes> memory_total;           // as last known: an NPU that hangs keeps its size
    Backoff backoff;
    Backoff slicing_backoff;  // of the questions about slices alone
    bool listed = false;
  };

  Result<DeviceScan> look(Deadline end);
  void distrust_identities();
  Result<HelperAnswer> ask(Operation operation, NpuAddress at, std::vector<std::string> texts = {});
  Result<HelperAnswer> ask_if_rested(Operation operation, NpuAddress at, Backoff& backoff, Deadline end,
                                     std::vector<std::string> texts = {});

  Result<void> list(Deadline end);
  void list_card(std::int32_t id, Card& card);
  std::vector<NpuAddress> reading_order() const;
  void read_all(Deadline end, DeviceScan& scan);
  Result<NpuTelemetry> read_npu(NpuAddress at, Npu& npu, Deadline end);
  Result<NpuTelemetry> identify_and_read(NpuAddress at, Npu& npu);
  void add_vanished(const std::set<std::uint32_t>& taken, DeviceScan& scan);
  void read_use(Deadline end, DeviceNpu& entry);
  void judge_board(DeviceNpu& entry) const;
  void read_slicing(Deadline end, DeviceNpu& entry);
  void read_modes(Deadline end, DeviceScan& scan);
  void take_events(Deadline end);
  const std::pair<const NpuAddress, Npu>* find_npu(std::uint32_t physical_id) const;

  HelperSession& session_;
  const DcmiOptions& options_;
  std::vector<ChipModel> chips_;  // the operator's come first
  std::string driver_version_;
  std::map<std::int32_t, Card> cards_;
  std::map<NpuAddress, Npu> npus_;
  std::set<NpuAddress> answered_;    // in this look
  std::vector<DeviceEvent> events_;  // not handed on yet
  Backoff modes_backoff_;
  Backoff events_backoff_;
  bool all_lost_ = false;
  bool ill_ = false;
};

}  // namespace tangram::device
