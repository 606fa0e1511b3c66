#include "kube/node/claim.h"

#include <algorithm>

namespace tangram::kube::node {
namespace {

using Progress = PodContainer::Progress;

struct Candidate {
  const NodePod* pod = nullptr;
  const PodContainer* container = nullptr;
};

std::string text_of(const ShareIds& ids) {
  std::string text;
  for (const std::string& id : ids) text += (text.empty() ? "" : ", ") + id;
  return text;
}

tl::unexpected<Error> unknown(const ShareIds& ids, const std::string& why) {
  return fail(Code::kUnavailable, "node.pod.unknown", why + ": " + text_of(ids));
}

tl::unexpected<Error> ambiguous(const ShareIds& ids) {
  return fail(Code::kAborted, "node.pod.ambiguous",
              "more than one container may be the one that starts with " + text_of(ids));
}

ContainerRef ref_of(const Candidate& one) {
  return {one.pod->uid, one.pod->space, one.pod->name, one.container->name};
}

// Those that the record gives exactly these ids.
Result<std::vector<Candidate>> recorded_candidates(const ShareIds& ids, const std::vector<Recorded>& recorded,
                                                   const std::vector<NodePod>& pods) {
  std::vector<Candidate> candidates;
  for (const Recorded& entry : recorded) {
    if (entry.ids != ids) continue;
    const auto pod = std::ranges::find(pods, entry.uid, &NodePod::uid);
    if (pod == pods.end()) return unknown(ids, "a Pod that the API server does not show has these shares");
    const PodContainer* container = find_container(*pod, entry.container);
    if (container == nullptr) return unknown(ids, name_of(*pod) + " has no such container");
    candidates.push_back({&*pod, container});
  }
  return candidates;
}

// Without a record: the one that pod-resources lists, and the Pod's init containers, which it does not list.
Result<std::vector<Candidate>> listed_candidates(const ShareIds& ids, const std::vector<Listed>& listed,
                                                 const std::vector<NodePod>& pods) {
  std::vector<Candidate> candidates;
  for (const Listed& entry : listed) {
    if (entry.ids != ids) continue;
    const Candidate* known = nullptr;
    for (const NodePod& pod : pods) {
      if (pod.space != entry.space || pod.name != entry.pod) continue;
      if (known != nullptr) return ambiguous(ids);
      const PodContainer* container = find_container(pod, entry.container);
      if (container == nullptr) return unknown(ids, name_of(pod) + " has no such container");
      for (const PodContainer& other : pod.containers) {
        const bool same_size = other.grant && other.grant->npus.size() == ids.size();
        if (other.init && same_size) candidates.push_back({&pod, &other});
      }
      candidates.push_back({&pod, container});
      known = &candidates.back();
    }
    if (known == nullptr) return unknown(ids, "a Pod that the API server does not show has these shares");
  }
  return candidates;
}

// Of one Pod, in its order: init containers come one after the other, and the others after them.
Result<Candidate> next_of(const ShareIds& ids, const std::vector<Candidate>& candidates,
                          const GivenBefore& given) {
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& one = candidates[i];
    const bool last = i + 1 == candidates.size();
    if (!one.container->init && !last) return ambiguous(ids);
    if (!one.container->init) return one;
    if (one.container->progress == Progress::kDone) continue;
    const bool restarts = one.container->progress == Progress::kFailed;
    const bool alike = std::ranges::all_of(candidates, [&one](const Candidate& other) {
      return other.container->grant == one.container->grant;
    });
    if (last || restarts || alike || !given(ref_of(one))) return one;
    return fail(Code::kAborted, "node.pod.unsettled",
                ref_of(one).to_string() + " was started, and its end is not known yet");
  }
  return unknown(ids, "all containers with these shares have come to their end");
}

bool overlaps(const ShareIds& one, const ShareIds& other) {
  return std::ranges::any_of(
      one, [&other](const std::string& id) { return std::ranges::find(other, id) != other.end(); });
}

// What pod-resources says must not be against it.
bool is_confirmed(const Candidate& one, const ShareIds& ids, const std::vector<Listed>& listed) {
  const NodePod& pod = *one.pod;
  bool seen = false;
  for (const Listed& entry : listed) {
    if (!overlaps(entry.ids, ids)) continue;
    if (entry.space != pod.space || entry.pod != pod.name) return false;
    if (entry.container == one.container->name) {
      if (entry.ids != ids) return false;
      seen = true;
    }
  }
  return seen || one.container->init;
}

Recorded recorded_of(const json::object& entry) {
  Recorded one{std::string(text_at(entry, {"PodUID"})), std::string(text_at(entry, {"ContainerName"})), {}};
  // By NUMA node: {"-1": ["…"], "0": ["…"]}.
  if (const json::object* nodes = object_at(entry, {"DeviceIDs"})) {
    for (const json::key_value_pair& node : *nodes) {
      const json::array* ids = node.value().if_array();
      if (ids == nullptr) continue;
      for (const json::value& id : *ids) {
        if (const json::string* text = id.if_string()) one.ids.emplace_back(std::string_view(*text));
      }
    }
  }
  std::ranges::sort(one.ids);
  return one;
}

}  // namespace

