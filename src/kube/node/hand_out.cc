#include "kube/node/hand_out.h"

#include <algorithm>
#include <utility>

#include "service/slice_book.h"

namespace tangram::kube::node {
namespace {

using State = Handed::State;
using Kind = HandOutStep::Kind;

bool overlap(const ShareIds& one, const ShareIds& other) {
  return std::ranges::any_of(
      one, [&other](const std::string& id) { return std::ranges::find(other, id) != other.end(); });
}

bool matches(const Handed& entry, const Grant& grant, const std::vector<std::uint32_t>& npus) {
  return entry.slice == grant.slice && entry.npus == npus && entry.template_name == grant.template_name;
}

// Whether the entry has to end before this one can be: its places, or the container itself, are the same.
bool gives_way(const Handed& entry, const Handed& wanted) {
  return entry.who == wanted.who || overlap(entry.ids, wanted.ids);
}

std::string npu_text(std::uint32_t npu) {
  return "NPU " + std::to_string(npu);
}

}  // namespace

HandOut::HandOut(std::vector<Handed> entries) : entries_(std::move(entries)) {}

bool HandOut::given(const ContainerRef& who, const ShareIds& ids) const {
  return std::ranges::any_of(entries_, [&](const Handed& entry) {
    return entry.who == who && entry.ids == ids && entry.state != State::kEnded;
  });
}

const Handed* HandOut::find(std::uint32_t slice_id) const {
  const auto at = std::ranges::find_if(
      entries_, [slice_id](const Handed& entry) { return entry.slice && entry.slice_id == slice_id; });
  return at == entries_.end() ? nullptr : &*at;
}

bool HandOut::end(Handed& entry, std::vector<std::uint32_t>& slices) {
  if (!entry.slice) return true;
  if (entry.state != State::kEnded) slices.push_back(entry.slice_id);
  entry.state = State::kEnded;
  return false;
}

Result<std::vector<std::uint32_t>> HandOut::places_of(const ContainerRef& who, const Grant& grant,
                                                      const NpuGround& ground) const {
  std::vector<std::uint32_t> npus;
  for (const NpuRef& npu : grant.npus) {
    const auto at = ground.by_uuid.find(npu.uuid);
    if (at == ground.by_uuid.end()) {
      return fail(
          Code::kFailedPrecondition, "node.npu.unknown",
          who.to_string() + " was given " + npu.uuid + ", which is no NPU of this node that can be used");
    }
    npus.push_back(at->second);
  }
  std::ranges::sort(npus);
  return npus;
}

// Whoever had these ids before must be done with them: an init container before the one that starts now, or a
// Pod that the kubelet does not know any more. So must the same container with other ids, which it has only
// if the kubelet has forgotten the first ones.
Result<void> HandOut::check_ids(const Handed& wanted, const KubeletView& view) const {
  for (const Handed& entry : entries_) {
    if (!gives_way(entry, wanted)) continue;
    const bool other_pod = entry.who.uid != wanted.who.uid;
    const bool moved = entry.who == wanted.who && !overlap(entry.ids, wanted.ids);
    if (!(other_pod || moved) || !is_held(entry.ids, entry.who, view)) continue;
    return fail(Code::kFailedPrecondition, "node.npu.taken",
                "the kubelet still counts shares of " + wanted.who.to_string() + " as those of " +
                    entry.who.to_string());
  }
  return {};
}

// A whole NPU stands beside nothing else. What ends, and is not returned yet, is waited for: true.
Result<bool> HandOut::check_npus(const Handed& wanted, const NpuGround& ground) const {
  for (const std::uint32_t slice : ground.slices) {
    const auto on = [slice](std::uint32_t npu) { return is_slice_id(npu, slice); };
    if (wanted.slice || find(slice) != nullptr || std::ranges::none_of(wanted.npus, on)) continue;
    return fail(Code::kFailedPrecondition, "node.npu.taken",
                wanted.who.to_string() + " was given an NPU whole on which slice " + std::to_string(slice) +
                    " stands, which nobody here has");
  }
  bool wait = false;
  for (const Handed& entry : entries_) {
    for (const std::uint32_t npu : entry.npus) {
      if (std::ranges::find(wanted.npus, npu) == wanted.npus.end() || (entry.slice && wanted.slice)) continue;
      if (entry.state != State::kEnded && !gives_way(entry, wanted)) {
        return fail(Code::kFailedPrecondition, "node.npu.taken",
                    wanted.who.to_string() + " was given " + npu_text(npu) + ", which " +
                        entry.who.to_string() + " has");
      }
      wait = wait || entry.slice;
    }
  }
  return wait;
}

Result<HandOutStep> HandOut::begin(const ContainerRef& who, const ShareIds& ids, const Grant* grant,
                                   const NpuGround& ground, const KubeletView& view) {
  if (grant == nullptr) {
    return fail(Code::kFailedPrecondition, "node.grant.missing",
                who.to_string() + " was given no NPU by Tangram");
  }
  TG_TRY(const std::vector<std::uint32_t> npus, places_of(who, *grant, ground));
  for (const Handed& entry : entries_) {
    if (entry.who != who || entry.ids != ids || entry.state == State::kEnded) continue;
    if (!matches(entry, *grant, npus)) continue;
    // An order that is under way is waited for; the ledger has it.
    return HandOutStep{entry.state == State::kHeld ? Kind::kReady : Kind::kWait, entry, {}};
  }
  Handed wanted{who, ids, grant->slice, npus, grant->template_name, 0, State::kOrdered, grant->vgroup};
  // Nothing is ended for what is then refused.
  TG_TRY_VOID(check_ids(wanted, view));
  TG_TRY(const bool wait, check_npus(wanted, ground));
  HandOutStep step;
  Entries left;
  for (Handed& entry : entries_) {
    if (!gives_way(entry, wanted) || !end(entry, step.end)) left.push_back(std::move(entry));
  }
  entries_ = std::move(left);
  // A place has one thing in it at a time.
  const bool busy =
      std::ranges::any_of(entries_, [&](const Handed& entry) { return gives_way(entry, wanted); });
  if (wait || busy) return step;
  return hand(std::move(wanted), ground);
}

Result<HandOutStep> HandOut::hand(Handed wanted, const NpuGround& ground) {
  if (wanted.slice) {
    std::set<std::uint32_t> taken = ground.slices;
    for (const Handed& entry : entries_) {
      if (entry.slice) taken.insert(entry.slice_id);
    }
    const auto id = service::free_slice_id(wanted.npus.front(), taken);
    if (!id) {
      return fail(Code::kResourceExhausted, "node.slice.no_id",
                  npu_text(wanted.npus.front()) + " has as many slices as it can have");
    }
    wanted.slice_id = *id;
  } else {
    wanted.state = State::kHeld;
  }
  entries_.push_back(wanted);
  return HandOutStep{wanted.slice ? Kind::kMake : Kind::kKeep, std::move(wanted), {}};
}

void HandOut::undo(const Handed& handed) {
  std::erase(entries_, handed);
}

void HandOut::made(std::uint32_t slice_id) {
  for (Handed& entry : entries_) {
    if (entry.slice && entry.slice_id == slice_id && entry.state == State::kOrdered)
      entry.state = State::kHeld;
  }
}

void HandOut::not_made(std::uint32_t slice_id) {
  for (Handed& entry : entries_) {
    if (entry.slice && entry.slice_id == slice_id) entry.state = State::kEnded;
  }
}

void HandOut::returned(std::uint32_t slice_id) {
  std::erase_if(entries_,
                [slice_id](const Handed& entry) { return entry.slice && entry.slice_id == slice_id; });
}

std::vector<std::uint32_t> HandOut::sweep(const std::vector<NodePod>& pods, const KubeletView& view) {
  std::vector<std::uint32_t> slices;
  Entries left;
  for (Handed& entry : entries_) {
    const auto pod = std::ranges::find(pods, entry.who.uid, &NodePod::uid);
    const bool there = pod != pods.end() ? !pod->ended : is_held(entry.ids, entry.who, view);
    if (there || !end(entry, slices)) left.push_back(std::move(entry));
  }
  entries_ = std::move(left);
  return slices;
}

}  // namespace tangram::kube::node
