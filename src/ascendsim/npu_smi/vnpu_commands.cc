#include "ascendsim/npu_smi/vnpu_commands.h"

#include <algorithm>
#include <iostream>
#include <set>

#include "ascendsim/dcmi/dcmi_interface_api.h"
#include "ascendsim/npu_smi/collect.h"
#include "ascendsim/npu_smi/print.h"

namespace ascendsim::npu_smi {
namespace {

struct Place {
  int card = 0;
  const Chip* chip = nullptr;
};

Answer refuse_option(const char* flag) {
  return {std::string("Error parameter of ") + flag + ".\n" + usage(), kParameterError};
}

// All chips that -i and -c name; without them all there are.
std::vector<Place> places(const Snapshot& snapshot, const Options& options) {
  std::vector<Place> found;
  for (const Card& card : snapshot.cards) {
    if (options.card && card.id != *options.card) continue;
    for (const Chip& chip : card.chips) {
      if (!options.chip || chip.device == *options.chip) found.push_back({card.id, &chip});
    }
  }
  return found;
}

Answer outcome(bool ok, const std::string& message, int code) {
  std::string text;
  print_key(text, "Status", ok ? "OK" : "Fail");
  print_key(text, "Message", message);
  return {text, exit_code_of(code)};
}

bool docker_mode() {
  int mode = 0;
  return dcmi_get_vdevice_mode(&mode) == DCMI_OK && mode == 0;
}

Answer not_docker(const std::string& doing) {
  return {"The vnpu is not in docker mode, does not support " + doing + ".\n", 0};
}

Answer show_vnpus(const Snapshot& snapshot, const Options& options) {
  if (!docker_mode()) return not_docker("querying info-vnpu");
  const std::vector<Place> chosen = places(snapshot, options);
  if (chosen.empty()) return refuse_option(options.chip ? "-c" : "-i");
  Answer answer;
  for (const Place& place : chosen) {
    VnpuChip chip;
    const int code = collect_vnpus(place.card, place.chip->device, &chip);
    if (code == DCMI_ERR_CODE_NOT_SUPPORT) {
      answer.text += "This device does not support querying info-vnpu.\n";
      answer.code = kNotSupported;
    } else if (code != DCMI_OK) {
      print(answer.text, "Failed to execute npu-smi info. ret is %d.\n", code);
      answer.code = exit_code_of(code);
    } else {
      answer.text += format_vnpus(chip, place.chip->family, vnpu_style(snapshot.version));
    }
  }
  return answer;
}

// One table for each kind of board.
Answer show_templates(const Snapshot& snapshot, const Options& options) {
  std::set<const VnpuTemplate*> shown;
  Answer answer;
  for (const Place& place : places(snapshot, options)) {
    const VnpuBoard board = board_of(*place.chip);
    if (board.templates.empty() || !shown.insert(board.templates.data()).second) continue;
    answer.text += format_templates(board, vnpu_style(snapshot.version));
  }
  if (answer.text.empty()) {
    return {"This device does not support querying template-info.\n", kNotSupported};
  }
  return answer;
}

Answer show_mode() {
  std::string text;
  print_key(text, "vnpu-mode", docker_mode() ? "docker" : "VM");
  return {text, 0};
}

Answer show_recover_mode() {
  unsigned int mode = 0;
  const int code = dcmi_get_vnpu_config_recover_mode(&mode);
  if (code != DCMI_OK) return {"Failed to get vnpu config recover mode.\n", exit_code_of(code)};
  std::string text;
  print_key(text, "VNPU config recover mode", mode == 1 ? "Enable" : "Disable");
  return {text, 0};
}

Answer show_share(const Snapshot& snapshot, const Options& options) {
  Answer answer;
  for (const Place& place : places(snapshot, options)) {
    int enabled = 0;
    if (dcmi_get_device_share_enable(place.card, place.chip->device, &enabled) != DCMI_OK) continue;
    print_key(answer.text, "NPU ID", place.card);
    print_key(answer.text, "Chip ID", place.chip->device);
    print_key(answer.text, "Device-share Status", enabled == 1 ? "True" : "False");
  }
  return answer;
}

Answer show_multi_die_policy() {
  dcmi_multi_die_policy policy = DCMI_MULTI_DIE_UNION;
  const int code = dcmi_get_multi_die_policy(&policy);
  if (code != DCMI_OK) return {"Failed to get the multi-die-policy.\n", exit_code_of(code)};
  std::string text;
  print_key(text, "Multi-die policy", policy == DCMI_MULTI_DIE_UNION ? "Union" : "Independent");
  return {text, 0};
}

// The one chip that a command is about. Where there is only one, the numbers may be left out.
std::optional<Place> one_place(const Snapshot& snapshot, const Options& options, Answer* refusal) {
  const std::vector<Place> chosen = places(snapshot, options);
  if (chosen.size() == 1) return chosen[0];
  if (chosen.empty()) {
    *refusal = refuse_option(options.chip ? "-c" : "-i");
  } else {
    const char* missing = options.card ? "-c" : "-i";
    *refusal = {std::string("Must input parameter of ") + missing + ".\n" + usage(), kParameterError};
  }
  return std::nullopt;
}

Answer create_vnpu(const Snapshot& snapshot, const Options& options) {
  if (options.template_name.empty()) return {"Must input parameter of -f.\n" + usage(), kParameterError};
  if (!docker_mode()) return not_docker("setting create-vnpu");
  Answer refusal;
  const auto place = one_place(snapshot, options, &refusal);
  if (!place) return refusal;
  VnpuChip chip;
  if (const int code = collect_vnpus(place->card, place->chip->device, &chip); code != DCMI_OK) {
    return code == DCMI_ERR_CODE_NOT_SUPPORT
               ? Answer{"This device does not support setting create-vnpu.\n", kNotSupported}
               : outcome(false, "create vnpu failed.", code);
  }
  const VnpuBoard board = board_of(*place->chip);
  if (options.vgroup && board.family != VnpuFamily::k310P) return refuse_option("-g");
  if (const VnpuTemplate* shape = board.find(options.template_name)) {
    const std::string missing = shortage(chip, *shape, board.family != VnpuFamily::k910A);
    if (!missing.empty()) return outcome(false, missing, DCMI_ERR_CODE_INVALID_PARAMETER);
  }
  dcmi_create_vdev_res_stru wanted{};
  wanted.vdev_id = options.vdev ? static_cast<unsigned int>(*options.vdev) : DCMI_VDEV_AUTO;
  wanted.vfg_id = options.vgroup ? static_cast<unsigned int>(*options.vgroup) : DCMI_VDEV_AUTO;
  options.template_name.copy(wanted.template_name, sizeof wanted.template_name - 1);
  dcmi_create_vdev_out made{};
  const int code = dcmi_create_vdevice(place->card, place->chip->device, &wanted, &made);
  return outcome(code == DCMI_OK, code == DCMI_OK ? "Create vnpu success" : "create vnpu failed.", code);
}

Answer destroy_vnpu(const Snapshot& snapshot, const Options& options) {
  if (!options.vdev) return {"Must input parameter of -v.\n" + usage(), kParameterError};
  Answer refusal;
  const auto place = one_place(snapshot, options, &refusal);
  if (!place) return refusal;
  VnpuChip chip;
  if (const int code = collect_vnpus(place->card, place->chip->device, &chip); code != DCMI_OK) {
    return outcome(false, "destroy vnpu " + std::to_string(*options.vdev) + " failed.", code);
  }
  const auto id = static_cast<unsigned int>(*options.vdev);
  const bool all = id == DCMI_VDEV_ALL;
  if (!all && std::ranges::find(chip.rows, id, &VnpuRow::id) == chip.rows.end()) return refuse_option("-v");
  const int code = dcmi_set_destroy_vdevice(place->card, place->chip->device, id);
  return outcome(code == DCMI_OK,
                 (code == DCMI_OK ? "Destroy vnpu " : "destroy vnpu ") + std::to_string(id) +
                     (code == DCMI_OK ? " success" : " failed."),
                 code);
}

Answer set_mode(int mode) {
  const int code = dcmi_set_vdevice_mode(mode);
  if (code == DCMI_ERR_CODE_NOT_SUPPORT_IN_CONTAINER) {
    return outcome(false, "The vNPU(s) in another mode already exist. Destroy them before switching the mode",
                   code);
  }
  if (code != DCMI_OK) return outcome(false, "set vnpu mode failed.", code);
  return outcome(true, std::string("Set vnpu ") + (mode == 0 ? "docker" : "vm") + " mode success", code);
}

Answer set_recover_mode(int mode) {
  const int code = dcmi_set_vnpu_config_recover_mode(static_cast<unsigned int>(mode));
  const std::string word = mode == 1 ? "Enable" : "Disable";
  return outcome(code == DCMI_OK,
                 code == DCMI_OK ? "The VNPU config recover mode " + word + " is set successfully."
                                 : "Failed to set the VNPU config recover mode.",
                 code);
}

// Asks on the terminal; the end of the input is a no.
bool user_agrees(const char* warning) {
  std::cout << warning << " Are you sure (Y/N)? " << std::flush;
  std::string reply;
  return std::getline(std::cin, reply) && (reply == "Y" || reply == "y");
}

Answer aborted(const std::string& type) {
  return {"User aborts setting " + type + ".\n", 0};
}

Answer set_multi_die_policy(int value) {
  if (!user_agrees("The two dies of a module are used in another way.")) return aborted("multi-die-policy");
  const int code = dcmi_set_multi_die_policy(static_cast<dcmi_multi_die_policy>(value));
  return outcome(
      code == DCMI_OK,
      code == DCMI_OK ? "The multi-die-policy is set successfully." : "Failed to set the multi-die-policy.",
      code);
}

Answer reset_chip(const Snapshot& snapshot, const Options& options) {
  Answer refusal;
  const auto place = one_place(snapshot, options, &refusal);
  if (!place) return refusal;
  if (!user_agrees("The reset ends all that runs on the chip.")) return aborted("reset");
  const int code = dcmi_set_device_reset(place->card, place->chip->device, INBAND_CHANNEL);
  return outcome(code == DCMI_OK, code == DCMI_OK ? "Reset chip successfully" : "Reset chip failed.", code);
}

Answer set_share(const Snapshot& snapshot, const Options& options, int value) {
  Answer refusal;
  const auto place = one_place(snapshot, options, &refusal);
  if (!place) return refusal;
  if (!user_agrees("Several containers may use the device at the same time.")) return aborted("device-share");
  const int code = dcmi_set_device_share_enable(place->card, place->chip->device, value);
  return outcome(code == DCMI_OK,
                 code == DCMI_OK ? "The device-share of the device is set successfully."
                                 : "Failed to set the device-share.",
                 code);
}

}  // namespace

std::optional<Answer> query_vnpu(const Snapshot& snapshot, const Options& options) {
  if (options.type == "info-vnpu") return show_vnpus(snapshot, options);
  if (options.type == "template-info") return show_templates(snapshot, options);
  if (options.type == "vnpu-mode") return show_mode();
  if (options.type == "vnpu-cfg-recover") return show_recover_mode();
  if (options.type == "device-share") return show_share(snapshot, options);
  if (options.type == "multi-die-policy") return show_multi_die_policy();
  return std::nullopt;
}

Answer set_vnpu(const Snapshot& snapshot, const Options& options) {
  if (options.type == "create-vnpu") return create_vnpu(snapshot, options);
  if (options.type == "destroy-vnpu") return destroy_vnpu(snapshot, options);
  if (options.type == "reset") return reset_chip(snapshot, options);
  const bool switches = options.type == "vnpu-mode" || options.type == "vnpu-cfg-recover" ||
                        options.type == "device-share" || options.type == "multi-die-policy";
  if (!switches) return {"This device does not support setting " + options.type + ".\n", kNotSupported};
  if (!options.data) return {"Must input parameter of -d.\n" + usage(), kParameterError};
  if (*options.data > 1) return refuse_option("-d");
  if (options.type == "vnpu-mode") return set_mode(*options.data);
  if (options.type == "vnpu-cfg-recover") return set_recover_mode(*options.data);
  if (options.type == "multi-die-policy") return set_multi_die_policy(*options.data);
  return set_share(snapshot, options, *options.data);
}

}  // namespace ascendsim::npu_smi
