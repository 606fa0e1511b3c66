// NPUs as Kubernetes counts them: each chip model has a word of HAMi's, by which a container asks for NPUs
// ("huawei.com/Ascend310P") and for MiB of each ("huawei.com/Ascend310P-memory"). What is offered under the
// word comes from the catalogue of chips. Thread-safe: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "catalog/chip.h"

namespace tangram::wire {

struct NpuTemplate {
  std::string name;
  std::int64_t memory_mib = 0;  // nominal: what a request is compared with, and what stands in the Pod
  std::int64_t usable_mib = 0;  // what a program in the slice finds
  std::int64_t ai_cores = 0;

  friend bool operator==(const NpuTemplate&, const NpuTemplate&) = default;
};

struct NpuResource {
  std::string word;                    // "Ascend310P"
  std::string chip;                    // of the catalogue: "310P (24 GiB)"
  std::int64_t whole_mib = 0;          // of a whole NPU, and the most that can be asked for
  std::int64_t ai_cores = 0;           // of a whole NPU
  bool in_pairs = false;               // whole ones are given in twos: both chips of a board
  std::string not_cut;                 // why there are no slices; empty: there are
  std::vector<NpuTemplate> templates;  // ascending by memory, one of each size

  friend bool operator==(const NpuResource&, const NpuResource&) = default;
};

// HAMi's words with the built-in chips behind them. Sizes of whole NPUs are HAMi's, and those of templates
// where HAMi calls them otherwise than the vendor: manifests are written in them.
std::vector<NpuResource> builtin_npu_resources();

// The chip under this word. `whole_mib`: 0 for the memory that its slices share.
NpuResource npu_resource(std::string_view word, const ChipModel& chip, std::int64_t whole_mib = 0);

}  // namespace tangram::wire
