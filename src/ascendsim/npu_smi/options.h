// The command line of npu-smi.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace ascendsim::npu_smi {

enum class Action { kHelp, kVersion, kInfo, kList, kMap, kQuery, kSet };

struct Options {
  Action action = Action::kHelp;
  std::string type;           // of kQuery and kSet: "board"
  std::optional<int> card;    // -i
  std::optional<int> chip;    // -c
  std::optional<int> phy;     // -p, phyid-remap
  std::string template_name;  // -f
  std::optional<int> vdev;    // -v
  std::optional<int> vgroup;  // -g
  std::optional<int> data;    // -d
};

// What is wrong is said in the real tool's words in `complaint`, and nothing else of it is valid then.
struct ParsedOptions {
  Options options;
  std::string complaint;
};

ParsedOptions parse_options(const std::vector<std::string>& arguments);

std::string usage();

}  // namespace ascendsim::npu_smi
