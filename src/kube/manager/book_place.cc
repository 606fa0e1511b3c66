// Where a Pod's NPUs are, and where they could be.
#include <algorithm>
#include <utility>

#include "kube/manager/book_state.h"
#include "kube/manager/fit_words.h"
#include "kube/protocol/names.h"
#include "wire/schema.h"

namespace tangram::kube::manager {
namespace {

using extender::Fit;
using extender::PodRef;
using extender::Reservation;

std::string called(const PodRef& pod) {
  return "Pod " + pod.space + "/" + pod.name;
}

std::string word_of(const PodFacts& facts) {
  return facts.needs.empty() ? std::string() : facts.needs.front().word;
}

tl::unexpected<Error> does_not_fit(const PodRef& pod, const std::string& node, const Fit& fit) {
  return fail(Code::kNotNow, fit.reason.empty() ? "kube.place.none" : fit.reason,
              called(pod) + " does not fit on node " + node + ": " + fit.message,
              "it is placed when there is room");
}

}  // namespace

std::optional<NpuIndex> BookState::find_npu(const std::string& node, const AllocatedNpu& npu) const {
  const auto known = nodes_.find(node);
  if (known == nodes_.end()) return std::nullopt;
  for (const NodeNpu& one : known->second.inventory.npus) {
    if (one.uuid == npu.uuid) return core_.find_npu(node, one.index);
  }
  // Another NPU in its place, or one that is called otherwise for a while: better not given to anybody else.
  if (npu.index < 0 || npu.index > 65'535) return std::nullopt;
  return core_.find_npu(node, static_cast<std::uint32_t>(npu.index));
}

std::string BookState::name_of(const NpuView& npu) const {
  const auto node = nodes_.find(core_.node_name(npu.node));
  if (node == nodes_.end()) return {};
  for (const NodeNpu& one : node->second.inventory.npus) {
    if (one.index == npu.report.physical_id) return one.uuid;
  }
  return {};
}

std::vector<PartPlace> BookState::places_on(Entry& entry, const Allocation& allocation) const {
  Places found = places_of(allocation, entry.facts.needs, entry.parts, *chips_, core_,
                           [&](const AllocatedNpu& npu) { return find_npu(allocation.node, npu); });
  entry.unresolved = found.unresolved;
  return std::move(found.places);
}

std::vector<PartPlace> BookState::bound_places(Entry& entry) const {
  const auto allocation = read_allocation(entry.facts.allocation);
  if (allocation && allocation->node == entry.facts.node) return places_on(entry, *allocation);
  // Bound by somebody else: it is charged, and no NPU is known to be its.
  return std::vector<PartPlace>(entry.parts.parts.size());
}

bool BookState::concerns(const PodRef& pod) const {
  // Also a Pod of the same name with another uid: the book is about to hear of it.
  return pods_.contains(key_of(pod));
}

// A Pod for which the cluster's scheduler may look for a place.
Result<BookState::Entry*> BookState::placeable(const PodRef& pod) {
  Entry* const entry = find(pod);
  if (entry == nullptr) {
    return fail(Code::kNotFound, "kube.pod.unknown", called(pod) + " is not known to Tangram's manager",
                "if it asks for NPUs, create it again");
  }
  switch (entry->stage) {
    case Stage::kUnfit:
    case Stage::kQueued:
      return fail(Code::kFailedPrecondition, "kube.pod.not_admitted",
                  called(pod) + " was not admitted: its tenant's quota does not allow it yet",
                  "its condition " + std::string(names::kQuotaCondition) + " says what it waits for");
    case Stage::kOpening:  // its gate is open, or nobody would ask; the answer is still on its way
    case Stage::kAdmitted:
    case Stage::kReserved:
    case Stage::kBound:
      break;
  }
  if (entry->job.valid()) return entry;
  return fail(Code::kInternal, "kube.pod.uncounted",
              called(pod) + " is admitted, but what it asks for cannot be counted",
              "the manager's log says why; create it again");
}

Result<std::vector<NodeFit>> BookState::place(const Entry& entry, std::span<const std::string> nodes) const {
  std::vector<NodeIndex> indices;
  indices.reserve(nodes.size());
  for (const std::string& node : nodes) {
    const bool known = nodes_.contains(node);
    indices.push_back(known ? core_.find_node(node).value_or(NodeIndex()) : NodeIndex());
  }
  return core_.place(entry.job, indices);
}

std::vector<Fit> BookState::fits_of_bound(const Entry& entry, std::span<const std::string> nodes) const {
  std::vector<Fit> fits;
  fits.reserve(nodes.size());
  for (const std::string& node : nodes) {
    Fit fit;
    fit.fits = node == entry.facts.node;
    fit.score = fit.fits ? 100 : 0;
    fit.unresolvable = !fit.fits;
    if (!fit.fits) fit.message = "it is bound to node " + entry.facts.node;
    fits.push_back(std::move(fit));
  }
  return fits;
}

Result<std::vector<Fit>> BookState::filter(const PodRef& pod, std::span<const std::string> nodes) {
  TG_TRY(Entry* const entry, placeable(pod));
  if (entry->stage == Stage::kBound) return fits_of_bound(*entry, nodes);
  // The scheduler looks again only when nothing came of the place that it had chosen.
  unreserve(*entry);
  TG_TRY(const std::vector<NodeFit> found, place(*entry, nodes));
  const std::string word = word_of(entry->facts);
  std::vector<Fit> fits;
  fits.reserve(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    fits.push_back(fit_in_words(found[i], nodes_.contains(nodes[i]), word));
  }
  const std::string key = key_of(pod);
  if (std::none_of(fits.begin(), fits.end(), [](const Fit& fit) { return fit.fits; })) {
    refused_.insert(key);
  } else {
    refused_.erase(key);
  }
  return fits;
}

Result<Reservation> BookState::reserve(const PodRef& pod, const std::string& node) {
  TG_TRY(Entry* const entry, placeable(pod));
  const std::string word = word_of(entry->facts);
  if (entry->stage == Stage::kBound) {
    auto held = read_allocation(entry->facts.allocation);
    if (held && held->node == node && entry->facts.node == node) return Reservation{std::move(*held), word};
    return fail(Code::kFailedPrecondition, "kube.pod.bound",
                called(pod) + " is bound to node " + entry->facts.node, "nothing needs to be done");
  }
  if (entry->stage == Stage::kReserved && entry->place.node == node) {
    set_until(*entry, timing_.now() + options_.reservation);
    return Reservation{entry->place, word};
  }
  unreserve(*entry);
  std::optional<JobPlaced> placed;
  const auto index = core_.find_node(node);
  if (index && nodes_.contains(node)) {
    TG_TRY(placed, core_.choose_place(entry->job, *index));
  }
  if (!placed) {
    TG_TRY(const std::vector<NodeFit> found, place(*entry, std::span(&node, 1)));
    refused_.insert(key_of(entry->facts.ref));
    return does_not_fit(pod, node, fit_in_words(found.front(), nodes_.contains(node), word));
  }
  core_.apply(Step(*placed), core_now());
  entry->stage = Stage::kReserved;
  entry->place = {node, wire::format_time(core_now()),
                  containers_of(placed->places, entry->facts.needs, entry->parts, core_,
                                [this](const NpuView& npu) { return name_of(npu); })};
  set_until(*entry, timing_.now() + options_.reservation);
  refused_.erase(key_of(entry->facts.ref));
  return Reservation{entry->place, word};
}

void BookState::drop(const PodRef& pod) {
  // The scheduler that dropped it tries again by itself.
  if (Entry* const entry = find(pod)) unreserve(*entry);
}

}  // namespace tangram::kube::manager
