// A call that was arranged for later, and that another thread may want at once: also while it is only just
// being arranged, when the one who wants it cannot yet know how to ask for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

namespace tangram::server {

// wanted() and want() from any thread; the others one at a time.
class EarlyCall {
 public:
  using Ticket = std::uint64_t;  // 0: none

  // `call_now` has the call of that ticket made soon; it does nothing for one that was made already. Any
  // thread.
  explicit EarlyCall(std::function<void(Ticket)> call_now) : call_now_(std::move(call_now)) {}

  // `arrange()` arranges the call and returns its ticket.
  template <class Arrange>
  void arrange(Arrange&& arrange) {
    ticket_ = arrange();
    // Either this sees the wish, or the wish sees the ticket.
    if (wanted_) call_now_(ticket_);
  }

  void want() {
    wanted_ = true;
    call_now_(ticket_);
  }

  // Whether somebody wanted the call since this was last asked. Asked before what was wanted is looked at.
  bool take_wish() { return wanted_.exchange(false); }

 private:
  const std::function<void(Ticket)> call_now_;
  std::atomic<bool> wanted_ = false;
  std::atomic<Ticket> ticket_ = 0;
};

}  // namespace tangram::server
