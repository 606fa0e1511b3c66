// What became of an order about a slice, judged by what the driver answered and what the hardware shows
// afterwards. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "device/dcmi/helper_protocol.h"
#include "ports/device_slices.h"

namespace tangram::device {

// The order as such: kInvalid for a template name that is none, or an id that is not one of this NPU's.
Result<void> check_order(const SliceOrder& order);
Result<void> check_slice_id(std::uint32_t physical_id, std::uint32_t id);

// The answers that need no look, because nothing was tried: kUnsupported, kNotPermitted. `what` is the order
// in words: "cutting NPU 3 into a vir04".
Result<void> check_refusal(const HelperAnswer& answer, const std::string& what);

// A vendor code alone decides nothing: -8001 may mean no room, a slice in use or a wrong name, and a call
// that was cut off (an `answer` that is an error) may have worked or may still work. A look that is an error
// settles nothing.
Result<DeviceSlice> settle_create(const SliceOrder& order, const DeviceSlicing& before,
                                  const Result<HelperAnswer>& answer, const Result<DeviceSlicing>& after);
Result<void> settle_destroy(std::uint32_t physical_id, std::uint32_t id, const Result<HelperAnswer>& answer,
                            const Result<DeviceSlicing>& after);
// `after`: the setting as it then is.
Result<void> settle_switch(const std::string& what, bool on, const Result<HelperAnswer>& answer,
                           const Result<Field<bool>>& after);

const DeviceSlice* find_slice(const DeviceSlicing& slicing, std::uint32_t id);

// AI cores and AI CPUs at the least, read from a template's name: vir10_3c_16g needs 10 and 3, and none does
// with less than 1. 0 where the name is of another kind.
struct TemplateNeed {
  std::int32_t ai_cores = 0;
  std::int32_t ai_cpus = 0;
};
TemplateNeed need_of(const std::string& template_name);

}  // namespace tangram::device
