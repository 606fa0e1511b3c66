// The simulated driver: NPUs, ledger, engines and clients, and what each request does to them. No event loop
// in here.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "ascendsim/daemon/client.h"
#include "ascendsim/daemon/fault_log.h"
#include "ascendsim/daemon/machine.h"
#include "ascendsim/daemon/occupancy.h"
#include "ascendsim/daemon/timeline.h"
#include "ascendsim/daemon/vnpu_book.h"
#include "ascendsim/vnpu/recover_file.h"

namespace ascendsim {

std::uint64_t monotonic_ns();

// An answer, ready to be sent.
struct Reply {
  std::vector<unsigned char> packet;
  std::vector<int> descriptors;  // of the client; not owned
  Descriptor owned[2];           // closed once sent
};

// A *unit* is what a program can use: a whole NPU, whose number is its index in the machine's list, or a
// virtual device; memory and engines are counted by unit. Not thread-safe: one loop calls it.
class Driver {
 public:
  static constexpr std::size_t kClientsMax = 1024;
  static constexpr std::size_t kClientsPerUserMax = 192;  // root: kClientsMax
  static constexpr std::uint32_t kStreamsPerUnitMax = 1984;

  Driver(Machine machine, NodeSet nodes);

  // What a boot does: makes the virtual devices of the recover file again, if that is enabled.
  void recover(const RecoverFile& file);

  // All chips start now and are up after `boot_ms`.
  void boot(std::uint32_t boot_ms);
  // Somebody asked for a reboot: with that boot time.
  std::optional<std::uint32_t> reboot_asked() const { return reboot_ms_; }

  // Null when there are too many.
  Client* add_client(Descriptor socket, Descriptor process, pid_t pid, uid_t uid);
  Client* find(ClientId id);
  void remove_client(ClientId id);
  const std::map<ClientId, std::unique_ptr<Client>>& clients() const { return clients_; }

  // One request of `size` bytes, which may be anything. False: not the protocol, drop the client.
  bool handle(Client& client, const unsigned char* packet, std::size_t size, Reply* reply);

  // Takes what the client has put into its ring; marks it doomed if that breaks the protocol.
  void drain(Client& client);
  // Lets model time go on until now; returns when to call again (Timeline::kNever: no need).
  std::uint64_t advance();

 private:
  struct Npu {
    NpuDescription description;
    VnpuBook book;
    bool shared = false;  // several containers may hold it
    bool absent = false;  // off the bus
    std::uint64_t boot_start_ns = 0;
    std::uint64_t boot_end_ns = 0;  // up since then
    bool boot_told = true;          // the event of it
    std::uint32_t ecc_single_bits = 0;
    std::uint32_t ecc_double_bits = 0;
    // Injected.
    std::uint32_t stall_ms = 0;
    std::uint32_t fail_creates = 0;
    bool failed_creates_leak = false;
    std::uint32_t refuse_destroys = 0;
  };
  struct Slice {
    Vdev vdev;
    ChipModel model;  // its share of the chip
  };

  bool is_whole(std::uint32_t unit) const { return unit < npus_.size(); }
  std::uint32_t npu_of(std::uint32_t unit) const;
  std::uint32_t unit_of(std::uint32_t npu, const Vdev& vdev) const;
  bool exists(std::uint32_t unit) const { return is_whole(unit) || slices_.count(unit) != 0; }
  const ChipModel& model_of(std::uint32_t unit) const;
  DeviceNode node_of(std::uint32_t unit) const;
  std::vector<std::uint32_t> units_of(std::uint32_t npu) const;

  void post(ClientId id, const NoticeEntry& notice);
  bool take(Client& client, const TaskEntry& entry, std::uint64_t now_ns);
  void refresh_access(Client& client);
  // The container of the client takes what it may open; `shut_out` if another one holds some of it.
  void occupy(Client& client);
  bool may_still_use(const Client& client, std::uint32_t unit) const;
  NpuRecord describe(const Client& client, std::uint32_t logic_id);
  void describe_load(std::uint32_t unit, NpuRecord* record) const;
  std::uint64_t memory_used(std::uint32_t unit) const;
  std::vector<ProcessRecord> processes(const Client& viewer, std::uint32_t unit);
  std::vector<const Client*> holders(const Client& viewer, std::uint32_t unit) const;
  void close_unit(Client& client, std::uint32_t unit);
  // Of a cut NPU: its slices together.
  std::uint32_t busy(std::uint32_t unit, Engine engine) const;
  bool load_known(std::uint32_t unit) const;
  bool opened_by_any(std::uint32_t unit) const;

