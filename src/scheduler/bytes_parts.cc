// The part of a snapshot that only jobs of several parts, and those that were booked above a limit, have.
#include <algorithm>
#include <string>

#include "scheduler/bytes_io.h"
#include "scheduler/state.h"
#include "scheduler/values.h"

namespace tangram {
namespace {

void write_part(Writer& out, const Part& part) {
  out.u8(static_cast<std::uint8_t>(part.kind));
  out.i32(part.npus);
  out.i64(part.memory_per_npu.count);
  out.i32(part.ai_cores);
  out.text(part.chip);
}

Part read_part(Reader& in) {
  Part part;
  part.kind = in.enumerator(RequestKind::kShare);
  part.npus = in.i32();
  part.memory_per_npu = Bytes(in.i64());
  part.ai_cores = in.i32();
  part.chip = in.text();
  return part;
}

void write_held(Writer& out, const HeldPart& part) {
  out.u32(static_cast<std::uint32_t>(part.place.npus.size()));
  for (const NpuIndex npu : part.place.npus) out.u32(npu.value);
  out.u8(part.place.slice ? 1 : 0);
  if (part.place.slice) write_slice(out, *part.place.slice);
  out.u8(part.booked ? 1 : 0);
}

HeldPart read_held(Reader& in) {
  HeldPart part;
  part.place.npus.resize(in.count());
  for (NpuIndex& npu : part.place.npus) npu = NpuIndex(in.u32());
  if (in.flag()) part.place.slice = read_slice(in);
  part.booked = in.flag();
  return part;
}

// What parts of this job that come before have taken: of those the fleet does not know yet.
class Taken {
 public:
  explicit Taken(const Fleet& fleet) : fleet_(fleet) {}

  bool can_take(const HeldPart& part) {
    for (const NpuIndex index : part.place.npus) {
      const Fleet::Npu& npu = fleet_.npu(index);
      const auto own = static_cast<std::size_t>(std::count(cut_.begin(), cut_.end(), index));
      if (npu.job.valid() || std::find(whole_.begin(), whole_.end(), index) != whole_.end()) return false;
      if (!part.place.slice && (npu.is_held() || own > 0)) return false;
      if (part.place.slice && npu.slices.size() + own >= static_cast<std::size_t>(kSlicesPerChipMax))
        return false;
    }
    std::vector<NpuIndex>& list = part.place.slice ? cut_ : whole_;
    list.insert(list.end(), part.place.npus.begin(), part.place.npus.end());
    return true;
  }

 private:
  const Fleet& fleet_;
  std::vector<NpuIndex> whole_;
  std::vector<NpuIndex> cut_;
};

}  // namespace

void write_parts(Writer& out, const CoreState& state, const JobRecord& job) {
  out.u8(job.over_limit ? 1 : 0);
  if (!job.spec.request.has_parts()) {
    out.u32(0);
    return;
  }
  const std::vector<Part>& parts = state.parts.parts(job.spec.request.parts);
  out.u32(static_cast<std::uint32_t>(parts.size()));
  for (const Part& part : parts) write_part(out, part);
  out.u8(job.held != kNoHandle ? 1 : 0);
  if (job.held == kNoHandle) return;
  for (const HeldPart& part : held_parts(state, job)) write_held(out, part);
}

Result<PartsOfJob> read_parts(Reader& in) {
  PartsOfJob read;
  read.over_limit = in.flag();
  for (std::uint32_t left = in.count(); left > 0 && in.ok(); --left) read.parts.push_back(read_part(in));
  if (read.parts.empty()) return read;
  if (!in.ok()) return damaged("it ends among the parts of a job");
  TG_TRY_VOID(check_values(read.parts));
  if (!in.flag()) return read;
  for (std::size_t i = 0; i < read.parts.size() && in.ok(); ++i) read.held.push_back(read_held(in));
  if (!in.ok()) return damaged("it ends among the places of a job");
  return read;
}

Result<void> check_parts(const CoreState& state, const JobRecord& job, const PartsOfJob& parts) {
  const std::string name = "job j-" + std::to_string(job.spec.id.value);
  if (!parts.parts.empty() && !state.settings.places_elsewhere)
    return damaged(name + " has parts where none are");
  if (!parts.held.empty() && (job.is_queued() || job.is_unplaced()))
    return damaged(name + " holds something");
  Taken taken(state.fleet);
  for (const HeldPart& part : parts.held) {
    for (std::size_t i = 0; i < part.place.npus.size(); ++i) {
      if (part.place.npus[i].value >= state.fleet.npu_count())
        return damaged(name + " holds an NPU that is not known");
      if (i > 0 && part.place.npus[i] <= part.place.npus[i - 1])
        return damaged(name + " holds NPUs out of order");
    }
    if (part.place.slice) {
      if (part.place.npus.size() != 1) return damaged(name + " has a slice of several NPUs");
      TG_TRY_VOID(check_values(*part.place.slice));
    }
    if (part.booked && (part.place.npus.empty() || !taken.can_take(part)))
      return damaged(name + " holds an NPU of another job");
  }
  return {};
}

}  // namespace tangram
