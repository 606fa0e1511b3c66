#include "ascendsim/daemon/ledger.h"

#include <algorithm>

namespace ascendsim {
namespace {

std::uint64_t page_bytes(PageSize page) {
  switch (page) {
    case PageSize::k4KiB:
      return std::uint64_t{4} << 10;
    case PageSize::k2MiB:
      return std::uint64_t{2} << 20;
    case PageSize::k1GiB:
      return std::uint64_t{1} << 30;
  }
  return 0;  // a number that a stranger sent
}

}  // namespace

Ledger::Ledger(const std::vector<std::uint64_t>& usable_bytes) {
  npus_.reserve(usable_bytes.size());
  for (const std::uint64_t bytes : usable_bytes) npus_.push_back({bytes, 0});
}

Status Ledger::allocate(ClientId client, std::uint32_t npu, std::uint64_t bytes, PageSize page,
                        AllocateReply* reply) {
  const std::uint64_t unit = page_bytes(page);
  if (bytes == 0 || unit == 0) return Status::kInvalid;
  Npu& memory = npus_[npu];
  const std::uint64_t left = memory.usable - memory.used;
  if (bytes > left) return Status::kOutOfMemory;  // also keeps the rounding below from wrapping
  const std::uint64_t charged = (bytes + unit - 1) / unit * unit;
  if (charged > left) return Status::kOutOfMemory;
  Client& owner = clients_[client];
  if (owner.allocations.size() >= kAllocationsPerClientMax) return Status::kLimit;

  reply->allocation = next_allocation_++;
  reply->bytes_charged = charged;
  owner.allocations.emplace(reply->allocation, Allocation{npu, charged});
  memory.used += charged;
  MemoryUse& use = owner.uses[npu];
  use.bytes += charged;
  use.bytes_peak = std::max(use.bytes_peak, use.bytes);
  return Status::kOk;
}

Status Ledger::free(ClientId client, std::uint64_t allocation) {
  const auto owner = clients_.find(client);
  if (owner == clients_.end()) return Status::kInvalid;
  const auto found = owner->second.allocations.find(allocation);
  if (found == owner->second.allocations.end()) return Status::kInvalid;
  give_back(owner->second, found->second);
  owner->second.allocations.erase(found);
  return Status::kOk;
}

void Ledger::release_npu(ClientId client, std::uint32_t npu) {
  const auto owner = clients_.find(client);
  if (owner == clients_.end()) return;
  auto& allocations = owner->second.allocations;
  for (auto it = allocations.begin(); it != allocations.end();) {
    if (it->second.npu == npu) {
      give_back(owner->second, it->second);
      it = allocations.erase(it);
    } else {
      ++it;
    }
  }
  owner->second.uses.erase(npu);
}

void Ledger::release(ClientId client) {
  const auto owner = clients_.find(client);
  if (owner == clients_.end()) return;
  for (const auto& [handle, allocation] : owner->second.allocations) give_back(owner->second, allocation);
  clients_.erase(owner);
}

MemoryUse Ledger::use(ClientId client, std::uint32_t npu) const {
  const auto owner = clients_.find(client);
  if (owner == clients_.end()) return {};
  const auto use = owner->second.uses.find(npu);
  return use == owner->second.uses.end() ? MemoryUse{} : use->second;
}

void Ledger::give_back(Client& client, const Allocation& allocation) {
  npus_[allocation.npu].used -= allocation.bytes;
  client.uses[allocation.npu].bytes -= allocation.bytes;
}

}  // namespace ascendsim
