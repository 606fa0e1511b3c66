// What the containers of a Pod ask for and are given, as two annotations of the Pod carry it: a JSON list
// over those containers that ask for NPUs, init containers first, each in the order of the Pod.
//
//   tangram.dev/requested
//   [{"container":"main","resource":"huawei.com/Ascend310P","count":1,"memoryMiB":4096}] tangram.dev/granted
//   [{"container":"main",…,"memoryMiB":6144,"kind":"slice","template":"vir02"}]
//
// Reading is total: any text gives a list within the bounds below or an error. Unknown fields are passed
// over, so that a newer version may add some. Thread-safe: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tangram::kube {

inline constexpr std::size_t kNpuContainersMax = 64;           // of one Pod
inline constexpr std::size_t kAnnotationBytesMax = 64U << 10;  // of one annotation
inline constexpr std::int64_t kNpusPerContainerMax = 4096;     // as of a job on one machine
inline constexpr std::int64_t kMemoryMibMax = std::int64_t{1} << 31;

// A slice of one NPU, or as many whole ones as `count` says.
enum class GrantKind : std::uint8_t { kSlice, kWhole };
std::string_view to_string(GrantKind kind);  // "slice", "whole"

struct ContainerRequest {
  std::string container;
  bool init = false;     // runs before the main containers, sidecars included
  bool sidecar = false;  // an init container that goes on running
  std::string resource;  // "huawei.com/Ascend310P"
  std::int64_t count = 1;
  std::optional<std::int64_t> memory_mib;  // of each NPU; absent: not asked for
  std::int64_t cores = 0;

  friend bool operator==(const ContainerRequest&, const ContainerRequest&) = default;
};

struct ContainerGrant {
  ContainerRequest request;  // `memory_mib`: what is given of each NPU
  GrantKind kind = GrantKind::kWhole;
  std::string template_name;  // of a slice
  std::string why;            // one sentence where it is not what was asked for; else empty

  friend bool operator==(const ContainerGrant&, const ContainerGrant&) = default;
};

std::string write_requests(std::span<const ContainerRequest> requests);
std::string write_grants(std::span<const ContainerGrant> grants);

// kInvalidArgument "kube.annotation.invalid", naming the entry and the field.
Result<std::vector<ContainerRequest>> read_requests(std::string_view text);
Result<std::vector<ContainerGrant>> read_grants(std::string_view text);

}  // namespace tangram::kube
