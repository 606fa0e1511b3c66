#include "ascendsim_dcmi/simulated_machine.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

namespace tangram::test {
namespace {

constexpr int kPatienceMs = 20'000;

bool accepts(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(&address.sun_path[0], sizeof address.sun_path - 1);
  const bool accepted = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(fd);
  return accepted;
}

// As execv wants them.
std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> list;
  list.reserve(words.size() + 1);
  for (const std::string& word : words) list.push_back(const_cast<char*>(word.c_str()));
  list.push_back(nullptr);
  return list;
}

}  // namespace

const char* const k310PMachine = R"yaml(
driver_version: "22.0.4"
compute: none
chips:
  310P3:
    soc_name: Ascend310P3
    board_id: 0x64
    pci_device_id: 0xD500
    ai_cores: 8
    vector_cores: 7
    ai_cpus: 7
    aicore_mhz: 1080
    hbm_mhz: 1600
    memory_mib: 21527
    memory_system_mib: 1805
    l2_mib: 16
    fp16_gflops: 70000
    fp32_gflops: 8000
    memory_mib_per_second: 190000
    host_mib_per_second: 12000
    launch_us: 5
npus:
  - {phy: 3, card: 2, chip: 310P3, pci: "0000:01:00.0"}
  - {phy: 5, card: 7, chip: 310P3, chip_id: 0, pci: "0000:07:00.0"}
  - {phy: 6, card: 7, chip: 310P3, chip_id: 1, pci: "0000:08:00.0"}
)yaml";

Child::Child(const std::vector<std::string>& command) {
  int in[2];
  int out[2];
  if (pipe2(&in[0], O_CLOEXEC) != 0 || pipe2(&out[0], O_CLOEXEC) != 0) return;
  std::vector<char*> arguments = pointers(command);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(126);
    dup2(in[0], 0);
    dup2(out[1], 1);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  input_ = in[1];
  output_ = out[0];
}

std::string Child::read_line() {
  std::string line;
  char byte = 0;
  pollfd waiting{output_, POLLIN, 0};
  while (poll(&waiting, 1, kPatienceMs) > 0 && read(output_, &byte, 1) == 1 && byte != '\n')
    line.push_back(byte);
  return line;
}

void Child::kill_now() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  close(input_);
  close(output_);
  pid_ = -1;
}

Ran run(const std::vector<std::string>& command) {
  int out[2];
  if (pipe2(&out[0], O_CLOEXEC) != 0) return {};
  std::vector<char*> arguments = pointers(command);
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(out[1], 1);
    alarm(kPatienceMs / 1000);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  close(out[1]);
  Ran ran;
  char chunk[4096];
  ssize_t got = 0;
  while ((got = read(out[0], &chunk[0], sizeof chunk)) > 0) {
    ran.output.append(&chunk[0], static_cast<std::size_t>(got));
  }
  close(out[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  ran.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ran;
}

SimulatedMachine::SimulatedMachine(const std::string& description) {
  char name[] = "/tmp/tangram-sim-XXXXXX";
  root_ = mkdtemp(&name[0]);
  command_ = {ASCENDSIMD, "--root", root_};
  if (!description.empty()) {
    std::ofstream(root_ + "/machine.yaml") << description;
    command_.insert(command_.end(), {"--machine", root_ + "/machine.yaml"});
  }
  start();
}

SimulatedMachine::~SimulatedMachine() {
  kill_now();
  std::filesystem::remove_all(root_);
}

void SimulatedMachine::start() {
  daemon_ = std::make_unique<Child>(command_);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
  while (!accepts(socket()) && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_TRUE(accepts(socket())) << "ascendsimd did not come up below " << root_;
}

void SimulatedMachine::kill_now() {
  daemon_.reset();
}

Ran SimulatedMachine::npu_smi(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), root_ + "/driver/tools/npu-smi");
  return run(arguments);
}

Ran SimulatedMachine::control(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), {ASCENDSIM_CTL, "--root", root_});
  return run(arguments);
}

}  // namespace tangram::test
