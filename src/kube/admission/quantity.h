// Kubernetes' quantities ("4096", "3k", "16Gi", "1.5e3") as whole numbers, exactly: no floating point. The
// API server writes them in a shortest form of its own, so that what a manifest calls 3000 arrives as "3k".
//
// Source: apimachinery pkg/api/resource, Quantity. Thread-safe: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tangram::kube::admission {

enum class QuantityFault : std::uint8_t {
  kSyntax,    // no quantity at all
  kFraction,  // not a whole number
  kRange,     // outside of what 64 bits hold
};

// The sign is kept: whether a negative number is good is for the caller to say.
tl::expected<std::int64_t, QuantityFault> whole_quantity(std::string_view text);

std::string_view to_string(QuantityFault fault);  // what is wrong, behind "must be a whole number: "

}  // namespace tangram::kube::admission
