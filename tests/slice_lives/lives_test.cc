// Ten thousand lives of slices on machines where everything goes wrong, under a daemon that dies at every
// crash point. All of it follows from the seed that is printed.
//
//   TANGRAM_SLICE_SEED=N   one world only, the one that a failure names
//   TANGRAM_SLICE_LIVES=N  so many slices in all
//   TANGRAM_SLICE_TRACE=1  every step of it
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "base/log.h"
#include "slice_lives/world.h"

namespace tangram::lives {
namespace {

constexpr int kSlicesOfAWorld = 60;
constexpr std::uint64_t kFirstSeed = 20'261'130;

// A sanitizer makes each step many times slower, and misses nothing by fewer of them.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kLives = 1'200;
#else
constexpr int kLives = 10'000;
#endif
constexpr int kLivesForEverything = 10'000;  // in fewer some rare thing may not happen

std::optional<std::uint64_t> number_from(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? std::nullopt : std::optional(std::strtoull(text, nullptr, 10));
}

// Of the page that lists them.
std::vector<std::string> crash_points() {
  std::vector<std::string> points;
  std::ifstream page(CRASH_POINTS_PAGE);
  const std::regex row(R"(^\| `([a-z_.]+)` \|.*)");
  std::string line;
  for (std::smatch match; std::getline(page, line);) {
    if (std::regex_match(line, match, row)) points.push_back(match[1]);
  }
  return points;
}

// Where the daemon dies. A supervisor dies by what befalls the host.
std::vector<std::string> points_of_the_daemon() {
  std::vector<std::string> points = crash_points();
  std::erase_if(points, [](const std::string& point) {
    return point.starts_with("supervise.") || point == "runner.after_exit_tmp";
  });
  return points;
}

const std::vector<std::string>& kinds_of_fault() {
  static const std::vector<std::string> kinds = {
      "NPU absent",
      "NPU reset",
      "another's returned by the daemon",
      "create answered as done, and not done",
      "create answered as failed, and done",
      "create cut off, and done",
      "create cut off, and done later",
      "create cut off, and never done",
      "create refused",
      "create slow",
      "cut by another",
      "daemon killed between two steps",
      "driver away",
      "hang",
      "hang after a create",
      "journal full",
      "no room for a supervisor",
      "process of a stranger",
      "reboot",
      "reboot that cuts again",
      "recover mode refused",
      "recover mode turned on by hand",
      "return answered as done, and not done",
      "return answered as failed, and done",
      "return cut off, and done",
      "return cut off, and done later",
      "return cut off, and never done",
      "return refused",
      "returned by another",
      "slices unreadable",
      "supervisor killed before its go",
  };
  return kinds;
}

// What the daemon says of each refusal is of no interest, but for a trace.
void hush() {
  log::start("lives", std::getenv("TANGRAM_SLICE_TRACE") == nullptr ? log::Level::kError : log::Level::kInfo);
}

void add(Counts& all, const Counts& some) {
  for (const auto& [what, count] : some) all[what] += count;
}

void print(const char* title, const Counts& counts) {
  std::cout << title << ":\n";
  for (const auto& [what, count] : counts) std::cout << "  " << count << " " << what << "\n";
}

std::uint64_t trace_of(std::uint64_t seed, int slices) {
  World world(seed, points_of_the_daemon());
  world.live(slices);
  EXPECT_EQ(world.fate().wrong(), "");
  return world.fate().trace();
}

// Without it some order of faults would destroy what is in use, leave a slice that nobody owns, or lose
// capacity for good, and nobody could tell which order.
TEST(LivesOfSlices, NothingInUseIsDestroyedAndNothingIsLostWhateverBefalls) {
  hush();
  const auto only = number_from("TANGRAM_SLICE_SEED");
  const auto wanted =
      only ? kSlicesOfAWorld : static_cast<int>(number_from("TANGRAM_SLICE_LIVES").value_or(kLives));
  Counts faults;
  Counts crashes;
  int ordered = 0;
  int made = 0;
  int agreements = 0;
  for (std::uint64_t seed = only.value_or(kFirstSeed); ordered < wanted; ++seed) {
    World world(seed, points_of_the_daemon());
    world.live(kSlicesOfAWorld);
    world.end();
    ASSERT_EQ(world.fate().wrong(), "") << "TANGRAM_SLICE_SEED=" << seed;
    add(faults, world.fate().faults);
    add(crashes, world.fate().crashes);
    ordered += world.journal().ordered();
    made += world.journal().made();
    agreements += world.agreements();
  }
  std::cout << "seeds from " << only.value_or(kFirstSeed) << ": " << ordered << " slices ordered, " << made
            << " made; hardware and book agreed " << agreements << " times within two looks\n";
  print("faults", faults);
  print("deaths at crash points", crashes);
  EXPECT_GT(made, ordered / 2) << "faults must not be all that happens";
  if (only || wanted < kLivesForEverything) return;
  for (const std::string& kind : kinds_of_fault()) EXPECT_GT(faults[kind], 0U) << kind;
  for (const std::string& point : crash_points()) EXPECT_GT(crashes[point], 0U) << point;
}

// Without it a failure could not be looked at a second time.
TEST(LivesOfSlices, ASeedRepeatsItsRun) {
  hush();
  for (std::uint64_t seed = kFirstSeed; seed < kFirstSeed + 3; ++seed) {
    EXPECT_EQ(trace_of(seed, 20), trace_of(seed, 20)) << seed;
  }
  EXPECT_NE(trace_of(kFirstSeed, 20), trace_of(kFirstSeed + 3, 20));
}

}  // namespace
}  // namespace tangram::lives
