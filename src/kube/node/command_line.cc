#include "kube/node/command_line.h"

#include <getopt.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/units.h"
#include "kube/node/share.h"
#include "wire/errors.h"

namespace tangram::kube::node {
namespace {

constexpr const char* kUsage =
    "usage: tangram-kube-node --node NAME [OPTIONS]\n"
    "\n"
    "Offers the NPUs of this node to its kubelet, and gives each Pod what it was given. Needs root.\n"
    "\n"
    "  --node NAME                 of this node in the cluster (NODE_NAME)\n"
    "  --kubeconfig FILE           else that of the environment, or of the Pod\n"
    "  --state-directory DIR       what must not be forgotten (/var/lib/tangram/node)\n"
    "  --share-directory DIR       where containers get devices from (/run/tangram/shares)\n"
    "  --kubelet-directory DIR     (/var/lib/kubelet)\n"
    "  --device-directory DIR      of the driver's nodes (/dev)\n"
    "  --device-library FILE       libdcmi.so (where a driver installs it)\n"
    "  --mount HOST[:CONTAINER]    of the driver's files, read-only; more than one may be given\n"
    "                              (those that are there of the driver's usual ones)\n"
    "  --resource NAME             of all NPUs (after the chip of each: huawei.com/Ascend310P)\n"
    "  --shares NUMBER             in which each NPU is offered (as many as its smallest template fits)\n"
    "  --reclaim-unowned DURATION  returns slices that nobody here made, idle for so long (never)\n"
    "  --metrics ADDRESS:PORT      where Prometheus finds what containers use, at /metrics (nowhere)\n"
    "  --proc DIR                  where the processes of the whole node are seen (/proc)\n"
    "  --check                     says whether another driver stands in the way, and ends\n"
    "  --help\n";

enum class Option : std::uint8_t {
  kNode,
  kKubeconfig,
  kState,
  kShareDirectory,
  kKubelet,
  kDevices,
  kLibrary,
  kMount,
  kResource,
  kShares,
  kReclaim,
  kMetrics,
  kProc,
  kCheck,
  kHelp,
};

constexpr std::array<option, 16> kOptions{{
    {"node", required_argument, nullptr, static_cast<int>(Option::kNode)},
    {"kubeconfig", required_argument, nullptr, static_cast<int>(Option::kKubeconfig)},
    {"state-directory", required_argument, nullptr, static_cast<int>(Option::kState)},
    {"share-directory", required_argument, nullptr, static_cast<int>(Option::kShareDirectory)},
    {"kubelet-directory", required_argument, nullptr, static_cast<int>(Option::kKubelet)},
    {"device-directory", required_argument, nullptr, static_cast<int>(Option::kDevices)},
    {"device-library", required_argument, nullptr, static_cast<int>(Option::kLibrary)},
    {"mount", required_argument, nullptr, static_cast<int>(Option::kMount)},
    {"resource", required_argument, nullptr, static_cast<int>(Option::kResource)},
    {"shares", required_argument, nullptr, static_cast<int>(Option::kShares)},
    {"reclaim-unowned", required_argument, nullptr, static_cast<int>(Option::kReclaim)},
    {"metrics", required_argument, nullptr, static_cast<int>(Option::kMetrics)},
    {"proc", required_argument, nullptr, static_cast<int>(Option::kProc)},
    {"check", no_argument, nullptr, static_cast<int>(Option::kCheck)},
    {"help", no_argument, nullptr, static_cast<int>(Option::kHelp)},
    {nullptr, 0, nullptr, 0},
}};

// What the vendor's container runtime mounts, and what its tools need on top of that.
constexpr std::array kUsualMounts = {"/usr/local/Ascend/driver/lib64",
                                     "/usr/local/Ascend/driver/version.info",
                                     "/usr/local/dcmi",
                                     "/usr/local/bin/npu-smi",
                                     "/etc/ascend_install.info",
                                     "/var/queue_schedule"};

std::string absolute(const char* path) {
  return std::filesystem::absolute(path).lexically_normal().string();
}

HostMount mount_of(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string host(text.substr(0, colon));
  return {host, colon == std::string_view::npos ? host : std::string(text.substr(colon + 1))};
}

Result<std::uint32_t> parse_shares(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number == 0 || number > kSharesMax) {
    return fail(Code::kInvalidArgument, "node.options.invalid",
                "--shares takes a number from 1 to " + std::to_string(kSharesMax));
  }
  return number;
}

Result<net::TcpEndpoint> parse_endpoint(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  net::TcpEndpoint endpoint;
  const std::string_view port = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), endpoint.port);
  if (error != std::errc() || end != port.data() + port.size()) {
    return fail(Code::kInvalidArgument, "node.options.invalid", "--metrics takes ADDRESS:PORT");
  }
  endpoint.address = text.substr(0, colon);
  return endpoint;
}

