// Admission: who is charged, and what becomes of it.
#include <utility>

#include "kube/manager/book_state.h"

namespace tangram::kube::manager {

std::vector<Opening> BookState::admit(std::size_t most) {
  constexpr std::size_t kBatch = 256;
  std::vector<Opening> openings;
  while (complete_ && openings.size() < most) {
    const std::vector<Admission> batch = core_.admit(core_now(), kBatch);
    if (batch.empty()) break;
    for (const Admission& admission : batch) {
      // Each holds given those before it: what is left is asked for again.
      if (openings.size() == most) return openings;
      core_.apply(admission, core_now());
      const auto* const admitted = std::get_if<JobAdmitted>(&admission);
      if (admitted == nullptr) continue;
      Entry& entry = *by_job_.at(admitted->job.value);
      entry.stage = Stage::kOpening;
      openings.push_back({entry.facts.ref, entry.facts.gate, entry.facts.granted, entry.facts.tenant});
    }
  }
  return openings;
}

void BookState::opened(const extender::PodRef& pod) {
  Entry* const entry = find(pod);
  if (entry == nullptr || entry->stage != Stage::kOpening) return;
  entry->stage = Stage::kAdmitted;
  entry->facts.gate.reset();
  entry->facts.admitted = true;
}

void BookState::take_back(const extender::PodRef& pod, const Error& problem, Milliseconds rest) {
  Entry* const entry = find(pod);
  // Once it is bound or has a place, it was let in by somebody, whatever went wrong here.
  if (entry == nullptr || entry->stage != Stage::kOpening) return;
  leave(*entry);
  set_unfit(*entry, problem.reason, "its gate cannot be opened: " + problem.message);
  set_until(*entry, timing_.now() + rest);
}

std::vector<extender::PodRef> BookState::wakeable(std::size_t most) {
  std::vector<extender::PodRef> pods;
  if (!complete_ || !room_ || most == 0) return pods;
  room_ = false;
  if (refused_.empty()) return pods;
  for (const JobId job : core_.with_room(by_job_.size())) {
    const auto at = by_job_.find(job.value);
    if (at == by_job_.end()) continue;
    const std::string key = key_of(at->second->facts.ref);
    if (!refused_.contains(key)) continue;
    if (pods.size() == most) {
      room_ = true;  // for those that are left
      break;
    }
    refused_.erase(key);
    pods.push_back(at->second->facts.ref);
  }
  return pods;
}

void BookState::not_woken(const extender::PodRef& pod) {
  const Entry* const entry = find(pod);
  if (entry == nullptr || entry->stage != Stage::kAdmitted) return;
  refused_.insert(key_of(pod));
  room_ = true;
}

}  // namespace tangram::kube::manager
