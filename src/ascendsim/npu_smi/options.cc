#include "ascendsim/npu_smi/options.h"

#include <charconv>

namespace ascendsim::npu_smi {
namespace {

std::optional<int> number(const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

ParsedOptions refuse(std::string complaint) {
  return {{}, std::move(complaint)};
}

}  // namespace

ParsedOptions parse_options(const std::vector<std::string>& arguments) {
  const std::string unknown = "Command or option is not found.\n";
  Options options;
  if (arguments.empty() || arguments[0] == "-h" || arguments[0] == "--help") return {options, ""};
  if (arguments[0] == "-v" || arguments[0] == "--version") {
    options.action = Action::kVersion;
    return {options, ""};
  }
  if (arguments[0] != "info") return refuse(unknown);
  options.action = Action::kInfo;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string& flag = arguments[i];
    if (flag == "-h") {
      options.action = Action::kHelp;
    } else if (flag == "-l") {
      options.action = Action::kList;
    } else if (flag == "-m") {
      options.action = Action::kMap;
    } else if (flag == "-t" || flag == "-i" || flag == "-c" || flag == "-p") {
      if (i + 1 == arguments.size()) return refuse("Must input parameter of " + flag + ".\n" + usage());
      const std::string& value = arguments[++i];
      if (flag == "-t") {
        options.action = Action::kQuery;
        options.type = value;
        continue;
      }
      const auto id = number(value);
      if (!id) return refuse("Error parameter of " + flag + "\n" + usage());
      (flag == "-i" ? options.card : flag == "-c" ? options.chip : options.phy) = id;
    } else {
      return refuse(unknown);
    }
  }
  return {options, ""};
}

std::string usage() {
  return "Usage: npu-smi info [Options...]\n\n"
         "Options:\n"
         "       -l             List all NPUs\n"
         "       -m             Show the mapping of chips\n"
         "       -t %type       Show information for type\n"
         "                      type: board, usages, memory, proc-mem, common, health, topo, temp,\n"
         "                            power, volt, phyid-remap\n"
         "       -i %d          Card ID\n"
         "       -c %d          Chip ID\n"
         "       -p %d          Chip physical ID\n"
         "       -h             Show this help text and exit\n";
}

}  // namespace ascendsim::npu_smi
