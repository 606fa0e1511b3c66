// What the helper process may send to the daemon, and what the vendor's library may do to the helper. The
// first byte says which: '0' bytes on the channel, '1' answers of the library, which fills structures as it
// likes.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/quote.h"
#include "device/dcmi/fault_inbox.h"
#include "device/dcmi/helper_protocol.h"
#include "device/dcmi/npu_entry.h"
#include "device/dcmi/slice_entry.h"
#include "device/dcmi/vendor_reader.h"
#include "device/dcmi/vendor_slices.h"
#include "input.h"
#include "require.h"

namespace tangram::fuzz {
namespace {

using device::HelperAnswer;

void require_printable(std::string_view text) {
  require(text.size() <= 256, "a text of a device is short");
  require(std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; }),
          "a text of a device can be printed");
}

// As the daemon makes its picture of the machine.
void look_at(const HelperAnswer& answer) {
  const auto now = std::chrono::steady_clock::time_point();
  if (answer.identity.phy_id.valid) {
    DeviceNpu npu = device::entry_of({0, 0}, answer.identity);
    device::fill_health(answer.telemetry, npu);
    device::fill_use(answer.telemetry, now, npu);
    npu.slicing = device::slicing_of(answer.slicing, now);
    require_printable(npu.chip);
    require_printable(npu.mcu_version);
    require(!npu.memory_total.valid || npu.memory_total.value.count > 0, "memory that is known is some");
    require(!npu.memory_used.valid || npu.memory_used.value.count >= 0, "use is not negative");
    require(!npu.ai_core_percent.valid || npu.ai_core_percent.value <= 100, "a share is at most all");
    if (npu.slicing.slices.valid) {
      for (const DeviceSlice& slice : npu.slicing.slices.value) require_printable(slice.template_name.value);
    }
  }
  (void)device::is_driver_lost(answer.telemetry);
  if (!answer.events.valid) return;
  for (const device::EventReading& reading : answer.events.value) {
    require_printable(device::event_of(reading, 0).name);
  }
}

void check_channel(std::string_view bytes) {
  const auto request = device::decode_request(bytes);
  if (request)
    require(device::decode_request(device::encode(*request)).has_value(), "a request goes through");
  const auto answer = device::decode_answer(bytes);
  if (!answer) return require_presentable(answer.error());
  const auto again = device::decode_answer(device::encode(*answer));
  require(again && device::encode(*again) == device::encode(*answer), "what was kept of an answer is kept");
  look_at(*answer);
}

// ---- the vendor's library

Input* library = nullptr;  // what it will do, while it is in use

int next_code() {
  static constexpr std::array<int, 8> kCodes{device::abi::kInvalidParameter,
                                             device::abi::kNotSupported,
                                             device::abi::kDeviceNotExist,
                                             device::abi::kTimeout,
                                             device::abi::kInvalidDevice,
                                             device::abi::kNotReady,
                                             -1,
                                             1};
  const std::uint8_t choice = library->byte();
  return choice < 248 ? device::abi::kOk : kCodes[choice - 248U];
}

// Some bytes from the front of `bytes_max`.
int fill(void* into, std::size_t bytes_max) {
  const int code = next_code();
  const std::string_view bytes = library->text(std::min<std::size_t>(library->byte() * 8U, bytes_max));
  if (!bytes.empty()) std::memcpy(into, bytes.data(), bytes.size());
  return code;
}

// A structure of a later release is longer.
template <class T>
int fill_grown(T* into) {
  return fill(into, sizeof(T) + sizeof(device::Roomy<T>::room));
}

