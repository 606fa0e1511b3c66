#include "ascendsim/simulated_machine.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

namespace ascendsim {

std::string slow_machine_yaml() {
  return R"(driver_version: "24.1.0"
compute: full
chips:
  slow:
    soc_name: Ascend910B4
    board_id: 0x33
    pci_device_id: 0xD802
    ai_cores: 20
    vector_cores: 40
    ai_cpus: 6
    aicore_mhz: 1500
    hbm_mhz: 1600
    memory_mib: 1024
    memory_system_mib: 24
    l2_mib: 96
    fp16_gflops: 100
    fp32_gflops: 100
    memory_mib_per_second: 1000
    host_mib_per_second: 100
    launch_us: 5
npus:
  - {card: 4, chip: slow, pci: "0000:C1:00.0"}
  - {card: 5, chip: slow, pci: "0000:C2:00.0"}
  - {card: 6, chip: slow, pci: "0000:81:00.0"}
  - {card: 7, chip: slow, pci: "0000:82:00.0"}
)";
}

SimulatedMachine::SimulatedMachine(const std::string& yaml) {
  char name[] = "/tmp/ascendsim-test-XXXXXX";
  root_ = mkdtemp(name);
  chmod(root_.c_str(), 0755);
  if (!yaml.empty()) {
    yaml_path_ = root_ + "/machine.yaml";
    std::ofstream(yaml_path_) << yaml;
  }
  start();
}

SimulatedMachine::~SimulatedMachine() {
  kill_hard();
  std::error_code error;
  std::filesystem::remove_all(root_, error);
}

void SimulatedMachine::start() {
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const std::string library_folder = std::filesystem::path(ASCENDCL_LIBRARY).parent_path();
    std::vector<const char*> arguments = {ASCENDSIMD, "--root", root_.c_str(), "--lib-dir",
                                          library_folder.c_str()};
    if (!yaml_path_.empty()) arguments.insert(arguments.end(), {"--machine", yaml_path_.c_str()});
    arguments.push_back(nullptr);
    execv(ASCENDSIMD, const_cast<char* const*>(arguments.data()));
    _exit(127);
  }
  EXPECT_TRUE(eventually([this] { return Connection::open(socket_path()).connected(); }))
      << "ascendsimd did not start";
}

void SimulatedMachine::kill_hard() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

int SimulatedMachine::stop() {
  kill(pid_, SIGTERM);
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return status;
}

unsigned SimulatedMachine::node_major() const {
  std::ifstream file(root_ + "/driver/run/device-major");
  unsigned major = 0;
  file >> major;
  return major;
}

MachineSnapshot SimulatedMachine::snapshot() const {
  Connection connection = Connection::open(socket_path());
  MachineSnapshot snapshot;
  EXPECT_TRUE(query_machine(connection, &snapshot).ok());
  return snapshot;
}

std::uint64_t SimulatedMachine::memory_used_by_programs(std::size_t npu) const {
  const MachineSnapshot now = snapshot();
  if (npu >= now.npus.size()) return ~std::uint64_t{0};
  return now.npus[npu].memory_bytes_used - now.npus[npu].memory_bytes_system;
}

bool eventually(const std::function<bool()>& condition, std::chrono::milliseconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

Child::Child(const std::function<void()>& body) {
  std::fflush(nullptr);
  pid_ = fork();
  if (pid_ != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  alarm(120);
  body();
  std::fflush(nullptr);
  _exit(testing::Test::HasFailure() ? 1 : 0);
}

Child::~Child() {
  kill_hard();
}

void Child::kill_hard() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

int Child::join() {
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return status;
}

void use_machine(const SimulatedMachine& machine) {
  setenv("ASCENDSIM_SOCKET", machine.socket_path().c_str(), 1);
  unsetenv("ASCEND_RT_VISIBLE_DEVICES");
}

void run_program(const SimulatedMachine& machine, const std::function<void()>& body) {
  Child child([&] {
    use_machine(machine);
    body();
  });
  EXPECT_EQ(child.join(), 0) << "the program failed; its own messages stand above";
}

CommandResult run_command(const std::string& command) {
  CommandResult result;
  std::fflush(nullptr);
  FILE* pipe = popen(("( " + command + " ) 2>&1").c_str(), "r");
  if (pipe == nullptr) return result;
  char buffer[4096];
  for (std::size_t count = 0; (count = fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    result.output.append(buffer, count);
  const int status = pclose(pipe);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

Signal::Signal() {
  EXPECT_EQ(pipe(ends_), 0);
}

Signal::~Signal() {
  close(ends_[0]);
  close(ends_[1]);
}

void Signal::raise() const {
  EXPECT_EQ(write(ends_[1], "!", 1), 1);
}

bool Signal::wait(std::chrono::milliseconds limit) const {
  pollfd ready{ends_[0], POLLIN, 0};
  char byte = 0;
  return poll(&ready, 1, static_cast<int>(limit.count())) == 1 && read(ends_[0], &byte, 1) == 1;
}

}  // namespace ascendsim
