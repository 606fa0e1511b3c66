// What Driver does about health, faults, resets and boots, and what ascendsim-ctl does to it.
#include <algorithm>
#include <ctime>

#include "ascendsim/daemon/driver.h"
#include "ascendsim/daemon/packets.h"

namespace ascendsim {
namespace {

constexpr std::uint64_t kNsPerMs = 1'000'000;
// DCMI: 0 nothing yet, 1 BIOS, 2 operating system, 3 its end.
constexpr std::uint32_t kBootUninitialised = 0;
constexpr std::uint64_t kBootPhases = 3;

std::uint64_t wall_ms() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000 + static_cast<std::uint64_t>(now.tv_nsec) / kNsPerMs;
}

bool known_health(Health health) {
  switch (health) {
    case Health::kOk:
    case Health::kWarning:
    case Health::kAlarm:
    case Health::kCritical:
    case Health::kAbsent:
      return true;
  }
  return false;
}

}  // namespace

Health Driver::health_of(std::uint32_t npu) const {
  if (npus_[npu].absent || monotonic_ns() < npus_[npu].boot_end_ns) return Health::kAbsent;
  return faults_.health(npu);
}

void Driver::describe_health(std::uint32_t npu, NpuRecord* record) const {
  const Npu& one = npus_[npu];
  record->health = health_of(npu);
  record->stall_ms = one.stall_ms;
  record->ecc_single_bits = one.ecc_single_bits;
  record->ecc_double_bits = one.ecc_double_bits;
  record->ecc_pages = one.ecc_double_bits;  // each isolates its page
  record->boot_status = kBootFinished;
  if (record->health != Health::kAbsent) return;
  record->boot_status = kBootUninitialised;
  if (one.absent) return;
  const std::uint64_t all_ns = std::max<std::uint64_t>(one.boot_end_ns - one.boot_start_ns, 1);
  const std::uint64_t done_ns = monotonic_ns() - one.boot_start_ns;
  record->boot_status = static_cast<std::uint32_t>(std::min(done_ns * kBootPhases / all_ns + 1, kBootPhases));
}

std::optional<std::uint32_t> Driver::find_npu(std::uint32_t phy_id) const {
  const auto found =
      std::ranges::find_if(npus_, [phy_id](const Npu& npu) { return npu.description.phy_id == phy_id; });
  if (found == npus_.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - npus_.begin());
}

void Driver::lose(std::uint32_t npu) {
  const std::uint64_t now_ns = monotonic_ns();
  for (const std::uint32_t unit : units_of(npu)) {
    timeline_.lose_npu(unit, now_ns);
    for (const auto& [id, holder] : clients_) {
      if (holder->open.count(unit) == 0) continue;
      post(id, {node_of(unit).minor, now_ns, now_ns, NoticeKind::kNpuLost, Status::kLost});
    }
  }
}

void Driver::take_away(std::uint32_t npu) {
  if (npus_[npu].absent) return;
  npus_[npu].absent = true;
  lose(npu);
}

void Driver::bring_back(std::uint32_t npu) {
  if (!npus_[npu].absent) return;
  npus_[npu].absent = false;
  for (const std::uint32_t unit : units_of(npu)) timeline_.return_npu(unit);
}

void Driver::reset(std::uint32_t npu) {
  Npu& one = npus_[npu];
  lose(npu);
  faults_.clear_all(npu, wall_ms());
  one.ecc_single_bits = one.ecc_double_bits = 0;
  one.boot_start_ns = monotonic_ns();
  one.boot_end_ns = one.boot_start_ns + boot_ms_ * kNsPerMs;
  one.boot_told = false;
  if (one.absent) return;
  for (const std::uint32_t unit : units_of(npu)) timeline_.return_npu(unit);
}

void Driver::boot(std::uint32_t boot_ms) {
  for (Npu& npu : npus_) {
    npu.boot_start_ns = monotonic_ns();
    npu.boot_end_ns = npu.boot_start_ns + boot_ms * kNsPerMs;
  }
}

void Driver::tell_finished_boots() {
  for (std::uint32_t npu = 0; npu < npus_.size(); ++npu) {
    if (npus_[npu].boot_told || health_of(npu) == Health::kAbsent) continue;
    npus_[npu].boot_told = true;
    faults_.tell(npu, kFaultResetFinished, Severity::kSuggestion, wall_ms());
  }
}

Status Driver::handle_set_health(const Client& client, std::uint32_t phy_id, const SetHealthBody& body) {
  if (client.uid != 0) return Status::kDenied;
  const auto npu = find_npu(phy_id);
  if (!npu) return Status::kNoSuchNpu;
  if (!known_health(body.health)) return Status::kInvalid;
  if (body.health == Health::kAbsent) {
    take_away(*npu);
    return Status::kOk;
  }
  bring_back(*npu);
  const FaultCode* fault = fault_code_of(body.health);
  for (const Fault& other : faults_.active(*npu)) {
    if (fault == nullptr || other.code != fault->code) faults_.clear(*npu, other.code, wall_ms());
  }
  if (fault != nullptr) faults_.raise(*npu, fault->code, fault->severity, wall_ms());
  return Status::kOk;
}