device::Symbols symbols() {
  using namespace device::abi;
  device::Symbols all;
  all.init = [] { return next_code(); };
  all.driver_version = [](char* text, unsigned int length) { return fill(text, length); };
  all.card_list = [](int* count, int* list, int length) {
    (void)fill(count, sizeof *count);
    return fill(list, static_cast<std::size_t>(length) * sizeof *list);
  };
  all.device_count = [](int, int* count) { return fill(count, sizeof *count); };
  all.device_type = [](int, int, int* type) { return fill(type, sizeof *type); };
  all.logic_id = [](int* id, int, int) { return fill(id, sizeof *id); };
  all.phy_id = [](unsigned int, unsigned int* id) { return fill(id, sizeof *id); };
  all.chip_info = [](int, int, ChipInfo* info) { return fill_grown(info); };
  all.board_info = [](int, int, BoardInfo* info) { return fill_grown(info); };
  all.pcie_info = [](int, int, PcieInfo* info) { return fill_grown(info); };
  all.die = [](int, int, int, DieId* die) { return fill_grown(die); };
  all.health = [](int, int, unsigned int* health) { return fill(health, sizeof *health); };
  all.error_codes = [](int, int, int* count, unsigned int* list, unsigned int length) {
    (void)fill(count, sizeof *count);
    return fill(list, length * sizeof *list);
  };
  all.hbm_info = [](int, int, HbmInfo* info) { return fill_grown(info); };
  all.memory_info = [](int, int, MemoryInfo* info) { return fill_grown(info); };
  all.utilisation = [](int, int, int, unsigned int* percent) { return fill(percent, sizeof *percent); };
  all.temperature = [](int, int, int* celsius) { return fill(celsius, sizeof *celsius); };
  all.power = [](int, int, int* power) { return fill(power, sizeof *power); };
  all.mcu_power = [](int, int* power) { return fill(power, sizeof *power); };
  all.processes = [](int, int, ProcessMemory* list, int* count) {
    const auto room = static_cast<std::size_t>(*count) * sizeof *list;
    (void)fill(count, sizeof *count);
    return fill(list, room);
  };
  all.mcu_version = [](int, char* text, int length, int* used) {
    (void)fill(used, sizeof *used);
    return fill(text, static_cast<std::size_t>(length));
  };
  all.device_info = [](int, int, int, unsigned int, void* buffer, unsigned int* size) {
    const std::size_t room = *size;
    (void)fill(size, sizeof *size);
    return fill(buffer, room);
  };
  all.vnpu_mode = [](int* mode) { return fill(mode, sizeof *mode); };
  all.recover_mode = [](unsigned int* mode) { return fill(mode, sizeof *mode); };
  all.device_share = [](int, int, int* on) { return fill(on, sizeof *on); };
  all.create_vnpu = [](int, int, CreateVnpuOrder*, CreatedVnpu* made) { return fill_grown(made); };
  all.event = [](int, int, int, EventFilter, Event* event) {
    return library->empty() ? static_cast<int>(kTimeout) : fill_grown(event);
  };
  return all;
}

void check_library(Input& input) {
  library = &input;
  const device::VendorCaller caller([](std::string_view) {});
  device::VendorReader reader(symbols(), caller);
  device::VendorSlices slices(symbols(), caller);
  device::FaultInbox faults(symbols(), caller);
  HelperAnswer answer;
  answer.kind = device::AnswerKind::kDone;
  answer.identity = reader.identify({0, 0});
  answer.telemetry = reader.read_use({0, 0});
  const device::NpuTelemetry health = reader.read_health({0, 0});
  answer.telemetry.health = health.health;
  answer.telemetry.error_codes = health.error_codes;
  answer.slicing = slices.read({0, 0});
  answer.driver_version = reader.driver_version().value;
  answer.numbers = reader.cards().value;
  for (const std::int32_t npu : reader.npus_of(0).value) answer.numbers.push_back(npu);
  answer.modes = slices.modes();
  (void)slices.create({0, 0}, device::abi::kVnpuIdAuto, "vir04", kNoVgroup);
  answer.events = faults.take();
  library = nullptr;
  const std::string bytes = device::encode(answer);
  require(bytes.size() <= device::kFrameBytesMax, "an answer fits into a frame");
  const auto received = device::decode_answer(bytes);
  require(received.has_value(), "the daemon understands its own helper");
  require(device::encode(*received) == bytes, "what the helper thinks possible the daemon does, too");
  look_at(*received);
}

}  // namespace
}  // namespace tangram::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tangram::fuzz::Input input(data, size);
  switch (input.byte()) {
    case '0':
      tangram::fuzz::check_channel(input.rest());
      return 0;
    case '1':
      tangram::fuzz::check_library(input);
      return 0;
    default:
      return -1;
  }
}
