// What each request of a client does: the second half of Driver.
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "ascendsim/daemon/driver.h"
#include "ascendsim/daemon/packets.h"

namespace ascendsim {
namespace {

constexpr std::uint32_t kPciVendor = 0x19E5;
// A dcmi poll asks often; the walls of a living process do not change that fast.
constexpr std::uint64_t kAccessNs = 50'000'000;

std::string process_name(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

std::size_t body_bytes(RequestType type) {
  switch (type) {
    case RequestType::kAllocate:
      return sizeof(AllocateBody);
    case RequestType::kFree:
      return sizeof(FreeBody);
    case RequestType::kCreateStream:
      return sizeof(CreateStreamBody);
    case RequestType::kDestroyStream:
      return sizeof(DestroyStreamBody);
    case RequestType::kSetHealth:
      return sizeof(SetHealthBody);
    case RequestType::kCreateVdev:
      return sizeof(CreateVdevBody);
    case RequestType::kDestroyVdev:
      return sizeof(DestroyVdevBody);
    case RequestType::kSetSetting:
    case RequestType::kGetSetting:
      return sizeof(SettingBody);
    case RequestType::kMachine:
    case RequestType::kProcesses:
    case RequestType::kAttach:
    case RequestType::kOpenDevice:
    case RequestType::kCloseDevice:
    case RequestType::kMemory:
    case RequestType::kVnpus:
    case RequestType::kFaults:
      return 0;
    case RequestType::kFaultEvents:
      return sizeof(FaultEventsBody);
    case RequestType::kReset:
      return sizeof(ResetBody);
    case RequestType::kInject:
      return sizeof(InjectBody);
  }
  return kPacketBytesMax;  // no such request: matches no size
}

}  // namespace

// Those of a whole NPU are those of its virtual devices, too.
std::vector<const Client*> Driver::holders(const Client& viewer, std::uint32_t unit) const {
  const std::vector<std::uint32_t> units = is_whole(unit) ? units_of(unit) : std::vector{unit};
  std::vector<const Client*> found;
  for (const auto& [id, client] : clients_) {
    const auto opened = [&client](std::uint32_t one) { return client->open.count(one) != 0; };
    if (std::ranges::none_of(units, opened)) continue;
    const bool behind_walls = viewer.in_container && !viewer.privileged;
    if (behind_walls && !same_mount_namespace(viewer.pid, client->pid)) continue;
    found.push_back(client.get());
  }
  return found;
}

std::vector<ProcessRecord> Driver::processes(const Client& viewer, std::uint32_t unit) {
  const std::vector<std::uint32_t> units = is_whole(unit) ? units_of(unit) : std::vector{unit};
  std::map<pid_t, std::uint64_t> bytes;  // a process may have more than one connection
  for (const Client* client : holders(viewer, unit)) {
    for (const std::uint32_t one : units) bytes[client->pid] += ledger_.use(client->id, one).bytes;
  }
  std::vector<ProcessRecord> records;
  for (const auto& [pid, held] : bytes) {
    if (records.size() == kProcessRecordsMax) break;
    ProcessRecord record{};
    record.host_pid = pid;
    record.bytes = held;
    copy_text(record.name, process_name(pid));
    records.push_back(record);
  }
  return records;
}

void Driver::describe_load(std::uint32_t unit, NpuRecord* record) const {
  if (is_whole(unit) && npus_[unit].book.cut()) record->flags |= kNpuIsCut;
  const VnpuFamily family = npus_[npu_of(unit)].book.board().family;
  if (family == VnpuFamily::k910B || family == VnpuFamily::kA3) record->flags |= kNpuHasSriov;
  record->aicore_percent = busy(unit, Engine::kCube);
  record->vector_percent = busy(unit, Engine::kVector);
  record->memory_busy_percent = busy(unit, Engine::kOnDevice);
  // Warmth and power follow the load, so that a dashboard has something true to show.
  record->temperature_celsius = static_cast<std::int32_t>(36 + record->aicore_percent * 28 / 100);
  record->power_deciwatts = 882 + record->aicore_percent * 20;
  if (load_known(unit)) return;
  record->flags |= kNpuLoadUnknown;
  record->aicore_percent = record->vector_percent = record->memory_busy_percent = 0;
}

NpuRecord Driver::describe(const Client& client, std::uint32_t logic_id) {
  const std::uint32_t unit = client.npus[logic_id];
  const Npu& npu = npus_[npu_of(unit)];
  const NpuDescription& description = npu.description;
  NpuRecord record{};
  record.logic_id = logic_id;
  if (!exists(unit)) {  // a slice that was destroyed under an attached client, whose numbers must not shift
    record.health = Health::kAbsent;
    record.vdev_id = record.phy_id = kNoVdev;
    return record;
  }
  const ChipModel& model = model_of(unit);
  record.phy_id = node_of(unit).minor;
  record.card_id = description.card_id;
  record.chip_id = description.chip_id;
  record.board_id = model.board_id;
  record.pci_domain = description.pci_domain;
  record.pci_bus = description.pci_bus;
  record.pci_device = description.pci_device;
  record.pci_function = description.pci_function;
  record.pci_vendor_id = kPciVendor;
  record.pci_device_id = model.pci_device_id;
  record.ai_cores = model.ai_cores;
  record.vector_cores = model.vector_cores;
  record.ai_cpus = model.ai_cpus;
  describe_health(npu_of(unit), &record);
  record.voltage_centivolts = 90;
  record.aicore_mhz = model.aicore_mhz;
  record.hbm_mhz = model.hbm_mhz;
  record.process_count = static_cast<std::uint32_t>(processes(client, unit).size());
  record.vdev_id = is_whole(unit) ? kNoVdev : record.phy_id;
  describe_load(unit, &record);
  const std::uint32_t serial = description.card_id * 16 + description.chip_id;
  const std::uint32_t die_id[5] = {0x5A0B1C00 + serial, 0x20E0C2B1, 0x62D48A30 + serial, 0x018210D4,
                                   0xA2050000 + serial};
  std::memcpy(record.die_id, die_id, sizeof die_id);
  record.memory_bytes_total = model.memory_bytes;
  record.memory_bytes_used = memory_used(unit);
  record.memory_bytes_system = model.memory_bytes_system;
  record.l2_bytes = model.l2_bytes;
  copy_text(record.chip_name, model.chip_name);
  copy_text(record.soc_name, model.soc_name);
  copy_text(record.chip_type, "Ascend");
  copy_text(record.chip_version, "V1");
  return record;
}

void Driver::handle_machine(Client& client, Reply* reply) {
  // An attached client counts by the list it got then; its numbers must not shift under its feet.
  const bool attached = client.rings.get() != nullptr;
  if (!attached && monotonic_ns() - client.access_checked_ns > kAccessNs) refresh_access(client);
  if (client.shut_out) {
    answer_status(reply, Status::kOccupied);
    return;
  }
  MachineReply machine{};
  machine.npu_count = static_cast<std::uint32_t>(client.npus.size());
  machine.in_container = client.in_container ? 1 : 0;
  copy_text(machine.driver_version, driver_version_);
  append(reply, ReplyHeader{kMagic, Status::kOk, machine.npu_count, sizeof(NpuRecord)});
  append(reply, machine);
  for (std::uint32_t i = 0; i < machine.npu_count; ++i) append(reply, describe(client, i));
}

Status Driver::handle_attach(Client& client, AttachReply* answer, Reply* reply) {
  if (client.rings.get() != nullptr) return Status::kInvalid;
  refresh_access(client);
  if (client.shut_out) return Status::kOccupied;
  int bell[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, bell) != 0) return Status::kLimit;
  client.bell = Descriptor(bell[0]);
  reply->owned[1] = Descriptor(bell[1]);
  if (!client.rings.create(&reply->owned[0])) return Status::kLimit;
  client.last_submitted_ns = monotonic_ns();
  reply->descriptors = {reply->owned[0].get(), reply->owned[1].get()};
  answer->npu_count = static_cast<std::uint32_t>(client.npus.size());
  answer->compute_mode = compute_mode_;
  answer->ring_bytes = sizeof(SharedRings);
  return Status::kOk;
}

Status Driver::handle_open(Client& client, std::uint32_t unit, OpenDeviceReply* answer) {
  if (client.rings.get() == nullptr) return Status::kInvalid;
  if (!may_still_use(client, unit)) return Status::kDenied;
  const Npu& npu = npus_[npu_of(unit)];
  if (gone(unit)) return Status::kLost;
  if (is_whole(unit) && npu.book.cut()) return Status::kBusy;  // a cut chip cannot be used whole
  client.open.insert(unit);
  const ChipModel& model = model_of(unit);
  *answer = OpenDeviceReply{};
  answer->phy_id = node_of(unit).minor;
  answer->ai_cores = model.ai_cores;
  answer->vector_cores = model.vector_cores;
  answer->ai_cpus = model.ai_cpus;
  answer->memory_bytes_usable = ledger_.usable(unit);
  answer->l2_bytes = model.l2_bytes;
  // A container's node of a virtual device has a name of its own choice: there the driver's word counts.
  answer->has_node = nodes_.major != 0 && (is_whole(unit) || !client.in_container) ? 1 : 0;
  answer->node_major = nodes_.major;
  copy_text(answer->soc_name, model.soc_name);
  const std::string folder = client.in_container ? "/dev" : nodes_.folder;
  copy_text(answer->node_path, folder + "/" + node_of(unit).name());
  return Status::kOk;
}

Status Driver::handle_create_stream(Client& client, std::uint32_t unit, const CreateStreamBody& body,
                                    CreateStreamReply* answer) {
  if (client.open.count(unit) == 0) return Status::kNotOpen;
  if (gone(unit)) return Status::kLost;
  if (body.priority > kPriorityLowest) return Status::kInvalid;
  if (streams_[unit] >= kStreamsPerUnitMax || client.next_stream == 0) return Status::kLimit;
  answer->stream = client.next_stream++;
  answer->reserved = 0;
  client.streams.emplace(answer->stream, unit);
  ++streams_[unit];
  timeline_.add_stream(client.id, answer->stream, unit, body.priority);
  return Status::kOk;
}

Status Driver::handle_destroy_stream(Client& client, const DestroyStreamBody& body) {
  const auto stream = client.streams.find(body.stream);
  if (stream == client.streams.end()) return Status::kInvalid;
  timeline_.drop_stream(client.id, body.stream, monotonic_ns());
  --streams_[stream->second];
  client.streams.erase(stream);
  return Status::kOk;
}

Status Driver::handle_allocate(Client& client, std::uint32_t unit, const AllocateBody& body,
                               AllocateReply* answer) {
  if (client.open.count(unit) == 0) return Status::kNotOpen;
  if (gone(unit)) return Status::kLost;
  return ledger_.allocate(client.id, unit, body.bytes, body.page_size, answer);
}

MemoryReply Driver::memory_of(const Client& client, std::uint32_t unit) const {
  const MemoryUse own = ledger_.use(client.id, unit);
  return {ledger_.usable(unit), ledger_.usable(unit) - ledger_.used(unit), own.bytes, own.bytes_peak};
}

void Driver::handle_about_unit(Client& client, RequestType type, std::uint32_t unit,
                               const unsigned char* packet, Reply* reply) {
  switch (type) {
    case RequestType::kProcesses:
      answer_records(reply, processes(client, unit));
      break;
    case RequestType::kOpenDevice: {
      OpenDeviceReply body{};
      const Status status = handle_open(client, unit, &body);
      answer(reply, status, body);
      break;
    }
    case RequestType::kCloseDevice:
      close_unit(client, unit);
      answer_status(reply, Status::kOk);
      break;
    case RequestType::kAllocate: {
      AllocateReply body{};
      const Status status = handle_allocate(client, unit, read_body<AllocateBody>(packet), &body);
      answer(reply, status, body);
      break;
    }
    case RequestType::kMemory:
      answer(reply, Status::kOk, memory_of(client, unit));
      break;
    case RequestType::kCreateStream: {
      CreateStreamReply body{};
      const Status status = handle_create_stream(client, unit, read_body<CreateStreamBody>(packet), &body);
      answer(reply, status, body);
      break;
    }
    case RequestType::kVnpus:
    case RequestType::kCreateVdev:
    case RequestType::kDestroyVdev:
    case RequestType::kSetSetting:
    case RequestType::kGetSetting:
      handle_about_vnpus(client, type, unit, packet, reply);
      break;
    case RequestType::kFaults:
      handle_faults(client, unit, reply);
      break;
    case RequestType::kReset:
      answer_status(reply, handle_reset(client, unit, read_body<ResetBody>(packet)));
      break;
    case RequestType::kMachine:
    case RequestType::kAttach:
    case RequestType::kFree:
    case RequestType::kDestroyStream:
    case RequestType::kSetHealth:
    case RequestType::kFaultEvents:
    case RequestType::kInject:
      break;  // not about an NPU of the peer's numbering
  }
}

bool Driver::handle(Client& client, const unsigned char* packet, std::size_t size, Reply* reply) {
  RequestHeader header{};
  if (size < sizeof header) return false;
  std::memcpy(&header, packet, sizeof header);
  const bool ours = header.magic == kMagic && header.version == kProtocolVersion &&
                    size == sizeof header + body_bytes(header.type);
  if (!ours) return false;
  // Work that was handed in before this request happens before it.
  drain(client);
  switch (header.type) {
    case RequestType::kMachine:
      handle_machine(client, reply);
      break;
    case RequestType::kAttach: {
      AttachReply body{};
      const Status status = handle_attach(client, &body, reply);
      answer(reply, status, body);
      break;
    }
    case RequestType::kFree:
      answer_status(reply, ledger_.free(client.id, read_body<FreeBody>(packet).allocation));
      break;
    case RequestType::kDestroyStream:
      answer_status(reply, handle_destroy_stream(client, read_body<DestroyStreamBody>(packet)));
      break;
    case RequestType::kSetHealth:
      answer_status(reply, handle_set_health(client, header.npu, read_body<SetHealthBody>(packet)));
      break;
    case RequestType::kFaultEvents:
      if (client.access_checked_ns == 0) refresh_access(client);
      handle_fault_events(client, read_body<FaultEventsBody>(packet), reply);
      break;
    case RequestType::kInject:
      if (client.access_checked_ns == 0) refresh_access(client);
      answer_status(reply, handle_inject(client, header.npu, read_body<InjectBody>(packet)));
      break;
    case RequestType::kProcesses:
    case RequestType::kOpenDevice:
    case RequestType::kCloseDevice:
    case RequestType::kAllocate:
    case RequestType::kMemory:
    case RequestType::kCreateStream:
    case RequestType::kVnpus:
    case RequestType::kCreateVdev:
    case RequestType::kDestroyVdev:
    case RequestType::kSetSetting:
    case RequestType::kGetSetting:
    case RequestType::kFaults:
    case RequestType::kReset:
      if (client.access_checked_ns == 0) refresh_access(client);
      if (client.shut_out) {
        answer_status(reply, Status::kOccupied);
      } else if (header.npu < client.npus.size() && exists(client.npus[header.npu])) {
        handle_about_unit(client, header.type, client.npus[header.npu], packet, reply);
      } else {
        answer_status(reply, Status::kNoSuchNpu);
      }
      break;
  }
  return true;
}

}  // namespace ascendsim
