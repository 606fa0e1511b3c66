// npu-smi of the simulated machine. Everything goes to standard output, errors too, as in the real tool.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "ascendsim/dcmi/dcmi_interface_api.h"
#include "ascendsim/npu_smi/collect.h"
#include "ascendsim/npu_smi/format.h"
#include "ascendsim/npu_smi/options.h"
#include "ascendsim/npu_smi/print.h"
#include "ascendsim/npu_smi/vnpu_commands.h"

namespace {

using namespace ascendsim::npu_smi;

Answer refuse(std::string text, int code) {
  return {std::move(text), code};
}

using CardFormat = std::string (*)(const Card&, const Chip*);
struct Query {
  const char* type;
  CardFormat format;
};
constexpr Query kQueries[] = {
    {"usages", format_usages},    {"memory", format_memory}, {"proc-mem", format_processes},
    {"proc", format_processes},   {"common", format_common}, {"health", format_health},
    {"temp", format_temperature}, {"power", format_power},   {"volt", format_voltage}};

Answer remap(const Options& options) {
  if (!options.phy) return refuse("Must input parameter of -p.\n" + usage(), kParameterError);
  int card = 0;
  int chip = 0;
  if (dcmi_get_card_id_device_id_from_phyid(&card, &chip, static_cast<unsigned int>(*options.phy)) !=
      DCMI_OK) {
    return refuse("Error parameter of -p\n" + usage(), kParameterError);
  }
  std::string text;
  print_key(text, "NPU ID", card);
  print_key(text, "Chip ID", chip);
  return {text, 0};
}

Answer query(const Snapshot& snapshot, const Options& options) {
  if (options.type == "topo") return {format_topology(collect_topology(snapshot)), 0};
  if (options.type == "phyid-remap") return remap(options);
  if (auto about_vnpus = query_vnpu(snapshot, options)) return *about_vnpus;
  const auto known =
      std::ranges::find_if(kQueries, [&options](const Query& one) { return one.type == options.type; });
  if (known == std::end(kQueries) && options.type != "board") {
    return refuse("This device does not support querying " + options.type + ".\n", kNotSupported);
  }
  if (!options.card) return refuse("Must input parameter of -i.\n" + usage(), kParameterError);
  const auto card =
      std::ranges::find_if(snapshot.cards, [&options](const Card& one) { return one.id == *options.card; });
  if (card == snapshot.cards.end()) return refuse("Error parameter of -i\n" + usage(), kParameterError);
  const Chip* chip = nullptr;
  if (options.chip) {
    const auto found = std::ranges::find_if(
        card->chips, [&options](const Chip& one) { return one.device == *options.chip; });
    if (found == card->chips.end()) return refuse("Error parameter of -c\n" + usage(), kParameterError);
    chip = &*found;
  }
  if (options.type == "board") return {format_board(snapshot, *card, chip), 0};
  return {known->format(*card, chip), 0};
}

Answer answer(const Options& options) {
  if (options.action == Action::kHelp) return {usage(), 0};
  Snapshot snapshot;
  const bool is_of_one = options.action == Action::kQuery || options.action == Action::kSet;
  if (const int code = collect(&snapshot, is_of_one ? options.card : std::nullopt); code != DCMI_OK) {
    std::string text = "DrvMngGetConsoleLogLevel failed. (ret=4)\n";
    if (code == DCMI_ERR_CODE_RESOURCE_OCCUPIED) {
      print(text, "dcmi model initialized failed, because the device is used. ret is %d\n", code);
    } else {
      print(text, "dcmi module initialize failed. ret is %d\n", code);
    }
    return refuse(text, exit_code_of(code));
  }
  if (options.action == Action::kVersion) return {"npu-smi version: " + snapshot.version + "\n", 0};
  if (snapshot.cards.empty()) {
    return refuse("There is no NPU card on this server.\n", exit_code_of(DCMI_ERR_CODE_DEVICE_NOT_EXIST));
  }
  switch (options.action) {
    case Action::kHelp:
    case Action::kVersion:
      break;
    case Action::kInfo:
      return {format_info(snapshot), 0};
    case Action::kList:
      return {format_list(snapshot), 0};
    case Action::kMap:
      return {format_map(snapshot), 0};
    case Action::kQuery:
      return query(snapshot, options);
    case Action::kSet:
      return set_vnpu(snapshot, options);
  }
  return {};
}

}  // namespace

int main(int argument_count, char** arguments) {
  const ParsedOptions parsed = parse_options({arguments + 1, arguments + argument_count});
  const Answer result =
      parsed.complaint.empty() ? answer(parsed.options) : refuse(parsed.complaint, kParameterError);
  std::fputs(result.text.c_str(), stdout);
  return std::fflush(stdout) == 0 ? result.code : 1;
}
