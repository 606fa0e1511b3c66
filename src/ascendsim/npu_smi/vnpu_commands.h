// What npu-smi does about virtual devices: queries and settings.
#pragma once

#include <optional>
#include <string>

#include "ascendsim/npu_smi/options.h"
#include "ascendsim/npu_smi/snapshot.h"

namespace ascendsim::npu_smi {

constexpr int kParameterError = -9001;
constexpr int kNotSupported = -9255;
// The tool's exit status is DCMI's code on a scale of its own; the shell sees the lowest eight bits.
constexpr int exit_code_of(int dcmi_code) {
  return dcmi_code == 0 ? 0 : dcmi_code - 1000;
}

struct Answer {
  std::string text;
  int code = 0;
};

// Nothing for a type that is not about virtual devices.
std::optional<Answer> query_vnpu(const Snapshot& snapshot, const Options& options);
Answer set_vnpu(const Snapshot& snapshot, const Options& options);

}  // namespace ascendsim::npu_smi
