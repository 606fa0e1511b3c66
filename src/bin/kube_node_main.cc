// tangram-kube-node: the agent of a node of a cluster. Wiring only.
#include <getopt.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/standard_files.h"
#include "base/units.h"
#include "device/dcmi_devices.h"
#include "kube/api/client.h"
#include "kube/api/config.h"
#include "kube/node/agent.h"
#include "kube/node/cluster_link.h"
#include "kube/node/kubelet_link.h"
#include "kube/node/other_drivers.h"
#include "kube/node/plugin_life.h"
#include "net/server.h"
#include "wire/errors.h"

namespace tangram {
namespace {

namespace node = kube::node;

constexpr const char* kEndpoint = "tangram.sock";

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
    "  --resource NAME             (after the chips of this machine: huawei.com/Ascend310P)\n"
    "  --shares NUMBER             in which each NPU is offered (as many as its smallest template fits)\n"
    "  --reclaim-unowned DURATION  returns slices that nobody here made, idle for so long (never)\n"
    "  --metrics ADDRESS:PORT      where Prometheus finds what containers use, at /metrics (nowhere)\n"
    "  --check                     says whether another driver stands in the way, and ends\n"
    "  --help\n";

struct Arguments {
  std::string node;
  std::string kubeconfig;
  std::string kubelet = "/var/lib/kubelet";
  std::string library;
  std::optional<net::TcpEndpoint> metrics;
  bool check_only = false;
  node::AgentOptions agent;
};

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
  kCheck,
  kHelp,
};

constexpr std::array<option, 15> kOptions{{
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

node::HostMount mount_of(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string host(text.substr(0, colon));
  return {host, colon == std::string_view::npos ? host : std::string(text.substr(colon + 1))};
}

Result<std::uint32_t> parse_shares(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number == 0 || number > node::kSharesMax) {
    return fail(Code::kInvalidArgument, "node.options.invalid",
                "--shares takes a number from 1 to " + std::to_string(node::kSharesMax));
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
      arguments.agent.resource = optarg;
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
    case Option::kCheck:
      arguments.check_only = true;
      break;
    case Option::kHelp:
      break;
  }
  return {};
}

int complain(const Error& error) {
  std::fprintf(stderr, "tangram-kube-node: %s\n", error.to_string().c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "tangram-kube-node: %s\n", error.hint.c_str());
  return wire::exit_code(error);
}

// Exit status, or -1 to go on.
int parse_arguments(int argc, char** argv, Arguments& arguments) {
  arguments.agent.state_directory = "/var/lib/tangram/node";
  arguments.agent.share_directory = "/run/tangram/shares";
  arguments.agent.facts = node::builtin_rules();
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

// Whether somebody listens at the socket.
bool answers(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return false;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const bool there = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(fd);
  return there;
}

std::vector<std::string> other_sockets(const std::string& directory) {
  std::vector<std::string> sockets;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (name == kEndpoint || name == "kubelet.sock" || !name.ends_with(".sock")) continue;
    if (answers(entry.path().string())) sockets.push_back(name);
  }
  return sockets;
}

// Who hands out the same NPUs as somebody else gives away what that one has given.
Result<void> check_alone(const Arguments& arguments, node::ClusterLink& cluster) {
  TG_TRY(const auto own, cluster.node());
  const std::vector<std::string> others = node::other_drivers(
      other_sockets(arguments.kubelet + "/device-plugins"), arguments.agent.resource, own);
  if (others.empty()) return {};
  std::string text;
  for (const std::string& other : others) text += (text.empty() ? "" : "; ") + other;
  return fail(Code::kFailedPrecondition, "node.other_driver",
              "another driver of Ascend NPUs serves this node: " + text,
              "remove it from this node first: docs/node-agent.md");
}

std::unique_ptr<Devices> make_devices(const Arguments& arguments) {
  device::DcmiOptions options;
  options.helper_path =
      (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "tangram-dcmi-helper").string();
  options.library_path = arguments.library;
  // The driver keeps its own files beside the devices: /etc beside /dev.
  const std::string root = std::filesystem::path(arguments.agent.devices).parent_path().string();
  options.machine_root = root == "/" ? "" : root;
  return device::make_dcmi_devices(std::move(options));
}

Result<std::unique_ptr<net::HttpServer>> serve_metrics(const net::TcpEndpoint& endpoint,
                                                       const node::Agent& agent) {
  net::ServerOptions options;
  options.endpoints.emplace_back(endpoint);
  options.limits.connections_max = 32;
  options.handler_threads = 1;
  return net::HttpServer::start(
      std::move(options), [&agent](const net::Request& request, net::Responder answer) {
        net::Response response;
        response.headers.set("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
        if (request.path == "/metrics" && request.method == net::Method::kGet) {
          response.body = agent.metrics();
        } else {
          response.status = 404;
        }
        answer.send(std::move(response));
      });
}

Result<void> make_directory(const std::string& path, std::filesystem::perms mode) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error) std::filesystem::permissions(path, mode, error);
  if (error) return fail(system_error("cannot make " + path, error.value()));
  return {};
}

Result<void> run(const Arguments& arguments, int signals) {
  using std::filesystem::perms;
  TG_TRY(kube::ClusterConfig config, kube::find_config(arguments.kubeconfig, {}));
  kube::ClientSettings settings;
  settings.user_agent = "tangram-kube-node";
  settings.field_manager = "tangram-kube-node";
  TG_TRY(const std::unique_ptr<kube::ApiClient> client, kube::ApiClient::open(std::move(config), settings));
  node::ClusterLink cluster(*client, arguments.node);
  TG_TRY_VOID(check_alone(arguments, cluster));
  if (arguments.check_only) return {};
  TG_TRY_VOID(make_directory(arguments.agent.state_directory, perms::owner_all));
  TG_TRY_VOID(make_directory(arguments.agent.share_directory, perms::owner_all | perms::group_read |
                                                                  perms::group_exec | perms::others_read |
                                                                  perms::others_exec));

  const std::unique_ptr<Devices> devices = make_devices(arguments);
  node::Agent* known = nullptr;
  const std::unique_ptr<node::KubeletSource> kubelet =
      node::make_kubelet_source({arguments.kubelet + "/pod-resources/kubelet.sock",
                                 arguments.kubelet + "/device-plugins/kubelet_internal_checkpoint"},
                                [&known] { return known->resource(); });
  node::AgentSink sink;
  sink.facts = [&cluster](const node::MachineFacts& facts) { return cluster.write_facts(facts); };
  sink.handed = [&cluster](const node::ContainerRef& pod, const std::string& allocated) {
    return cluster.write_allocated(pod, allocated);
  };
  node::Agent agent(arguments.agent, *devices, cluster, *kubelet, std::move(sink));
  known = &agent;
  cluster.start();
  TG_TRY_VOID(agent.start());
  std::unique_ptr<net::HttpServer> http;
  if (arguments.metrics) {
    TG_TRY(http, serve_metrics(*arguments.metrics, agent));
  }
  node::PluginLife life(agent, {arguments.kubelet + "/device-plugins", kEndpoint});
  net::Interrupt stop;
  std::thread serving([&] { life.run(stop); });
  pollfd wait{signals, POLLIN, 0};
  while (poll(&wait, 1, -1) < 0 && errno == EINTR) {
  }
  log::info("stopping; Pods and their slices stay");
  stop.raise();
  serving.join();
  agent.stop();
  cluster.stop();
  return {};
}

int start(int argc, char** argv) {
  // Before any thread: all of them inherit it.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  signal(SIGPIPE, SIG_IGN);
  const int signals = signalfd(-1, &ends, SFD_CLOEXEC);

  Arguments arguments;
  if (const int status = parse_arguments(argc, argv, arguments); status >= 0) return status;
  log::start("tangram-kube-node", log::Level::kInfo);
  if (const Result<void> done = run(arguments, signals); !done) return complain(done.error());
  return wire::kExitOk;
}

}  // namespace
}  // namespace tangram

int main(int argc, char** argv) {
  tangram::occupy_standard_files();
  try {
    return tangram::start(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tangram-kube-node: %s\n", error.what());
    return tangram::wire::kExitBug;
  }
}
