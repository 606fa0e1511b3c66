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

// Room for every virtual device that there could be; most units never exist.
std::size_t unit_count(const Machine& machine) {
  return machine.npus.size() * (1 + VnpuBook::kPerChipMax);
}

std::vector<std::uint64_t> usable_bytes(const Machine& machine) {
  std::vector<std::uint64_t> usable(unit_count(machine), 0);
  for (std::size_t i = 0; i < machine.npus.size(); ++i) {
    usable[i] = machine.npus[i].model.memory_bytes - machine.npus[i].model.memory_bytes_system;
  }
  return usable;
}

VnpuBook book_of(const NpuDescription& npu) {
  const ChipModel& model = npu.model;
  VnpuBoard board = vnpu_board(model.chip_name, model.board_id, model.ai_cores, model.ai_cpus,
                               static_cast<std::uint32_t>(model.memory_bytes >> 20U));
  const auto replace = [&](float MediaUnits::* unit) {
    if (model.dvpp.*unit >= 0) board.media.*unit = model.dvpp.*unit;
  };
  for (float MediaUnits::* const unit :
       {&MediaUnits::vpc, &MediaUnits::venc, &MediaUnits::vdec, &MediaUnits::jpegd, &MediaUnits::jpege})
    replace(unit);
  return {npu.phy_id, board};
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
    : streams_(unit_count(machine), 0),
      vnpu_(machine.vnpu),
      boot_ms_(machine.boot_ms),
      driver_version_(machine.driver_version),
      compute_mode_(machine.compute_mode),
      nodes_(std::move(nodes)),
      ledger_(usable_bytes(machine)),
      timeline_(unit_count(machine), [this](ClientId id, const NoticeEntry& notice) { post(id, notice); }) {
  for (NpuDescription& npu : machine.npus) {
    VnpuBook book = book_of(npu);
    npus_.push_back({std::move(npu), std::move(book)});
  }
}

std::uint32_t Driver::npu_of(std::uint32_t unit) const {
  const auto count = static_cast<std::uint32_t>(npus_.size());
  return unit < count ? unit : (unit - count) / VnpuBook::kPerChipMax;
}

std::uint32_t Driver::unit_of(std::uint32_t npu, const Vdev& vdev) const {
  return static_cast<std::uint32_t>(npus_.size()) + npu * VnpuBook::kPerChipMax + vdev.number;
}

const ChipModel& Driver::model_of(std::uint32_t unit) const {
  return is_whole(unit) ? npus_[unit].description.model : slices_.at(unit).model;
}

DeviceNode Driver::node_of(std::uint32_t unit) const {
  if (is_whole(unit)) return {npus_[unit].description.phy_id, false};
  return {slices_.at(unit).vdev.id, true};
}

std::vector<std::uint32_t> Driver::units_of(std::uint32_t npu) const {
  std::vector<std::uint32_t> units{npu};
  for (const auto& [id, vdev] : npus_[npu].book.vdevs()) units.push_back(unit_of(npu, vdev));
  return units;
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
  for (const auto& [stream, unit] : client->streams) --streams_[unit];
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
  const ChipModel& chip = model_of(stream->second);
  timeline_.submit(client.id, entry.stream,
                   {entry.task, submitted_ns, entry.after, task_cost_ns(chip, entry), entry.kind});
  return true;
}

std::uint64_t Driver::advance() {
  return timeline_.advance(monotonic_ns());
}

void Driver::refresh_access(Client& client) {
  std::map<std::uint32_t, std::uint32_t> units;  // by minor
  std::vector<DeviceNode> devices;
  const auto add = [&](std::uint32_t unit) {
    devices.push_back(node_of(unit));
    units.emplace(devices.back().minor, unit);
  };
  for (std::uint32_t npu = 0; npu < npus_.size(); ++npu) add(npu);
  for (const auto& [unit, slice] : slices_) add(unit);
  const PeerAccess access = peer_access(client.pid, nodes_, devices);
  client.in_container = access.in_container;
  client.privileged = access.privileged;
  client.npus.clear();
  std::set<std::uint32_t> whole;
  for (const std::uint32_t minor : access.minors) {
    const std::uint32_t unit = units.at(minor);
    if (is_whole(unit)) whole.insert(unit);
    // Who may use an NPU sees the NPU and not its parts.
    const bool hidden = !is_whole(unit) && whole.count(npu_of(unit)) != 0;
    if (!hidden && client.npus.size() < kNpusMax) client.npus.push_back(unit);
  }
  client.access_checked_ns = monotonic_ns();
  occupy(client);
}

void Driver::occupy(Client& client) {
  client.shut_out = false;
  if (!client.in_container || client.privileged) return;
  const MountNamespace space = mount_namespace(client.pid);
  occupancy_.settle(monotonic_ns(), 0);
  for (const std::uint32_t unit : client.npus) {
    client.shut_out |= !npus_[npu_of(unit)].shared && occupancy_.held_by_another(unit, space);
  }
  if (client.shut_out) return;
  occupancy_.enter(client.npus, space, container_id_of(client.pid));
}

bool Driver::may_still_use(const Client& client, std::uint32_t unit) const {
  return exists(unit) && !peer_access(client.pid, nodes_, {node_of(unit)}).minors.empty();
}

bool Driver::opened_by_any(std::uint32_t unit) const {
  return std::ranges::any_of(clients_,
                             [unit](const auto& entry) { return entry.second->open.count(unit) != 0; });
}

std::uint32_t Driver::busy(std::uint32_t unit, Engine engine) const {
  const std::uint64_t now_ns = monotonic_ns();
  const std::uint32_t percent = timeline_.busy_percent(unit, engine, now_ns);
  if (!is_whole(unit)) return percent;
  std::uint32_t core_percents = 0;
  for (const auto& [id, vdev] : npus_[unit].book.vdevs()) {
    core_percents += timeline_.busy_percent(unit_of(unit, vdev), engine, now_ns) * vdev.shape->ai_cores;
  }
  return percent + core_percents / npus_[unit].description.model.ai_cores;
}

bool Driver::load_known(std::uint32_t unit) const {
  return vnpu_.load_known_when_cut || !npus_[npu_of(unit)].book.cut();
}

std::uint64_t Driver::memory_used(std::uint32_t unit) const {
  const ChipModel& model = model_of(unit);
  std::uint64_t used = model.memory_bytes_system + ledger_.used(unit);
  if (is_whole(unit) && vnpu_.memory_seen_on_host) {
    for (const auto& [id, vdev] : npus_[unit].book.vdevs()) used += ledger_.used(unit_of(unit, vdev));
  }
  // A slice is promised all of its size; what its device system takes of it shows while there is room.
  return std::min(used, model.memory_bytes);
}

void Driver::close_unit(Client& client, std::uint32_t unit) {
  const std::uint64_t now_ns = monotonic_ns();
  for (auto it = client.streams.begin(); it != client.streams.end();) {
    if (it->second == unit) {
      timeline_.drop_stream(client.id, it->first, now_ns);
      --streams_[unit];
      it = client.streams.erase(it);
    } else {
      ++it;
    }
  }
  ledger_.release_npu(client.id, unit);
  client.open.erase(unit);
}

}  // namespace ascendsim
