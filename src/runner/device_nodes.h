// The Ascend device nodes that a job gets: its own davinciN, or those of its slice, and the managers that
// every client opens. Names and their meaning: the container notes of Ascend's driver (davinciN with N the
// physical id, vdavinciN with N the id of a slice, davinci_manager, devmm_svm, hisi_hdc).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "ports/executor.h"
#include "runner/device_filter.h"

namespace tangram::runner {

struct DeviceNode {
  std::string name;  // in the job's /dev: "davinci3"; a slice's vdavinci103 becomes davinci103 there
  DeviceNumber number;
};

// Of the NPUs, or of the slice, that the launch names. One of them that is missing is an error that names it;
// a manager that is missing is left out.
Result<std::vector<DeviceNode>> find_device_nodes(const std::string& device_dir, const LaunchSpec& launch);

}  // namespace tangram::runner
