// Asks the vendor's library about cards and NPUs and turns the answers into plain values. Runs inside the
// helper process only. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/dcmi/library.h"
#include "device/dcmi/reading.h"
#include "device/dcmi/vendor_call.h"

namespace tangram::device {

// Distrusts the library: out-structures are zeroed and larger than the ABI says (they grow between releases),
// counts are bounded, 0xFF fill and impossible values become kCodeImplausible, texts lose control characters.
class VendorReader {
 public:
  VendorReader(const Symbols& symbols, const VendorCaller& caller);

  std::int32_t init();
  Field<std::string> driver_version();
  Field<std::vector<std::int32_t>> cards();
  // The devices of one card that are NPUs (a card may also carry an MCU and CPUs).
  Field<std::vector<std::int32_t>> npus_of(std::int32_t card);
  NpuIdentity identify(NpuAddress at);
  NpuTelemetry read_health(NpuAddress at);  // health and error codes
  NpuTelemetry read_use(NpuAddress at);     // the rest

 private:
  Field<std::string> mcu_version(std::int32_t card);
  void read_chip(NpuAddress at, NpuIdentity& identity);
  void read_board(NpuAddress at, NpuIdentity& identity);
  void read_memory(NpuAddress at, NpuTelemetry& telemetry);
  Field<std::vector<std::uint32_t>> error_codes(NpuAddress at);
  Field<std::int32_t> power(NpuAddress at);
  Field<std::vector<ProcessUse>> processes(NpuAddress at);

  Symbols symbols_;
  VendorCaller call_;
};

}  // namespace tangram::device
