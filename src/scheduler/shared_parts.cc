#include "scheduler/shared_parts.h"

#include <algorithm>
#include <optional>
#include <tuple>

namespace tangram {
namespace {

bool is_like(const Part& one, const Part& other) {
  return one.kind == other.kind && one.chip == other.chip;
}

Part enlarged(const Part& part, const Part& more) {
  Part both = part;
  both.npus = std::max(part.npus, more.npus);
  both.memory_per_npu = std::max(part.memory_per_npu, more.memory_per_npu);
  both.ai_cores = std::max(part.ai_cores, more.ai_cores);
  return both;
}

// How much `part` grows by holding `more` as well, and how large it is: the least of both is best.
auto cost(const Part& part, const Part& more) {
  const Part both = enlarged(part, more);
  return std::tuple(both.npus - part.npus, both.memory_per_npu - part.memory_per_npu,
                    both.ai_cores - part.ai_cores, part.npus, part.memory_per_npu, part.ai_cores);
}

}  // namespace

SharedParts share_parts(std::span<const ContainerAsk> containers) {
  SharedParts shared;
  shared.part_for.resize(containers.size());
  std::vector<std::uint8_t> is_sidecars;
  const auto add = [&](std::size_t container) {
    shared.part_for[container] = static_cast<std::uint32_t>(shared.parts.size());
    shared.parts.push_back(containers[container].part);
    is_sidecars.push_back(containers[container].sidecar ? 1 : 0);
  };
  for (std::size_t i = 0; i < containers.size(); ++i) {
    if (!containers[i].init || containers[i].sidecar) add(i);
  }
  for (std::size_t i = 0; i < containers.size(); ++i) {
    if (!containers[i].init || containers[i].sidecar) continue;
    const Part& asked = containers[i].part;
    std::optional<std::uint32_t> best;
    for (std::uint32_t at = 0; at < shared.parts.size(); ++at) {
      if (is_sidecars[at] != 0 || !is_like(shared.parts[at], asked)) continue;
      if (!best || cost(shared.parts[at], asked) < cost(shared.parts[*best], asked)) best = at;
    }
    if (!best) {
      add(i);
      continue;
    }
    shared.parts[*best] = enlarged(shared.parts[*best], asked);
    shared.part_for[i] = *best;
  }
  return shared;
}

}  // namespace tangram
