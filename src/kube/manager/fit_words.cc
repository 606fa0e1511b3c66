#include "kube/manager/fit_words.h"

#include <array>
#include <string>
#include <utility>

namespace tangram::kube::manager {
namespace {

// Whether it could help that something on the node ends.
bool is_resolvable(ReasonCode reason) {
  switch (reason) {
    case ReasonCode::kSlotsBusy:
    case ReasonCode::kMemoryBusy:
    case ReasonCode::kNpusBusy:
    case ReasonCode::kNpusKept:
    case ReasonCode::kQuotaNpus:
    case ReasonCode::kQuotaMemoryTotal:
    case ReasonCode::kQuotaAiCores:
    case ReasonCode::kQuotaRunningJobs:
    case ReasonCode::kQuotaBandwidth:
    case ReasonCode::kQuotaKept:
    case ReasonCode::kNone:
      return true;
    case ReasonCode::kQuotaMemoryPerNpu:
    case ReasonCode::kQuotaRunTime:
    case ReasonCode::kQuotaPriority:
    case ReasonCode::kQuotaNpusNever:
    case ReasonCode::kQuotaMemoryTotalNever:
    case ReasonCode::kQuotaAiCoresNever:
    case ReasonCode::kQuotaRunningJobsNever:
    case ReasonCode::kQuotaBandwidthNever:
    case ReasonCode::kNpusUnhealthy:
    case ReasonCode::kNpusNever:
    case ReasonCode::kMemoryNever:
    case ReasonCode::kNoDevices:
    case ReasonCode::kSliceUnsupported:
    case ReasonCode::kShareUnsupported:
    case ReasonCode::kSlicesResidual:
    case ReasonCode::kAiCoresNever:
      return false;
  }
  return false;
}

// What an NPU has against it, in the order of kNpuRefusals.
constexpr std::array<std::string_view, kNpuRefusals.size()> kRefusals = {
    "have memory left, but take no further slice",
    "are blocked by slices that no Pod has",
    "have too little memory left, or are held whole",
    "are held",
    "are not healthy",
    "are not cut into slices",
    "have too few AI cores",
    "have too little memory"};

std::string sentence_of(const NodeFit& fit, std::string_view word) {
  if (fit.reason == ReasonCode::kNoDevices) return "the node shows no NPU";
  std::string text;
  for (std::size_t i = 0; i < kRefusals.size(); ++i) {
    if (fit.refusing[i] == 0) continue;
    text += text.empty() ? "" : ", ";
    text += std::to_string(fit.refusing[i]);
    text += ' ';
    text += kRefusals[i];
  }
  std::string of =
      std::to_string(fit.npus) + " NPU" + (fit.npus == 1 ? "" : "s") + " of " + std::string(word);
  if (fit.reason == ReasonCode::kNpusNever) {
    return fit.npus == 0 ? "the node has no NPU of " + std::string(word)
                         : "the node has too few: " + of + (text.empty() ? "" : ", " + text);
  }
  if (text.empty()) return "its place there would cost more than the tenant's quota allows";
  return "of " + of + ", " + text;
}

}  // namespace

std::string_view hami_word(ReasonCode reason) {
  switch (reason) {
    case ReasonCode::kSlotsBusy:
      return "CardTimeSlicingExhausted";
    case ReasonCode::kMemoryBusy:
    case ReasonCode::kNpusBusy:
    case ReasonCode::kNpusKept:
    case ReasonCode::kMemoryNever:
      return "CardInsufficientMemory";
    case ReasonCode::kAiCoresNever:
      return "CardInsufficientCore";
    case ReasonCode::kNpusUnhealthy:
      return "CardNotHealth";
    case ReasonCode::kNpusNever:
      return "NodeInsufficientDevice";
    case ReasonCode::kSliceUnsupported:
    case ReasonCode::kShareUnsupported:
      return "ModeNotFit";
    case ReasonCode::kSlicesResidual:
      return "ResidualVNPU";
    case ReasonCode::kNoDevices:
      return "NodeUnregistered";
    case ReasonCode::kQuotaNpus:
    case ReasonCode::kQuotaMemoryTotal:
    case ReasonCode::kQuotaAiCores:
    case ReasonCode::kQuotaRunningJobs:
    case ReasonCode::kQuotaBandwidth:
    case ReasonCode::kQuotaKept:
    case ReasonCode::kQuotaMemoryPerNpu:
    case ReasonCode::kQuotaRunTime:
    case ReasonCode::kQuotaPriority:
    case ReasonCode::kQuotaNpusNever:
    case ReasonCode::kQuotaMemoryTotalNever:
    case ReasonCode::kQuotaAiCoresNever:
    case ReasonCode::kQuotaRunningJobsNever:
    case ReasonCode::kQuotaBandwidthNever:
      return "ResourceQuotaNotFit";
    case ReasonCode::kNone:
      break;
  }
  return "";
}

extender::Fit fit_in_words(const NodeFit& fit, bool known, std::string_view word) {
  extender::Fit told;
  if (!known) {
    told.unresolvable = true;
    told.reason = hami_word(ReasonCode::kNoDevices);
    told.message = "the node shows no NPU";
    return told;
  }
  told.fits = fit.fits;
  told.score = fit.fits ? fit.score : 0;
  if (fit.fits) return told;
  told.unresolvable = !is_resolvable(fit.reason);
  told.reason = hami_word(fit.reason);
  told.message = sentence_of(fit, word);
  return told;
}

}  // namespace tangram::kube::manager
