// What each request of a client does: the second half of Driver.
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "ascendsim/daemon/driver.h"

namespace ascendsim {
namespace {

constexpr std::uint32_t kPciVendor = 0x19E5;
// A dcmi poll asks often; the walls of a living process do not change that fast.
constexpr std::uint64_t kAccessNs = 50'000'000;

template <std::size_t size>
void copy_text(char (&to)[size], const std::string& from) {
  const std::size_t length = std::min(from.size(), size - 1);
  std::memcpy(to, from.data(), length);
  std::memset(to + length, 0, size - length);
}

template <class T>
void append(Reply* reply, const T& part) {
  static_assert(kIsMessage<T>);
  const auto* bytes = reinterpret_cast<const unsigned char*>(&part);
  reply->packet.insert(reply->packet.end(), bytes, bytes + sizeof part);
}

void answer_status(Reply* reply, Status status) {
  append(reply, ReplyHeader{kMagic, status, 0, 0});
}

template <class Body>
void answer(Reply* reply, Status status, const Body& body) {
  answer_status(reply, status);
  if (status == Status::kOk) append(reply, body);
}

template <class Record>
void answer_records(Reply* reply, const std::vector<Record>& records) {
  append(reply, ReplyHeader{kMagic, Status::kOk, static_cast<std::uint32_t>(records.size()), sizeof(Record)});
  for (const Record& record : records) append(reply, record);
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
    case RequestType::kMachine:
    case RequestType::kProcesses:
    case RequestType::kAttach:
    case RequestType::kOpenDevice:
    case RequestType::kCloseDevice:
    case RequestType::kMemory:
      return 0;
  }
  return kPacketBytesMax;  // no such request: matches no size
}

template <class Body>
Body read_body(const unsigned char* packet) {
  Body body;
  std::memcpy(&body, packet + sizeof(RequestHeader), sizeof body);
  return body;
}

}  // namespace

std::vector<const Client*> Driver::holders(const Client& viewer, std::uint32_t npu) const {
  std::vector<const Client*> found;
  for (const auto& [id, client] : clients_) {
    if (client->open.count(npu) == 0) continue;
    if (viewer.in_container && !same_mount_namespace(viewer.pid, client->pid)) continue;
    found.push_back(client.get());
  }
  return found;
}

std::vector<ProcessRecord> Driver::processes(const Client& viewer, std::uint32_t npu) {
  std::map<pid_t, std::uint64_t> bytes;  // a process may have more than one connection
  for (const Client* client : holders(viewer, npu)) bytes[client->pid] += ledger_.use(client->id, npu).bytes;
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

NpuRecord Driver::describe(const Client& client, std::uint32_t logic_id) {
  const std::uint32_t npu = client.npus[logic_id];
  const NpuDescription& description = npus_[npu].description;
  const ChipModel& model = description.model;
  NpuRecord record{};
  record.logic_id = logic_id;
  record.phy_id = description.phy_id;
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
  record.health = npus_[npu].health;
  record.aicore_percent = busy(npu, Engine::kCube);
  record.vector_percent = busy(npu, Engine::kVector);
  record.memory_busy_percent = busy(npu, Engine::kOnDevice);
  // Warmth and power follow the load, so that a dashboard has something true to show.
  record.temperature_celsius = static_cast<std::int32_t>(36 + record.aicore_percent * 28 / 100);
  record.power_deciwatts = 882 + record.aicore_percent * 20;
  record.voltage_centivolts = 90;
  record.aicore_mhz = model.aicore_mhz;
  record.hbm_mhz = model.hbm_mhz;
  record.process_count = static_cast<std::uint32_t>(processes(client, npu).size());
  const std::uint32_t serial = description.card_id * 16 + description.chip_id;
  const std::uint32_t die_id[5] = {0x5A0B1C00 + serial, 0x20E0C2B1, 0x62D48A30 + serial, 0x018210D4,
                                   0xA2050000 + serial};
  std::memcpy(record.die_id, die_id, sizeof die_id);
  record.memory_bytes_total = model.memory_bytes;
  record.memory_bytes_used = model.memory_bytes_system + ledger_.used(npu);
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
  int bell[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, bell) != 0) return Status::kLimit;
  client.bell = Descriptor(bell[0]);
  reply->owned[1] = Descriptor(bell[1]);
  if (!client.rings.create(&reply->owned[0])) return Status::kLimit;
  refresh_access(client);
  client.last_submitted_ns = monotonic_ns();
  reply->descriptors = {reply->owned[0].get(), reply->owned[1].get()};
  answer->npu_count = static_cast<std::uint32_t>(client.npus.size());
  answer->compute_mode = compute_mode_;
  answer->ring_bytes = sizeof(SharedRings);
  return Status::kOk;
}

