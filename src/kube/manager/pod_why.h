// Why a Pod waits, in words. Values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::kube::manager {

enum class PodStage : std::uint8_t {
  kQueued,    // its gate is closed: it waits for its quota
  kOpening,   // admitted in the book; the API has not confirmed it
  kAdmitted,  // its quota is charged; it has no place
  kReserved,  // a place is taken for it; it is not bound
  kBound,
};
std::string_view to_string(PodStage stage);  // "queued", …

struct PodWhy {
  PodStage stage = PodStage::kQueued;
  std::string reason;                 // of the decisive one, as a token: "quota.npus.exceeded"; empty: none
  std::string verdict;                // one sentence
  std::vector<std::string> reasons;   // ranked, a sentence each
  std::vector<std::string> remedies;  // what would help, tried on a copy
  std::string tenant;
  std::string node;           // kReserved, kBound
  std::int64_t position = 0;  // in the queue, from 1; 0: not in it
  std::int64_t queue_length = 0;
};

}  // namespace tangram::kube::manager
