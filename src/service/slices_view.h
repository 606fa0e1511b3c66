// The answer to GET /v1/slices. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "service/views.h"
#include "wire/slices.h"

namespace tangram::service {

struct SlicesQuery {
  std::optional<std::uint32_t> npu;  // physical id; none: all
  std::vector<std::string> cut;      // templates: could they be cut, all of them, beside what stands there?
};

// Whose a slice is, is for who may see the job; that it is there is no secret. kNotFound "npu.unknown".
// `private_devices`: Executor::gives_private_devices.
Result<wire::SlicesView> make_slices(const State& state, const Options& options, const Caller& caller,
                                     const DeviceReadings& readings, bool private_devices,
                                     const SlicesQuery& query);

}  // namespace tangram::service
