// Chance, time and what befalls a played world: all of it follows from one seed. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <string_view>

#include "base/units.h"

namespace tangram::lives {

// Thrown where the daemon dies: what it had in memory is gone.
struct DaemonDied {};

// How often what happened.
using Counts = std::map<std::string, std::uint64_t, std::less<>>;

class Fate {
 public:
  explicit Fate(std::uint64_t seed) : random_(seed) {}

  std::uint64_t pick(std::uint64_t n) { return random_() % n; }
  // Whether this fault happens now. Never while all is calm.
  bool happens(const std::string& fault, std::uint64_t one_in);

  TimeMs now() const { return now_; }
  TimeMs in(std::int64_t ms) const { return TimeMs(now_.value + ms); }
  void advance(std::int64_t ms) { now_.value += ms; }
  // While a call of the daemon is blocked, its other parts go on, and may die.
  std::function<void()> meanwhile = [] {};

  // The daemon is to die at the next pass of that crash point; it is let off after so many turns.
  void arm(std::string point, int turns);
  void turn();  // one is over
  void pass(std::string_view point);
  // Of one that is not the daemon's own: whether its process dies there now.
  bool dies_at(const std::string& point, std::uint64_t one_in);

  // The same seed leaves the same trace.
  void note(std::string_view what);
  std::uint64_t trace() const { return trace_; }

  // The first rule that was broken; empty: none.
  void broken(const std::string& rule);
  const std::string& wrong() const { return wrong_; }

  bool calm = false;  // nothing befalls anybody
  Counts faults;
  Counts crashes;  // by point

 private:
  std::mt19937_64 random_;
  TimeMs now_{1'700'000'000'000};
  std::string armed_;
  int armed_turns_ = 0;
  std::uint64_t trace_ = 0xcbf29ce484222325;  // FNV-1a
  std::string wrong_;
};

}  // namespace tangram::lives
