// Holds a lease: asks for it, keeps the connection that it lives by, and takes it up again when that
// connection breaks or the daemon begins anew.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/result.h"
#include "client/api_client.h"
#include "net/interrupt.h"
#include "wire/types.h"

namespace tangram::client {

// What is known of the lease.
struct LeaseNews {
  wire::LeaseView view;       // as it was told last, without the token
  bool connected = false;     // not: the daemon is away, and whether the lease lives on is not known
  std::optional<Error> lost;  // it is not ours any more, and the view does not tell how it ended
  bool over() const { return lost.has_value() || view.job.state == JobState::kEnded; }
};

// Thread-safe. One thread of its own.
class LeaseKeeper {
 public:
  // On the keeper's thread, for each change; may call release(), must not destroy the keeper.
  using Listener = std::function<void(const LeaseNews&)>;

  // Returns when the lease is in the queue or given; the error of a request that was refused. `api` must
  // outlive the keeper.
  static Result<std::unique_ptr<LeaseKeeper>> ask(ApiClient& api, const wire::LeaseRequest& request,
                                                  Listener on_change);
  // Lets go: the service ends the lease by itself. To end it in order: release().
  ~LeaseKeeper();
  LeaseKeeper(const LeaseKeeper&) = delete;
  LeaseKeeper& operator=(const LeaseKeeper&) = delete;

  LeaseNews news() const;
  // When the lease is given or over, or after `timeout` (absent: however long it takes): look at the state.
  LeaseNews wait_given(std::optional<std::chrono::milliseconds> timeout) const;
  LeaseNews wait_over(std::optional<std::chrono::milliseconds> timeout) const;
  // The lease as it ended. One that is over already is no error.
  Result<wire::JobView> release();

 private:
  LeaseKeeper(ApiClient& api, wire::LeaseRequest request, Listener on_change);

  void run();
  bool on_event(wire::LeaseView view);
  void on_break(const Result<void>& ended);
  void change(const std::function<void(LeaseNews&)>& how);
  // Asks again what became of a lease that cannot be held any more.
  void look_at_the_end(const Error& error);
  bool rest(const Result<void>& ended);
  LeaseNews wait_for(const std::function<bool(const LeaseNews&)>& condition,
                     std::optional<std::chrono::milliseconds> timeout) const;

  ApiClient& api_;
  const wire::LeaseRequest request_;
  const Listener on_change_;
  net::Interrupt interrupt_;

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  LeaseNews news_;
  bool begun_ = false;            // the first event has come
  std::optional<Error> refused_;  // or will never come
  wire::LeaseToken token_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tangram::client
