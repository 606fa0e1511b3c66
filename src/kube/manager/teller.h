// Writes what people and the cluster's scheduler are told: conditions and Events of Pods that wait, the
// status of Tenants, and the touch by which the scheduler looks at a Pod again that it has put aside. Nothing
// depends on any of it arriving; all of it is bounded, so that none of it holds up the opening of gates.
//
// Not thread-safe but for the counters: belongs to one thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kube/api/client.h"
#include "kube/api/event_recorder.h"
#include "kube/api/token_bucket.h"
#include "kube/manager/book.h"
#include "kube/manager/options.h"
#include "net/interrupt.h"

namespace tangram::kube::manager {

class Teller {
 public:
  using Milliseconds = std::chrono::milliseconds;

  struct Counters {
    std::uint64_t woken = 0;
    std::uint64_t notes = 0;
    std::uint64_t statuses = 0;
    std::uint64_t failed = 0;
  };

  // All must outlive it. `events` may be null.
  Teller(ApiClient& client, ClusterBook& book, std::function<bool()> leads, TellOptions options,
         EventRecorder* events);

  // One turn: wakes first, then notes, then statuses, each as far as its rate allows. How long to rest if
  // nothing changes.
  Milliseconds step(const net::Interrupt& stop);

  Counters counters() const { return {woken_, notes_, statuses_, failed_}; }

 private:
  struct Told {
    std::string body;  // of the status that was written last
    Milliseconds at{};
  };

  bool may_go_on(const net::Interrupt& stop) const;
  void wake(const net::Interrupt& stop);
  void tell(const net::Interrupt& stop);
  void write_statuses(const net::Interrupt& stop);
  void not_told(const std::vector<PodNote>& notes, std::size_t from);
  Result<void> write_note(const PodNote& note, const CallOptions& call);
  CallOptions call_for(const net::Interrupt& stop) const;

  ApiClient& client_;
  ClusterBook& book_;
  const std::function<bool()> leads_;
  const TellOptions options_;
  EventRecorder* const events_;
  TokenBucket wakes_;
  TokenBucket notes_left_;
  Milliseconds looked_{};             // at the notes
  Milliseconds summed_up_{};          // the use of Tenants
  std::map<std::string, Told> told_;  // by Tenant
  std::atomic<std::uint64_t> woken_ = 0;
  std::atomic<std::uint64_t> notes_ = 0;
  std::atomic<std::uint64_t> statuses_ = 0;
  std::atomic<std::uint64_t> failed_ = 0;
};

// The status of a Tenant as server-side apply takes it.
json::object tenant_status(const TenantUse& use);

}  // namespace tangram::kube::manager
