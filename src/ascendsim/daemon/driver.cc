#include "ascendsim/daemon/driver.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <ctime>
#include <utility>

#include "ascendsim/daemon/cost.h"
#include "ascendsim/daemon/result.h"

namespace ascendsim {
namespace {

std::vector<std::uint64_t> usable_bytes(const Machine& machine) {
  std::vector<std::uint64_t> usable;
  usable.reserve(machine.npus.size());
  for (const NpuDescription& npu : machine.npus) {
    usable.push_back(npu.model.memory_bytes - npu.model.memory_bytes_system);
  }
  return usable;
}

}  // namespace

std::uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

RingMapping::~RingMapping() {
  if (rings_ != nullptr) munmap(rings_, sizeof(SharedRings));
}

bool RingMapping::create(Descriptor* memory) {
  Descriptor fd(memfd_create("ascendsim-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const bool ready = fd.valid() && ftruncate(fd.get(), sizeof(SharedRings)) == 0 &&
                     fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
  if (!ready) return false;
  void* mapped =
      mmap(nullptr, sizeof(SharedRings), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd.get(), 0);
  if (mapped == MAP_FAILED) return false;
  rings_ = static_cast<SharedRings*>(mapped);
  *memory = std::move(fd);
  return true;
}

Driver::Driver(Machine machine, NodeSet nodes)
    : driver_version_(machine.driver_version),
      compute_mode_(machine.compute_mode),
      nodes_(std::move(nodes)),
      ledger_(usable_bytes(machine)),
      timeline_(machine.npus.size(), [this](ClientId id, const NoticeEntry& notice) { post(id, notice); }) {
  for (NpuDescription& npu : machine.npus) {
    phy_ids_.push_back(npu.phy_id);
    npus_.push_back({std::move(npu), Health::kOk, 0});
  }
}

Client* Driver::add_client(Descriptor socket, Descriptor process, pid_t pid, uid_t uid) {
  const auto of_user = std::count_if(clients_.begin(), clients_.end(),
                                     [uid](const auto& entry) { return entry.second->uid == uid; });
  const bool too_many =
      clients_.size() >= kClientsMax || (uid != 0 && static_cast<std::size_t>(of_user) >= kClientsPerUserMax);
  if (too_many) {
    log_provoked("process " + std::to_string(pid) + " of user " + std::to_string(uid) +
                 " refused: too many connections");
    return nullptr;
  }
  auto client = std::make_unique<Client>();
  client->id = next_client_++;
  client->pid = pid;
  client->uid = uid;
  client->socket = std::move(socket);
  client->process = std::move(process);
  Client* added = client.get();
  clients_.emplace(added->id, std::move(client));
  return added;
}

Client* Driver::find(ClientId id) {
  const auto found = clients_.find(id);
  return found == clients_.end() ? nullptr : found->second.get();
}

void Driver::remove_client(ClientId id) {
  Client* client = find(id);
  if (client == nullptr) return;
  for (const auto& [stream, npu] : client->streams) --npus_[npu].streams;
  timeline_.drop_client(id, monotonic_ns());
  ledger_.release(id);
  clients_.erase(id);
}

void Driver::post(ClientId id, const NoticeEntry& notice) {
  Client* client = find(id);
  if (client == nullptr || client->rings.get() == nullptr || client->doomed) return;
  Ring<NoticeEntry>& ring = client->rings.get()->notices;
  const std::uint64_t read = ring.read.load(std::memory_order_acquire);
  if (notice.kind == NoticeKind::kEnds && client->unfinished > 0) --client->unfinished;
  if (client->notices_written - read >= kRingEntries) {  // does not read, or wrote nonsense into `read`
    client->doomed = true;
    return;
  }
  ring.entries[client->notices_written % kRingEntries] = notice;
  ring.written.store(++client->notices_written, std::memory_order_release);
  client->ring_bell = true;
}

void Driver::drain(Client& client) {
  if (client.rings.get() == nullptr || client.doomed) return;
  Ring<TaskEntry>& ring = client.rings.get()->tasks;
  const std::uint64_t written = ring.written.load(std::memory_order_acquire);
  if (written - client.tasks_read > kRingEntries) {
    client.doomed = true;
    return;
  }
  const std::uint64_t now_ns = monotonic_ns();
  while (client.tasks_read != written) {
    // A copy that the compiler must really make: the client may still be writing there.
    TaskEntry entry;
    std::memcpy(&entry, &ring.entries[client.tasks_read % kRingEntries], sizeof entry);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    ++client.tasks_read;
    if (!take(client, entry, now_ns)) {
      client.doomed = true;
      return;
    }
  }
  ring.read.store(client.tasks_read, std::memory_order_release);
}

bool Driver::take(Client& client, const TaskEntry& entry, std::uint64_t now_ns) {
  const std::uint64_t submitted_ns = std::min(now_ns, std::max(entry.submitted_ns, client.last_submitted_ns));
  client.last_submitted_ns = submitted_ns;
  switch (entry.kind) {
    case TaskKind::kHostDone:
      timeline_.finish_host_task(client.id, entry.after, submitted_ns);
      return true;
    case TaskKind::kMatrix:
    case TaskKind::kVector:
    case TaskKind::kHostToDevice:
    case TaskKind::kDeviceToHost:
    case TaskKind::kOnDevice:
    case TaskKind::kMark:
    case TaskKind::kWait:
    case TaskKind::kHost:
      break;
  }
  const auto kind = static_cast<std::uint32_t>(entry.kind);
  const auto stream = client.streams.find(entry.stream);
  const bool valid = kind >= static_cast<std::uint32_t>(TaskKind::kMatrix) &&
                     kind <= static_cast<std::uint32_t>(TaskKind::kHost) && stream != client.streams.end() &&
                     entry.task > client.last_task && client.unfinished < kRingEntries;
  if (!valid) return false;
  client.last_task = entry.task;
  ++client.unfinished;
  const ChipModel& chip = npus_[stream->second].description.model;
  timeline_.submit(client.id, entry.stream,
                   {entry.task, submitted_ns, entry.after, task_cost_ns(chip, entry), entry.kind});
  return true;
}

std::uint64_t Driver::advance() {
  return timeline_.advance(monotonic_ns());
}

void Driver::refresh_access(Client& client) {
  const PeerAccess access = peer_access(client.pid, nodes_, phy_ids_);
  client.in_container = access.in_container;
  client.npus.clear();
  for (const std::uint32_t phy_id : access.phy_ids) {
    const auto found = std::find(phy_ids_.begin(), phy_ids_.end(), phy_id);
    client.npus.push_back(static_cast<std::uint32_t>(found - phy_ids_.begin()));
  }
  client.access_checked_ns = monotonic_ns();
}

bool Driver::may_still_use(const Client& client, std::uint32_t npu) const {
  const PeerAccess access = peer_access(client.pid, nodes_, {phy_ids_[npu]});
  return !access.phy_ids.empty();
}

std::uint32_t Driver::busy(std::uint32_t npu, Engine engine) const {
  return timeline_.busy_percent(npu, engine, monotonic_ns());
}

void Driver::close_npu(Client& client, std::uint32_t npu) {
  const std::uint64_t now_ns = monotonic_ns();
  for (auto it = client.streams.begin(); it != client.streams.end();) {
    if (it->second == npu) {
      timeline_.drop_stream(client.id, it->first, now_ns);
      --npus_[npu].streams;
      it = client.streams.erase(it);
    } else {
      ++it;
    }
  }
  ledger_.release_npu(client.id, npu);
  client.open.erase(npu);
}

}  // namespace ascendsim
