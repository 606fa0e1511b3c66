#include "ascendsim/faults/fault_codes.h"

#include <algorithm>
#include <array>

namespace ascendsim {
namespace {

constexpr std::uint8_t kSoc = 0x20;
constexpr std::uint8_t kHbm = 0x30;
constexpr std::uint8_t kAiCore = 0x40;
constexpr std::uint8_t kNetwork = 0x50;

constexpr std::array<FaultCode, 5> kCodes{{
    {kFaultTemperature, Severity::kMinor, kSoc,
     "node type=SoC, sensor type=Temperature, event state=upper minor threshold"},
    {kFaultHbmMultiBit, Severity::kMajor, kHbm,
     "node type=HBM, sensor type=ECC, event state=multi-bit error"},
    {kFaultAiCore, Severity::kCritical, kAiCore,
     "node type=AI Core, sensor type=Hardware, event state=fatal error"},
    {kFaultLinkDown, Severity::kMinor, kNetwork,
     "node type=Network, sensor type=Link, event state=link down"},
    {kFaultResetFinished, Severity::kSuggestion, kSoc,
     "node type=SoC, sensor type=Reset, event state=reset finished"},
}};

}  // namespace

const FaultCode* find_fault_code(std::uint32_t code) {
  const auto found = std::ranges::find(kCodes, code, &FaultCode::code);
  return found == kCodes.end() ? nullptr : &*found;
}

const FaultCode* fault_code_of(Health health) {
  switch (health) {
    case Health::kOk:
    case Health::kAbsent:
      return nullptr;
    case Health::kWarning:
      return find_fault_code(kFaultTemperature);
    case Health::kAlarm:
      return find_fault_code(kFaultHbmMultiBit);
    case Health::kCritical:
      return find_fault_code(kFaultAiCore);
  }
  return nullptr;
}

}  // namespace ascendsim
