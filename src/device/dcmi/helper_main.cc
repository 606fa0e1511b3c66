// tangram-dcmi-helper: maps the vendor's libdcmi.so on behalf of the daemon, so that a call that hangs or
// crashes costs a process and not the daemon. Started by the daemon only, with the channel as descriptor 3;
// ends when the channel closes, and is killed when the daemon dies.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "device/dcmi/fault_inbox.h"
#include "device/dcmi/helper_protocol.h"
#include "device/dcmi/library.h"
#include "device/dcmi/plausible.h"
#include "device/dcmi/recover_file.h"
#include "device/dcmi/vendor_reader.h"
#include "device/dcmi/vendor_slices.h"

namespace {

using namespace tangram::device;

void announce(std::string_view vendor_call) {
  HelperAnswer answer;
  answer.kind = AnswerKind::kCalling;
  answer.text = vendor_call;
  write_frame(kHelperChannelFd, encode(answer));
}

HelperAnswer failed(std::string text, std::int32_t code) {
  HelperAnswer answer;
  answer.kind = AnswerKind::kFailed;
  answer.text = std::move(text);
  answer.code = code;
  return answer;
}

HelperAnswer done() {
  HelperAnswer answer;
  answer.kind = AnswerKind::kDone;
  return answer;
}

HelperAnswer listed(Field<std::vector<std::int32_t>> list, std::string_view vendor_call) {
  if (!list.valid) return failed(std::string(vendor_call), list.code);
  HelperAnswer answer = done();
  answer.numbers = std::move(list.value);
  return answer;
}

HelperAnswer outcome(std::int32_t code, std::string_view vendor_call) {
  return code == abi::kOk ? done() : failed(std::string(vendor_call), code);
}

// The library, opened and initialised.
struct Vendor {
  explicit Vendor(const Symbols& symbols)
      : reader(symbols, caller), slices(symbols, caller), faults(symbols, caller) {}

  VendorCaller caller{announce};
  VendorReader reader;
  VendorSlices slices;
  FaultInbox faults;
};

HelperAnswer open_library(const HelperRequest& request, std::optional<Vendor>& vendor) {
  auto library = load_library(request.texts);
  if (!library) return failed(library.error().message, 0);
  vendor.emplace(library->symbols);
  const std::int32_t code = vendor->reader.init();
  if (code != abi::kOk) {
    vendor.reset();
    return failed("dcmi_init of " + library->path, code);
  }
  HelperAnswer answer = done();
  answer.text = library->path;
  return answer;
}

HelperAnswer list_cards(Vendor& vendor) {
  HelperAnswer answer = listed(vendor.reader.cards(), "dcmi_get_card_list");
  // Asked anew each time: a driver can be replaced while this process goes on.
  answer.driver_version = vendor.reader.driver_version().value;
  return answer;
}

HelperAnswer create(Vendor& vendor, const HelperRequest& request) {
  const std::string name = request.texts.empty() ? std::string() : request.texts.front();
  const auto created = vendor.slices.create(request.address, request.number, name, request.vgroup);
  HelperAnswer answer = outcome(created.code, "dcmi_create_vdevice");
  if (created.valid) answer.numbers = {static_cast<std::int32_t>(created.value)};
  return answer;
}

// Of what the driver would cut again after a boot.
HelperAnswer forget(Vendor& vendor, const HelperRequest& request) {
  if (request.texts.empty() || !is_vnpu_id(request.number)) return failed("nothing to forget", 0);
  announce("the lock of the driver's memory of slices");
  const std::uint32_t physical_id = (request.number - abi::kVnpuIdMin) / tangram::kSlicesPerNpuMax;
  const auto is_there = [&] {
    const NpuSlicing slicing = vendor.slices.read(request.address);
    if (!slicing.vnpus.valid) return true;  // not known to be gone
    return std::ranges::any_of(slicing.vnpus.value,
                               [&](const VnpuReading& vnpu) { return vnpu.id == request.number; });
  };
  const auto forgotten =
      forget_slice(recover_places(request.texts.front()), physical_id, request.number, is_there);
  return forgotten ? done() : failed(forgotten.error().to_string(), 0);
}

HelperAnswer serve(const HelperRequest& request, std::optional<Vendor>& vendor) {
  if (request.operation == Operation::kOpen) return open_library(request, vendor);
  if (!vendor) return failed("the library is not open", 0);
  HelperAnswer answer = done();
  switch (request.operation) {
    case Operation::kOpen:
      break;
    case Operation::kListCards:
      return list_cards(*vendor);
    case Operation::kListDevices:
      return listed(vendor->reader.npus_of(request.address.card), "dcmi_get_device_num_in_card");
    case Operation::kIdentify:
      answer.identity = vendor->reader.identify(request.address);
      break;
    case Operation::kReadHealth:
      answer.telemetry = vendor->reader.read_health(request.address);
      break;
    case Operation::kReadUse:
      answer.telemetry = vendor->reader.read_use(request.address);
      break;
    case Operation::kReadSlices:
      answer.slicing = vendor->slices.read(request.address);
      break;
    case Operation::kReadModes:
      answer.modes = vendor->slices.modes();
      if (!request.texts.empty())
        answer.modes.recover_file = look_at_recover_file(recover_places(request.texts.front()));
      break;
    case Operation::kTakeEvents:
      answer.events = vendor->faults.take();
      break;
    case Operation::kCreateSlice:
      return create(*vendor, request);
    case Operation::kDestroySlice:
      return outcome(vendor->slices.destroy(request.address, request.number), "dcmi_set_destroy_vdevice");
    case Operation::kForgetSlice:
      return forget(*vendor, request);
    case Operation::kSetSlicesRecover:
      return outcome(vendor->slices.set_slices_recover(request.number == 1),
                     "dcmi_set_vnpu_config_recover_mode");
    case Operation::kSetDeviceShare:
      return outcome(vendor->slices.set_device_share(request.address, request.number == 1),
                     "dcmi_set_device_share_enable");
  }
  return answer;
}

}  // namespace

int main() {
  // The daemon may be killed while a vendor call hangs here; nobody would be left to end this process.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  int type = 0;
  socklen_t size = sizeof type;
  if (getsockopt(kHelperChannelFd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM) {
    std::fputs("tangram-dcmi-helper is started by tangramd, not by hand\n", stderr);
    return 2;
  }
  close_range(kHelperChannelFd + 1, ~0U, 0);
  std::optional<Vendor> vendor;
  std::string frame;
  while (read_frame(kHelperChannelFd, frame)) {
    const auto request = decode_request(frame);
    if (!request) return 1;
    if (!write_frame(kHelperChannelFd, encode(serve(*request, vendor)))) return 1;
  }
  return 0;
}
