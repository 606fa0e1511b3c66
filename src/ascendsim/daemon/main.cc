// ascendsimd: plays the kernel driver of an Ascend machine.
#include <getopt.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <vector>

#include "ascendsim/daemon/driver.h"
#include "ascendsim/daemon/driver_tree.h"
#include "ascendsim/daemon/server.h"

namespace ascendsim {
namespace {

constexpr char kUsage[] =
    "usage: ascendsimd --root DIR [--machine FILE.yaml] [--lib-dir DIR]\n"
    "\n"
    "Plays the driver of an Ascend machine below DIR until SIGTERM.\n"
    "  --root DIR        where the driver's files, socket and device nodes go\n"
    "  --machine FILE    the machine to play; left out: eight Ascend 910B4\n"
    "  --lib-dir DIR     where libascendcl.so and libdcmi.so were built; left out: ../lib beside this "
    "program\n"
    "  --boot-ms N       the chips are up after N milliseconds; left out: at once\n"
    "  --print-machine   print the description that is used without --machine, and exit\n";

struct Options {
  std::string root;
  std::string machine;
  std::string library_folder;
  std::uint32_t boot_ms = 0;
};

std::string default_library_folder() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  return (program.parent_path().parent_path() / "lib").string();
}

// Exit status, or -1 to go on.
int parse_options(int argc, char** argv, Options* options) {
  const option known[] = {{"root", required_argument, nullptr, 'r'},
                          {"machine", required_argument, nullptr, 'm'},
                          {"lib-dir", required_argument, nullptr, 'l'},
                          {"print-machine", no_argument, nullptr, 'p'},
                          {"boot-ms", required_argument, nullptr, 'b'},
                          {"help", no_argument, nullptr, 'h'},
                          {nullptr, 0, nullptr, 0}};
  for (int letter = 0; (letter = getopt_long(argc, argv, "", known, nullptr)) != -1;) {
    switch (letter) {
      case 'r':
        options->root = optarg;
        break;
      case 'm':
        options->machine = optarg;
        break;
      case 'l':
        options->library_folder = optarg;
        break;
      case 'b':
        options->boot_ms = static_cast<std::uint32_t>(std::strtoul(optarg, nullptr, 10));
        break;
      case 'p':
        std::fputs(std::string(default_machine_yaml()).c_str(), stdout);
        return 0;
      case 'h':
        std::fputs(kUsage, stdout);
        return 0;
      default:
        std::fputs(kUsage, stderr);
        return 2;
    }
  }
  if (options->root.empty() || optind != argc) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  if (options->library_folder.empty()) options->library_folder = default_library_folder();
  return -1;
}

// Each client takes four descriptors.
void raise_descriptor_limit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// A reboot: this process begins anew, and knows nothing of before. Its clients see a driver that went away.
void start_again(const Options& options, std::uint32_t boot_ms) {
  const std::string boot = std::to_string(boot_ms);
  std::vector<const char*> arguments = {
      "ascendsimd", "--root",    options.root.c_str(), "--lib-dir", options.library_folder.c_str(),
      "--boot-ms",  boot.c_str()};
  if (!options.machine.empty()) arguments.insert(arguments.end(), {"--machine", options.machine.c_str()});
  arguments.push_back(nullptr);
  log_info("boots again");
  execv("/proc/self/exe", const_cast<char* const*>(arguments.data()));
  log_warning(system_problem("cannot start again", errno));
}

int run(int argc, char** argv) {
  Options options;
  if (const int status = parse_options(argc, argv, &options); status >= 0) return status;
  const auto machine = options.machine.empty()
                           ? parse_machine(std::string(default_machine_yaml()), "built-in machine")
                           : load_machine(options.machine);
  if (!machine) {
    std::fprintf(stderr, "ascendsimd: %s\n", machine.error().c_str());
    return 2;
  }
  raise_descriptor_limit();
  umask(022);
  const auto tree = install_driver_tree(options.root, options.library_folder, *machine);
  if (!tree) {
    std::fprintf(stderr, "ascendsimd: %s\n", tree.error().c_str());
    return 1;
  }
  Driver driver(*machine, tree->nodes);
  driver.boot(options.boot_ms);
  if (const auto recovered = load_recover_file(tree->recover_file())) {
    driver.recover(*recovered);
  } else {
    log_warning(tree->recover_file() + " is damaged: no virtual device is made again");
  }
  Server server(*tree, &driver);
  log_info("playing " + std::to_string(machine->npus.size()) + " NPUs below " + tree->root);
  const auto ended = server.run();
  remove_socket(*tree);
  if (!ended) {
    std::fprintf(stderr, "ascendsimd: %s\n", ended.error().c_str());
    return 1;
  }
  if (const auto boot_ms = driver.reboot_asked()) start_again(options, *boot_ms);
  return 0;
}

}  // namespace
}  // namespace ascendsim

int main(int argc, char** argv) {
  try {
    return ascendsim::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ascendsimd: %s\n", error.what());
    return 1;
  }
}
