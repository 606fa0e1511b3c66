// The shares in which an NPU is offered to the kubelet. A share is a place that a container can have, not a
// part of the chip: what stands in it is settled when a container starts. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace tangram::kube::node {

// Ids of devices: at most 63 bytes, the kubelet's bound.
struct Share {
  std::string npu;           // its UUID
  std::uint32_t number = 0;  // from 0
};
std::string id_of(const Share& share);  // "<UUID>-<number>"
std::optional<Share> parse_share(std::string_view id);

// Whether it is an id of a share, and nothing else when it stands in a path.
bool is_share_id(std::string_view id);

inline constexpr std::uint32_t kSharesMax = 1'000;  // as of a NodeConfig

// How many shares an NPU is offered in: as many as there is room for slices of the smallest template, or what
// the operator says. An NPU that is not cut is offered once.
std::uint32_t shares_of(Bytes allocatable, std::optional<Bytes> smallest_template,
                        std::optional<std::uint32_t> wanted);

// An NPU with free shares, for the choice below.
struct FreeShares {
  std::string npu;
  std::vector<std::string> ids;  // ascending
};
// In the order of the NPUs' names; ids that are no shares are left out.
std::vector<FreeShares> group_shares(const std::vector<std::string>& ids);

// Which `size` of the available ids to prefer: `must` first, then those of the NPUs that `expected` names,
// one each in its order, then the others from the NPU with the fewest that are free, so that shares of one
// NPU go together. Fewer than `size` only if there are not more.
std::vector<std::string> prefer_shares(const std::vector<std::string>& available,
                                       const std::vector<std::string>& must, std::size_t size,
                                       const std::vector<std::string>& expected);

}  // namespace tangram::kube::node
