#include "ascendsim/npu_smi/options.h"

#include <algorithm>
#include <array>
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

constexpr const char* kUnknown = "Command or option is not found.\n";

// Names of templates that any board may have; others are refused before a board is looked at.
constexpr std::array kTemplateNames = {
    "vir01",         "vir02",           "vir02_1c",     "vir04",        "vir04_3c",       "vir04_3c_ndvpp",
    "vir04_4c_dvpp", "vir08",           "vir16",        "vir05_1c_8g",  "vir05_1c_16g",   "vir06_1c_16g",
    "vir10_3c_16g",  "vir10_3c_16g_nm", "vir10_3c_32g", "vir12_3c_32g", "vir10_4c_16g_m", "vir03_1c_8g"};

std::optional<int>* number_of(const std::string& flag, bool set, Options* options) {
  if (flag == "-i") return &options->card;
  if (flag == "-c") return &options->chip;
  if (flag == "-p" && !set) return &options->phy;
  if (flag == "-v" && set) return &options->vdev;
  if (flag == "-g" && set) return &options->vgroup;
  if (flag == "-d" && set) return &options->data;
  return nullptr;
}

// What is wrong, or nothing. `value` is null at the end of the line.
std::string take_value(const std::string& flag, const std::string* value, bool set, Options* options) {
  std::optional<int>* field = number_of(flag, set, options);
  const bool text = flag == "-t" || (flag == "-f" && set);
  if (field == nullptr && !text) return kUnknown;
  if (value == nullptr) return "Must input parameter of " + flag + ".\n" + usage();
  if (flag == "-t") {
    if (!set) options->action = Action::kQuery;
    options->type = *value;
  } else if (flag == "-f") {
    if (std::ranges::find(kTemplateNames, *value) == kTemplateNames.end()) {
      return "Error parameter of -f\n" + usage();
    }
    options->template_name = *value;
  } else {
    *field = number(*value);
    if (!*field) return "Error parameter of " + flag + "\n" + usage();
  }
  return "";
}

}  // namespace

ParsedOptions parse_options(const std::vector<std::string>& arguments) {
  Options options;
  if (arguments.empty() || arguments[0] == "-h" || arguments[0] == "--help") return {options, ""};
  if (arguments[0] == "-v" || arguments[0] == "--version") {
    options.action = Action::kVersion;
    return {options, ""};
  }
  const bool set = arguments[0] == "set";
  if (!set && arguments[0] != "info") return refuse(kUnknown);
  options.action = set ? Action::kSet : Action::kInfo;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string& flag = arguments[i];
    if (flag == "-h") {
      options.action = Action::kHelp;
    } else if (flag == "-l" && !set) {
      options.action = Action::kList;
    } else if (flag == "-m" && !set) {
      options.action = Action::kMap;
    } else {
      const std::string* value = i + 1 < arguments.size() ? &arguments[i + 1] : nullptr;
      std::string complaint = take_value(flag, value, set, &options);
      if (!complaint.empty()) return refuse(std::move(complaint));
      ++i;
    }
  }
  if (set && options.type.empty()) return refuse("Must input parameter of -t.\n" + usage());
  return {options, ""};
}

std::string usage() {
  return "Usage: npu-smi info|set [Options...]\n\n"
         "Options:\n"
         "       -l             List all NPUs\n"
         "       -m             Show the mapping of chips\n"
         "       -t %type       Show or set information of type\n"
         "                      info: board, usages, memory, proc, proc-mem, common, health, topo, temp, "
         "power,\n"
         "                            volt, phyid-remap, info-vnpu, template-info, vnpu-mode,\n"
         "                            vnpu-cfg-recover, device-share, multi-die-policy\n"
         "                      set: create-vnpu, destroy-vnpu, vnpu-mode, vnpu-cfg-recover, device-share,\n"
         "                           multi-die-policy, reset\n"
         "       -i %d          Card ID\n"
         "       -c %d          Chip ID\n"
         "       -p %d          Chip physical ID\n"
         "       -f %s          Template name of a vNPU\n"
         "       -v %d          vNPU ID\n"
         "       -g %d          Vgroup ID of a vNPU\n"
         "       -d %d          Value to set\n"
         "       -h             Show this help text and exit\n";
}

}  // namespace ascendsim::npu_smi
