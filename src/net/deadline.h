// The moment at which a connection must have come further, or ends. One timer that is seldom touched: setting
// a later moment only remembers it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>

namespace tangram::net {

// Lives on the I/O thread.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Deadline(boost::asio::io_context& io) : timer_(io) {}

  // `expired` is called once, unless `owner` has gone.
  void start(std::weak_ptr<void> owner, std::function<void()> expired) {
    owner_ = std::move(owner);
    expired_ = std::move(expired);
  }

  void set(std::chrono::milliseconds from_now) { set_at(Clock::now() + from_now); }
  void set_at(Clock::time_point at) {
    at_ = at;
    if (at < armed_) arm();
  }
  void never() { at_ = Clock::time_point::max(); }

  void stop() {
    never();
    expired_ = nullptr;
    timer_.cancel();
  }

 private:
  void arm() {
    armed_ = at_;
    timer_.expires_at(at_);  // cancels the wait before
    timer_.async_wait([this, owner = owner_](const boost::system::error_code& error) {
      const auto alive = owner.lock();
      if (!alive || error) return;
      armed_ = Clock::time_point::max();
      if (Clock::now() < at_) {
        if (at_ != Clock::time_point::max()) arm();
      } else if (expired_) {
        std::exchange(expired_, nullptr)();
      }
    });
  }

  boost::asio::steady_timer timer_;
  std::weak_ptr<void> owner_;
  std::function<void()> expired_;
  Clock::time_point at_ = Clock::time_point::max();
  Clock::time_point armed_ = Clock::time_point::max();
};

}  // namespace tangram::net
