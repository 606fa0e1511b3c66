// The Ascend device nodes that a job gets: its own davinciN and the managers that every client opens.
// Names and their meaning: the container notes of Ascend's driver (davinciN with N the physical id,
// davinci_manager, devmm_svm, hisi_hdc).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "runner/device_filter.h"

namespace tangram::runner {

struct DeviceNode {
  std::string name;  // "davinci3"
  DeviceNumber number;
};

// A davinci node that is missing is an error that names it; a manager that is missing is left out.
Result<std::vector<DeviceNode>> find_device_nodes(const std::string& device_dir,
                                                  const std::vector<std::uint32_t>& npus);

}  // namespace tangram::runner
