// The language between the daemon and `tangram-dcmi-helper` on a stream socket: frames of a 4-byte
// little-endian length and that many bytes. The daemon asks one thing at a time. The helper announces each
// vendor call it is about to make (so that a hang can be named), then answers once. Both ends are of one
// build: no versions, no negotiation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "device/dcmi/reading.h"
#include "model/slice.h"

namespace tangram::device {

inline constexpr std::size_t kFrameBytesMax = 64U * 1024U;
inline constexpr std::size_t kTextBytesMax = 4096;
inline constexpr std::size_t kListItemsMax = 1024;
inline constexpr int kHelperChannelFd = 3;

enum class Operation : std::uint8_t {
  kOpen,         // texts = paths to try, in order; loads the library and calls dcmi_init
  kListCards,    // -> numbers = card ids, driver_version
  kListDevices,  // card -> numbers = device ids that are NPUs
  kIdentify,     // card, device -> identity
  kReadHealth,   // card, device -> telemetry: health and error codes
  kReadUse,      // card, device -> telemetry: all the rest
  kReadSlices,   // card, device -> slicing
  kReadModes,    // texts = {machine root}, none: the recover file is not looked at -> modes
  kTakeEvents,   // -> events
  kCreateSlice,  // card, device, number = vNPU id, vgroup, texts = {template} -> numbers = {id as the library
                 // gave it}
  kDestroySlice,      // card, device, number = vNPU id
  kForgetSlice,       // card, device, number = vNPU id, texts = {machine root}
  kSetSlicesRecover,  // number = 0 or 1
  kSetDeviceShare,    // card, device, number = 0 or 1
};

struct HelperRequest {
  Operation operation = Operation::kOpen;
  NpuAddress address;
  std::vector<std::string> texts;
  std::uint32_t number = 0;
  std::int32_t vgroup = kNoVgroup;
};

enum class AnswerKind : std::uint8_t { kCalling, kDone, kFailed };

struct HelperAnswer {
  AnswerKind kind = AnswerKind::kFailed;
  std::string
      text;  // kCalling: the vendor call; kDone of kOpen: the library's path; kFailed: what went wrong
  std::int32_t code = 0;  // kFailed: the vendor's code, 0 if it is none of the vendor's
  std::vector<std::int32_t> numbers;
  std::string driver_version;  // kDone of kListCards; empty if unknown
  NpuIdentity identity;
  NpuTelemetry telemetry;
  NpuSlicing slicing;
  HostModes modes;
  Field<std::vector<EventReading>> events;
};

// Encoding cannot fail: sizes past the bounds are cut. Decoding refuses truncated, oversized and trailing
// bytes with kDataLoss. Of an answer it keeps only what can be (plausible.h), and shows control characters of
// its texts as '?'.
std::string encode(const HelperRequest& request);
std::string encode(const HelperAnswer& answer);
Result<HelperRequest> decode_request(std::string_view bytes);
Result<HelperAnswer> decode_answer(std::string_view bytes);

// Blocking, for the helper's end: false at end of file or on any error. EINTR is handled.
bool write_frame(int fd, std::string_view payload);
bool read_frame(int fd, std::string& payload);

}  // namespace tangram::device
