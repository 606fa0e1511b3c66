// The cluster's book: who is admitted, who holds which NPUs, who waits, as it follows from what the API shows
// and from what this process has decided since. One per leadership.
//
// Until complete() it only takes down what it is told, in any order; the same objects give the same book.
// From then on it follows each change. What it is told of a Pod may be older than what it knows (a watch lags
// behind an answer): an admission, a binding and an end are never taken back by that.
//
// Thread-safe: one lock, held for arithmetic alone, never during I/O.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/admission/directory.h"
#include "kube/api/timing.h"
#include "kube/extender/placer.h"
#include "kube/manager/book_values.h"
#include "kube/manager/facts.h"
#include "kube/manager/options.h"
#include "wire/cluster.h"
#include "wire/language.h"

namespace tangram::kube::manager {

class BookState;

class ClusterBook final : public extender::Placer {
 public:
  using Milliseconds = std::chrono::milliseconds;

  // `timing` must outlive it.
  ClusterBook(const BookOptions& options, Timing& timing);
  ~ClusterBook() override;

  // ---- what the API shows
  void put_tenant(wire::ClusterTenant tenant);
  void remove_tenant(std::string_view name);
  void put_namespace(std::string name, wire::Labels labels);
  void remove_namespace(std::string_view name);
  void put_chip(wire::ClusterChip chip);
  void remove_chip(std::string_view name);
  void put_node(NodeFacts node);
  void remove_node(std::string_view name);
  // A Pod that has ended is as one that was removed. Of another uid: the one before is gone.
  void put_pod(PodFacts pod);
  // Only the one with that uid; an empty one means whichever there is.
  void remove_pod(const extender::PodRef& pod);
  // All that exists at one moment has been put.
  void complete();
  // The leadership is over: nothing is answered any more, and waiters return.
  void close();
  bool ready() const;

  // ---- for the gate keeper
  // Who is admitted now, best first, at most `most`: charged from here on, until opened() or take_back().
  std::vector<Opening> admit(std::size_t most);
  // The API has confirmed it.
  void opened(const extender::PodRef& pod);
  // The API has refused it: the quota is free for others, and the Pod is tried again after `rest`.
  void take_back(const extender::PodRef& pod, const Error& problem, Milliseconds rest);
  // Gives back reservations that were not bound in time, and lets Pods that rested wait again.
  void expire();

  // ---- for whoever tells
  // Pods whose condition is to be written, those that wait for longer than `after`; each counts as told.
  std::vector<PodNote> notes(Milliseconds after, std::size_t most);
  void not_told(const extender::PodRef& pod, bool tried);  // again: a little later where it was tried
  // Admitted Pods that found no node, and for which there is room now, best first; each counts as woken.
  std::vector<extender::PodRef> wakeable(std::size_t most);
  void not_woken(const extender::PodRef& pod);
  std::vector<TenantUse> tenants() const;
  BookCounts counts() const;

  // Waits until something has changed since changes() was `seen`, or for `most`. The number that is now.
  std::uint64_t changes() const;
  std::uint64_t wait(std::uint64_t seen, Milliseconds most) const;

  // ---- questions
  Result<PodWhy> why(const extender::PodRef& pod, wire::Language language) const;
  // The whole book as lines of text: equal for equal books. For tests, and to compare it with a fresh one.
  std::string describe() const;

  // ---- extender::Placer
  bool concerns(const extender::PodRef& pod) const override;
  Result<std::vector<extender::Fit>> filter(const extender::PodRef& pod,
                                            std::span<const std::string> nodes) const override;
  Result<extender::Reservation> reserve(const extender::PodRef& pod, const std::string& node) override;
  void drop(const extender::PodRef& pod) override;

 private:
  // Applies `change` to the state, and tells whoever waits.
  template <class Change>
  auto changed(Change change) const;
  Result<void> check_ready() const;

  Timing& timing_;
  admission::Directory directory_;  // whose namespaces are whose
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  const std::unique_ptr<BookState> state_;
  std::set<std::string, std::less<>> namespaces_;
  mutable std::uint64_t changes_ = 0;
  bool closed_ = false;
};

}  // namespace tangram::kube::manager
