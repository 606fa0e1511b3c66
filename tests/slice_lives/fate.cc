#include "slice_lives/fate.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace tangram::lives {

bool Fate::happens(const std::string& fault, std::uint64_t one_in) {
  if (calm || pick(one_in) != 0) return false;
  ++faults[fault];
  note(fault);
  return true;
}

void Fate::arm(std::string point, int turns) {
  armed_ = std::move(point);
  armed_turns_ = turns;
}

void Fate::turn() {
  if (--armed_turns_ <= 0) armed_.clear();
}

void Fate::pass(std::string_view point) {
  if (calm || armed_ != point) return;
  armed_.clear();
  ++crashes[std::string(point)];
  note(point);
  throw DaemonDied();
}

bool Fate::dies_at(const std::string& point, std::uint64_t one_in) {
  if (calm || pick(one_in) != 0) return false;
  ++crashes[point];
  note(point);
  return true;
}

// TANGRAM_SLICE_TRACE prints what is noted: of two runs that differ, the first difference.
void Fate::note(std::string_view what) {
  static const bool print = std::getenv("TANGRAM_SLICE_TRACE") != nullptr;
  if (print) {
    std::printf("%lld %.*s\n", static_cast<long long>(now_.value - 1'700'000'000'000),
                static_cast<int>(what.size()), what.data());
  }
  constexpr std::uint64_t kPrime = 0x100000001b3;
  const auto add = [this](unsigned char byte) { trace_ = (trace_ ^ byte) * kPrime; };
  for (int shift = 0; shift < 64; shift += 8) add(static_cast<unsigned char>(now_.value >> shift));
  for (const char c : what) add(static_cast<unsigned char>(c));
}

void Fate::broken(const std::string& rule) {
  note(rule);
  if (wrong_.empty()) wrong_ = rule + ", at " + std::to_string(now_.value - 1'700'000'000'000) + " ms";
}

}  // namespace tangram::lives
