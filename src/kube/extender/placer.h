// What the extender asks of whoever keeps the cluster's book. One instance per process, its manager's.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/protocol/allocation.h"

namespace tangram::kube::extender {

struct PodRef {
  std::string space;
  std::string name;
  std::string uid;

  friend bool operator==(const PodRef&, const PodRef&) = default;
};

// Whether a Pod fits on one node.
struct Fit {
  bool fits = false;
  // Nothing that ends on that node could make it fit: no preemption would help.
  bool unresolvable = false;
  std::int64_t score = 0;  // 0..100, the best 100; of one that fits
  std::string reason;      // of one that does not: HAMi's word where it has one, "CardTimeSlicingExhausted"
  std::string message;     // the same as a sentence with numbers, for people
};

// A place taken in the book for a Pod. It counts against everybody else until it is dropped or the Pod ends.
struct Reservation {
  Allocation allocation;
  std::string chip_word;  // HAMi's common word, "Ascend310P"
};

// Thread-safe. Errors of all: kUnavailable "kube.book.not_ready" while the book is not complete or another
// process leads; kNotFound "kube.pod.unknown" for a Pod that the book does not know (or by another uid);
// kFailedPrecondition "kube.pod.not_admitted" for one whose gate was never opened by a manager.
class Placer {
 public:
  Placer() = default;
  virtual ~Placer() = default;
  Placer(const Placer&) = delete;
  Placer& operator=(const Placer&) = delete;

  // Whether the book has anything to say of this Pod: false for one without NPUs, which the caller lets pass.
  virtual bool concerns(const PodRef& pod) const = 0;
  // One for each of `nodes`, in their order. A node that the book does not know does not fit.
  virtual Result<std::vector<Fit>> filter(const PodRef& pod, std::span<const std::string> nodes) const = 0;
  // Decides, reserves and charges in one step. Asked again for the same Pod and node it gives the same place;
  // for another node the old place is given back first. kNotNow with the reason of filter() when
  // it does not fit (any longer).
  virtual Result<Reservation> reserve(const PodRef& pod, const std::string& node) = 0;
  // The Pod was not bound: its place is free again. Of one that was bound meanwhile, nothing.
  virtual void drop(const PodRef& pod) = 0;
};

}  // namespace tangram::kube::extender
