// What Driver does about virtual devices.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "ascendsim/daemon/driver.h"
#include "ascendsim/daemon/driver_tree.h"
#include "ascendsim/daemon/packets.h"
#include "ascendsim/daemon/result.h"

namespace ascendsim {
namespace {

// From this release on the vendor says that the A3 can be cut.
constexpr int kA3ReleaseMin = 26;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
// A query need not see the end of a container at once; destroying its device must.
constexpr std::uint64_t kSettleNs = 20'000'000;

std::optional<std::uint32_t> chosen(std::uint32_t number) {
  return number == kAnyNumber ? std::nullopt : std::optional(number);
}

const char* reason_text(VnpuRefusal refusal) {
  switch (refusal) {
    case VnpuRefusal::kNone:
      return "none";
    case VnpuRefusal::kNotSplittable:
      return "this chip cannot be cut";
    case VnpuRefusal::kTemplate:
      return "this board has no such template";
    case VnpuRefusal::kId:
      return "the id is not free on this chip";
    case VnpuRefusal::kCount:
      return "the chip has sixteen virtual devices";
    case VnpuRefusal::kAiCores:
      return "check aicore num failed";
    case VnpuRefusal::kMemory:
      return "not enough memory";
    case VnpuRefusal::kAiCpus:
      return "not enough AICPU";
    case VnpuRefusal::kMedia:
      return "not enough DVPP";
    case VnpuRefusal::kVgroup:
      return "no vgroup has room";
  }
  return "unknown";
}

ChipModel share_of(const ChipModel& whole, const VnpuBoard& board, const Vdev& vdev) {
  const std::uint64_t cores = vdev.shape->ai_cores;
  const std::uint64_t of = whole.ai_cores;
  const auto part = [cores, of](std::uint64_t all) { return std::max<std::uint64_t>(all * cores / of, 1); };
  ChipModel model = whole;
  const bool is_310p = board.family == VnpuFamily::k310P;
  model.chip_name = (is_310p ? "310P" : whole.chip_name) + std::string(vdev.shape->name);
  model.ai_cores = vdev.shape->ai_cores;
  model.vector_cores = static_cast<std::uint32_t>(part(whole.vector_cores));
  model.ai_cpus = vdev.shape->ai_cpus;
  model.memory_bytes = vdev.memory_mb * kMiB;
  model.memory_bytes_system = whole.memory_bytes_system * cores / of;
  model.l2_bytes = part(whole.l2_bytes);
  model.fp16_flops_per_us = part(whole.fp16_flops_per_us);
  model.fp32_flops_per_us = part(whole.fp32_flops_per_us);
  model.memory_bytes_per_us = part(whole.memory_bytes_per_us);
  return model;
}

VnpuResourcesRecord record_of(const VnpuResources& resources) {
  const MediaUnits& media = resources.media;
  return {static_cast<float>(resources.ai_cores),
          media.vpc,
          media.venc,
          media.vdec,
          media.jpegd,
          media.jpege,
          media.pngd,
          resources.ai_cpus.value_or(kUnknownCount),
          resources.memory_mb,
          resources.vgroups,
          resources.vgroup_bitmap,
          0};
}

}  // namespace

VnpuRefusal Driver::create_slice(std::uint32_t npu, std::string_view template_name,
                                 std::optional<std::uint32_t> id, std::optional<std::uint32_t> vgroup,
                                 Vdev* created) {
  VnpuBook& book = npus_[npu].book;
  const VnpuRefusal refusal = book.create(template_name, id, vgroup, created);
  if (refusal != VnpuRefusal::kNone) return refusal;
  const std::uint32_t unit = unit_of(npu, *created);
  slices_[unit] = {*created, share_of(npus_[npu].description.model, book.board(), *created)};
  ledger_.set_usable(unit, created->memory_mb * kMiB);
  if (npus_[npu].absent) timeline_.lose_npu(unit, monotonic_ns());
  if (nodes_.major == 0) return refusal;
  const std::string path = nodes_.folder + "/" + node_of(unit).name();
  if (!make_device_node(path, nodes_.major, created->id)) log_warning("cannot make " + path);
  return refusal;
}

Status Driver::destroy_slice(std::uint32_t npu, std::uint32_t id) {
  VnpuBook& book = npus_[npu].book;
  const auto found = book.vdevs().find(id);
  const std::uint32_t first = VnpuBook::kFirstId + npus_[npu].description.phy_id * VnpuBook::kPerChipMax;
  if (id < first || id >= first + VnpuBook::kPerChipMax) return Status::kInvalid;
  if (found == book.vdevs().end()) return Status::kNoSuchVdev;
  const std::uint32_t unit = unit_of(npu, found->second);
  occupancy_.settle(monotonic_ns(), 0);
  if (occupancy_.holder(unit) || opened_by_any(unit)) return Status::kInvalid;
  if (nodes_.major != 0) unlink((nodes_.folder + "/" + node_of(unit).name()).c_str());
  occupancy_.forget(unit);
  timeline_.return_npu(unit);
  ledger_.set_usable(unit, 0);
  slices_.erase(unit);
  book.destroy(id);
  for (const auto& [client_id, client] : clients_) client->access_checked_ns = 0;
  return Status::kOk;
}

void Driver::recover(const RecoverFile& file) {
  if (!file.enabled) return;
  for (const RecoverEntry& entry : file.entries) {
    const std::string what = "virtual device " + std::to_string(entry.vdev_id) + " of the recover file";
    const auto npu = std::ranges::find_if(
        npus_, [&entry](const Npu& one) { return one.description.phy_id == entry.phy_id; });
    if (npu == npus_.end()) {
      log_warning(what + ": there is no NPU " + std::to_string(entry.phy_id));
      continue;
    }
    Vdev created;
    const auto index = static_cast<std::uint32_t>(npu - npus_.begin());
    const VnpuRefusal refusal =
        create_slice(index, entry.template_name, entry.vdev_id, entry.vgroup, &created);
    if (refusal != VnpuRefusal::kNone) log_warning(what + ": " + reason_text(refusal));
  }
}

Status Driver::may_cut(const Client& client, std::uint32_t unit) const {
  if (client.uid != 0 || (client.in_container && !client.privileged)) return Status::kDenied;
  if (!is_whole(unit)) return Status::kUnsupported;
  const VnpuFamily family = npus_[unit].book.board().family;
  const bool bound = family == VnpuFamily::kA3 && multi_die_policy_ == 0;
  const bool old_a3 = family == VnpuFamily::kA3 && std::atoi(driver_version_.c_str()) < kA3ReleaseMin;
  if (family == VnpuFamily::kNone || old_a3) return Status::kUnsupported;
  if (bound) return Status::kDenied;  // the two dies of a module are one device
  if (gone(unit)) return Status::kLost;
  return Status::kOk;
}

Status Driver::handle_create_vdev(const Client& client, std::uint32_t unit, const CreateVdevBody& body,
                                  CreateVdevReply* answer) {
  if (const Status status = may_cut(client, unit); status != Status::kOk) return status;
  if (vdevice_mode_ != 0) return Status::kDenied;  // "Vdevice is not allowed"
  occupancy_.settle(monotonic_ns(), 0);
  if (opened_by_any(unit) || occupancy_.holder(unit)) return Status::kBusy;
  const std::string name(body.template_name, strnlen(body.template_name, sizeof body.template_name));
  Vdev created;
  Npu& npu = npus_[unit];
  if (npu.fail_creates > 0) {
    --npu.fail_creates;
    if (npu.failed_creates_leak)
      create_slice(unit, name, chosen(body.vdev_id), chosen(body.vgroup), &created);
    return Status::kAborted;
  }
  const VnpuRefusal refusal = create_slice(unit, name, chosen(body.vdev_id), chosen(body.vgroup), &created);
  if (refusal != VnpuRefusal::kNone) {
    log_provoked("NPU " + std::to_string(npus_[unit].description.phy_id) + ": no virtual device " + name +
                 ": " + reason_text(refusal));
    return Status::kInvalid;
  }
  const NpuDescription& description = npus_[unit].description;
  *answer = {
      created.id,     created.vgroup.value_or(kUnknownCount), description.pci_bus, created.number + 1, 0,
      vnpu_.create_ms};
  return Status::kOk;
}

Status Driver::handle_destroy_vdev(const Client& client, std::uint32_t unit, const DestroyVdevBody& body) {
  if (const Status status = may_cut(client, unit); status != Status::kOk) return status;
  Npu& npu = npus_[unit];
  if (npu.refuse_destroys > 0) {
    if (npu.refuse_destroys != kAnyNumber) --npu.refuse_destroys;
    return Status::kInvalid;  // as if it were in use
  }
  if (body.vdev_id != kAllVdevs) return destroy_slice(unit, body.vdev_id);
  std::vector<std::uint32_t> ids;
  for (const auto& [id, vdev] : npus_[unit].book.vdevs()) ids.push_back(id);
  Status worst = Status::kOk;
  for (const std::uint32_t id : ids) {
    if (const Status status = destroy_slice(unit, id); status != Status::kOk) worst = status;
  }
  return worst;
}

std::vector<VdevRecord> Driver::vdev_records(std::uint32_t npu) {
  occupancy_.settle(monotonic_ns(), kSettleNs);
  std::vector<VdevRecord> records;
  for (const auto& [id, vdev] : npus_[npu].book.vdevs()) {
    const std::uint32_t unit = unit_of(npu, vdev);
    const auto container = occupancy_.holder(unit);
    const MediaUnits& media = vdev.shape->media;
    VdevRecord record{};
    record.vdev_id = id;
    record.vfid = vdev.number + 1;
    record.vgroup = vdev.vgroup.value_or(kUnknownCount);
    record.in_use = container ? 1 : 0;
    record.container_id = container.value_or(0);
    record.memory_bytes_total = model_of(unit).memory_bytes;
    record.memory_bytes_free = record.memory_bytes_total - memory_used(unit);
    record.aicore_percent = vnpu_.load_known_when_cut ? busy(unit, Engine::kCube) : kUnknownCount;
    record.ai_cores = vdev.shape->ai_cores;
    record.ai_cpus = vdev.shape->ai_cpus;
    record.vpc = media.vpc;
    record.venc = media.venc;
    record.vdec = media.vdec;
    record.jpegd = media.jpegd;
    record.jpege = media.jpege;
    record.pngd = media.pngd;
    copy_text(record.template_name, std::string(vdev.shape->name));
    records.push_back(record);
  }
  return records;
}

Status Driver::handle_set_setting(const Client& client, std::uint32_t unit, const SettingBody& body) {
  if (client.uid != 0 || (client.in_container && !client.privileged)) return Status::kDenied;
  if (body.value > 1) return Status::kInvalid;
  switch (body.setting) {
    case Setting::kVdeviceMode:
      if (body.value != vdevice_mode_ && !slices_.empty()) return Status::kBusy;
      vdevice_mode_ = body.value;
      return Status::kOk;
    case Setting::kDeviceShare:
      npus_[npu_of(unit)].shared = body.value == 1;
      return Status::kOk;
    case Setting::kMultiDiePolicy:
      if (body.value != multi_die_policy_ && !slices_.empty()) return Status::kBusy;
      multi_die_policy_ = body.value;
      return Status::kOk;
  }
  return Status::kInvalid;
}

Status Driver::handle_get_setting(std::uint32_t unit, SettingBody* answer) const {
  switch (answer->setting) {
    case Setting::kVdeviceMode:
      answer->value = vdevice_mode_;
      return Status::kOk;
    case Setting::kDeviceShare:
      answer->value = npus_[npu_of(unit)].shared ? 1 : 0;
      return Status::kOk;
    case Setting::kMultiDiePolicy:
      answer->value = multi_die_policy_;
      return Status::kOk;
  }
  return Status::kInvalid;
}

void Driver::handle_about_vnpus(const Client& client, RequestType type, std::uint32_t unit,
                                const unsigned char* packet, Reply* reply) {
  switch (type) {
    case RequestType::kVnpus: {
      if (!is_whole(unit) || npus_[unit].book.board().family == VnpuFamily::kNone) {
        answer_status(reply, Status::kUnsupported);
        return;
      }
      const std::vector<VdevRecord> records = vdev_records(unit);
      append(reply, ReplyHeader{kMagic, Status::kOk, static_cast<std::uint32_t>(records.size()),
                                sizeof(VdevRecord)});
      append(reply, VnpusReply{record_of(npus_[unit].book.total()), record_of(npus_[unit].book.left())});
      for (const VdevRecord& record : records) append(reply, record);
      return;
    }
    case RequestType::kCreateVdev: {
      CreateVdevReply body{};
      const Status status = handle_create_vdev(client, unit, read_body<CreateVdevBody>(packet), &body);
      answer(reply, status, body);
      return;
    }
    case RequestType::kDestroyVdev:
      answer_status(reply, handle_destroy_vdev(client, unit, read_body<DestroyVdevBody>(packet)));
      return;
    case RequestType::kSetSetting:
      answer_status(reply, handle_set_setting(client, unit, read_body<SettingBody>(packet)));
      return;
    case RequestType::kGetSetting: {
      auto body = read_body<SettingBody>(packet);
      const Status status = handle_get_setting(unit, &body);
      answer(reply, status, body);
      return;
    }
    case RequestType::kMachine:
    case RequestType::kProcesses:
    case RequestType::kAttach:
    case RequestType::kOpenDevice:
    case RequestType::kCloseDevice:
    case RequestType::kAllocate:
    case RequestType::kFree:
    case RequestType::kMemory:
    case RequestType::kCreateStream:
    case RequestType::kDestroyStream:
    case RequestType::kSetHealth:
    case RequestType::kFaults:
    case RequestType::kFaultEvents:
    case RequestType::kReset:
    case RequestType::kInject:
      return;  // not about virtual devices
  }
}

}  // namespace ascendsim
