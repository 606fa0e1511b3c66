// An open-addressing table from a 64-bit number to a 32-bit handle, copied as one flat array. Only looked up,
// never iterated: the order of a hash must not reach a decision.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tangram {

class FlatIndex {
 public:
  std::optional<std::uint32_t> find(std::uint64_t key) const;
  void insert(std::uint64_t key, std::uint32_t value);   // the key must be new
  void replace(std::uint64_t key, std::uint32_t value);  // the key must exist
  void erase(std::uint64_t key);                         // the key must exist
  std::size_t size() const { return size_; }

 private:
  static constexpr std::uint32_t kEmpty = 0xffffffff;
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t value = kEmpty;
  };

  std::size_t home(std::uint64_t key) const;
  std::size_t slot_of(std::uint64_t key) const;  // where it is, or the empty slot where it would go
  void grow();

  std::vector<Slot> slots_;  // a power of two
  std::size_t size_ = 0;
};

}  // namespace tangram
