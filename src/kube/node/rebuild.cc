#include "kube/node/rebuild.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "ports/device_slices.h"

namespace tangram::kube::node {
namespace {

using Progress = PodContainer::Progress;

constexpr std::string_view kNode = "davinci";

// A container that the kubelet counts as the holder of these shares.
struct Holder {
  ContainerRef who;
  ShareIds ids;
  const PodContainer* container = nullptr;  // none: the API server does not show it
};

const PodContainer* container_of(const std::vector<NodePod>& pods, const std::string& uid,
                                 const std::string& name) {
  const auto pod = std::ranges::find(pods, uid, &NodePod::uid);
  return pod == pods.end() ? nullptr : find_container(*pod, name);
}

Holder holder_of(const Recorded& recorded, const KubeletView& view, const std::vector<NodePod>& pods) {
  Holder holder{{recorded.uid, {}, {}, recorded.container}, recorded.ids, nullptr};
  holder.container = container_of(pods, recorded.uid, recorded.container);
  if (const auto pod = std::ranges::find(pods, recorded.uid, &NodePod::uid); pod != pods.end()) {
    holder.who.space = pod->space;
    holder.who.pod = pod->name;
    return holder;
  }
  for (const Listed& listed : view.listed) {
    if (listed.ids != recorded.ids || listed.container != recorded.container) continue;
    holder.who.space = listed.space;
    holder.who.pod = listed.pod;
  }
  return holder;
}

// Without the kubelet's record, pod-resources has names, and the API server the UIDs to them.
std::vector<Holder> holders_of(const KubeletView& view, const std::vector<NodePod>& pods) {
  std::vector<Holder> holders;
  if (view.recorded) {
    for (const Recorded& recorded : *view.recorded) holders.push_back(holder_of(recorded, view, pods));
  } else {
    for (const Listed& listed : view.listed) {
      for (const NodePod& pod : pods) {
        if (pod.space != listed.space || pod.name != listed.pod) continue;
        const PodContainer* const container = find_container(pod, listed.container);
        holders.push_back({{pod.uid, pod.space, pod.name, listed.container}, listed.ids, container});
      }
    }
  }
  // An init container has its shares from the one that comes after it: it has what stands there only until it
  // has come to its end.
  const auto rank = [](const Holder& holder) {
    if (holder.container == nullptr || !holder.container->init) return 1;
    return holder.container->progress == Progress::kDone ? 2 : 0;
  };
  std::ranges::stable_sort(holders, {}, rank);
  return holders;
}

std::optional<std::uint32_t> number_of(std::string_view node) {
  if (!node.starts_with(kNode)) return std::nullopt;
  node.remove_prefix(kNode.size());
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(node.data(), node.data() + node.size(), number);
  if (error != std::errc() || end != node.data() + node.size()) return std::nullopt;
  return number;
}

// The numbers of the nodes in all places of these shares.
std::set<std::uint32_t> numbers_in(const ShareIds& ids, const PlaceContents& contents) {
  std::set<std::uint32_t> numbers;
  for (const std::string& id : ids) {
    const auto place = contents.find(id);
    if (place == contents.end()) continue;
    for (const std::string& node : place->second) {
      if (const auto number = number_of(node)) numbers.insert(*number);
    }
  }
  return numbers;
}

struct SeenSlice {
  std::uint32_t npu = 0;
  std::string template_name;  // empty: not told
};

std::optional<SeenSlice> find_slice(const DeviceScan& scan, std::uint32_t id) {
  for (const DeviceNpu& npu : scan.npus) {
    if (!npu.slicing.slices.valid || !is_slice_id(npu.physical_id, id)) continue;
    for (const DeviceSlice& slice : npu.slicing.slices.value) {
      if (slice.id != id) continue;
      const auto& name = slice.template_name;
      return SeenSlice{npu.physical_id, name.valid ? name.value : std::string()};
    }
  }
  return std::nullopt;
}

bool is_npu(const DeviceScan& scan, std::uint32_t number) {
  return std::ranges::any_of(scan.npus, [number](const DeviceNpu& npu) { return npu.physical_id == number; });
}

// What stands in the places of one holder; nothing: it was not started, or `why` says what is not clear.
std::optional<Handed> handed_to(const Holder& holder, const std::set<std::uint32_t>& numbers,
                                const DeviceScan& scan, std::string& why) {
  Handed handed{holder.who, holder.ids, false, {}, {}, 0, Handed::State::kHeld};
  const Grant* const grant =
      holder.container != nullptr && holder.container->grant ? &*holder.container->grant : nullptr;
  if (std::ranges::all_of(numbers, [&scan](std::uint32_t number) { return is_npu(scan, number); })) {
    handed.npus.assign(numbers.begin(), numbers.end());
    if (grant == nullptr || (!grant->slice && grant->npus.size() == handed.npus.size())) return handed;
    why = "has other NPUs in its places than it was given";
    return std::nullopt;
  }
  const std::optional<SeenSlice> slice =
      numbers.size() == 1 ? find_slice(scan, *numbers.begin()) : std::nullopt;
  if (!slice) {
    why = "has a device in its places that the hardware does not show";
    return std::nullopt;
  }
  handed.slice = true;
  handed.npus = {slice->npu};
  handed.slice_id = *numbers.begin();
  handed.template_name = slice->template_name;
  if (handed.template_name.empty() && grant != nullptr) handed.template_name = grant->template_name;
  const bool as_given = grant == nullptr || (grant->slice && grant->template_name == handed.template_name);
  if (as_given && !handed.template_name.empty()) return handed;
  why = "has a slice in its places that is not as it was given";
  return std::nullopt;
}

}  // namespace

Rebuilt rebuild(const KubeletView& view, const std::vector<NodePod>& pods, const PlaceContents& contents,
                const DeviceScan& scan) {
  Rebuilt rebuilt;
  std::set<std::uint32_t> slices;
  std::set<std::uint32_t> whole;
  std::set<ShareIds> taken;
  for (const Holder& holder : holders_of(view, pods)) {
    const std::set<std::uint32_t> numbers = numbers_in(holder.ids, contents);
    if (numbers.empty() || taken.contains(holder.ids)) continue;
    std::string why;
    std::optional<Handed> handed = handed_to(holder, numbers, scan, why);
    const bool twice =
        handed && (handed->slice ? !slices.insert(handed->slice_id).second
                                 : std::ranges::any_of(handed->npus, [&whole](std::uint32_t npu) {
                                     return whole.contains(npu);
                                   }));
    if (twice) {
      why = "has something in its places that another has, too";
      handed.reset();
    }
    if (handed && !handed->slice) whole.insert(handed->npus.begin(), handed->npus.end());
    if (!handed) {
      rebuilt.unclear.push_back(holder.who.to_string() + " " + why);
      continue;
    }
    taken.insert(holder.ids);
    rebuilt.entries.push_back(std::move(*handed));
  }
  return rebuilt;
}

}  // namespace tangram::kube::node
