#include "device/dcmi/npu_scanner.h"

#include <algorithm>
#include <cstddef>

#include "device/dcmi/codes.h"
#include "device/dcmi/npu_entry.h"
#include "device/dcmi/recover_file.h"
#include "device/dcmi/slice_entry.h"
#include "device/driver_support.h"

namespace tangram::device {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kEventsMax = 1024;
constexpr int kSlowCalls =
    4;  // a question is several vendor calls; so many of them may take their whole time

void add_note(const std::string& note, DeviceSlicing& slicing) {
  if (!note.empty()) slicing.note += (slicing.note.empty() ? "" : "; ") + note;
}

}  // namespace

NpuScanner::NpuScanner(HelperSession& session, const DcmiOptions& options)
    : session_(session), options_(options), chips_(options.chips) {
  const std::vector<ChipModel>& builtin = builtin_chips();
  chips_.insert(chips_.end(), builtin.begin(), builtin.end());
}

Result<DeviceScan> NpuScanner::scan() {
  const Deadline end = Clock::now() + options_.scan_budget;
  session_.begin();
  if (session_.renew(ill_ ? options_.reinit_period_ill : options_.reinit_period, end)) distrust_identities();
  const bool helper_is_old = session_.is_open();
  auto found = look(end);
  // A driver that restarted leaves the old helper with the tables of the old one; a new helper sees the new
  // one.
  if (helper_is_old && (!found || all_lost_)) {
    forget_helper();
    found = look(end);
  }
  if (!found) {
    forget_helper();
    return found;
  }
  ill_ = std::any_of(found->npus.begin(), found->npus.end(),
                     [](const DeviceNpu& npu) { return npu.health != Health::kOk; });
  found->events = std::exchange(events_, {});
  return found;
}

Result<DeviceScan> NpuScanner::look(Deadline end) {
  all_lost_ = false;
  session_.begin();
  TG_TRY_VOID(list(end));
  DeviceScan scan;
  read_all(end, scan);
  scan.driver_version = driver_version_;
  scan.driver = standing_of(driver_version_);
  if (scan.npus.empty() && !npus_.empty()) {
    return fail(Code::kUnavailable, "device.npu.unreadable",
                "no NPU could be identified: " + npus_.begin()->second.unreadable);
  }
  std::sort(scan.npus.begin(), scan.npus.end(),
            [](const DeviceNpu& a, const DeviceNpu& b) { return a.physical_id < b.physical_id; });
  for (DeviceNpu& entry : scan.npus) {
    read_use(end, entry);
    judge_board(entry);
    read_slicing(end, entry);
  }
  read_modes(end, scan);
  take_events(end);
  return scan;
}

void NpuScanner::distrust_identities() {
  for (auto& [at, npu] : npus_) npu.identity_checked = false;
}

void NpuScanner::forget_helper() {
  session_.drop();
  distrust_identities();
}

Result<HelperAnswer> NpuScanner::ask(Operation operation, NpuAddress at, std::vector<std::string> texts) {
  return session_.ask(HelperRequest{operation, at, std::move(texts), 0}, options_.call_deadline,
                      kSlowCalls * options_.call_deadline);
}

// A question that the rest of the look can do without, if there is time for it and it did not hang lately.
Result<HelperAnswer> NpuScanner::ask_if_rested(Operation operation, NpuAddress at, Backoff& backoff,
                                               Deadline end, std::vector<std::string> texts) {
  if (backoff.resting(Clock::now())) return fail(Code::kUnavailable, "device.call.hung", backoff.reason);
  if (Clock::now() + options_.call_deadline > end) {
    return fail(Code::kDeadlineExceeded, "device.npu.not_asked",
                "not asked: the time of this look was used up");
  }
  TG_TRY_VOID(session_.ensure(end));
  auto answer = ask(operation, at, std::move(texts));
  if (answer) {
    backoff = {};
    return answer;
  }
  backoff.hung(answer.error().message, options_);
  return fail(Code::kUnavailable, "device.call.hung", backoff.reason);
}

void NpuScanner::read_modes(Deadline end, DeviceScan& scan) {
  std::vector<std::string> places;
  if (options_.machine_root) places = {*options_.machine_root};
  const auto answer = ask_if_rested(Operation::kReadModes, {}, modes_backoff_, end, std::move(places));
  if (!answer) return;
  const auto at = Clock::now();
  const HostModes& modes = answer->modes;
  scan.slices_recover = {modes.slices_recover.value, modes.slices_recover.valid, at};
  scan.slices_for_containers = {modes.for_containers.value, modes.for_containers.valid, at};
  scan.recover_file = modes.recover_file;
  if (options_.machine_root) scan.recover_file.path = recover_places(*options_.machine_root).file;
}

