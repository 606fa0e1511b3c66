#include "net/connection_table.h"

#include <algorithm>
#include <utility>

#include "net/problem.h"

namespace tangram::net {

std::size_t ConnectionTable::unknown_max() const {
  return std::min(limits_.connections_unknown_max, limits_.connections_max);
}

std::size_t ConnectionTable::known_max(const Share& share) const {
  const std::size_t all = limits_.connections_max - unknown_max();
  return share.privileged ? all : all - std::min(limits_.connections_reserved, all);
}

std::size_t ConnectionTable::held_by(const std::string& share) const {
  const auto found = known_.find(share);
  return found == known_.end() ? 0 : found->second.connections;
}

ConnectionTable::Ticket ConnectionTable::insert(std::string owner, bool known) {
  const Ticket ticket = next_++;
  ++(known ? known_ : unknown_)[owner].connections;
  ++(known ? known_count_ : unknown_count_);
  entries_[ticket] = Entry{std::move(owner), known, Progress::kSilent, 0, 0};
  return ticket;
}

void ConnectionTable::remove(std::map<Ticket, Entry>::iterator at) {
  const Entry& entry = at->second;
  Holdings& holdings = entry.known ? known_ : unknown_;
  const auto held = holdings.find(entry.owner);
  held->second.bytes -= entry.bytes;
  bytes_ -= entry.bytes;
  if (--held->second.connections == 0) holdings.erase(held);
  --(entry.known ? known_count_ : unknown_count_);
  entries_.erase(at);
}

std::map<ConnectionTable::Ticket, ConnectionTable::Entry>::iterator ConnectionTable::least_of_the_unknown(
    const std::string* address) {
  auto chosen = entries_.end();
  std::size_t most = 0;
  // Tickets ascend with age, so that the first of equals is the oldest.
  for (auto at = entries_.begin(); at != entries_.end(); ++at) {
    const Entry& entry = at->second;
    if (entry.known || (address != nullptr && entry.owner != *address)) continue;
    const std::size_t held = unknown_.at(entry.owner).connections;
    const bool lesser = chosen == entries_.end() || entry.progress < chosen->second.progress ||
                        (entry.progress == chosen->second.progress && held > most);
    if (!lesser) continue;
    most = held;
    chosen = at;
  }
  return chosen;
}

std::map<ConnectionTable::Ticket, ConnectionTable::Entry>::iterator
ConnectionTable::longest_idle_of_the_greediest(std::size_t more_than) {
  auto chosen = entries_.end();
  std::size_t most = more_than;
  for (auto at = entries_.begin(); at != entries_.end(); ++at) {
    const Entry& entry = at->second;
    if (!entry.known || entry.idle_since == 0) continue;
    const std::size_t held = known_.at(entry.owner).connections;
    const bool longer = chosen != entries_.end() && held == most && most > more_than &&
                        entry.idle_since < chosen->second.idle_since;
    if (held <= most && !longer) continue;
    most = held;
    chosen = at;
  }
  return chosen;
}

ConnectionTable::Place ConnectionTable::enter_unknown(const std::string& address) {
  Place place;
  if (unknown_max() == 0) return {Verdict::kServerFull, 0, std::nullopt};
  const auto held = unknown_.find(address);
  const std::size_t of_one_address = std::max<std::size_t>(1, unknown_max() / 4);
  const bool greedy = held != unknown_.end() && held->second.connections >= of_one_address;
  if (greedy || unknown_count_ >= unknown_max()) {
    const auto victim = least_of_the_unknown(greedy ? &address : nullptr);
    place.evicted = victim->first;
    remove(victim);
  }
  place.ticket = insert(address, false);
  return place;
}

ConnectionTable::Place ConnectionTable::make_room(const Share& share, bool new_place) {
  const std::size_t held = held_by(share.name);
  if (held >= limits_.connections_per_share_max) return {Verdict::kShareFull, 0, std::nullopt};
  if (!new_place || known_count_ < known_max(share)) return {};
  const auto victim = longest_idle_of_the_greediest(held + 1);
  if (victim == entries_.end()) return {Verdict::kServerFull, 0, std::nullopt};
  Place place{Verdict::kWelcome, 0, victim->first};
  remove(victim);
  return place;
}

ConnectionTable::Place ConnectionTable::enter(const Share& share) {
  Place place = make_room(share, true);
  if (place.verdict == Verdict::kWelcome) place.ticket = insert(share.name, true);
  return place;
}

ConnectionTable::Place ConnectionTable::claim(Ticket ticket, const Share& share) {
  const auto at = entries_.find(ticket);
  // It was evicted, and its end is on its way.
  if (at == entries_.end()) return {Verdict::kServerFull, 0, std::nullopt};
  if (at->second.known && at->second.owner == share.name) return {Verdict::kWelcome, ticket, std::nullopt};
  Place place = make_room(share, !at->second.known);
  if (place.verdict != Verdict::kWelcome) return place;
  const std::size_t bytes = at->second.bytes;
  remove(at);
  ++known_[share.name].connections;
  ++known_count_;
  entries_[ticket] = Entry{share.name, true, Progress::kSecure, 0, 0};
  add(ticket, bytes);
  place.ticket = ticket;
  return place;
}

void ConnectionTable::set_progress(Ticket ticket, Progress progress) {
  const auto at = entries_.find(ticket);
  if (at != entries_.end()) at->second.progress = progress;
}

void ConnectionTable::set_idle(Ticket ticket, bool idle) {
  const auto at = entries_.find(ticket);
  if (at != entries_.end()) at->second.idle_since = idle ? ++idle_counter_ : 0;
}

void ConnectionTable::leave(Ticket ticket) {
  const auto at = entries_.find(ticket);
  if (at != entries_.end()) remove(at);
}

bool ConnectionTable::reserve(Ticket ticket, std::size_t bytes) {
  const auto at = entries_.find(ticket);
  if (at == entries_.end()) return false;
  const Holding& share = (at->second.known ? known_ : unknown_).at(at->second.owner);
  const bool fits = share.bytes + bytes <= limits_.bytes_per_share_max && bytes_ + bytes <= limits_.bytes_max;
  if (fits) add(ticket, bytes);
  return fits;
}

void ConnectionTable::add(Ticket ticket, std::size_t bytes) {
  const auto at = entries_.find(ticket);
  if (at == entries_.end()) return;
  at->second.bytes += bytes;
  (at->second.known ? known_ : unknown_)[at->second.owner].bytes += bytes;
  bytes_ += bytes;
}

void ConnectionTable::give_back(Ticket ticket, std::size_t bytes) {
  const auto at = entries_.find(ticket);
  if (at == entries_.end()) return;
  const std::size_t given = std::min(bytes, at->second.bytes);
  at->second.bytes -= given;
  (at->second.known ? known_ : unknown_)[at->second.owner].bytes -= given;
  bytes_ -= given;
}

Response refusal_answer(ConnectionTable::Verdict verdict, const std::string& share,
                        const ServerLimits& limits) {
  const bool share_full = verdict == ConnectionTable::Verdict::kShareFull;
  Response response = share_full
                          ? problem(429, "http.connections.share_exceeded",
                                    share + " holds " + std::to_string(limits.connections_per_share_max) +
                                        " connections, and may hold no more",
                                    "close some, or use one connection for more requests")
                          : problem(503, "http.connections.exceeded",
                                    "the server holds " + std::to_string(limits.connections_max) +
                                        " connections and takes no more",
                                    "try again in a moment");
  response.headers.set("Retry-After", "1");
  return response;
}

Response memory_full(const ServerLimits& limits) {
  Response response =
      problem(429, "http.bytes.exceeded",
              "requests and answers of this caller that are under way take more than " +
                  std::to_string(limits.bytes_per_share_max) + " bytes, or those of all take more than " +
                  std::to_string(limits.bytes_max),
              "read the answers that are waiting, and send less at once");
  response.headers.set("Retry-After", "1");
  return response;
}

}  // namespace tangram::net
