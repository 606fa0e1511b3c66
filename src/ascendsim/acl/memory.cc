#include "ascendsim/acl/memory.h"

#include <sys/mman.h>

#include <utility>

namespace ascendsim {

Block::~Block() {
  // Mapped ranges belong to an address reservation, which outlives them.
  if (kind != MemoryKind::kMapped) munmap(base, bytes);
}

std::shared_ptr<Block> make_block(std::size_t bytes, MemoryKind kind) {
  void* base =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return nullptr;
  if (kind == MemoryKind::kDevice) madvise(base, bytes, MADV_DONTFORK);
  return std::make_shared<Block>(base, bytes, kind);
}

void BlockMap::add(const std::shared_ptr<Block>& block) {
  blocks_[reinterpret_cast<std::uintptr_t>(block->base)] = block;
}

std::shared_ptr<Block> BlockMap::at(const void* base) const {
  const auto found = blocks_.find(reinterpret_cast<std::uintptr_t>(base));
  return found == blocks_.end() ? nullptr : found->second;
}

std::shared_ptr<Block> BlockMap::around(const void* address) const {
  auto next = blocks_.upper_bound(reinterpret_cast<std::uintptr_t>(address));
  if (next == blocks_.begin()) return nullptr;
  const std::shared_ptr<Block>& candidate = std::prev(next)->second;
  return contains(*candidate, address, 0) ? candidate : nullptr;
}

void BlockMap::remove(const void* base) {
  blocks_.erase(reinterpret_cast<std::uintptr_t>(base));
}

void BlockMap::remove_device(const Device* device) {
  std::erase_if(blocks_, [device](const auto& entry) { return entry.second->device.get() == device; });
}

bool contains(const Block& block, const void* address, std::size_t bytes) {
  const auto base = reinterpret_cast<std::uintptr_t>(block.base);
  const auto start = reinterpret_cast<std::uintptr_t>(address);
  return start >= base && start - base < block.bytes && bytes <= block.bytes - (start - base);
}

}  // namespace ascendsim
