// One thing that befalls the machine, as words on a command line or in a script: "health 3 critical".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ascendsim/protocol/messages.h"

namespace ascendsim::ctl {

struct Action {
  RequestType type = RequestType::kInject;
  std::uint32_t npu = 0;  // physical id
  SetHealthBody health{};
  InjectBody inject{};
};

// What is wrong with the words goes to `complaint`.
std::optional<Action> parse_action(const std::vector<std::string>& words, std::string* complaint);

std::vector<std::string> words_of(const std::string& line);

// The list of actions, for the usage text.
extern const char* const kActionUsage;

}  // namespace ascendsim::ctl