Status Driver::handle_open(Client& client, std::uint32_t npu, OpenDeviceReply* answer) {
  if (client.rings.get() == nullptr) return Status::kInvalid;
  if (!may_still_use(client, npu)) return Status::kDenied;
  if (npus_[npu].health == Health::kAbsent) return Status::kLost;
  client.open.insert(npu);
  const NpuDescription& description = npus_[npu].description;
  *answer = OpenDeviceReply{};
  answer->phy_id = description.phy_id;
  answer->ai_cores = description.model.ai_cores;
  answer->vector_cores = description.model.vector_cores;
  answer->ai_cpus = description.model.ai_cpus;
  answer->memory_bytes_usable = ledger_.usable(npu);
  answer->l2_bytes = description.model.l2_bytes;
  answer->has_node = nodes_.major != 0 ? 1 : 0;
  answer->node_major = nodes_.major;
  copy_text(answer->soc_name, description.model.soc_name);
  const std::string folder = client.in_container ? "/dev" : nodes_.folder;
  copy_text(answer->node_path, folder + "/davinci" + std::to_string(description.phy_id));
  return Status::kOk;
}

Status Driver::handle_create_stream(Client& client, std::uint32_t npu, const CreateStreamBody& body,
                                    CreateStreamReply* answer) {
  if (client.open.count(npu) == 0) return Status::kNotOpen;
  if (npus_[npu].health == Health::kAbsent) return Status::kLost;
  if (body.priority > kPriorityLowest) return Status::kInvalid;
  if (npus_[npu].streams >= kStreamsPerNpuMax || client.next_stream == 0) return Status::kLimit;
  answer->stream = client.next_stream++;
  answer->reserved = 0;
  client.streams.emplace(answer->stream, npu);
  ++npus_[npu].streams;
  timeline_.add_stream(client.id, answer->stream, npu, body.priority);
  return Status::kOk;
}

Status Driver::handle_destroy_stream(Client& client, const DestroyStreamBody& body) {
  const auto stream = client.streams.find(body.stream);
  if (stream == client.streams.end()) return Status::kInvalid;
  timeline_.drop_stream(client.id, body.stream, monotonic_ns());
  --npus_[stream->second].streams;
  client.streams.erase(stream);
  return Status::kOk;
}

Status Driver::handle_set_health(const Client& client, std::uint32_t phy_id, const SetHealthBody& body) {
  if (client.uid != 0) return Status::kDenied;
  const auto found = std::find(phy_ids_.begin(), phy_ids_.end(), phy_id);
  if (found == phy_ids_.end()) return Status::kNoSuchNpu;
  if (!known_health(body.health)) return Status::kInvalid;
  const auto npu = static_cast<std::uint32_t>(found - phy_ids_.begin());
  const Health before = npus_[npu].health;
  npus_[npu].health = body.health;
  if (before == Health::kAbsent && body.health != Health::kAbsent) timeline_.return_npu(npu);
  if (before == Health::kAbsent || body.health != Health::kAbsent) return Status::kOk;
  const std::uint64_t now_ns = monotonic_ns();
  timeline_.lose_npu(npu, now_ns);
  for (const auto& [id, holder] : clients_) {
    if (holder->open.count(npu) != 0) post(id, {phy_id, now_ns, now_ns, NoticeKind::kNpuLost, Status::kLost});
  }
  return Status::kOk;
}

Status Driver::handle_allocate(Client& client, std::uint32_t npu, const AllocateBody& body,
                               AllocateReply* answer) {
  if (client.open.count(npu) == 0) return Status::kNotOpen;
  if (npus_[npu].health == Health::kAbsent) return Status::kLost;
  return ledger_.allocate(client.id, npu, body.bytes, body.page_size, answer);
}

MemoryReply Driver::memory_of(const Client& client, std::uint32_t npu) const {
  const MemoryUse own = ledger_.use(client.id, npu);
  return {ledger_.usable(npu), ledger_.usable(npu) - ledger_.used(npu), own.bytes, own.bytes_peak};
}

void Driver::handle_about_npu(Client& client, RequestType type, std::uint32_t npu,
                              const unsigned char* packet, Reply* reply) {
  switch (type) {
    case RequestType::kProcesses:
      answer_records(reply, processes(client, npu));
      break;
    case RequestType::kOpenDevice: {
      OpenDeviceReply body{};
      const Status status = handle_open(client, npu, &body);
      answer(reply, status, body);
      break;
    }
    case RequestType::kCloseDevice:
      close_npu(client, npu);
      answer_status(reply, Status::kOk);
      break;
    case RequestType::kAllocate: {
      AllocateReply body{};
      const Status status = handle_allocate(client, npu, read_body<AllocateBody>(packet), &body);
      answer(reply, status, body);
      break;
    }
    case RequestType::kMemory:
      answer(reply, Status::kOk, memory_of(client, npu));
      break;
    case RequestType::kCreateStream: {
      CreateStreamReply body{};
      const Status status = handle_create_stream(client, npu, read_body<CreateStreamBody>(packet), &body);
      answer(reply, status, body);
      break;
    }
    case RequestType::kMachine:
    case RequestType::kAttach:
    case RequestType::kFree:
    case RequestType::kDestroyStream:
    case RequestType::kSetHealth:
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
    case RequestType::kProcesses:
    case RequestType::kOpenDevice:
    case RequestType::kCloseDevice:
    case RequestType::kAllocate:
    case RequestType::kMemory:
    case RequestType::kCreateStream:
      if (client.access_checked_ns == 0) refresh_access(client);
      if (header.npu < client.npus.size()) {
        handle_about_npu(client, header.type, client.npus[header.npu], packet, reply);
      } else {
        answer_status(reply, Status::kNoSuchNpu);
      }
      break;
  }
  return true;
}

}  // namespace ascendsim
