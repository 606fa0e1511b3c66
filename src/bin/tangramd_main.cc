// tangramd: the daemon. Wiring only.
#include <fcntl.h>
#include <getopt.h>
#include <grp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/open_files.h"
#include "base/standard_files.h"
#include "cli/daemon_options.h"
#include "cli/help.h"
#include "cli/locale.h"
#include "cli/text.h"
#include "device/dcmi_devices.h"
#include "journal/journal.h"
#include "net/server.h"
#include "runner/process_executor.h"
#include "server/api.h"
#include "server/audit_log.h"
#include "server/gate.h"
#include "server/rate_limiter.h"
#include "service/clock.h"
#include "service/config.h"
#include "service/service.h"
#include "wire/command_texts.h"
#include "wire/errors.h"
#include "wire/schema.h"

namespace tangram {
namespace {

// Connections and what they ask for, two descriptors for each running job, the journal.
constexpr std::uint64_t kOpenFilesLeast = 4'096;

struct Arguments {
  std::string root;
  std::string config;
  bool check_only = false;
};

// Signals arrive as numbers in a pipe.
std::array<int, 2> signals{-1, -1};

void on_signal(int number) {
  const int kept = errno;
  const auto byte = static_cast<char>(number);
  (void)!write(signals[1], &byte, 1);
  errno = kept;
}

std::string usage() {
  constexpr std::size_t kWidth = 80;
  const wire::Language language = wire::language_of(cli::locale_of_messages());
  std::string text(wire::help::kUsage.in(language));
  text.append(" tangramd [OPTIONS]\n\n")
      .append(cli::wrap_text(wire::help::kDaemonWhat.in(language), kWidth, 0));
  return text + '\n' +
         cli::help_of_options(wire::help::kOptions.in(language), cli::daemon::kOptions, language, kWidth);
}

// The table's options as getopt_long(3) wants them; each is known by its place.
std::vector<option> known_options() {
  std::vector<option> known;
  for (const cli::Option& one : cli::daemon::kOptions) {
    const int has_value = one.is_flag() ? no_argument : required_argument;
    // The names are literals, so they end with a zero:
    // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage)
    known.push_back({one.name.substr(2).data(), has_value, nullptr, static_cast<int>(known.size())});
  }
  known.push_back({nullptr, 0, nullptr, 0});
  return known;
}

int refuse_usage() {
  std::fputs(usage().c_str(), stderr);
  return wire::kExitBadInput;
}

// Exit status, or -1 to go on.
int parse_arguments(int argc, char** argv, Arguments& arguments) {
  const std::vector<option> known = known_options();
  const auto absolute = [] { return std::filesystem::absolute(optarg).lexically_normal().string(); };
  int place = 0;
  while ((place = getopt_long(argc, argv, "h", known.data(), nullptr)) != -1) {
    if (place == '?') return refuse_usage();
    const cli::Option& option =
        place == 'h' ? cli::daemon::kHelp : cli::daemon::kOptions.at(static_cast<std::size_t>(place));
    if (option.name == cli::daemon::kRoot.name) arguments.root = absolute();
    if (option.name == cli::daemon::kConfig.name) arguments.config = absolute();
    if (option.name == cli::daemon::kCheckConfig.name) arguments.check_only = true;
    if (option.name == cli::daemon::kVersion.name) {
      std::puts(service::Options().version.c_str());
      return wire::kExitOk;
    }
    if (option.name == cli::daemon::kHelp.name) {
      std::fputs(usage().c_str(), stdout);
      return wire::kExitOk;
    }
  }
  return optind == argc ? -1 : refuse_usage();
}

int complain(const Error& error) {
  std::fprintf(stderr, "tangramd: %s\n", error.to_string().c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "tangramd: %s\n", error.hint.c_str());
  return wire::exit_code(error);
}

// The protocol of systemd's sd_notify(3): one datagram to the socket that the environment names.
void notify_manager(const std::string& state) {
  const char* const name = std::getenv("NOTIFY_SOCKET");
  if (name == nullptr || (name[0] != '/' && name[0] != '@')) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t length = std::strlen(name);
  if (length >= sizeof address.sun_path) return;
  std::memcpy(address.sun_path, name, length);
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  (void)sendto(fd, state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address),
               size);
  close(fd);
}

Result<void> catch_signals() {
  if (pipe2(signals.data(), O_CLOEXEC) != 0) return fail(system_error("cannot make a pipe", errno));
  struct sigaction action{};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaction(number, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return {};
}

// The next signal.
int wait_for_signal() {
  char number = 0;
  while (read(signals[0], &number, 1) < 0 && errno == EINTR) {
  }
  return number;
}

std::string own_directory() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
}

// What the machine says about itself where the configuration is silent.
void complete(service::Config& config) {
  service::Options& options = config.options;
  if (options.node == service::Options().node) {
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0') options.node = name.data();
  }
  options.own_uid = geteuid();
  options.driver_directory = config.driver_directory;
  options.device_directory = config.device_directory;
  if (const group* const found = getgrnam(options.device_group.name.c_str())) {
    options.device_groups.push_back(found->gr_gid);
  }
}

std::unique_ptr<Executor> make_executor(const service::Config& config) {
  runner::ProcessExecutorConfig runner;
  runner.root = config.places.state;
  runner.supervisor = own_directory() + "/tangram-supervise";
  runner.cgroup_parent = config.cgroup;
  runner.device_dir = config.device_directory;
  const std::string standard = config.options.ascend_home + "/driver";
  if (config.driver_directory != standard) runner.mounts.push_back({config.driver_directory, standard, true});
  for (const service::DriverMount& mount : config.mounts)
    runner.mounts.push_back({mount.source, mount.target, true});
  return runner::make_process_executor(std::move(runner));
}

std::unique_ptr<Devices> make_devices(const service::Config& config) {
  device::DcmiOptions dcmi;
  dcmi.helper_path = own_directory() + "/tangram-dcmi-helper";
  dcmi.library_path = config.device_library;
  // The driver keeps its own files beside the devices: /etc beside /dev.
  const std::filesystem::path devices(config.device_directory + "/.");
  const std::string root = devices.lexically_normal().parent_path().parent_path().string();
  dcmi.machine_root = root == "/" ? "" : root;
  dcmi.chips = config.options.chips;
  return device::make_dcmi_devices(std::move(dcmi));
}

using TlsContexts = std::vector<std::shared_ptr<net::TlsContext>>;

// The addresses of the API. `contexts` are those that may be read again.
Result<std::vector<net::Endpoint>> make_endpoints(const service::Config& config, TlsContexts& contexts) {
  std::vector<net::Endpoint> endpoints{
      net::UnixEndpoint{config.places.socket, 0666, std::nullopt, std::nullopt}};
  for (const service::Listen& listen : config.listen) {
    net::TcpEndpoint endpoint{listen.address, listen.port, nullptr};
    if (listen.has_tls()) {
      auto context = net::TlsContext::load({listen.certificate, listen.key});
      if (!context) return fail(wrap(listen.where, std::move(context).error()));
      contexts.push_back(*context);
      endpoint.tls = std::move(*context);
    }
    endpoints.emplace_back(std::move(endpoint));
  }
  return endpoints;
}

net::ServerLimits make_limits(const service::ApiLimits& api) {
  const auto size = [](std::int64_t number) { return static_cast<std::size_t>(number); };
  net::ServerLimits limits;
  limits.connections_max = size(api.connections);
  limits.connections_per_share_max = size(api.connections_per_tenant);
  limits.connections_unknown_max = size(api.connections_unknown);
  limits.handshakes_per_second = size(api.handshakes_per_second);
  limits.body_bytes_max = wire::kBatchBytesMax;
  limits.bytes_per_share_max = size(api.memory_per_tenant);
  limits.bytes_max = size(api.memory);
  limits.header_time = std::chrono::milliseconds(api.header_time_ms);
  limits.body_time = std::chrono::milliseconds(api.body_time_ms);
  limits.idle_time = std::chrono::milliseconds(api.idle_time_ms);
  limits.stall_time = std::chrono::milliseconds(api.stall_time_ms);
  return limits;
}

// Each connection is a descriptor; jobs, the journal and the log need some as well.
void allow_descriptors(std::int64_t connections) {
  constexpr rlim_t kOthers = 1'024;
  const rlim_t wanted = static_cast<rlim_t>(connections) + kOthers;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < wanted) {
    log::warn("only " + std::to_string(limit.rlim_cur) + " open files are allowed, and " +
              std::to_string(wanted) + " may be needed: raise the limit, or lower limits.connections");
  }
}

