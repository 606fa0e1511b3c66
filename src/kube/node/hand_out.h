// Who has which places, NPUs and slices: the agent's book. Pure: what happens is told to it, and it answers
// with what is to be done. The ledger keeps its entries; the keeper of slices carries them out.
//
// Life of an entry of a slice: kOrdered -> made() -> kHeld -> end() -> kEnded -> returned(), which forgets
// it. A whole NPU is kHeld at once, and forgotten with end().
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/node/claim.h"
#include "kube/node/pod.h"

namespace tangram::kube::node {

struct Handed {
  enum class State : std::uint8_t { kOrdered, kHeld, kEnded };

  ContainerRef who;
  ShareIds ids;
  bool slice = false;
  std::vector<std::uint32_t> npus;  // physical ids; of a slice: one
  std::string template_name;        // of a slice
  std::uint32_t slice_id = 0;       // of a slice: vNPU id of the driver
  State state = State::kOrdered;
  std::int32_t vgroup = kNoVgroup;  // of a slice: in which it is to be cut

  friend bool operator==(const Handed&, const Handed&) = default;
};

// What of the machine the book has to know.
struct NpuGround {
  std::map<std::string, std::uint32_t> by_uuid;  // physical ids of NPUs that can be handed out
  std::set<std::uint32_t> slices;                // ids of all slices that the last look showed
};

struct HandOutStep {
  enum class Kind : std::uint8_t {
    kReady,  // it stands: publish it
    kMake,   // a new entry, kOrdered: keep it, then order its slice
    kKeep,   // a new entry of whole NPUs, kHeld: keep it, then publish it
    kWait,   // what stood in these places, or on these NPUs, is being returned: ask again
  };

  Kind kind = Kind::kWait;
  Handed handed;                   // but kWait
  std::vector<std::uint32_t> end;  // slices to give back now; their entries are kEnded
};

// Not thread-safe.
class HandOut {
 public:
  HandOut() = default;
  explicit HandOut(std::vector<Handed> entries);

  // The container starts with these ids. `view`: as the kubelet says at this moment. Errors:
  // kFailedPrecondition "node.grant.missing" when it was given nothing, "node.npu.unknown", "node.npu.taken"
  // when somebody else has what it was given; kResourceExhausted "node.slice.no_id".
  Result<HandOutStep> begin(const ContainerRef& who, const ShareIds& ids, const Grant* grant,
                            const NpuGround& ground, const KubeletView& view);

  // The entry of the last step is not to be: it could not be kept.
  void undo(const Handed& handed);

  // What the keeper told of the slice; unknown ids are passed over.
  void made(std::uint32_t slice_id);
  void not_made(std::uint32_t slice_id);
  void returned(std::uint32_t slice_id);

  // Ends what nobody has any more: the Pod has ended, or neither the API server nor the kubelet shows it.
  // `pods` and `view` were read after the last begin(). The slices to give back.
  std::vector<std::uint32_t> sweep(const std::vector<NodePod>& pods, const KubeletView& view);

  bool given(const ContainerRef& who, const ShareIds& ids) const;
  const Handed* find(std::uint32_t slice_id) const;
  const std::vector<Handed>& entries() const { return entries_; }

 private:
  using Entries = std::vector<Handed>;

  // Ends the entry; true: it is gone at once.
  bool end(Handed& entry, std::vector<std::uint32_t>& slices);
  Result<std::vector<std::uint32_t>> places_of(const ContainerRef& who, const Grant& grant,
                                               const NpuGround& ground) const;
  Result<void> check_ids(const Handed& wanted, const KubeletView& view) const;
  Result<bool> check_npus(const Handed& wanted, const NpuGround& ground) const;
  Result<HandOutStep> hand(Handed wanted, const NpuGround& ground);

  Entries entries_;
};

}  // namespace tangram::kube::node