// Kept until a look is handed on: not every one is.
void NpuScanner::take_events(Deadline end) {
  const auto answer = ask_if_rested(Operation::kTakeEvents, {}, events_backoff_, end);
  if (!answer) return;
  for (const EventReading& event : answer->events.value) {
    const auto source = std::find_if(npus_.begin(), npus_.end(), [&event](const auto& entry) {
      const auto& identity = entry.second.identity;
      return identity && identity->logic_id.valid && identity->logic_id.value == event.logic_id;
    });
    if (source == npus_.end()) continue;
    const auto& identity = source->second.identity;
    if (identity) events_.push_back(event_of(event, identity->phy_id.value));
  }
  if (events_.size() > kEventsMax) {
    events_.erase(events_.begin(), events_.end() - static_cast<std::ptrdiff_t>(kEventsMax));
  }
}

const std::pair<const NpuAddress, NpuScanner::Npu>* NpuScanner::find_npu(std::uint32_t physical_id) const {
  for (const auto& entry : npus_) {
    const Npu& npu = entry.second;
    if (npu.listed && npu.identity && npu.identity->phy_id.value == physical_id) return &entry;
  }
  return nullptr;
}

Result<NpuAddress> NpuScanner::locate(std::uint32_t physical_id) {
  const Deadline end = Clock::now() + options_.scan_budget;
  session_.begin();
  if (find_npu(physical_id) == nullptr) TG_TRY_VOID(look(end));
  for (int tries = 0; tries < 2; ++tries) {
    const auto* found = find_npu(physical_id);
    if (found == nullptr) break;
    const auto& [at, npu] = *found;
    if (npu.backoff.resting(Clock::now())) {
      return fail(Code::kUnavailable, "device.npu.hung", npu.backoff.reason);
    }
    TG_TRY_VOID(session_.ensure(end));
    TG_TRY(const HelperAnswer answer, ask(Operation::kIdentify, at));
    const Field<std::uint32_t>& phy_id = answer.identity.phy_id;
    if (phy_id.valid && phy_id.value == physical_id) return at;
    forget_helper();
    TG_TRY_VOID(look(end));
  }
  return fail(Code::kNotFound, "device.npu.unknown",
              "the driver lists no NPU " + std::to_string(physical_id));
}

// Brings cards_ and npus_ up to date. A card that does not answer keeps the chips it had.
Result<void> NpuScanner::list(Deadline end) {
  TG_TRY_VOID(session_.ensure(end));
  TG_TRY(const HelperAnswer answer, ask(Operation::kListCards, {}));
  if (answer.kind == AnswerKind::kFailed) {
    return fail(Code::kUnavailable, "device.driver.away", failure_text(answer.text, answer.code));
  }
  driver_version_ = answer.driver_version;
  const std::set<std::int32_t> ids(answer.numbers.begin(), answer.numbers.end());
  std::erase_if(cards_, [&ids](const auto& entry) { return !ids.contains(entry.first); });
  for (auto& [at, npu] : npus_) npu.listed = false;
  for (const std::int32_t id : ids) {
    Card& card = cards_[id];
    if (!card.backoff.resting(Clock::now()) && session_.ensure(end)) list_card(id, card);
    for (const std::int32_t device : card.devices) npus_[{id, device}].listed = true;
  }
  return {};
}

void NpuScanner::list_card(std::int32_t id, Card& card) {
  const auto answer = ask(Operation::kListDevices, {id, 0});
  if (!answer) {
    card.backoff.hung(answer.error().message, options_);
    return;
  }
  card.backoff = {};
  if (answer->kind == AnswerKind::kDone) card.devices = answer->numbers;
}

// Those that answered well last time come first, so that a hung NPU costs the others nothing.
std::vector<NpuAddress> NpuScanner::reading_order() const {
  std::vector<NpuAddress> order;
  for (const auto& [at, npu] : npus_) {
    if (npu.listed) order.push_back(at);
  }
  std::stable_sort(order.begin(), order.end(), [this](NpuAddress a, NpuAddress b) {
    return npus_.at(a).backoff.retry_at < npus_.at(b).backoff.retry_at;
  });
  return order;
}

void NpuScanner::read_all(Deadline end, DeviceScan& scan) {
  answered_.clear();
  std::set<std::uint32_t> taken;
  std::size_t read = 0;
  std::size_t lost = 0;
  for (const NpuAddress at : reading_order()) {
    Npu& npu = npus_.at(at);
    const auto telemetry = read_npu(at, npu, end);
    if (telemetry) ++read;
    if (telemetry && is_driver_lost(*telemetry)) ++lost;
    if (!npu.identity || !taken.insert(npu.identity->phy_id.value).second) continue;
    DeviceNpu entry = entry_of(at, *npu.identity);
    entry.chips_on_card = static_cast<std::int32_t>(cards_.at(at.card).devices.size());
    if (telemetry) {
      fill_health(*telemetry, entry);
      answered_.insert(at);
    } else {
      entry.health_note = telemetry.error().message;
    }
    entry.memory_total = npu.memory_total;
    scan.npus.push_back(std::move(entry));
  }
  all_lost_ = read > 0 && lost == read;
  add_vanished(taken, scan);
}