Result<void> take_option(Option option, Arguments& arguments) {
  switch (option) {
    case Option::kNode:
      arguments.node = optarg;
      break;
    case Option::kKubeconfig:
      arguments.kubeconfig = optarg;
      break;
    case Option::kState:
      arguments.agent.state_directory = absolute(optarg);
      break;
    case Option::kShareDirectory:
      arguments.agent.share_directory = absolute(optarg);
      break;
    case Option::kKubelet:
      arguments.kubelet = absolute(optarg);
      break;
    case Option::kDevices:
      arguments.agent.devices = absolute(optarg);
      break;
    case Option::kLibrary:
      arguments.library = absolute(optarg);
      break;
    case Option::kMount:
      arguments.agent.mounts.push_back(mount_of(optarg));
      break;
    case Option::kResource:
      arguments.agent.facts.resource = optarg;
      break;
    case Option::kShares: {
      TG_TRY(arguments.agent.facts.shares, parse_shares(optarg));
      break;
    }
    case Option::kReclaim: {
      TG_TRY(arguments.agent.slices.foreign.grace_ms, parse_duration_ms(optarg, "--reclaim-unowned"));
      arguments.agent.slices.foreign.reclaim = true;
      break;
    }
    case Option::kMetrics: {
      TG_TRY(arguments.metrics, parse_endpoint(optarg));
      break;
    }
    case Option::kProc:
      arguments.agent.proc = absolute(optarg);
      break;
    case Option::kCheck:
      arguments.check_only = true;
      break;
    case Option::kHelp:
      break;
  }
  return {};
}

}  // namespace

int complain(const Error& error) {
  std::fprintf(stderr, "tangram-kube-node: %s\n", error.to_string().c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "tangram-kube-node: %s\n", error.hint.c_str());
  return wire::exit_code(error);
}

int parse_arguments(int argc, char** argv, Arguments& arguments) {
  arguments.agent.state_directory = "/var/lib/tangram/node";
  arguments.agent.share_directory = "/run/tangram/shares";
  arguments.agent.facts = builtin_rules();
  if (const char* const name = std::getenv("NODE_NAME")) arguments.node = name;
  int place = 0;
  while ((place = getopt_long(argc, argv, "", kOptions.data(), nullptr)) != -1) {
    if (place == '?') return wire::kExitBadInput;
    const auto option = static_cast<Option>(place);
    if (option == Option::kHelp) {
      std::fputs(kUsage, stdout);
      return wire::kExitOk;
    }
    if (const Result<void> taken = take_option(option, arguments); !taken) return complain(taken.error());
  }
  if (optind != argc || arguments.node.empty()) {
    std::fputs(kUsage, stderr);
    return wire::kExitBadInput;
  }
  if (arguments.agent.mounts.empty()) {
    for (const char* const path : kUsualMounts) {
      if (std::filesystem::exists(path)) arguments.agent.mounts.push_back({path, path});
    }
  }
  return -1;
}

}  // namespace tangram::kube::node
