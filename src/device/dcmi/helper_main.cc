// tangram-dcmi-helper: maps the vendor's libdcmi.so on behalf of the daemon, so that a call that hangs or
// crashes costs a process and not the daemon. Started by the daemon only, with the channel as descriptor 3;
// ends when the channel closes, and is killed when the daemon dies.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "device/dcmi/helper_protocol.h"
#include "device/dcmi/library.h"
#include "device/dcmi/vendor_reader.h"

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

HelperAnswer open_library(const HelperRequest& request, std::optional<VendorReader>& reader) {
  auto library = load_library(request.texts);
  if (!library) return failed(library.error().message, 0);
  reader.emplace(library->symbols, announce);
  const std::int32_t code = reader->init();
  if (code != abi::kOk) {
    reader.reset();
    return failed("dcmi_init of " + library->path, code);
  }
  HelperAnswer answer = done();
  answer.text = library->path;
  answer.driver_version = reader->driver_version().value;
  return answer;
}

HelperAnswer serve(const HelperRequest& request, std::optional<VendorReader>& reader) {
  if (request.operation == Operation::kOpen) return open_library(request, reader);
  if (!reader) return failed("the library is not open", 0);
  HelperAnswer answer = done();
  switch (request.operation) {
    case Operation::kOpen:
      break;
    case Operation::kListCards:
      return listed(reader->cards(), "dcmi_get_card_list");
    case Operation::kListDevices:
      return listed(reader->npus_of(request.address.card), "dcmi_get_device_num_in_card");
    case Operation::kIdentify:
      answer.identity = reader->identify(request.address);
      break;
    case Operation::kRead:
      answer.telemetry = reader->read(request.address);
      break;
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
  std::optional<VendorReader> reader;
  std::string frame;
  while (read_frame(kHelperChannelFd, frame)) {
    const auto request = decode_request(frame);
    if (!request) return 1;
    if (!write_frame(kHelperChannelFd, encode(serve(*request, reader)))) return 1;
  }
  return 0;
}
