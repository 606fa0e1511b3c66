// tangram-kube: admission, manager and extender of a cluster, in one process. Wiring only.
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/standard_files.h"
#include "kube/admission/certificates.h"
#include "kube/admission/directory.h"
#include "kube/admission/feed.h"
#include "kube/admission/webhook.h"
#include "kube/api/client.h"
#include "kube/api/config.h"
#include "kube/extender/extender.h"
#include "kube/extender/gate.h"
#include "kube/manager/manager.h"
#include "kube/metrics/cluster_feed.h"
#include "kube/metrics/cluster_page.h"
#include "kube/process/keeping.h"
#include "kube/process/open_gates.h"
#include "kube/process/options.h"
#include "kube/process/routes.h"
#include "net/server.h"
#include "wire/errors.h"

namespace tangram {
namespace {

namespace admission = kube::admission;
namespace extender = kube::extender;
namespace metrics = kube::metrics;
namespace process = kube::process;
using kube::manager::Manager;

constexpr const char* kWebhookName = "tangram-webhook";    // Service, Secret
constexpr const char* kExtenderName = "tangram-extender";  // Service
constexpr const char* kManagerName = "tangram-manager";    // ServiceAccount, Lease
constexpr const char* kAgentName = "tangram-agent";        // ServiceAccount
constexpr const char* kConfigurationName = "tangram";
constexpr std::chrono::milliseconds kLastAnswers{2'000};

admission::Settings settings_of(const process::Options& options) {
  admission::Settings settings;
  settings.scheduler = options.scheduler;
  settings.runtime_class = options.runtime_class;
  for (const char* const account : {kManagerName, kAgentName}) {
    settings.trusted.push_back("system:serviceaccount:" + options.space + ":" + account);
  }
  return settings;
}

process::CertificateKeeping::Options certificates_of(const process::Options& options) {
  process::CertificateKeeping::Options keeping;
  keeping.keeper.space = options.space;
  keeping.keeper.secret = kWebhookName;
  keeping.keeper.configuration = kConfigurationName;
  keeping.keeper.directory = options.certificates;
  for (const char* const service : {kWebhookName, kExtenderName}) {
    const std::string name = std::string(service) + "." + options.space + ".svc";
    keeping.keeper.terms.dns_names.push_back(name);
    keeping.keeper.terms.dns_names.push_back(name + ".cluster.local");
  }
  keeping.scheduler_ca = options.scheduler_ca;
  // Whom this process's own authority vouches for, it gives a certificate as well.
  if (keeping.scheduler_ca == options.certificates + "/ca.crt") {
    keeping.keeper.terms.client_name = options.scheduler_clients.front();
  }
  return keeping;
}

kube::manager::ManagerOptions manager_of(const process::Options& options) {
  kube::manager::ManagerOptions managing;
  managing.lease.space = options.space;
  managing.lease.name = kManagerName;
  managing.lease.identity = options.identity;
  return managing;
}

void add_manager(const kube::manager::ManagerStatus& status, metrics::Page& page) {
  using metrics::Metric;
  const auto number = [](auto count) { return static_cast<double>(count); };
  page.add(Metric::kBuildInfo, 1, {TANGRAM_VERSION});
  page.add(Metric::kLeader, status.leads ? 1 : 0);
  if (!status.leads) return;
  page.add(Metric::kReady, status.ready ? 1 : 0);
  page.add(Metric::kGatesOpened, number(status.gates_opened));
  page.add(Metric::kGateConflicts, number(status.gates_conflicts));
  page.add(Metric::kGateFailures, number(status.gates_failed));
  page.add(Metric::kPodsWoken, number(status.pods_woken));
  page.add(Metric::kReservationsExpired, number(status.reservations_expired));
  page.add(Metric::kBooksRebuilt, number(status.books_rebuilt));
  if (!status.ready) return;
  page.add(Metric::kPods, number(status.pods_queued), {"queued"});
  page.add(Metric::kPods, number(status.pods_waiting), {"admitted"});
  page.add(Metric::kPods, number(status.pods_placed), {"placed"});
}

std::vector<metrics::QuotaLimit> limits_of(const admission::Directory& directory) {
  constexpr std::string_view kPrefix = "limits.";
  std::vector<metrics::QuotaLimit> limits;
  for (const auto& [space, lines] : directory.all_quotas()) {
    for (const admission::NamespaceQuota& line : lines) {
      limits.push_back({space, line.key.substr(kPrefix.size()), line.hard});
    }
  }
  return limits;
}

// All that a process has for one cluster.
struct Parts {
  explicit Parts(kube::ApiClient& client, const process::Options& options)
      : settings(std::make_shared<admission::SettingsBook>(settings_of(options))),
        directory(std::make_shared<admission::Directory>()),
        feed(client, directory, settings),
        rows(client),
        manager(client, manager_of(options)),
        extending(manager, client, extending_of()) {}

  extender::ExtenderOptions extending_of() {
    extender::ExtenderOptions options;
    options.bind.leads = [this] { return manager.leads(); };
    return options;
  }

  std::string page() {
    metrics::Page page;
    const kube::manager::ManagerStatus status = manager.status();
    add_manager(status, page);
    extending.meters().add_to(page);
    if (status.leads && rows.ready()) {
      const auto limits = limits_of(*directory);
      rows.read([&](const metrics::ClusterRows& known) { metrics::add_cluster(known, limits, page); });
    }
    return page.text();
  }

  std::shared_ptr<admission::SettingsBook> settings;
  std::shared_ptr<admission::Directory> directory;
  admission::Feed feed;
  metrics::ClusterFeed rows;
  Manager manager;
  extender::Extender extending;
};

Result<std::unique_ptr<net::HttpServer>> serve_metrics(const process::Options& options, Parts& parts) {
  net::ServerOptions serving;
  serving.endpoints.emplace_back(options.metrics);
  serving.limits.connections_max = 64;
  serving.handler_threads = 1;
  return net::HttpServer::start(std::move(serving),
                                process::make_metrics_routes([&parts] { return parts.page(); }));
}

Result<std::unique_ptr<net::HttpServer>> serve(const process::Options& options, Parts& parts,
                                               std::shared_ptr<net::TlsContext> context) {
  net::TcpEndpoint endpoint = options.listen;
  endpoint.tls = std::move(context);
  net::ServerOptions serving;
  serving.endpoints.emplace_back(std::move(endpoint));
  serving.limits = admission::webhook_limits();
  serving.limits.body_bytes_max = extender::kBodyBytesMax;
  process::Routes routes;
  routes.webhook =
      admission::make_webhook([book = parts.settings] { return book->current(); }, parts.directory);
  routes.is_extender = extender::Extender::is_path;
  routes.extender = [&parts](const net::Request& request, net::Responder responder) {
    parts.extending.handle(request, std::move(responder));
  };
  routes.ready = [&parts] { return parts.directory->ready(); };
  extender::GateRules rules;
  rules.schedulers = options.scheduler_clients;
  rules.leads = [&parts] { return parts.manager.leads(); };
  rules.other_bytes_max = admission::kReviewBytesMax;
  TG_TRY(auto server, net::HttpServer::bind(std::move(serving)));
  TG_TRY_VOID(server->serve(process::make_routes(std::move(routes)), extender::make_gate(std::move(rules))));
  return server;
}

void wait_for_signal(int signals) {
  pollfd wait{signals, POLLIN, 0};
  while (poll(&wait, 1, -1) < 0 && errno == EINTR) {
  }
}

Result<std::unique_ptr<kube::ApiClient>> open_client(const process::Options& options) {
  TG_TRY(kube::ClusterConfig config, kube::find_config(options.kubeconfig, {}));
  kube::ClientSettings settings;
  settings.user_agent = "tangram-kube";
  settings.field_manager = "tangram-kube";
  return kube::ApiClient::open(std::move(config), settings);
}

Result<void> open_all_gates(kube::ApiClient& client) {
  TG_TRY(const std::size_t opened, process::open_gates(client));
  log::info(std::to_string(opened) + " gates taken away; none is left");
  return {};
}

Result<void> run(const process::Options& options, int signals) {
  TG_TRY(const std::unique_ptr<kube::ApiClient> client, open_client(options));
  if (options.open_gates) return open_all_gates(*client);
  std::error_code error;
  std::filesystem::create_directories(options.certificates, error);
  if (error) return fail(system_error("cannot make " + options.certificates, error.value()));

  Parts parts(*client, options);
  TG_TRY(const std::unique_ptr<net::HttpServer> metrics_server, serve_metrics(options, parts));
  process::CertificateKeeping certificates(*client, certificates_of(options));
  Result<std::unique_ptr<net::HttpServer>> server = nullptr;
  // The API server may be away for a while; a signal must end this process all the same.
  std::thread serving([&] {
    auto context = certificates.start();
    if (context == nullptr) return;
    server = serve(options, parts, std::move(context));
    if (server) {
      log::info("serves the API server and the scheduler");
    } else {
      kill(getpid(), SIGTERM);
    }
  });
  parts.manager.start();
  auto label = std::make_unique<process::LabelKeeping>(
      *client, process::LeaderLabel(*client, options.space, options.identity),
      [&parts] { return parts.manager.leads(); });

  wait_for_signal(signals);
  log::info("stopping; Pods that run go on, others wait for the next leader");
  certificates.interrupt();
  serving.join();
  certificates.stop();
  // What the scheduler was promised is carried out while this process leads.
  parts.extending.finish();
  label.reset();
  parts.manager.stop();
  metrics_server->stop();
  if (!server) return fail(server.error());
  if (*server != nullptr) (*server)->stop(kLastAnswers);
  return {};
}

int complain(const Error& error) {
  std::fprintf(stderr, "tangram-kube: %s\n", error.to_string().c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "tangram-kube: %s\n", error.hint.c_str());
  return wire::exit_code(error);
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

  const Result<process::Options> options = process::parse_options(argc, argv);
  if (!options) return complain(options.error());
  if (options->help) {
    std::fputs(process::usage(), stdout);
    return wire::kExitOk;
  }
  log::start("tangram-kube", log::Level::kInfo);
  if (const Result<void> done = run(*options, signals); !done) return complain(done.error());
  return wire::kExitOk;
}

}  // namespace
}  // namespace tangram

int main(int argc, char** argv) {
  tangram::occupy_standard_files();
  try {
    return tangram::start(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tangram-kube: %s\n", error.what());
    return tangram::wire::kExitBug;
  }
}