// After the health of all NPUs is known: where the driver is slow, their use may stay unknown, and they can
// be given all the same. A call that hangs tells of an NPU that is not well, whatever it was about.
void NpuScanner::read_use(Deadline end, DeviceNpu& entry) {
  const NpuAddress at{entry.card_id, entry.chip_id};
  Npu& npu = npus_.at(at);
  if (!answered_.contains(at) || Clock::now() + options_.call_deadline > end) return;
  if (!session_.ensure(end)) return;
  const auto answer = ask(Operation::kReadUse, at);
  if (!answer) {
    answered_.erase(at);
    npu.backoff.hung(answer.error().message, options_);
    entry.health = Health::kUnknown;
    entry.health_note = npu.backoff.reason;
    return;
  }
  npu.backoff = {};
  fill_use(answer->telemetry, Clock::now(), entry);
  if (entry.memory_total.valid) npu.memory_total = entry.memory_total;
  entry.memory_total = npu.memory_total;
}

void NpuScanner::judge_board(DeviceNpu& entry) const {
  ChipIdentity identity;
  identity.chip = entry.chip;
  if (entry.board_id.valid) identity.board = entry.board_id.value;
  if (entry.ai_cores.valid) identity.ai_cores = entry.ai_cores.value;
  if (entry.memory_total.valid) identity.memory = entry.memory_total.value;
  identity.chips_on_card = entry.chips_on_card;
  BoardStanding standing = board_standing(chips_, identity);
  entry.slicing.support = standing.support;
  entry.slicing.note = std::move(standing.note);
}

// After the health of all NPUs is known: questions about slices that hang cost nobody the rest.
void NpuScanner::read_slicing(Deadline end, DeviceNpu& entry) {
  const NpuAddress at{entry.card_id, entry.chip_id};
  if (!answered_.contains(at)) return add_note(entry.health_note, entry.slicing);
  const auto answer = ask_if_rested(Operation::kReadSlices, at, npus_.at(at).slicing_backoff, end);
  if (!answer) return add_note(answer.error().message, entry.slicing);
  const DeviceSlicing by_table = std::move(entry.slicing);
  entry.slicing = slicing_of(answer->slicing, Clock::now());
  entry.slicing.support = by_table.support;
  add_note(by_table.note, entry.slicing);
}

// NPUs that were there once and are no longer listed, unless another one bears their number now.
void NpuScanner::add_vanished(const std::set<std::uint32_t>& taken, DeviceScan& scan) {
  std::erase_if(npus_, [&taken](const auto& item) {
    const Npu& npu = item.second;
    return !npu.listed && (!npu.identity || taken.contains(npu.identity->phy_id.value));
  });
  for (const auto& [at, npu] : npus_) {
    if (npu.listed || !npu.identity) continue;
    DeviceNpu entry = entry_of(at, *npu.identity);
    entry.health = Health::kAbsent;
    entry.health_note = "the driver does not list this NPU any more";
    entry.memory_total = npu.memory_total;
    scan.npus.push_back(std::move(entry));
  }
}

Result<NpuTelemetry> NpuScanner::read_npu(NpuAddress at, Npu& npu, Deadline end) {
  if (npu.backoff.resting(Clock::now()))
    return fail(Code::kUnavailable, "device.npu.hung", npu.backoff.reason);
  if (Clock::now() + options_.call_deadline > end) {
    return fail(Code::kDeadlineExceeded, "device.npu.not_asked",
                "not asked: other NPUs used up the time of this look");
  }
  TG_TRY_VOID(session_.ensure(end));
  auto telemetry = identify_and_read(at, npu);
  if (!telemetry) {
    npu.backoff.hung(telemetry.error().message, options_);
    return fail(Code::kUnavailable, "device.npu.hung", npu.backoff.reason);
  }
  return telemetry;
}

Result<NpuTelemetry> NpuScanner::identify_and_read(NpuAddress at, Npu& npu) {
  if (!npu.identity_checked) {
    TG_TRY(HelperAnswer answer, ask(Operation::kIdentify, at));
    const Field<std::uint32_t>& phy_id = answer.identity.phy_id;
    npu.identity_checked = phy_id.valid;
    if (phy_id.valid) {
      npu.identity = std::move(answer.identity);
    } else {
      npu.unreadable = failure_text("the call for the physical id", phy_id.code);
    }
  }
  TG_TRY(HelperAnswer answer, ask(Operation::kReadHealth, at));
  return std::move(answer.telemetry);
}

}  // namespace tangram::device
