#include "ascendsim/daemon/fault_log.h"

#include <algorithm>

namespace ascendsim {

void FaultLog::record(std::uint32_t npu, Assertion assertion, Fault fault) {
  fault.serial = ++serial_;
  events_.push_back({serial_, npu, assertion, fault});
  if (events_.size() > kEventsRemembered) events_.pop_front();
}

bool FaultLog::raise(std::uint32_t npu, std::uint32_t code, Severity severity, std::uint64_t now_ms) {
  auto& faults = faults_[npu];
  if (faults.count(code) != 0) return true;
  if (faults.size() >= kFaultsPerNpuMax) return false;
  record(npu, Assertion::kOccur, {code, severity, now_ms, 0});
  faults.emplace(code, Fault{code, severity, now_ms, serial_});
  return true;
}

void FaultLog::clear(std::uint32_t npu, std::uint32_t code, std::uint64_t now_ms) {
  auto& faults = faults_[npu];
  const auto found = faults.find(code);
  if (found == faults.end()) return;
  Fault fault = found->second;
  fault.raised_ms = now_ms;
  record(npu, Assertion::kRecover, fault);
  faults.erase(found);
}

void FaultLog::clear_all(std::uint32_t npu, std::uint64_t now_ms) {
  for (const Fault& fault : active(npu)) clear(npu, fault.code, now_ms);
}

void FaultLog::tell(std::uint32_t npu, std::uint32_t code, Severity severity, std::uint64_t now_ms) {
  record(npu, Assertion::kOneShot, {code, severity, now_ms, 0});
}

std::vector<Fault> FaultLog::active(std::uint32_t npu) const {
  std::vector<Fault> list;
  const auto found = faults_.find(npu);
  if (found == faults_.end()) return list;
  for (const auto& [code, fault] : found->second) list.push_back(fault);
  return list;
}

Health FaultLog::health(std::uint32_t npu) const {
  Severity worst = Severity::kSuggestion;
  for (const Fault& fault : active(npu)) worst = std::max(worst, fault.severity);
  return static_cast<Health>(worst);
}

std::vector<FaultEvent> FaultLog::after(std::uint64_t serial, std::size_t most) const {
  std::vector<FaultEvent> list;
  for (const FaultEvent& event : events_) {
    if (event.serial > serial && list.size() < most) list.push_back(event);
  }
  return list;
}

}  // namespace ascendsim