Result<std::unique_ptr<net::HttpServer>> take_addresses(const service::Config& config,
                                                        TlsContexts& contexts) {
  std::error_code problem;
  std::filesystem::create_directories(std::filesystem::path(config.places.socket).parent_path(), problem);
  if (problem)
    return fail(system_error("cannot create the directory of " + config.places.socket, problem.value()));
  net::ServerOptions options;
  TG_TRY(options.endpoints, make_endpoints(config, contexts));
  options.limits = make_limits(config.api);
  return net::HttpServer::bind(std::move(options));
}

void tell_addresses(const service::Config& config, const net::HttpServer& http) {
  const std::vector<std::uint16_t> ports = http.ports();
  for (std::size_t i = 0; i < config.listen.size(); ++i) {
    const service::Listen& listen = config.listen[i];
    const bool v6 = listen.address.find(':') != std::string::npos;
    log::info("listening on " + std::string(listen.has_tls() ? "https" : "http") + "://" +
              (v6 ? "[" + listen.address + "]" : listen.address) + ":" + std::to_string(ports[i + 1]));
  }
  log::info("ready on " + config.places.socket);
  notify_manager("READY=1");
}

void reload(const TlsContexts& contexts) {
  for (const auto& context : contexts) {
    const auto done = context->reload();
    if (done) {
      log::info("the certificate " + context->files().certificate + " was read again");
    } else {
      log::error("the certificate stays as it was: " + done.error().to_string() +
                 (done.error().hint.empty() ? "" : "; " + done.error().hint));
    }
  }
}

