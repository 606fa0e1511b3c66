// Of several processes, at most one leads: whoever holds a Lease of the API, and renews it.
//
// The promise: leads() is false before anybody else can be the leader, also in a process that was stopped for
// a while, on a machine that slept, and behind a broken network. So it is asked right before each thing that
// only the leader may do. It rests on two things: a follower takes a Lease only after it has seen it
// unchanged for the whole duration by its own clock; and the leader stops `renew_deadline` after it *began*
// its last successful renewal, by its own clock, which does not stop with the machine. Clocks need not agree,
// only run about equally fast. Each change is a compare and swap. What is already on its way when the
// leadership ends is not held back by that: let it carry a resource version.
//
// Threads: run() takes a thread of the caller's; the handlers run on it. leads() and term() from any thread.
//
// Source: client-go tools/leaderelection, with its numbers.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>

#include "base/result.h"
#include "kube/api/client.h"
#include "kube/api/lease_record.h"
#include "net/interrupt.h"

namespace tangram::kube {

struct ElectionOptions {
  std::string space;
  std::string name;
  // Of this process, never of two at a time: the Pod's name and uid. Whoever comes with the identity of the
  // holder takes the Lease at once, as a container that was restarted should.
  std::string identity;
  std::chrono::seconds lease_duration{15};
  std::chrono::milliseconds renew_deadline{10'000};  // less than lease_duration
  std::chrono::milliseconds retry_period{2'000};  // less than renew_deadline; followers wait up to 1.2 of it
  std::function<void(std::int64_t term)> on_lead{};  // returns soon: the Lease is not renewed meanwhile
  std::function<void()> on_lose{};
  std::function<void(const std::string& leader)> on_leader{};  // another one was seen; may be ""
  std::function<void(const Error&)> on_trouble{};
};

class LeaderElection {
 public:
  // `client` must outlive it. The numbers must stand in the order above.
  LeaderElection(ApiClient& client, ElectionOptions options);

  // Takes part until `stop` is raised; then gives the Lease back, so that another can take it at once.
  // on_lose is called before that, and whenever the leadership ends.
  void run(const net::Interrupt& stop);

  bool leads() const;
  // Grows with each leadership, of whomever; of the last one of this process, 0 before the first.
  std::int64_t term() const { return term_; }

  // One turn of run(): tries to take or to renew. How long to rest before the next one.
  std::chrono::milliseconds step(const net::Interrupt& stop);
  // The end of run(): gives the Lease back if it is held.
  void release();

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();

  Result<void> take_or_renew(const net::Interrupt& stop);
  Result<bool> look(const CallOptions& call);
  Result<LeaseRecord> read(const CallOptions& call);
  Result<LeaseRecord> write(const LeaseRecord& record, const CallOptions& call);
  void observe(const LeaseRecord& record);
  bool held_by_another(const LeaseRecord& record) const;
  LeaseRecord own_record() const;
  void lead(const LeaseRecord& record, std::chrono::milliseconds since);
  void lose();
  ObjectName object() const;

  ApiClient& client_;
  const ElectionOptions options_;
  std::optional<LeaseRecord> seen_;  // the last one that was read or written
  std::chrono::milliseconds seen_at_{};
  std::string told_leader_;
  bool leading_ = false;  // on_lead was called, on_lose not yet
  bool unsure_ = false;   // whether the last write was carried out
  std::atomic<std::int64_t> leads_until_ms_ = kNever;
  std::atomic<std::int64_t> term_ = 0;
};

}  // namespace tangram::kube
