// Who holds how many of a server's connections, and how much of its memory. Accounting only: it knows nothing
// of sockets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "net/gate.h"
#include "net/http.h"
#include "net/server.h"

namespace tangram::net {

// Not thread-safe.
class ConnectionTable {
 public:
  using Ticket = std::uint64_t;  // one connection, from 1, ascending with its age

  enum class Verdict : std::uint8_t {
    kWelcome,
    kShareFull,   // the share holds as many connections as it may
    kServerFull,  // all are in use, and no share that holds more has an idle one
  };
  struct Place {
    Verdict verdict = Verdict::kWelcome;
    Ticket ticket = 0;              // of kWelcome
    std::optional<Ticket> evicted;  // this connection must end, and counts no more
  };

  explicit ConnectionTable(const ServerLimits& limits) : limits_(limits) {}

  // How far one that is not known has come. Whoever means well is through the first in no time.
  enum class Progress : std::uint8_t { kSilent, kShakingHands, kSecure };

  // A connection of nobody that is known. There is always a place for it: when they are all taken, another
  // one goes, of those that have come least far the oldest of the address that holds the most. So nobody can
  // keep newcomers out by saying nothing, or too little. One address has a quarter of the places at most.
  Place enter_unknown(const std::string& address);
  void set_progress(Ticket ticket, Progress progress);
  // A connection whose owner is known.
  Place enter(const Share& share);
  // The connection belongs to `share` from now on; on another verdict than kWelcome it stays what it was.
  Place claim(Ticket ticket, const Share& share);
  // Between two requests. An idle connection of a share that holds many goes when another needs one.
  void set_idle(Ticket ticket, bool idle);
  // Does nothing for a ticket that was evicted or has left.
  void leave(Ticket ticket);

  // Memory that a request or an answer takes until it is given back. False: the share, or all together, would
  // hold too much.
  bool reserve(Ticket ticket, std::size_t bytes);
  // Without asking, for what exists already.
  void add(Ticket ticket, std::size_t bytes);
  void give_back(Ticket ticket, std::size_t bytes);

  std::size_t size() const { return entries_.size(); }
  std::size_t held_by(const std::string& share) const;
  std::size_t bytes_in_flight() const { return bytes_; }

 private:
  struct Entry {
    std::string owner;  // name of the share, or the address of one that is not known
    bool known = false;
    Progress progress = Progress::kSilent;
    std::uint64_t idle_since = 0;  // a counter, not a time; 0: busy
    std::size_t bytes = 0;
  };
  struct Holding {
    std::size_t connections = 0;
    std::size_t bytes = 0;
  };
  using Holdings = std::map<std::string, Holding>;

  std::size_t unknown_max() const;
  std::size_t known_max(const Share& share) const;
  // Whether `share` may have one connection more; when that takes one of the known places (`new_place`),
  // makes room if need be.
  Place make_room(const Share& share, bool new_place);
  Ticket insert(std::string owner, bool known);
  void remove(std::map<Ticket, Entry>::iterator at);
  // Of all of nobody's connections, or of those from one address.
  std::map<Ticket, Entry>::iterator least_of_the_unknown(const std::string* address);
  std::map<Ticket, Entry>::iterator longest_idle_of_the_greediest(std::size_t more_than);

  const ServerLimits& limits_;
  std::map<Ticket, Entry> entries_;
  Holdings known_;
  Holdings unknown_;
  std::size_t known_count_ = 0;
  std::size_t unknown_count_ = 0;
  std::size_t bytes_ = 0;
  Ticket next_ = 1;
  std::uint64_t idle_counter_ = 0;
};

// What a client is told whose connection found no place; for another verdict than kWelcome.
Response refusal_answer(ConnectionTable::Verdict verdict, const std::string& share,
                        const ServerLimits& limits);

// The answer to a request that reserve() has no room for.
Response memory_full(const ServerLimits& limits);

}  // namespace tangram::net