  void handle_about_unit(Client& client, RequestType type, std::uint32_t unit, const unsigned char* packet,
                         Reply* reply);
  void handle_machine(Client& client, Reply* reply);
  Status handle_allocate(Client& client, std::uint32_t unit, const AllocateBody& body, AllocateReply* answer);
  MemoryReply memory_of(const Client& client, std::uint32_t unit) const;
  Status handle_attach(Client& client, AttachReply* answer, Reply* reply);
  Status handle_open(Client& client, std::uint32_t unit, OpenDeviceReply* answer);
  Status handle_create_stream(Client& client, std::uint32_t unit, const CreateStreamBody& body,
                              CreateStreamReply* answer);
  Status handle_destroy_stream(Client& client, const DestroyStreamBody& body);
  Status handle_set_health(const Client& client, std::uint32_t phy_id, const SetHealthBody& body);

  // Health and faults.
  Health health_of(std::uint32_t npu) const;
  bool gone(std::uint32_t unit) const { return health_of(npu_of(unit)) == Health::kAbsent; }
  void describe_health(std::uint32_t npu, NpuRecord* record) const;
  // Its work is lost, and those who use it are told.
  void lose(std::uint32_t npu);
  void take_away(std::uint32_t npu);
  void bring_back(std::uint32_t npu);
  void reset(std::uint32_t npu);
  std::optional<std::uint32_t> find_npu(std::uint32_t phy_id) const;
  FaultRecord fault_record(std::uint32_t logic_id, Assertion assertion, const Fault& fault) const;
  void tell_finished_boots();
  void handle_faults(const Client& client, std::uint32_t unit, Reply* reply);
  void handle_fault_events(const Client& client, const FaultEventsBody& body, Reply* reply);
  Status handle_reset(const Client& client, std::uint32_t unit, const ResetBody& body);
  Status handle_inject(const Client& client, std::uint32_t phy_id, const InjectBody& body);
  Status inject(std::uint32_t npu, const InjectBody& body);

  // Virtual devices.
  void handle_about_vnpus(const Client& client, RequestType type, std::uint32_t unit,
                          const unsigned char* packet, Reply* reply);
  Status may_cut(const Client& client, std::uint32_t unit) const;
  Status handle_create_vdev(const Client& client, std::uint32_t unit, const CreateVdevBody& body,
                            CreateVdevReply* answer);
  Status handle_destroy_vdev(const Client& client, std::uint32_t unit, const DestroyVdevBody& body);
  Status handle_set_setting(const Client& client, std::uint32_t unit, const SettingBody& body);
  Status handle_get_setting(std::uint32_t unit, SettingBody* answer) const;
  std::vector<VdevRecord> vdev_records(std::uint32_t npu);
  VnpuRefusal create_slice(std::uint32_t npu, std::string_view template_name, std::optional<std::uint32_t> id,
                           std::optional<std::uint32_t> vgroup, Vdev* created);
  Status destroy_slice(std::uint32_t npu, std::uint32_t id);

  std::vector<Npu> npus_;
  std::map<std::uint32_t, Slice> slices_;  // by unit
  std::vector<std::uint32_t> streams_;     // by unit: how many there are
  Occupancy occupancy_;                    // of units
  VnpuBehaviour vnpu_;
  std::uint32_t vdevice_mode_ = 0;
  std::uint32_t multi_die_policy_ = 0;
  FaultLog faults_;
  std::uint32_t boot_ms_;
  std::optional<std::uint32_t> reboot_ms_;
  std::string driver_version_;
  ComputeMode compute_mode_;
  NodeSet nodes_;
  Ledger ledger_;
  Timeline timeline_;
  std::map<ClientId, std::unique_ptr<Client>> clients_;
  ClientId next_client_ = 1;
};

}  // namespace ascendsim
