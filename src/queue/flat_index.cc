#include "queue/flat_index.h"

#include <utility>

#include "base/invariant.h"

namespace tangram {

std::optional<std::uint32_t> FlatIndex::find(std::uint64_t key) const {
  if (slots_.empty()) return std::nullopt;
  const Slot& slot = slots_[slot_of(key)];
  if (slot.value == kEmpty) return std::nullopt;
  return slot.value;
}

void FlatIndex::insert(std::uint64_t key, std::uint32_t value) {
  TG_ASSERT(value != kEmpty, "the value is a handle");
  if ((size_ + 1) * 2 > slots_.size()) grow();
  Slot& slot = slots_[slot_of(key)];
  TG_ASSERT(slot.value == kEmpty, "the key is new");
  slot = Slot{key, value};
  ++size_;
}

void FlatIndex::replace(std::uint64_t key, std::uint32_t value) {
  TG_ASSERT(!slots_.empty() && value != kEmpty, "the value is a handle");
  Slot& slot = slots_[slot_of(key)];
  TG_ASSERT(slot.value != kEmpty, "the key exists");
  slot.value = value;
}

void FlatIndex::erase(std::uint64_t key) {
  TG_ASSERT(!slots_.empty(), "the key exists");
  std::size_t hole = slot_of(key);
  TG_ASSERT(slots_[hole].value != kEmpty, "the key exists");
  const std::size_t mask = slots_.size() - 1;
  // Close the gap: an entry may move back only as far as its home.
  for (std::size_t at = (hole + 1) & mask; slots_[at].value != kEmpty; at = (at + 1) & mask) {
    if (((at - home(slots_[at].key)) & mask) < ((at - hole) & mask)) continue;
    slots_[hole] = slots_[at];
    hole = at;
  }
  slots_[hole] = Slot{};
  --size_;
}

std::size_t FlatIndex::home(std::uint64_t key) const {
  key ^= key >> 32;
  key *= 0x9e3779b97f4a7c15U;
  key ^= key >> 29;
  return static_cast<std::size_t>(key) & (slots_.size() - 1);
}

std::size_t FlatIndex::slot_of(std::uint64_t key) const {
  std::size_t at = home(key);
  while (slots_[at].value != kEmpty && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
  return at;
}

void FlatIndex::grow() {
  const std::vector<Slot> old =
      std::exchange(slots_, std::vector<Slot>(slots_.empty() ? 16 : slots_.size() * 2));
  for (const Slot& slot : old) {
    if (slot.value != kEmpty) slots_[slot_of(slot.key)] = slot;
  }
}

}  // namespace tangram
