#include "kube/process/options.h"

#include <getopt.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/quote.h"
#include "kube/extender/gate.h"

namespace tangram::kube::process {
namespace {

constexpr const char* kUsage =
    "usage: tangram-kube [OPTIONS]\n"
    "\n"
    "Admits, queues and places Pods with Ascend NPUs on a cluster. Several may run; one of them leads.\n"
    "\n"
    "  --kubeconfig FILE         else that of the environment, or of the Pod\n"
    "  --namespace NAME          where its Secret and its Lease are (POD_NAMESPACE, or kube-system)\n"
    "  --identity NAME           of this process in the Lease, and of its own Pod (POD_NAME, or host and "
    "process)\n"
    "  --listen ADDRESS:PORT     HTTPS for API server and scheduler: /pods, /filter, /prioritize, /bind, "
    "/healthz,\n"
    "                            /readyz (0.0.0.0:8443)\n"
    "  --metrics ADDRESS:PORT    HTTP for Prometheus: /metrics, /healthz (0.0.0.0:9395)\n"
    "  --certificates DIR        where the server's certificate is kept for itself (/run/tangram)\n"
    "  --scheduler NAME          spec.schedulerName that Pods with NPUs are given (default-scheduler)\n"
    "  --scheduler-ca FILE       PEM of who signs the scheduler's client certificate (the cluster's own: "
    "ConfigMap\n"
    "                            extension-apiserver-authentication of kube-system)\n"
    "  --scheduler-client NAME   common name in that certificate; more than one may be given\n"
    "                            (system:kube-scheduler)\n"
    "  --runtime-class NAME      for Pods with NPUs that name none (none)\n"
    "  --open-gates              takes Tangram's gate away from all Pods, and ends: before Tangram is taken "
    "away\n"
    "  --help\n";

enum class Option : std::uint8_t {
  kKubeconfig,
  kNamespace,
  kIdentity,
  kListen,
  kMetrics,
  kCertificates,
  kScheduler,
  kSchedulerCa,
  kSchedulerClient,
  kRuntimeClass,
  kOpenGates,
  kHelp,
};

constexpr std::array<option, 13> kOptions{{
    {"kubeconfig", required_argument, nullptr, static_cast<int>(Option::kKubeconfig)},
    {"namespace", required_argument, nullptr, static_cast<int>(Option::kNamespace)},
    {"identity", required_argument, nullptr, static_cast<int>(Option::kIdentity)},
    {"listen", required_argument, nullptr, static_cast<int>(Option::kListen)},
    {"metrics", required_argument, nullptr, static_cast<int>(Option::kMetrics)},
    {"certificates", required_argument, nullptr, static_cast<int>(Option::kCertificates)},
    {"scheduler", required_argument, nullptr, static_cast<int>(Option::kScheduler)},
    {"scheduler-ca", required_argument, nullptr, static_cast<int>(Option::kSchedulerCa)},
    {"scheduler-client", required_argument, nullptr, static_cast<int>(Option::kSchedulerClient)},
    {"runtime-class", required_argument, nullptr, static_cast<int>(Option::kRuntimeClass)},
    {"open-gates", no_argument, nullptr, static_cast<int>(Option::kOpenGates)},
    {"help", no_argument, nullptr, static_cast<int>(Option::kHelp)},
    {nullptr, 0, nullptr, 0},
}};

tl::unexpected<Error> invalid(const std::string& what) {
  return fail(Code::kInvalidArgument, "kube.options.invalid", what, "tangram-kube --help");
}

Result<net::TcpEndpoint> parse_endpoint(std::string_view text, std::string_view option) {
  const std::size_t colon = text.rfind(':');
  const std::string_view port = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  net::TcpEndpoint endpoint;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), endpoint.port);
  if (error != std::errc() || end != port.data() + port.size() || colon == 0) {
    return invalid(std::string(option) + " takes ADDRESS:PORT, not " + quoted(text));
  }
  std::string_view address = text.substr(0, colon);
  if (address.starts_with('[') && address.ends_with(']')) address = address.substr(1, address.size() - 2);
  endpoint.address = address;
  return endpoint;
}

Result<void> take(Option option, const char* value, Options& options) {
  switch (option) {
    case Option::kKubeconfig:
      options.kubeconfig = value;
      break;
    case Option::kNamespace:
      options.space = value;
      break;
    case Option::kIdentity:
      options.identity = value;
      break;
    case Option::kListen: {
      TG_TRY(options.listen, parse_endpoint(value, "--listen"));
      break;
    }
    case Option::kMetrics: {
      TG_TRY(options.metrics, parse_endpoint(value, "--metrics"));
      break;
    }
    case Option::kCertificates:
      options.certificates = value;
      break;
    case Option::kScheduler:
      options.scheduler = value;
      break;
    case Option::kSchedulerCa:
      options.scheduler_ca = value;
      break;
    case Option::kSchedulerClient:
      options.scheduler_clients.emplace_back(value);
      break;
    case Option::kRuntimeClass:
      options.runtime_class = value;
      break;
    case Option::kOpenGates:
      options.open_gates = true;
      break;
    case Option::kHelp:
      options.help = true;
      break;
  }
  return {};
}

std::string own_name() {
  std::array<char, HOST_NAME_MAX + 1> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  return std::string(host.data()) + "-" + std::to_string(getpid());
}

}  // namespace

const char* usage() {
  return kUsage;
}

Result<Options> parse_options(int argc, char** argv) {
  Options options;
  if (const char* const space = std::getenv("POD_NAMESPACE")) options.space = space;
  if (const char* const name = std::getenv("POD_NAME")) options.identity = name;
  int place = 0;
  optind = 0;  // all of it anew, whoever called before
  opterr = 0;
  while ((place = getopt_long(argc, argv, "", kOptions.data(), nullptr)) != -1) {
    if (place == '?') {
      return invalid("there is no option " + quoted(argv[optind - 1]) + ", or it lacks its value");
    }
    TG_TRY_VOID(take(static_cast<Option>(place), optarg, options));
  }
  if (optind < argc) return invalid("there is an argument too much: " + quoted(argv[optind]));
  if (options.space.empty()) return invalid("--namespace must not be empty");
  if (options.identity.empty()) options.identity = own_name();
  if (options.scheduler_clients.empty()) {
    options.scheduler_clients.emplace_back(extender::kSchedulerName);
  }
  return options;
}

}  // namespace tangram::kube::process
