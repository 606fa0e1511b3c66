// Reads, cuts and heals vNPUs through the vendor's library. Runs inside the helper process only. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "device/dcmi/library.h"
#include "device/dcmi/reading.h"
#include "device/dcmi/vendor_call.h"
#include "model/slice.h"

namespace tangram::device {

// Distrusts the library as VendorReader does. Buffers are filled with all ones, which is how drivers say
// "unknown", so that what a release did not write is unknown, too.
class VendorSlices {
 public:
  VendorSlices(const Symbols& symbols, const VendorCaller& caller);

  NpuSlicing read(NpuAddress at);
  HostModes modes();

  // Known: the id of the new vNPU, as the library gave it. `vgroup`: kNoVgroup leaves it to the driver.
  Field<std::uint32_t> create(NpuAddress at, std::uint32_t vnpu_id, const std::string& template_name,
                              std::int32_t vgroup);
  // kInvalidParameter, without a call, for anything that is not the id of one vNPU: 65535 would destroy all
  // of the chip's.
  std::int32_t destroy(NpuAddress at, std::uint32_t vnpu_id);
  std::int32_t set_slices_recover(bool on);
  std::int32_t set_device_share(NpuAddress at, bool on);

 private:
  template <class T>
  std::int32_t ask(NpuAddress at, std::uint32_t sub_command, T& in_out);

  VnpuReading query(NpuAddress at, std::uint32_t vnpu_id, std::int32_t& code);
  void read_activity(NpuAddress at, VnpuReading& vnpu);

  Symbols symbols_;
  VendorCaller call_;
};

}  // namespace tangram::device
