// Words for the vendor's return codes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tangram::device {

// "-8012 (not ready)"; also for the codes of reading.h that are not the vendor's.
std::string code_text(std::int32_t code);

// Why `vendor_call` gave nothing: "dcmi_get_device_health answered -8012 (not ready)".
std::string failure_text(std::string_view vendor_call, std::int32_t code);

}  // namespace tangram::device
