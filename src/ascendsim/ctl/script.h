// Actions at their times: "1500 hang 3", milliseconds from the start of the script. '#' begins a comment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ascendsim/ctl/action.h"

namespace ascendsim::ctl {

struct Step {
  std::uint64_t at_ms = 0;
  std::string text;  // the action in words
  Action action;
};

// In ascending order of time. A complaint names the line: "line 3: …".
std::optional<std::vector<Step>> parse_script(const std::string& text, std::string* complaint);

struct ChaosPlan {
  std::uint64_t seed = 0;
  std::uint64_t duration_ms = 10'000;
  std::uint64_t mean_gap_ms = 500;
  std::vector<std::uint32_t> npus;     // physical ids
  std::vector<std::string> templates;  // of devices to leak; none: nothing is leaked
  bool reboots = false;
};

// Faults at random times and places, each mended after a while, all mended at the end. The same plan makes
// the same text on every machine.
std::string random_script(const ChaosPlan& plan);

}  // namespace ascendsim::ctl
