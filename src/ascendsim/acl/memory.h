// Which addresses of this process are device memory or pinned host memory. The bytes live here, in this
// process; the right to them lives in ascendsimd's ledger.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>

namespace ascendsim {

struct Device;

enum class MemoryKind { kDevice, kPinnedHost, kMapped };

// One range of addresses. A task keeps its blocks alive, so that a free during a copy does not pull the pages
// away.
struct Block {
  Block(void* base_address, std::size_t block_bytes, MemoryKind block_kind)
      : base(base_address), bytes(block_bytes), kind(block_kind) {}
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block();

  void* base;
  std::size_t bytes;
  MemoryKind kind;
  std::shared_ptr<Device> device;  // null for host memory
  std::uint64_t allocation = 0;    // ascendsimd's handle; 0 for kMapped and host memory
  std::shared_ptr<void> backing;   // kMapped: the physical memory behind it
};

// Reserves pages that cost nothing until they are touched, and that a forked child does not inherit. Null: no
// room.
std::shared_ptr<Block> make_block(std::size_t bytes, MemoryKind kind);

// Not thread-safe: guarded by the runtime's lock.
class BlockMap {
 public:
  void add(const std::shared_ptr<Block>& block);
  // The block that begins exactly there, or null.
  std::shared_ptr<Block> at(const void* base) const;
  // The block that contains the address, or null.
  std::shared_ptr<Block> around(const void* address) const;
  void remove(const void* base);
  void remove_device(const Device* device);

 private:
  std::map<std::uintptr_t, std::shared_ptr<Block>> blocks_;
};

// Does [address, address + bytes) lie in the block?
bool contains(const Block& block, const void* address, std::size_t bytes);

}  // namespace ascendsim
