// tangram-kube-node: the agent of a node of a cluster. Wiring only.
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/standard_files.h"
#include "device/dcmi_devices.h"
#include "kube/api/client.h"
#include "kube/api/config.h"
#include "kube/node/agent.h"
#include "kube/node/agent_lock.h"
#include "kube/node/cluster_link.h"
#include "kube/node/command_line.h"
#include "kube/node/kubelet_link.h"
#include "kube/node/node_config.h"
#include "kube/node/node_link.h"
#include "kube/node/other_drivers.h"
#include "kube/node/plugin_life.h"
#include "kube/protocol/names.h"
#include "net/server.h"
#include "wire/errors.h"

namespace tangram {
namespace {

namespace node = kube::node;

constexpr std::chrono::milliseconds kRest{1'000};  // between looks at what operators want

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
    const bool own = name.starts_with(node::kEndpointPrefix) || name == "kubelet.sock";
    if (own || !name.ends_with(".sock")) continue;
    if (answers(entry.path().string())) sockets.push_back(name);
  }
  return sockets;
}

// Who hands out the same NPUs as somebody else gives away what that one has given.
Result<void> check_alone(const node::Arguments& arguments, node::ClusterLink& cluster) {
  TG_TRY(const auto own, cluster.node());
  const std::vector<std::string> others = node::other_drivers(
      other_sockets(arguments.kubelet + "/device-plugins"), arguments.agent.facts.resource, own);
  if (others.empty()) return {};
  std::string text;
  for (const std::string& other : others) text += (text.empty() ? "" : "; ") + other;
  return fail(Code::kFailedPrecondition, "node.other_driver",
              "another driver of Ascend NPUs serves this node: " + text,
              "remove it from this node first: docs/node-agent.md");
}

std::unique_ptr<Devices> make_devices(const node::Arguments& arguments) {
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

// Until a signal has come, or the time has passed; whether one has.
bool signalled(int signals, std::chrono::milliseconds most) {
  pollfd wait{signals, POLLIN, 0};
  return poll(&wait, 1, static_cast<int>(most.count())) > 0;
}

kube::node::AgentSink sink_to(node::ClusterLink& cluster) {
  node::AgentSink sink;
  sink.facts = [&cluster](const node::MachineFacts& facts) { return cluster.write_facts(facts); };
  sink.handed = [&cluster](const node::ContainerRef& pod, const node::PodNote& note) {
    return cluster.write_note(pod, note);
  };
  return sink;
}

// Whether HAMi's scheduler waits for a report of what this agent offers.
bool is_asked(const node::NodeLink& link, const node::Agent& agent) {
  const std::set<std::string> asked = link.asked();
  return std::ranges::any_of(agent.resources(), [&asked](const std::string& resource) {
    return std::ranges::any_of(
        asked, [&resource](const std::string& word) { return resource == kube::names::resource(word); });
  });
}

// Until a signal comes.
Result<void> serve(const node::Arguments& arguments, int signals, node::NodeLink& link, node::Agent& agent) {
  std::unique_ptr<net::HttpServer> http;
  if (arguments.metrics) {
    TG_TRY(http, serve_metrics(*arguments.metrics, agent));
  }
  node::PluginLife life(agent, {arguments.kubelet + "/device-plugins"});
  net::Interrupt stop;
  std::thread serving([&] { life.run(stop); });
  while (!signalled(signals, kRest)) {
    if (const auto configs = link.configs()) agent.set_rules(rules_for(arguments.agent.facts, *configs));
    if (is_asked(link, agent)) agent.tell_again();
  }
  log::info("stopping; Pods and their slices stay");
  stop.raise();
  serving.join();
  return {};
}

Result<void> run(const node::Arguments& arguments, int signals) {
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
  TG_TRY(const node::AgentLock only_one, node::AgentLock::take(arguments.agent.state_directory));
  TG_TRY_VOID(make_directory(arguments.agent.share_directory, perms::owner_all | perms::group_read |
                                                                  perms::group_exec | perms::others_read |
                                                                  perms::others_exec));
  node::NodeLink link(*client, arguments.node);
  link.start();
  cluster.start();
  // An NPU that is to be left alone must not be offered for a moment. No Pod could start before anyway.
  while (!link.configs()) {
    if (signalled(signals, kRest)) return {};
  }
  const std::unique_ptr<Devices> devices = make_devices(arguments);
  const std::unique_ptr<node::KubeletSource> kubelet = node::make_kubelet_source(
      {arguments.kubelet + "/pod-resources/kubelet.sock",
       arguments.kubelet + "/device-plugins/kubelet_internal_checkpoint"},
      [own = arguments.agent.facts.resource](std::string_view resource) {
        return resource == own || resource.starts_with(kube::names::kResourcePrefix);
      });
  node::AgentOptions options = arguments.agent;
  options.facts = rules_for(options.facts, *link.configs());
  node::Agent agent(std::move(options), *devices, cluster, *kubelet, sink_to(cluster));
  TG_TRY_VOID(agent.start());
  const Result<void> served = serve(arguments, signals, link, agent);
  agent.stop();
  return served;
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

  node::Arguments arguments;
  if (const int status = node::parse_arguments(argc, argv, arguments); status >= 0) return status;
  log::start("tangram-kube-node", log::Level::kInfo);
  if (const Result<void> done = run(arguments, signals); !done) return node::complain(done.error());
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
