// Follows events on a thread of its own, across restarts of the daemon: each event once, in order.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include "base/result.h"
#include "client/api_client.h"
#include "net/interrupt.h"

namespace tangram::client {

// Thread-safe.
class EventFollower {
 public:
  struct Handlers {
    // Before the first events: the stream is open, and what happens from now on will come. After an error it
    // is opened anew; the first time open() fails with it.
    std::function<Result<void>()> on_open;
    std::function<void(const FollowedEvent&)> on_event;
    // No more will come, because the service said so. A new cursor to go on from ("" for now), or none to
    // end.
    std::function<std::optional<std::string>(const Error&)> on_end;
  };

  // Returns when the stream is open, or with the error that it could not be opened with. `api` must outlive
  // the follower. Handlers may be empty.
  static Result<std::unique_ptr<EventFollower>> open(ApiClient& api, EventQuery query, std::string after,
                                                     Handlers handlers);
  ~EventFollower();  // no handler runs any more when it returns
  EventFollower(const EventFollower&) = delete;
  EventFollower& operator=(const EventFollower&) = delete;

  std::string cursor() const;  // behind the last event that was handled
  bool ended() const;

 private:
  EventFollower(ApiClient& api, EventQuery query, std::string after, Handlers handlers);

  void run();
  // `position` is where the events before these ended.
  bool take(std::span<const FollowedEvent> events, const std::string& position);
  // Whether to connect again, at `position`.
  bool go_on_after(const Error& error, std::string& position);

  ApiClient& api_;
  const EventQuery query_;
  const Handlers handlers_;
  net::Interrupt interrupt_;
  bool fresh_ = true;                  // these two: on the thread only; on_open is to be called
  std::optional<Error> open_failure_;  // what it said

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string cursor_;
  bool opened_ = false;
  std::optional<Error> ended_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tangram::client
