// The simulated driver: NPUs, ledger, engines and clients, and what each request does to them. No event loop
// in here.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "ascendsim/daemon/client.h"
#include "ascendsim/daemon/machine.h"
#include "ascendsim/daemon/timeline.h"

namespace ascendsim {

std::uint64_t monotonic_ns();

// An answer, ready to be sent.
struct Reply {
  std::vector<unsigned char> packet;
  std::vector<int> descriptors;  // of the client; not owned
  Descriptor owned[2];           // closed once sent
};

// Not thread-safe: one loop calls it.
class Driver {
 public:
  static constexpr std::size_t kClientsMax = 1024;
  static constexpr std::size_t kClientsPerUserMax = 192;  // root: kClientsMax
  static constexpr std::uint32_t kStreamsPerNpuMax = 1984;

  Driver(Machine machine, NodeSet nodes);

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
    Health health = Health::kOk;
    std::uint32_t streams = 0;
  };

  void post(ClientId id, const NoticeEntry& notice);
  bool take(Client& client, const TaskEntry& entry, std::uint64_t now_ns);
  void refresh_access(Client& client);
  bool may_still_use(const Client& client, std::uint32_t npu) const;
  NpuRecord describe(const Client& client, std::uint32_t logic_id);
  std::vector<ProcessRecord> processes(const Client& viewer, std::uint32_t npu);
  std::vector<const Client*> holders(const Client& viewer, std::uint32_t npu) const;
  void close_npu(Client& client, std::uint32_t npu);
  std::uint32_t busy(std::uint32_t npu, Engine engine) const;

  void handle_about_npu(Client& client, RequestType type, std::uint32_t npu, const unsigned char* packet,
                        Reply* reply);
  void handle_machine(Client& client, Reply* reply);
  Status handle_allocate(Client& client, std::uint32_t npu, const AllocateBody& body, AllocateReply* answer);
  MemoryReply memory_of(const Client& client, std::uint32_t npu) const;
  Status handle_attach(Client& client, AttachReply* answer, Reply* reply);
  Status handle_open(Client& client, std::uint32_t npu, OpenDeviceReply* answer);
  Status handle_create_stream(Client& client, std::uint32_t npu, const CreateStreamBody& body,
                              CreateStreamReply* answer);
  Status handle_destroy_stream(Client& client, const DestroyStreamBody& body);
  Status handle_set_health(const Client& client, std::uint32_t phy_id, const SetHealthBody& body);

  std::vector<Npu> npus_;
  std::string driver_version_;
  ComputeMode compute_mode_;
  NodeSet nodes_;
  std::vector<std::uint32_t> phy_ids_;
  Ledger ledger_;
  Timeline timeline_;
  std::map<ClientId, std::unique_ptr<Client>> clients_;
  ClientId next_client_ = 1;
};

}  // namespace ascendsim
