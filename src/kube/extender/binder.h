// Binds a Pod to a node: takes the place in the book, writes into the Pod which NPUs it has, then binds it.
// In this order, so that whoever leads next finds in the API what may still become a binding:
// docs/decisions/0020-annotate-before-binding.md.
//
// Thread-safe; each call takes a thread of the caller's and as long as the API server does.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <set>
#include <string>

#include "base/result.h"
#include "kube/api/client.h"
#include "kube/extender/placer.h"
#include "kube/extender/pod_notes.h"

namespace tangram::kube::extender {

struct BinderOptions {
  // Whether this process may write: asked right before each write. Empty: always.
  std::function<bool()> leads{};
  // Of one call with its repetitions. Together less than what kube-scheduler waits (httpTimeout), and each
  // less than what a lease outlives its last renewal by: what a leader has on its way arrives before the next
  // reads.
  std::chrono::milliseconds call{4'000};
};

class Binder {
 public:
  // All must outlive it.
  Binder(Placer& placer, ApiClient& client, PodNotes& notes, BinderOptions options = {});

  // Success also when the Pod is bound to that node already. On an error the Pod is not bound by this call,
  // and its place is free again, unless it could not be found out: then ("kube.bind.unsettled") the book
  // settles it when it sees the Pod, or when its patience ends. Errors: those of Placer::reserve() and of the
  // API's calls; kNotFound "kube.pod.unknown" for a Pod that has gone; kFailedPrecondition
  // "kube.bind.elsewhere" for one that is bound to another node; kAborted "kube.bind.in_progress" while
  // another call is about the same Pod; kUnavailable "kube.book.not_ready" when the leadership has ended
  // meanwhile.
  Result<void> bind(const PodRef& pod, const std::string& node);

 private:
  class Turn;
  // What the API server says of a Pod.
  struct Look {
    std::string node;        // that it is bound to; empty: none
    std::string allocation;  // as it stands there
    PodNote note;
  };

  Result<void> bind_alone(const PodRef& pod, const std::string& node);
  Result<Look> look(const PodRef& pod) const;
  Result<void> check_leads() const;
  Result<void> annotate(const PodRef& pod, const Reservation& reservation, const PodNote& note);
  Result<void> bind_annotated(const PodRef& pod, const Reservation& reservation);
  // After a binding that has not succeeded.
  Result<void> settle(const PodRef& pod, const Reservation& reservation, Error error);
  // The allocation out of the Pod, and the place out of the book.
  void take_back(const PodRef& pod, const Reservation& reservation);
  CallOptions call() const;

  Placer& placer_;
  ApiClient& client_;
  PodNotes& notes_;
  const BinderOptions options_;

  std::mutex mutex_;
  std::set<std::string> in_work_;  // uids
};

}  // namespace tangram::kube::extender
