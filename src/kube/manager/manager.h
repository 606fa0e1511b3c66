// What decides for the whole cluster: who is admitted, and where a Pod may go. Of several processes one leads
// at a time; only that one has a book, which it builds from the API alone when its leadership begins and
// throws away when it ends (docs/decisions/0019-the-book-comes-from-the-api.md).
//
//   kube::manager::Manager manager(client, options);
//   manager.start();
//   … serve the extender with `manager` as its Placer; ready() for /readyz …
//   manager.stop();
//
// Threads: all of it is thread-safe. It has threads of its own, from start() to stop(): one takes part in the
// election, and while it leads, one follows each kind of object, one opens gates, one writes what is told
// (conditions, status, wake-ups) and one writes events.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "kube/api/client.h"
#include "kube/api/leader_election.h"
#include "kube/extender/placer.h"
#include "kube/manager/options.h"
#include "kube/manager/pod_why.h"
#include "net/interrupt.h"
#include "wire/language.h"

namespace tangram::kube::manager {

class Term;

// Counters only grow within one leadership; all is 0 while another process leads.
struct ManagerStatus {
  bool leads = false;
  bool ready = false;
  std::int64_t term = 0;  // of the last leadership of this process
  std::int64_t nodes = 0;
  std::int64_t npus = 0;          // healthy, on nodes that may be used
  std::int64_t pods_queued = 0;   // wait for their quota
  std::int64_t pods_waiting = 0;  // admitted, without a place
  std::int64_t pods_placed = 0;
  std::uint64_t gates_opened = 0;
  std::uint64_t gates_conflicts = 0;  // patches that found another Pod than was expected
  std::uint64_t gates_failed = 0;     // other failures; each is tried again
  std::uint64_t pods_woken = 0;
  std::uint64_t notes_written = 0;         // conditions of Pods
  std::uint64_t statuses_written = 0;      // of Tenants
  std::uint64_t reservations_expired = 0;  // given back because the Pod was not bound in time
  std::uint64_t books_rebuilt = 0;         // after changes that the book cannot follow step by step
};

// The Placer that the extender is given: forwards to the book of the present leadership, and answers
// kUnavailable "kube.book.not_ready" whenever this process does not lead or the book is not complete.
class Manager final : public extender::Placer {
 public:
  // `client` must outlive it. Nothing happens before start().
  Manager(ApiClient& client, ManagerOptions options);
  ~Manager() override;  // stops

  void start();
  // Gives the lease back, so that another process can lead at once; waits for its threads. For good.
  void stop();

  // By this process's own clock, at this moment: asked right before each write that only the leader may do,
  // the extender's annotation and binding included.
  bool leads() const;
  // It leads, and everything that the API shows has been read.
  bool ready() const;
  ManagerStatus status() const;

  // Why a Pod waits and what would help, in words. kNotFound "kube.pod.unknown"; kUnavailable
  // "kube.book.not_ready". `uid` of the Pod may be empty: whichever has the name. Expensive: works on a copy
  // of the book, without holding anybody up.
  Result<PodWhy> why(const extender::PodRef& pod, wire::Language language) const;

  // ---- extender::Placer. concerns() is true of every Pod while there is no book: the caller must ask on,
  // and hears that it is not ready.
  bool concerns(const extender::PodRef& pod) const override;
  Result<std::vector<extender::Fit>> filter(const extender::PodRef& pod,
                                            std::span<const std::string> nodes) const override;
  Result<extender::Reservation> reserve(const extender::PodRef& pod, const std::string& node) override;
  void drop(const extender::PodRef& pod) override;

 private:
  std::shared_ptr<Term> term() const;
  // Null unless it leads and the book is complete.
  std::shared_ptr<Term> ready_term() const;
  void begin_term(std::int64_t number);
  void end_term();

  ApiClient& client_;
  const ManagerOptions options_;
  LeaderElection election_;
  net::Interrupt stop_;
  std::thread thread_;

  mutable std::mutex mutex_;
  std::shared_ptr<Term> term_;  // null: another process leads
};

}  // namespace tangram::kube::manager
