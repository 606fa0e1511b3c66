// Opens the gates of Pods that the book admits, one patch each, best first.
//
// The patch holds only for the Pod that was charged: its uid, what was granted and its tenant are tested
// together with the gate, so a gate is never opened twice, nor for a Pod made anew under its name. It does
// not ask for a resource version: conditions that others write meanwhile do not matter.
//
// What becomes of a patch:
//  - done: the book hears of it.
//  - the Pod is another one than was expected: it is read again, and the book hears what it is.
//  - refused for good (no permission, another webhook): the admission is taken back, the quota is free for
//    others, and the Pod waits outside of the queue, longer each time.
//  - not known (no answer, the server is not well): it stays charged, and the Pod is read before the next
//    try. Whatever happened is then counted once.
// Before each patch the leadership is asked for: whoever lost it opens nothing more.
//
// Not thread-safe but for the counters: belongs to one thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "base/result.h"
#include "kube/api/client.h"
#include "kube/api/event_recorder.h"
#include "kube/manager/book.h"
#include "kube/manager/options.h"
#include "net/interrupt.h"

namespace tangram::kube::manager {

class GateKeeper {
 public:
  using Milliseconds = std::chrono::milliseconds;

  struct Counters {
    std::uint64_t opened = 0;
    std::uint64_t conflicts = 0;  // the Pod was another one than was expected
    std::uint64_t failed = 0;     // every other failure
  };

  // All must outlive it. `events` may be null.
  GateKeeper(ApiClient& client, ClusterBook& book, std::function<bool()> leads, GateOptions options,
             EventRecorder* events);

  // One turn: what is due again, then whoever is admitted now. How long to rest if nothing changes.
  Milliseconds step(const net::Interrupt& stop);

  Counters counters() const { return {opened_, conflicts_, failed_}; }

 private:
  struct Retry {
    Opening opening;
    int tries = 0;  // made so far
    Milliseconds due{};
    bool look = false;  // it is not known what became of the last try
  };

  void open(Retry retry, const net::Interrupt& stop);
  Result<void> patch(const Opening& opening, const net::Interrupt& stop);
  // Reads the Pod and tells the book. True: its gate is still closed, and `opening` says how it is now.
  Result<bool> look(Opening& opening, const net::Interrupt& stop);
  void settle(Retry retry, const Error& error);
  void refuse(const Retry& retry, const Error& error);
  void again(Retry retry, bool look);
  Milliseconds rest_after(int tries) const;

  ApiClient& client_;
  ClusterBook& book_;
  const std::function<bool()> leads_;
  const GateOptions options_;
  EventRecorder* const events_;
  std::map<std::string, Retry> retries_;  // by uid
  std::map<std::string, int> refusals_;   // how often each was refused for good, by uid
  std::atomic<std::uint64_t> opened_ = 0;
  std::atomic<std::uint64_t> conflicts_ = 0;
  std::atomic<std::uint64_t> failed_ = 0;
};

}  // namespace tangram::kube::manager