FaultRecord Driver::fault_record(std::uint32_t logic_id, Assertion assertion, const Fault& fault) const {
  const FaultCode* known = find_fault_code(fault.code);
  return {logic_id,
          fault.code,
          static_cast<std::uint32_t>(fault.severity),
          static_cast<std::uint32_t>(assertion),
          known != nullptr ? known->node_type : std::uint32_t{0},
          0,
          fault.serial,
          fault.raised_ms};
}

void Driver::handle_faults(const Client& client, std::uint32_t unit, Reply* reply) {
  const auto place = std::ranges::find(client.npus, unit);
  const auto logic_id = static_cast<std::uint32_t>(place - client.npus.begin());
  std::vector<FaultRecord> records;
  for (const Fault& fault : faults_.active(npu_of(unit))) {
    records.push_back(fault_record(logic_id, Assertion::kOccur, fault));
  }
  answer_records(reply, records);
}

void Driver::handle_fault_events(const Client& client, const FaultEventsBody& body, Reply* reply) {
  tell_finished_boots();
  std::vector<FaultRecord> records;
  for (const FaultEvent& event : faults_.after(body.after, kFaultRecordsMax)) {
    const auto place =
        std::ranges::find_if(client.npus, [&](std::uint32_t unit) { return npu_of(unit) == event.npu; });
    if (place == client.npus.end()) continue;
    const auto logic_id = static_cast<std::uint32_t>(place - client.npus.begin());
    records.push_back(fault_record(logic_id, event.assertion, event.fault));
  }
  append(reply,
         ReplyHeader{kMagic, Status::kOk, static_cast<std::uint32_t>(records.size()), sizeof(FaultRecord)});
  append(reply, FaultEventsReply{faults_.latest()});
  for (const FaultRecord& record : records) append(reply, record);
}

Status Driver::handle_reset(const Client& client, std::uint32_t unit, const ResetBody& body) {
  if (client.uid != 0 || client.in_container) return Status::kDenied;
  if (!is_whole(unit)) return Status::kUnsupported;
  const VnpuFamily family = npus_[unit].book.board().family;
  const NpuDescription& chip = npus_[unit].description;
  // Chips that are linked, or share a board, go together.
  const bool linked = family == VnpuFamily::k910B || family == VnpuFamily::kA3;
  const auto goes_along = [&](const Npu& npu) { return linked || npu.description.card_id == chip.card_id; };
  const bool cut =
      std::ranges::any_of(npus_, [&](const Npu& npu) { return goes_along(npu) && npu.book.cut(); });
  if (cut) return Status::kDenied;
  if (family == VnpuFamily::k310P && chip.chip_id != 0)
    return Status::kUnsupported;  // its first chip resets a board
  for (std::uint32_t npu = 0; npu < npus_.size(); ++npu) {
    const bool same_board = npus_[npu].description.card_id == chip.card_id;
    if (!same_board && family != VnpuFamily::kA3) continue;
    switch (body.step) {
      case ResetStep::kTakeAway:
        take_away(npu);
        break;
      case ResetStep::kReset:
        reset(npu);
        break;
      case ResetStep::kBringBack:
        bring_back(npu);
        break;
      default:
        return Status::kInvalid;
    }
  }
  return Status::kOk;
}

Status Driver::handle_inject(const Client& client, std::uint32_t phy_id, const InjectBody& body) {
  if (client.uid != 0 || client.in_container) return Status::kDenied;
  if (body.injection == Injection::kReboot) {
    reboot_ms_ = body.first;
    return Status::kOk;
  }
  const auto npu = find_npu(phy_id);
  return npu ? inject(*npu, body) : Status::kNoSuchNpu;
}

Status Driver::inject(std::uint32_t npu, const InjectBody& body) {
  Npu& one = npus_[npu];
  switch (body.injection) {
    case Injection::kRaiseFault:
      if (body.second > static_cast<std::uint32_t>(Severity::kCritical)) return Status::kInvalid;
      return faults_.raise(npu, body.first, static_cast<Severity>(body.second), wall_ms()) ? Status::kOk
                                                                                           : Status::kLimit;
    case Injection::kClearFault:
      if (body.first == kAnyNumber) {
        faults_.clear_all(npu, wall_ms());
      } else {
        faults_.clear(npu, body.first, wall_ms());
      }
      return Status::kOk;
    case Injection::kEccErrors:
      (body.second != 0 ? one.ecc_double_bits : one.ecc_single_bits) += body.first;
      if (body.second == 0 || body.first == 0) return Status::kOk;
      return faults_.raise(npu, kFaultHbmMultiBit, Severity::kMajor, wall_ms()) ? Status::kOk
                                                                                : Status::kLimit;
    case Injection::kStall:
      one.stall_ms = body.first;
      return Status::kOk;
    case Injection::kFailCreates:
      one.fail_creates = body.first;
      one.failed_creates_leak = body.second != 0;
      return Status::kOk;
    case Injection::kRefuseDestroys:
      one.refuse_destroys = body.first;
      return Status::kOk;
    case Injection::kLeakVdev: {
      if (opened_by_any(npu)) return Status::kBusy;
      const std::string name(body.text, strnlen(body.text, sizeof body.text));
      Vdev leaked;
      const VnpuRefusal refusal = create_slice(npu, name, std::nullopt, std::nullopt, &leaked);
      return refusal == VnpuRefusal::kNone ? Status::kOk : Status::kInvalid;
    }
    case Injection::kReboot:
      break;
  }
  return Status::kInvalid;
}

}  // namespace ascendsim
