#include "slice_lives/played_machine.h"

#include <algorithm>

#include "device/dcmi/abi.h"
#include "device/dcmi/slice_settlement.h"

namespace tangram::lives {
namespace {

using device::AnswerKind;
using device::HelperAnswer;

constexpr std::size_t kForeignMax = 3;  // they must not fill the machine for good

HelperAnswer answer_of(std::int32_t code, std::uint32_t id = 0) {
  HelperAnswer answer;
  answer.kind = code == 0 ? AnswerKind::kDone : AnswerKind::kFailed;
  answer.text = "the vendor's call";
  answer.code = code;
  if (code == 0) answer.numbers = {static_cast<std::int32_t>(id)};
  return answer;
}

tl::unexpected<Error> cut_off() {
  return fail(Code::kDeadlineExceeded, "device.call.hung", "the vendor's call did not answer in time");
}

tl::unexpected<Error> no_npu() {
  return fail(Code::kUnavailable, "device.npu.absent", "there is no such NPU");
}

template <class T>
Sample<T> known(T value) {
  return Sample<T>::known(std::move(value));
}

}  // namespace

const ChipKind& chip_310p3() {
  static const ChipKind kind{"310P3",
                             0x64,
                             8,
                             7,
                             21'527,
                             "vir04_3c_ndvpp",
                             {"1GiB", "3GiB", "4GiB", "6GiB", "7GiB", "12GiB", "13000MiB"}};
  return kind;
}
const ChipKind& chip_910b2() {
  static const ChipKind kind{"910B2", 0x30, 24, 6, 65'536, "", {"8GiB", "16GiB", "20GiB", "40GiB"}};
  return kind;
}
const ChipKind& chip_910b4() {
  static const ChipKind kind{
      "910B4", 0x33, 20, 6, 32'768, "vir10_3c_16g_nm", {"4GiB", "8GiB", "12GiB", "20GiB"}};
  return kind;
}

PlayedMachine::PlayedMachine(Fate& fate, const PlayedHost& host, const PlayedJournal& journal,
                             const service::SlicePolicy& policy, const std::vector<ChipKind>& chips)
    : fate_(fate), host_(host), journal_(journal), policy_(policy) {
  for (const ChipKind& kind : chips) {
    const auto physical_id = static_cast<std::uint32_t>(npus_.size());
    const ascendsim::VnpuBoard board =
        ascendsim::vnpu_board(kind.chip, kind.board_id, static_cast<std::uint32_t>(kind.ai_cores),
                              kind.ai_cpus, static_cast<std::uint32_t>(kind.memory_mib));
    npus_.push_back({physical_id, kind, ascendsim::VnpuBook(physical_id, board)});
  }
}

PlayedMachine::Npu* PlayedMachine::find(std::uint32_t physical_id) {
  return physical_id < npus_.size() && !npus_[physical_id].absent ? &npus_[physical_id] : nullptr;
}

std::string PlayedMachine::template_of(std::uint32_t id) const {
  for (const Npu& npu : npus_) {
    const auto found = npu.book.vdevs().find(id);
    if (found != npu.book.vdevs().end()) return std::string(found->second.shape->name);
  }
  return {};
}

// ---- what it shows

DeviceSlicing PlayedMachine::slicing_of(const Npu& npu) const {
  DeviceSlicing slicing;
  slicing.support = SliceSupport::kListed;
  slicing.slices.valid = !npu.unreadable && !npu.hung;
  if (!slicing.slices.valid) {
    slicing.note = "the driver does not answer";
    return slicing;
  }
  for (const auto& [id, vdev] : npu.book.vdevs()) {
    DeviceSlice slice;
    slice.id = id;
    slice.template_name = known(std::string(vdev.shape->name));
    slice.container_used = known(slices_.at(id).used || host_.uses(id));
    if (vdev.vgroup) slice.vgroup_id = known(*vdev.vgroup);
    slicing.slices.value.push_back(slice);
  }
  const ascendsim::VnpuResources left = npu.book.left();
  slicing.free.ai_cores_milli = known(static_cast<std::int32_t>(left.ai_cores) * 1000);
  if (left.ai_cpus) slicing.free.ai_cpus = known(static_cast<std::int32_t>(*left.ai_cpus));
  return slicing;
}

DeviceNpu PlayedMachine::shown(const Npu& npu) const {
  DeviceNpu seen;
  seen.physical_id = npu.physical_id;
  seen.card_id = static_cast<std::int32_t>(npu.physical_id);
  seen.logic_id = seen.card_id;
  seen.chip = npu.kind.chip;
  seen.board_id = known(npu.kind.board_id);
  seen.health = npu.hung ? Health::kUnknown : Health::kOk;
  seen.ai_cores = known(npu.kind.ai_cores);
  seen.memory_total = known(Bytes::mib(npu.kind.memory_mib));
  seen.processes.valid = !npu.hung;
  if (npu.stranger) seen.processes.value.push_back({1, Bytes::mib(1)});
  for (const AttemptKey& key : host_.running()) {
    const PlayedHost::Attempt& attempt = host_.attempts().at(key);
    const bool here = attempt.spec.slice ? attempt.spec.slice->physical_id == npu.physical_id
                                         : std::find(attempt.spec.npus.begin(), attempt.spec.npus.end(),
                                                     npu.physical_id) != attempt.spec.npus.end();
    if (here && attempt.touched) seen.processes.value.push_back({attempt.pid, Bytes::mib(64)});
  }
  seen.slicing = slicing_of(npu);
  return seen;
}

Result<DeviceScan> PlayedMachine::scan() {
  if (away_) return fail(Code::kUnavailable, "device.driver.away", "the driver does not answer");
  DeviceScan seen;
  seen.driver_version = "25.5.0";
  seen.driver.kind = DriverStanding::Kind::kSupported;
  seen.slices_recover = known(recovers_);
  seen.slices_for_containers = known(true);
  for (const Npu& npu : npus_) {
    if (!npu.absent) seen.npus.push_back(shown(npu));
    fate_.meanwhile();  // a look is of no one instant
  }
  return seen;
}

Result<DeviceSlicing> PlayedMachine::look(const Npu& npu) const {
  if (away_ || npu.absent || npu.unreadable || npu.hung) {
    return fail(Code::kUnavailable, "device.npu.unreadable", "the slices cannot be read");
  }
  return slicing_of(npu);
}

bool PlayedMachine::is_in_use(std::uint32_t id) const {
  const Standing& slice = slices_.at(id);
  if (slice.used) return true;
  if (!slice.made_for) return false;
  const auto attempt = host_.attempts().find(*slice.made_for);
  return attempt != host_.attempts().end() && attempt->second.alive && attempt->second.released;
}

// ---- commands, with the steps of device/dcmi/slice_commands

Result<DeviceSlice> PlayedMachine::create_slice(const SliceOrder& order) {
  TG_TRY_VOID(device::check_order(order));
  Npu* const npu = find(order.physical_id);
  if (npu == nullptr) return no_npu();
  TG_TRY(const DeviceSlicing before, look(*npu));
  if (device::find_slice(before, *order.id) != nullptr) {
    return fail(Code::kAlreadyExists, std::string(slice_reason::kExists), "the id is taken");
  }
  if (before.slices.value.size() >= kSlicesPerNpuMax) {
    return fail(Code::kNotNow, std::string(slice_reason::kNoCapacity), "there are sixteen slices");
  }
  const std::optional<AttemptKey> attempt = orderer_of(order);
  try {
    fate_.meanwhile();
  } catch (const DaemonDied&) {
    // The driver may have been told already.
    if (fate_.pick(2) == 0) late_.push_back({late_time(), order.physical_id, *order.id, order, attempt});
    throw;
  }
  const Answer answer = call_create(*npu, order);
  if (answer) TG_TRY_VOID(device::check_refusal(*answer, "cutting"));
  return device::settle_create(order, before, answer, look(*npu));
}

PlayedMachine::Answer PlayedMachine::call_create(Npu& npu, const SliceOrder& order) {
  const std::optional<AttemptKey> attempt = orderer_of(order);
  if (away_ || npu.absent || npu.hung) return cut_off();
  if (fate_.happens("create refused", 12)) return answer_of(device::abi::kInvalidParameter);
  if (fate_.happens("create answered as failed, and done", 25)) {
    (void)cut(npu, order, attempt);
    return answer_of(device::abi::kInner);
  }
  if (fate_.happens("create answered as done, and not done", 60)) return answer_of(0, *order.id);
  if (fate_.happens("create cut off, and done", 30)) {
    (void)cut(npu, order, attempt);
    return cut_off();
  }
  if (fate_.happens("create cut off, and done later", 25)) {
    late_.push_back({late_time(), order.physical_id, *order.id, order, attempt});
    return cut_off();
  }
  if (fate_.happens("create cut off, and never done", 30)) return cut_off();
  if (fate_.happens("create slow", 10)) fate_.advance(static_cast<std::int64_t>(fate_.pick(4'000)));
  if (!cut(npu, order, attempt)) return answer_of(device::abi::kInvalidParameter);
  if (fate_.happens("hang after a create", 40)) npu.hung = true;  // so that nobody can look what became of it
  return answer_of(0, *order.id);
}

bool PlayedMachine::cut(Npu& npu, const SliceOrder& order, const std::optional<AttemptKey>& attempt) {
  ascendsim::Vdev made;
  const auto vgroup =
      order.vgroup == kNoVgroup ? std::optional<std::uint32_t>() : static_cast<std::uint32_t>(order.vgroup);
  const auto refusal = npu.book.create(order.template_name, order.id, vgroup, &made);
  if (refusal != ascendsim::VnpuRefusal::kNone) {
    fate_.note("the driver refuses " + std::to_string(static_cast<int>(refusal)));
    return false;
  }
  slices_[made.id] = {attempt, false};
  if (recovers_) recover_file_[made.id] = {npu.physical_id, order.template_name, made.id, order.vgroup};
  fate_.note("cut " + std::to_string(made.id) + " " + order.template_name);
  return true;
}

std::optional<AttemptKey> PlayedMachine::orderer_of(const SliceOrder& order) const {
  const auto entry = journal_.slices().find(*order.id);
  const bool ordered = entry != journal_.slices().end() &&
                       entry->second.template_name == order.template_name &&
                       entry->second.npu == order.physical_id;
  if (!ordered) fate_.broken("a cut that the journal does not order: " + std::to_string(*order.id));
  return ordered ? std::optional(entry->second.attempt) : std::nullopt;
}

Result<void> PlayedMachine::destroy_slice(std::uint32_t physical_id, std::uint32_t id) {
  if (!is_slice_id(physical_id, id)) fate_.broken("a return of what is no slice: " + std::to_string(id));
  TG_TRY_VOID(device::check_slice_id(physical_id, id));
  Npu* const npu = find(physical_id);
  if (npu == nullptr) return no_npu();
  TG_TRY(const DeviceSlicing before, look(*npu));
  const DeviceSlice* const slice = device::find_slice(before, id);
  if (slice == nullptr) return {};
  if (slice->container_used.value) {
    return fail(Code::kFailedPrecondition, std::string(slice_reason::kInUse), "a container uses it");
  }
  try {
    fate_.meanwhile();
  } catch (const DaemonDied&) {
    if (fate_.pick(2) == 0) late_.push_back({late_time(), physical_id, id, std::nullopt, std::nullopt});
    throw;
  }
  const Answer answer = call_destroy(*npu, id);
  if (answer) TG_TRY_VOID(device::check_refusal(*answer, "returning"));
  return device::settle_destroy(physical_id, id, answer, look(*npu));
}

PlayedMachine::Answer PlayedMachine::call_destroy(Npu& npu, std::uint32_t id) {
  if (away_ || npu.absent || npu.hung) return cut_off();
  if (!slices_.contains(id)) return answer_of(device::abi::kDeviceNotExist);
  check_destroy(id, false);
  if (is_in_use(id)) return answer_of(device::abi::kInvalidParameter);
  if (fate_.happens("return refused", 8)) return answer_of(device::abi::kFile);
  if (fate_.happens("return answered as done, and not done", 40)) return answer_of(0);
  if (fate_.happens("return cut off, and done later", 25)) {
    late_.push_back({late_time(), npu.physical_id, id, std::nullopt, std::nullopt});
    return cut_off();
  }
  if (fate_.happens("return cut off, and never done", 30)) return cut_off();
  if (!slices_.at(id).made_for) {
    foreign_returned_at_ = fate_.now();
    ++fate_.faults["another's returned by the daemon"];
  }
  erase(npu, id);
  if (fate_.happens("return cut off, and done", 30)) return cut_off();
  if (fate_.happens("return answered as failed, and done", 30)) return answer_of(device::abi::kInner);
  return answer_of(0);
}

void PlayedMachine::erase(Npu& npu, std::uint32_t id) {
  npu.book.destroy(id);
  slices_.erase(id);
  recover_file_.erase(id);
  fate_.note("gone " + std::to_string(id));
}

// The one rule: what anybody holds or uses is not destroyed.
void PlayedMachine::check_destroy(std::uint32_t id, bool late) {
  const Standing& slice = slices_.at(id);
  const std::string name = "a return of slice " + std::to_string(id) + (late ? ", late" : "");
  if (!slice.made_for) {
    // Nobody can keep another manager from taking the id of a return that is under way.
    if (late) return;
    if (!policy_.foreign.reclaim) fate_.broken(name + ", which is another's, against the policy");
    if (slice.used) fate_.broken(name + ", which is another's and in use");
    const TimeMs since = std::max(daemon_since_, foreign_since_.at({id, template_of(id)}));
    if (fate_.now().value - since.value < policy_.foreign.grace_ms)
      fate_.broken(name + ", which is in its grace");
    return;
  }
  if (is_in_use(id)) fate_.broken(name + ", in which a program runs");
  if (host_.may_live(*slice.made_for)) fate_.broken(name + ", whose supervisor lives");
  const auto entry = journal_.slices().find(id);
  if (entry == journal_.slices().end() || entry->second.attempt != *slice.made_for) return;
  if (!entry->second.ended) fate_.broken(name + ", which a lease holds");
}

Result<void> PlayedMachine::set_slices_recover(bool on) {
  if (away_ || fate_.happens("recover mode refused", 3)) {
    return fail(Code::kFailedPrecondition, std::string(slice_reason::kRefused),
                "the driver keeps its setting");
  }
  recovers_ = on;
  if (!on) recover_file_.clear();
  return {};
}

Result<void> PlayedMachine::set_device_share(std::uint32_t /*physical_id*/, bool /*on*/) {
  return fail(Code::kUnimplemented, std::string(slice_reason::kUnsupported), "not on this chip");
}

// ---- what befalls it

void PlayedMachine::let_pass() {
  std::vector<Late> due;
  std::erase_if(late_, [&](const Late& one) {
    if (one.at > fate_.now()) return false;
    due.push_back(one);
    return true;
  });
  for (const Late& one : due) {
    Npu& npu = npus_[one.physical_id];
    if (one.order) {
      if (cut(npu, *one.order, one.attempt)) check_late(one);
    } else if (slices_.contains(one.id)) {
      check_destroy(one.id, true);
      if (!is_in_use(one.id)) erase(npu, one.id);
    }
  }
}

// As long as a cut may take effect, its order stands in the journal: else it would be nobody's.
void PlayedMachine::check_late(const Late& one) const {
  const auto entry = journal_.slices().find(one.id);
  if (entry == journal_.slices().end() || entry->second.attempt != one.attempt) {
    fate_.broken("slice " + std::to_string(one.id) + " came late, and the journal has forgotten it");
  }
}

void PlayedMachine::befall() {
  Npu& npu = any();
  if (fate_.happens("slices unreadable", 6)) npu.unreadable = true;
  if (fate_.happens("hang", 6)) npu.hung = true;
  if (fate_.happens("NPU absent", 12)) npu.absent = true;
  if (fate_.happens("driver away", 12)) away_ = true;
  if (fate_.happens("recover mode turned on by hand", 10)) recovers_ = true;
  if (fate_.happens("NPU reset", 12)) reset(npu);
}

void PlayedMachine::reset(Npu& npu) {
  for (const auto& [id, vdev] : std::map(npu.book.vdevs())) {
    if (const auto& attempt = slices_.at(id).made_for) lost_.insert(*attempt);
    erase(npu, id);
  }
}

void PlayedMachine::mend() {
  away_ = false;
  for (Npu& npu : npus_) npu.unreadable = npu.hung = npu.absent = npu.stranger = false;
}

void PlayedMachine::cut_by_another() {
  Npu& npu = any();
  const auto foreign =
      std::count_if(slices_.begin(), slices_.end(), [](const auto& one) { return !one.second.made_for; });
  if (npu.kind.foreign_template.empty() || static_cast<std::size_t>(foreign) >= kForeignMax) return;
  ascendsim::Vdev made;
  if (npu.book.create(npu.kind.foreign_template, std::nullopt, std::nullopt, &made) !=
      ascendsim::VnpuRefusal::kNone) {
    return;
  }
  ++fate_.faults["cut by another"];
  slices_[made.id] = {std::nullopt, fate_.pick(3) == 0};
  foreign_since_.try_emplace({made.id, npu.kind.foreign_template}, fate_.now());
  if (recovers_) recover_file_[made.id] = {npu.physical_id, npu.kind.foreign_template, made.id, kNoVgroup};
  fate_.note("cut by another " + std::to_string(made.id));
}

void PlayedMachine::uncut_by_another() {
  for (const auto& [id, slice] : slices_) {
    if (slice.made_for || slice.used) continue;
    ++fate_.faults["returned by another"];
    erase(npus_[(id - ascendsim::VnpuBook::kFirstId) / kSlicesPerNpuMax], id);
    return;
  }
}

void PlayedMachine::use_by_another() {
  for (auto& [id, slice] : slices_) {
    if (!slice.made_for && fate_.pick(2) == 0) slice.used = fate_.pick(2) == 0;
  }
  if (fate_.happens("process of a stranger", 4)) any().stranger = true;
}

void PlayedMachine::reboot() {
  late_.clear();
  const std::map<std::uint32_t, Standing> before = std::exchange(slices_, {});
  for (Npu& npu : npus_) {
    npu.book = ascendsim::VnpuBook(npu.physical_id, npu.book.board());
    npu.hung = npu.unreadable = npu.stranger = false;
  }
  away_ = false;
  ++fate_.faults[recovers_ && !recover_file_.empty() ? "reboot that cuts again" : "reboot"];
  fate_.note("reboot");
  if (!recovers_) return;
  for (const auto& [id, order] : std::map(recover_file_)) {
    const auto slice = before.find(id);
    Npu& npu = npus_[order.physical_id];
    if (slice != before.end()) (void)cut(npu, order, slice->second.made_for);
  }
}

void PlayedMachine::remove_others() {
  std::set<std::uint32_t> ids;
  for (const auto& [id, slice] : slices_) {
    if (!slice.made_for) ids.insert(id);
  }
  for (const std::uint32_t id : ids)
    erase(npus_[(id - ascendsim::VnpuBook::kFirstId) / kSlicesPerNpuMax], id);
}

// Its looks are the first that count.
void PlayedMachine::daemon_started() {
  daemon_since_ = fate_.now();
  std::erase_if(foreign_since_,
                [this](const auto& one) { return template_of(one.first.first) != one.first.second; });
}

}  // namespace tangram::lives
