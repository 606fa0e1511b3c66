// An open-loop stream of requests: request i is meant for begin + i / rate whatever became of those before
// it, and its latency counts from that time, also while it waits for a connection. So a daemon that stalls is
// seen to stall (no coordinated omission).
//
// Not thread-safe: everything runs on the thread of the io_context.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "load_connection.h"
#include "load_tally.h"

namespace tangram::bench {

struct StreamSpec {
  enum class Kind : std::uint8_t { kSubmit, kBatch, kWhy, kMetrics, kList, kGet, kEvents };

  std::string name;
  Kind kind = Kind::kSubmit;
  double rate = 100;            // requests per second; kEvents: not used
  std::size_t connections = 8;  // kEvents: subscribers
  std::size_t batch = 1;        // jobs of one request, kBatch
  std::size_t tenants = 1;      // jobs go to load-0 … load-(tenants-1) in turn
  std::uint64_t jobs = 1;       // kWhy: asks about j-<first_job> … j-<first_job + jobs - 1> in turn
  std::uint64_t first_job = 1;
  int npus = 8;
  std::string program;  // of a job; empty: one that never runs long
  std::string path;     // kGet: what is asked for
  bool disturbs = false;
};

// When each submitted job was meant to be submitted, by its name.
class IntendedTimes {
 public:
  // The number of the job.
  std::size_t add(Clock::time_point at) {
    times_.push_back(at);
    return times_.size() - 1;
  }
  std::size_t size() const { return times_.size(); }
  Clock::time_point at(std::size_t number) const { return times_[number]; }

 private:
  std::vector<Clock::time_point> times_;
};

class LoadStream {
 public:
  // `run` is part of the jobs' names, so that those of two runs differ.
  LoadStream(boost::asio::io_context& io, const Target& to, StreamSpec spec, const Slots& slots,
             IntendedTimes& times, std::string run);

  void start(Clock::time_point end);
  // Everything meant for the time before the end has been answered.
  bool finished() const;
  // One JSON object: the spec's name, what was sent and answered, latencies in quiet and in disturbed slots.
  std::string to_json(double seconds);
  const StreamSpec& spec() const { return spec_; }
  // Ids of the jobs that were accepted, with the numbers of their intended times.
  const std::vector<std::pair<std::string, std::size_t>>& accepted() const { return accepted_; }

 private:
  struct Lane {
    std::unique_ptr<LoadConnection> connection;
    std::string request;
    Clock::time_point intended;
    std::size_t first_job = 0;
  };

  void tick();
  void send_waiting();
  std::string next_request(Lane& lane);
  std::string job_body(Clock::time_point intended);
  void take(Lane& lane, const Answer& answer);
  void count_jobs(const Lane& lane, const Answer& answer);
  Clock::time_point meant_for(std::uint64_t index) const;

  const Target to_;
  const StreamSpec spec_;
  const Slots& slots_;
  IntendedTimes& times_;
  const std::string run_;
  boost::asio::steady_timer timer_;
  std::vector<Lane> lanes_;
  std::vector<std::size_t> idle_;
  std::deque<Clock::time_point> waiting_;
  std::uint64_t next_ = 0;
  std::uint64_t asked_ = 0;
  std::uint64_t sent_ = 0;
  Clock::time_point end_;
  Tally quiet_;
  Tally disturbed_;
  Tally own_delay_;  // how late this program was to put a request into its queue
  Outcomes outcomes_;
  std::vector<std::pair<std::string, std::size_t>> accepted_;
};

}  // namespace tangram::bench
