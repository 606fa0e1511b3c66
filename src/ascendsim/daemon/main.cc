// ascendsimd: plays the kernel driver of an Ascend machine.
#include <getopt.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstdio>
#include <exception>
#include <filesystem>

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
    "  --print-machine   print the description that is used without --machine, and exit\n";

struct Options {
  std::string root;
  std::string machine;
  std::string library_folder;
};

std::string default_library_folder() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  return (program.parent_path().parent_path() / "lib").string();
}

// Exit status, or -1 to go on.
int parse_options(int argc, char** argv, Options* options) {
  const option known[] = {
      {"root", required_argument, nullptr, 'r'},    {"machine", required_argument, nullptr, 'm'},
      {"lib-dir", required_argument, nullptr, 'l'}, {"print-machine", no_argument, nullptr, 'p'},
      {"help", no_argument, nullptr, 'h'},          {nullptr, 0, nullptr, 0}};
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
  Server server(*tree, &driver);
  log_info("playing " + std::to_string(machine->npus.size()) + " NPUs below " + tree->root);
  const auto ended = server.run();
  remove_socket(*tree);
  if (!ended) {
    std::fprintf(stderr, "ascendsimd: %s\n", ended.error().c_str());
    return 1;
  }
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
