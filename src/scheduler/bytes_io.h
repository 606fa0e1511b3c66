// How the bytes of a snapshot are written and read: little-endian numbers and counted texts. Private to
// src/scheduler.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/slice.h"
#include "scheduler/hold.h"

namespace tangram {

class Writer {
 public:
  void number(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out_.push_back(static_cast<char>(value >> (8 * i) & 0xff));
  }
  void u8(std::uint8_t value) { number(value, 1); }
  void u32(std::uint32_t value) { number(value, 4); }
  void u64(std::uint64_t value) { number(value, 8); }
  void i32(std::int32_t value) { u32(static_cast<std::uint32_t>(value)); }
  void i64(std::int64_t value) { u64(static_cast<std::uint64_t>(value)); }
  void text(std::string_view value) {
    u32(static_cast<std::uint32_t>(value.size()));
    out_ += value;
  }
  void raw(std::string_view value) { out_ += value; }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

// Reads zeros past the end and remembers it: callers ask ok() once, before they believe what they read.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  bool has_slices = true;  // whether what is read was written with slices
  bool has_parts = true;   // whether it was written with jobs of several parts

  std::uint64_t number(std::size_t bytes) {
    if (left_.size() < bytes) {
      ok_ = false;
      left_ = {};
      return 0;
    }
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i)
      value |= std::uint64_t{static_cast<unsigned char>(left_[i])} << (8 * i);
    left_.remove_prefix(bytes);
    return value;
  }
  std::uint8_t u8() { return static_cast<std::uint8_t>(number(1)); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(number(4)); }
  std::uint64_t u64() { return number(8); }
  std::int32_t i32() { return static_cast<std::int32_t>(u32()); }
  std::int64_t i64() { return static_cast<std::int64_t>(u64()); }
  bool flag() {
    const std::uint8_t value = u8();
    if (value > 1) ok_ = false;
    return value == 1;
  }
  std::string text() { return std::string(raw(u32())); }
  std::string_view raw(std::size_t size) {
    if (left_.size() < size) {
      ok_ = false;
      left_ = {};
      return {};
    }
    const std::string_view value = left_.substr(0, size);
    left_.remove_prefix(size);
    return value;
  }
  // A count of things of which each takes at least one byte.
  std::uint32_t count() {
    const std::uint32_t value = u32();
    if (value > left_.size()) ok_ = false;
    return ok_ ? value : 0;
  }
  template <class Enum>
  Enum enumerator(Enum last) {
    const std::uint8_t value = u8();
    if (value > static_cast<std::uint8_t>(last)) ok_ = false;
    return ok_ ? static_cast<Enum>(value) : Enum{};
  }
  bool ok() const { return ok_; }
  bool at_end() const { return ok_ && left_.empty(); }

 private:
  std::string_view left_;
  bool ok_ = true;
};

inline tl::unexpected<Error> damaged(std::string what) {
  return fail(Code::kDataLoss, "snapshot.damaged",
              "the snapshot of the scheduler is damaged: " + std::move(what),
              "use an older snapshot, or replay the journal from its beginning");
}

inline void write_slice(Writer& out, const SlicePlacement& slice) {
  out.text(slice.template_name);
  out.i32(slice.vgroup);
  out.i64(slice.memory.count);
  out.i64(slice.usable_memory.count);
  out.i32(slice.ai_cores);
}

inline SlicePlacement read_slice(Reader& in) {
  SlicePlacement slice;
  slice.template_name = in.text();
  slice.vgroup = in.i32();
  slice.memory = Bytes(in.i64());
  slice.usable_memory = Bytes(in.i64());
  slice.ai_cores = in.i32();
  return slice;
}

// What only jobs of several parts have (bytes_parts.cc).
struct PartsOfJob {
  bool over_limit = false;
  std::vector<Part> parts;     // empty: none but the request
  std::vector<HeldPart> held;  // empty: no place
};
void write_parts(Writer& out, const CoreState& state, const JobRecord& job);
Result<PartsOfJob> read_parts(Reader& in);
// Whether what was read can be held by a job in that state, given what the fleet holds already.
Result<void> check_parts(const CoreState& state, const JobRecord& job, const PartsOfJob& parts);

}  // namespace tangram