Result<void> run(const service::Config& config) {
  TG_TRY_VOID(catch_signals());
  allow_descriptors(config.api.connections);
  TG_TRY(const std::unique_ptr<journal::Journal> journal, journal::Journal::open(config.places.state));
  // What may be wrong on the way to the clients is found out before anything is decided or started.
  TlsContexts contexts;
  TG_TRY(const std::unique_ptr<net::HttpServer> http, take_addresses(config, contexts));
  TG_TRY(const std::unique_ptr<server::AuditLog> audit,
         server::AuditLog::open({config.audit.file, config.audit.size, config.audit.files}));
  const server::ApiParts parts{std::make_shared<server::RateLimiter>(
      server::Rate{config.api.requests_per_second, config.api.request_burst})};
  const std::unique_ptr<Executor> executor = make_executor(config);
  const std::unique_ptr<Devices> devices = make_devices(config);
  service::SystemClock clock;
  service::Service service(config.options, *journal, *executor, *devices, clock);
  TG_TRY_VOID(service.start());
  TG_TRY_VOID(
      http->serve(server::make_handler(service, parts), server::make_gate(service, parts, audit.get())));
  for (const std::string& wall : executor->missing_walls()) log::warn("missing between tenants: " + wall);
  tell_addresses(config, *http);

  while (wait_for_signal() == SIGHUP) reload(contexts);
  log::info("stopping; jobs run on");
  notify_manager("STOPPING=1");
  service.keep_leases();
  http->stop();
  service.stop();
  return {};
}

int start(int argc, char** argv) {
  Arguments arguments;
  if (const int status = parse_arguments(argc, argv, arguments); status >= 0) return status;
  const bool named = !arguments.config.empty();
  const std::string file = named ? arguments.config : service::places_below(arguments.root).config;
  auto config = service::load_config(file, arguments.root, named);
  if (!config) return complain(config.error());
  if (arguments.check_only) {
    TlsContexts contexts;
    if (const auto endpoints = make_endpoints(*config, contexts); !endpoints)
      return complain(endpoints.error());
    const bool exists = std::filesystem::exists(file);
    std::printf(exists ? "%s can be used\n" : "there is no %s: the defaults hold\n", file.c_str());
    return wire::kExitOk;
  }
  complete(*config);
  log::start("tangramd", config->log_level);
  if (const std::uint64_t files = raise_open_files_limit(); files < kOpenFilesLeast) {
    log::warn("this process may open no more than " + std::to_string(files) +
              " files, too few for all connections and many jobs; raise LimitNOFILE (ulimit -Hn) to " +
              std::to_string(kOpenFilesLeast) + " or more");
  }
  const auto done = run(*config);
  return done ? wire::kExitOk : complain(done.error());
}

}  // namespace
}  // namespace tangram

int main(int argc, char** argv) {
  tangram::occupy_standard_files();
  try {
    return tangram::start(argc, argv);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "tangramd: %s\n", problem.what());
    return tangram::wire::kExitBug;
  }
}
