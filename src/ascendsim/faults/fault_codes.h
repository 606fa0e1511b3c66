// Fault codes that the simulated chips know by name. Others can be raised too; they have no text.
// Source: the vendor's published list of fault codes.
#pragma once

#include <cstdint>

#include "ascendsim/protocol/messages.h"

namespace ascendsim {

enum class Severity : std::uint32_t { kSuggestion = 0, kMinor = 1, kMajor = 2, kCritical = 3 };

struct FaultCode {
  std::uint32_t code = 0;
  Severity severity = Severity::kMinor;
  std::uint8_t node_type = 0;  // what part of the machine
  const char* text = "";
};

constexpr std::uint32_t kFaultTemperature = 0x81AD8605;
constexpr std::uint32_t kFaultHbmMultiBit = 0x80E01801;
constexpr std::uint32_t kFaultAiCore = 0x80E18005;
constexpr std::uint32_t kFaultLinkDown = 0x81078603;
constexpr std::uint32_t kFaultResetFinished = 0x8C2FA009;

// Null for a code without a name.
const FaultCode* find_fault_code(std::uint32_t code);

// The fault that makes a chip this ill; null for one that is well, or not there.
const FaultCode* fault_code_of(Health health);

}  // namespace ascendsim
