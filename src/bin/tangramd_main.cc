// tangramd: the daemon. Wiring only.
#include <fcntl.h>
#include <getopt.h>
#include <grp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>

#include "base/log.h"
#include "base/standard_files.h"
#include "device/dcmi_devices.h"
#include "journal/journal.h"
#include "net/server.h"
#include "runner/process_executor.h"
#include "server/api.h"
#include "service/clock.h"
#include "service/config.h"
#include "service/service.h"
#include "wire/errors.h"
#include "wire/schema.h"

namespace tangram {
namespace {

constexpr const char* kUsage =
    "usage: tangramd [--root DIR] [--config FILE] [--check-config]\n"
    "\n"
    "Shares the NPUs of this machine among tenants until SIGTERM; jobs run on.\n"
    "  --root DIR       keep everything below DIR: etc/tangramd.yaml, run/tangram.sock, lib/\n"
    "  --config FILE    read this configuration instead of etc/tangramd.yaml\n"
    "  --check-config   say whether the configuration can be used, and exit\n"
    "  --version        print the version, and exit\n";

struct Arguments {
  std::string root;
  std::string config;
  bool check_only = false;
};

int stop_event = -1;

void on_stop_signal(int /*number*/) {
  const std::uint64_t one = 1;
  const int kept = errno;
  (void)!write(stop_event, &one, sizeof one);
  errno = kept;
}

// Exit status, or -1 to go on.
int parse_arguments(int argc, char** argv, Arguments& arguments) {
  const std::array<option, 6> known{{{"root", required_argument, nullptr, 'r'},
                                     {"config", required_argument, nullptr, 'c'},
                                     {"check-config", no_argument, nullptr, 'k'},
                                     {"version", no_argument, nullptr, 'v'},
                                     {"help", no_argument, nullptr, 'h'},
                                     {nullptr, 0, nullptr, 0}}};
  for (int letter = 0; (letter = getopt_long(argc, argv, "", known.data(), nullptr)) != -1;) {
    switch (letter) {
      case 'r':
        arguments.root = std::filesystem::absolute(optarg).lexically_normal().string();
        break;
      case 'c':
        arguments.config = std::filesystem::absolute(optarg).lexically_normal().string();
        break;
      case 'k':
        arguments.check_only = true;
        break;
      case 'v':
        std::puts(service::Options().version.c_str());
        return wire::kExitOk;
      case 'h':
        std::fputs(kUsage, stdout);
        return wire::kExitOk;
      default:
        std::fputs(kUsage, stderr);
        return wire::kExitBadInput;
    }
  }
  if (optind == argc) return -1;
  std::fputs(kUsage, stderr);
  return wire::kExitBadInput;
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

Result<void> catch_stop_signals() {
  stop_event = eventfd(0, EFD_CLOEXEC);
  if (stop_event < 0) return fail(system_error("cannot make an event", errno));
  struct sigaction action{};
  action.sa_handler = on_stop_signal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return {};
}

void wait_for_stop() {
  std::uint64_t count = 0;
  while (read(stop_event, &count, sizeof count) < 0 && errno == EINTR) {
  }
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
  if (const group* const found = getgrnam(config.device_group.c_str())) {
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
  return device::make_dcmi_devices(std::move(dcmi));
}

Result<std::unique_ptr<net::HttpServer>> serve(const service::Config& config, service::Service& service) {
  std::error_code problem;
  std::filesystem::create_directories(std::filesystem::path(config.places.socket).parent_path(), problem);
  if (problem)
    return fail(system_error("cannot create the directory of " + config.places.socket, problem.value()));
  net::ServerOptions options;
  options.endpoint = net::UnixEndpoint{config.places.socket, 0666, std::nullopt, std::nullopt};
  options.limits.body_bytes_max = wire::kBatchBytesMax;
  return net::HttpServer::start(std::move(options), server::make_handler(service));
}

Result<void> run(const service::Config& config) {
  TG_TRY_VOID(catch_stop_signals());
  TG_TRY(const std::unique_ptr<journal::Journal> journal, journal::Journal::open(config.places.state));
  const std::unique_ptr<Executor> executor = make_executor(config);
  const std::unique_ptr<Devices> devices = make_devices(config);
  service::SystemClock clock;
  service::Service service(config.options, *journal, *executor, *devices, clock);
  TG_TRY_VOID(service.start());
  TG_TRY(const std::unique_ptr<net::HttpServer> http, serve(config, service));
  for (const std::string& wall : executor->missing_walls()) log::warn("missing between tenants: " + wall);
  log::info("ready on " + config.places.socket);
  notify_manager("READY=1");

  wait_for_stop();
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
  auto config = service::load_config(file, arguments.root, named || arguments.check_only);
  if (!config) return complain(config.error());
  if (arguments.check_only) {
    std::printf("%s can be used\n", file.c_str());
    return wire::kExitOk;
  }
  complete(*config);
  log::start("tangramd", config->log_level);
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
