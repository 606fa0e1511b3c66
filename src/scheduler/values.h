// Checks of values alone, without looking at the state: ranges, spelling, order. Private to src/scheduler.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/record.h"

namespace tangram {

inline constexpr std::int32_t kAttemptMax = 1'000'000'000;

// "field is value, but must be right".
tl::unexpected<Error> bad_value(std::string field, std::string value, std::string_view right);
Result<void> check_range(const char* field, std::int64_t value, std::int64_t least, std::int64_t most);

Result<void> check_values(const SettingsChanged& settings);
Result<void> check_values(const NodeReported& reported);
Result<void> check_values(const NpuReport& npu);
Result<void> check_values(const SlicePlacement& slice);
Result<void> check_values(const TenantSpec& spec);
Result<void> check_values(const JobSpec& spec);
Result<void> check_values(const std::vector<Part>& parts);

}  // namespace tangram
