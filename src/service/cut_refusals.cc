#include "service/cut_refusals.h"

#include <algorithm>
#include <string_view>

namespace tangram::service {
namespace {

template <class T>
bool differ(const std::optional<T>& one, const std::optional<T>& other) {
  return one && other && *one != *other;
}

template <class T>
std::optional<T> known(const Sample<T>& sample) {
  return sample.valid ? std::optional(sample.value) : std::nullopt;
}

bool is_bad(const RecoverFile& file) {
  switch (file.state) {
    case RecoverFile::State::kUnknown:
    case RecoverFile::State::kSound:
      return false;
    case RecoverFile::State::kDamaged:
    case RecoverFile::State::kUnwritable:
    case RecoverFile::State::kNotPlain:
    case RecoverFile::State::kExposed:
    case RecoverFile::State::kLockUnusable:
      return true;
  }
  return false;
}

}  // namespace

void CutRefusals::looked(const DeviceScan& scan) {
  for (const DeviceNpu& npu : scan.npus) {
    const Circumstances now{scan.driver_version,
                            known(npu.board_id),
                            known(scan.slices_for_containers),
                            npu.slicing.support,
                            is_bad(scan.recover_file),
                            scan.recover_file.state == RecoverFile::State::kSound};
    const auto before = seen_.find(npu.physical_id);
    if (before != seen_.end() && before->second.file_is_bad && now.file_is_sound) file_error_.reset();
    seen_[npu.physical_id] = now;
    const auto refusal = refusals_.find(npu.physical_id);
    if (refusal == refusals_.end()) continue;
    Circumstances& under = refusal->second.under;
    if (have_changed(under, now)) {
      refusals_.erase(refusal);
      continue;
    }
    // It may have gone bad since the look before the refusal.
    under.file_is_bad = under.file_is_bad || now.file_is_bad;
  }
}

// What a look does not tell has not changed.
bool CutRefusals::have_changed(const Circumstances& before, const Circumstances& now) {
  const bool other_driver = !before.driver_version.empty() && !now.driver_version.empty() &&
                            before.driver_version != now.driver_version;
  const bool file_mended = before.file_is_bad && now.file_is_sound;
  return other_driver || file_mended || differ(before.board, now.board) ||
         differ(before.for_containers, now.for_containers);
}

std::optional<CutRefusals::Pause> CutRefusals::refused(std::uint32_t npu, const Error& error, int in_a_row,
                                                       Time now) {
  if (error.reason == slice_reason::kFileUnusable) file_error_ = {{error.reason, error.message}, now};
  if (!is_lasting(npu, error, in_a_row)) return std::nullopt;
  const auto seen = seen_.find(npu);
  Refusal& refusal = refusals_[npu];
  refusal.told = {error.reason, error.message};
  if (seen != seen_.end()) refusal.under = seen->second;
  // Orders that were under way together are one try.
  if (now >= refusal.until) {
    refusal.pause = std::clamp(refusal.pause * 2, first_, most_);
    refusal.until = now + refusal.pause;
  }
  return std::chrono::duration_cast<Pause>(refusal.until - now);
}

bool CutRefusals::is_lasting(std::uint32_t npu, const Error& error, int in_a_row) const {
  const std::string_view reason = error.reason;
  if (reason == slice_reason::kUnsupported || reason == slice_reason::kNotPermitted) return true;
  // Anything else than an answer of the driver says nothing of the driver.
  const auto seen = seen_.find(npu);
  if (reason == slice_reason::kFileUnusable)
    return seen != seen_.end() && seen->second.file_is_bad && in_a_row >= kInARowMost;
  const bool answered = reason == slice_reason::kRefused || reason == slice_reason::kInvalid ||
                        reason == slice_reason::kNoCapacity;
  if (!answered) return false;
  // Of a board that the support table does not list, or that only some drivers cut, the templates are a
  // guess: a driver that refuses one, with room for it, has none.
  const bool is_listed = seen == seen_.end() || seen->second.support == SliceSupport::kListed;
  if (!is_listed && reason != slice_reason::kNoCapacity) return true;
  return in_a_row >= kInARowMost;
}

// One slice that was cut shows that the file, which is the machine's, can be used.
void CutRefusals::made(std::uint32_t npu) {
  refusals_.erase(npu);
  file_error_.reset();
}

std::optional<CutRefusal> CutRefusals::unusable_file(Time now) const {
  if (!file_error_ || now - file_error_->at >= first_) return std::nullopt;
  return file_error_->told;
}

StandingRefusals CutRefusals::standing(Time now) const {
  StandingRefusals standing;
  for (const auto& [npu, refusal] : refusals_) {
    if (now < refusal.until) standing.emplace(npu, refusal.told);
  }
  return standing;
}

}  // namespace tangram::service
