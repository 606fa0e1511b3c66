// What is behind ClusterBook, without its lock: the facts of the API's objects, and the core's state as it
// follows from them. Private to src/kube/manager. Not thread-safe.
//
// The core's state is never the source of anything: rebuild() makes it anew from the facts and from what this
// process has decided and the API does not show yet (a Pod whose gate is being opened, a reservation). So
// what the core cannot follow step by step (a Tenant that moves, a chip that is described otherwise, a node
// that comes back with NPUs that Pods hold) is a rebuild. Pods are entered by age then, so the order in which
// they came to be known does not matter.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "kube/api/timing.h"
#include "kube/extender/placer.h"
#include "kube/manager/book_values.h"
#include "kube/manager/chips.h"
#include "kube/manager/facts.h"
#include "kube/manager/forest.h"
#include "kube/manager/options.h"
#include "kube/manager/pod_parts.h"
#include "kube/manager/pod_why.h"
#include "kube/protocol/allocation.h"
#include "scheduler/scheduler.h"

namespace tangram::kube::manager {

class BookState {
 public:
  using Milliseconds = std::chrono::milliseconds;

  BookState(const BookOptions& options, Timing& timing);
  // Entries are pointed at.
  BookState(const BookState&) = delete;
  BookState& operator=(const BookState&) = delete;

  // ---- what the API shows
  void put_tenant(wire::ClusterTenant tenant);
  void remove_tenant(std::string_view name);
  void put_chip(wire::ClusterChip chip);
  void remove_chip(std::string_view name);
  void put_node(NodeFacts node);
  void remove_node(std::string_view name);
  void put_pod(PodFacts pod);
  void remove_pod(const extender::PodRef& pod);
  void complete();
  bool is_complete() const { return complete_; }

  void expire();

  // ---- admission
  std::vector<Opening> admit(std::size_t most);
  void opened(const extender::PodRef& pod);
  void take_back(const extender::PodRef& pod, const Error& problem, Milliseconds rest);

  // ---- placing
  bool concerns(const extender::PodRef& pod) const;
  Result<std::vector<extender::Fit>> filter(const extender::PodRef& pod, std::span<const std::string> nodes);
  Result<extender::Reservation> reserve(const extender::PodRef& pod, const std::string& node);
  void drop(const extender::PodRef& pod);

  // ---- telling
  std::vector<PodNote> notes(Milliseconds after, std::size_t most);
  void not_told(const extender::PodRef& pod, bool tried);
  std::vector<extender::PodRef> wakeable(std::size_t most);
  void not_woken(const extender::PodRef& pod);
  std::vector<TenantUse> tenants() const;
  BookCounts counts() const;
  std::string describe() const;
  Result<WhyQuestion> question(const extender::PodRef& pod) const;

 private:
  enum class Stage : std::uint8_t {
    kUnfit,  // waits outside of the core's queue
    kQueued,
    kOpening,
    kAdmitted,
    kReserved,
    kBound,
  };

  struct Entry {
    PodFacts facts;
    PodParts parts;
    Stage stage = Stage::kQueued;
    JobId job;             // invalid: the core does not know it
    Allocation place;      // kReserved
    Milliseconds until{};  // kReserved: given back then. kUnfit: tried again then; 0: when something changes
    std::string problem_reason;  // kUnfit
    std::string problem;
    bool unresolved = false;  // it holds NPUs that are not known at present
    Milliseconds seen{};      // when it came to be known
    std::string told;         // what its condition says, as PodFacts::told
    Milliseconds told_at{};
  };
  using Entries = std::map<std::string, Entry, std::less<>>;  // by "namespace/name"

  // entries (book_entries.cc)
  static Stage first_stage(const PodFacts& facts);
  void begin(Entry& entry);
  void enter(Entry& entry);
  void submit(Entry& entry);
  void observe(Entry& entry, std::vector<PartPlace> places, bool running);
  std::vector<PartPlace> places_on(Entry& entry, const Allocation& allocation) const;
  std::vector<PartPlace> bound_places(Entry& entry) const;
  void update(Entry& entry, PodFacts facts);
  void bind(Entry& entry);
  void leave(Entry& entry);
  void erase(Entries::iterator at);
  void set_unfit(Entry& entry, std::string reason, std::string problem);
  void unreserve(Entry& entry);
  void set_until(Entry& entry, Milliseconds until);
  Entry* find(const extender::PodRef& pod);
  const Entry* find(const extender::PodRef& pod) const;
  JobSpec spec_of(const Entry& entry) const;
  std::string tenant_of(const Entry& entry) const;
  std::optional<NpuIndex> find_npu(const std::string& node, const AllocatedNpu& npu) const;
  std::string name_of(const NpuView& npu) const;

  // building (book_build.cc)
  void rebuild();
  void plant_tenants();
  void report(const NodeFacts& node, TimeMs at);
  void set_chips();

  // placing (book_place.cc)
  Result<Entry*> placeable(const extender::PodRef& pod);
  std::vector<extender::Fit> fits_of_bound(const Entry& entry, std::span<const std::string> nodes) const;
  Result<std::vector<NodeFit>> place(const Entry& entry, std::span<const std::string> nodes) const;

  // telling (book_tell.cc)
  std::optional<PodNote> note_for(const Entry& entry, Milliseconds after, Milliseconds now) const;
  PodNote waiting_note(const Entry& entry, const JobStatus& status) const;

  TimeMs core_now() const;
  TimeMs core_time(const PodFacts& facts) const;

  const BookOptions options_;
  Timing& timing_;
  bool complete_ = false;

  TenantDocs tenants_;
  ChipDocs chip_docs_;
  std::shared_ptr<const Chips> chips_;
  std::map<std::string, NodeFacts, std::less<>> nodes_;
  Entries pods_;

  Scheduler core_;
  std::uint64_t next_job_ = 1;
  std::unordered_map<std::uint64_t, Entry*> by_job_;
  std::map<std::string, std::string, std::less<>> closed_;  // tenants for which nothing is admitted, and why
  std::set<std::string> timed_;                             // entries with an `until`
  std::set<std::string> refused_;  // admitted ones for which no node had room when they were asked for
  bool room_ = false;              // something became free since wakeable() looked
  std::uint64_t expired_ = 0;
  std::uint64_t rebuilt_ = 0;
};

}  // namespace tangram::kube::manager
