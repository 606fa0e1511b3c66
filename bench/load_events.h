// Subscribers of GET /v1/events: how long after a job was meant to be submitted each of them hears of it.
//
// Not thread-safe: everything runs on the thread of the io_context.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>
#include <vector>

#include "load_connection.h"
#include "load_stream.h"
#include "load_tally.h"

namespace tangram::bench {

class LoadEvents {
 public:
  LoadEvents(boost::asio::io_context& io, const Target& to, StreamSpec spec, const Slots& slots,
             const IntendedTimes& times, std::string run);
  ~LoadEvents();

  void start();
  // Called at the beginning of each slot: subscribers of a disturbing stream come and go with the slots.
  void on_slot(bool disturbed);
  // Once the others have finished: ends the connections.
  void stop();
  // As LoadStream's; "sent" is the number of events received.
  std::string to_json(double seconds);

 private:
  class Subscriber;

  void connect();
  void take(const std::string& line);

  boost::asio::io_context& io_;
  const Target to_;
  const StreamSpec spec_;
  const Slots& slots_;
  const IntendedTimes& times_;
  const std::string mark_;  // stands in front of a job's number in its name
  std::string request_;
  std::vector<std::shared_ptr<Subscriber>> subscribers_;
  std::uint64_t events_ = 0;
  std::uint64_t broken_ = 0;
  Tally latencies_;
  std::string first_error_;
};

}  // namespace tangram::bench