std::string ContainerRef::to_string() const {
  return "container " + container + " of Pod " + space + "/" + pod;
}

Result<std::vector<Recorded>> parse_kubelet_record(std::string_view text, const IsOwnResource& is_own) {
  const Result<json::object> record = parse_object(text);
  const json::object* data = record ? object_at(*record, {"Data"}) : nullptr;
  if (data == nullptr) {
    return fail(Code::kDataLoss, "node.record.unreadable",
                "the kubelet's record of devices is none that is known here");
  }
  std::vector<Recorded> recorded;
  const json::array* entries = array_at(*data, {"PodDeviceEntries"});  // null in an empty record
  if (entries == nullptr) return recorded;
  for (const json::value& value : *entries) {
    const json::object* entry = value.if_object();
    if (entry == nullptr || !is_own(text_at(*entry, {"ResourceName"}))) continue;
    // The first form of the record, before NUMA nodes: a plain list.
    if (object_at(*entry, {"DeviceIDs"}) == nullptr) {
      return fail(Code::kDataLoss, "node.record.unreadable",
                  "the kubelet's record of devices is of an old form");
    }
    recorded.push_back(recorded_of(*entry));
  }
  return recorded;
}

Result<ContainerRef> who_starts(const ShareIds& ids, const KubeletView& view,
                                const std::vector<NodePod>& pods, const GivenBefore& given) {
  TG_TRY(std::vector<Candidate> candidates, view.recorded ? recorded_candidates(ids, *view.recorded, pods)
                                                          : listed_candidates(ids, view.listed, pods));
  if (candidates.empty()) return unknown(ids, "the kubelet does not say who has these shares");
  const NodePod* pod = candidates.front().pod;
  for (const Candidate& one : candidates) {
    if (one.pod != pod) return ambiguous(ids);
  }
  // The record is in no order; a Pod's containers stand in one piece of memory, in theirs.
  std::ranges::sort(candidates, {}, &Candidate::container);
  TG_TRY(const Candidate next, next_of(ids, candidates, given));
  if (!is_confirmed(next, ids, view.listed)) {
    return fail(Code::kFailedPrecondition, "node.pod.mismatch",
                "pod-resources does not confirm that " + ref_of(next).to_string() + " has " + text_of(ids));
  }
  if (pod->ended) return unknown(ids, name_of(*pod) + " has come to its end");
  return ref_of(next);
}

bool is_held(const ShareIds& ids, const ContainerRef& who, const KubeletView& view) {
  const bool listed = std::ranges::any_of(view.listed, [&](const Listed& entry) {
    return entry.space == who.space && entry.pod == who.pod && overlaps(entry.ids, ids);
  });
  if (listed || !view.recorded) return listed;
  return std::ranges::any_of(*view.recorded, [&](const Recorded& entry) {
    return entry.uid == who.uid && overlaps(entry.ids, ids);
  });
}

}  // namespace tangram::kube::node
