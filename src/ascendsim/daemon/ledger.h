// Who holds how much memory of which NPU. The only book of it: what it says is what there is.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ascendsim/protocol/messages.h"

namespace ascendsim {

using ClientId = std::uint64_t;

struct MemoryUse {
  std::uint64_t bytes = 0;
  std::uint64_t bytes_peak = 0;
};

// Not thread-safe. NPUs are numbers of the caller's, virtual devices among them. Invariant: used(npu) is the
// sum over all clients.
class Ledger {
 public:
  static constexpr std::size_t kAllocationsPerClientMax = 65536;

  // `usable_bytes`: one entry per NPU, without what the device operating system takes.
  explicit Ledger(const std::vector<std::uint64_t>& usable_bytes);

  // kOk, kInvalid (zero bytes), kOutOfMemory or kLimit.
  Status allocate(ClientId client, std::uint32_t npu, std::uint64_t bytes, PageSize page,
                  AllocateReply* reply);
  // kInvalid for a handle that is not this client's.
  Status free(ClientId client, std::uint64_t allocation);
  void release_npu(ClientId client, std::uint32_t npu);
  void release(ClientId client);

  // For a virtual device that comes or goes. What is held must be released before.
  void set_usable(std::uint32_t npu, std::uint64_t bytes) { npus_[npu].usable = bytes; }

  std::uint64_t usable(std::uint32_t npu) const { return npus_[npu].usable; }
  std::uint64_t used(std::uint32_t npu) const { return npus_[npu].used; }
  MemoryUse use(ClientId client, std::uint32_t npu) const;

 private:
  struct Npu {
    std::uint64_t usable = 0;
    std::uint64_t used = 0;
  };
  struct Allocation {
    std::uint32_t npu = 0;
    std::uint64_t bytes = 0;
  };
  struct Client {
    std::unordered_map<std::uint64_t, Allocation> allocations;
    std::unordered_map<std::uint32_t, MemoryUse> uses;
  };

  void give_back(Client& client, const Allocation& allocation);

  std::vector<Npu> npus_;
  std::unordered_map<ClientId, Client> clients_;
  std::uint64_t next_allocation_ = 1;
};

}  // namespace ascendsim
