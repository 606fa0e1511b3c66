// A real ascendsimd on a root of its own, for one test; and programs that use it, each in a process of its
// own.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "ascendsim/protocol/connection.h"

namespace ascendsim {

// Four NPUs of slow chips, so that a small product takes milliseconds of model time; results are really
// computed.
std::string slow_machine_yaml();

class SimulatedMachine {
 public:
  // An empty description: the default machine.
  explicit SimulatedMachine(const std::string& yaml = {});
  SimulatedMachine(const SimulatedMachine&) = delete;
  SimulatedMachine& operator=(const SimulatedMachine&) = delete;
  ~SimulatedMachine();

  const std::string& root() const { return root_; }
  std::string socket_path() const { return root_ + "/driver/run/ascendsim.sock"; }
  std::string library_folder() const { return root_ + "/driver/lib64"; }
  pid_t pid() const { return pid_; }
  unsigned node_major() const;

  void start();
  void kill_hard();  // as a power cut
  int stop();        // SIGTERM; the exit status

  // Asks as root in the host's namespace.
  MachineSnapshot snapshot() const;
  std::uint64_t memory_used_by_programs(std::size_t npu) const;

 private:
  std::string root_;
  std::string yaml_path_;
  pid_t pid_ = -1;
};

// Polls until `condition` holds; false when it does not within `limit`.
bool eventually(const std::function<bool()>& condition,
                std::chrono::milliseconds limit = std::chrono::seconds(5));

// A forked child that runs `body`. Failed expectations in it fail the test; so does its exit status.
class Child {
 public:
  explicit Child(const std::function<void()>& body);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();

  pid_t pid() const { return pid_; }
  void kill_hard();
  // Waits for the end; the status of waitpid.
  int join();

 private:
  pid_t pid_ = -1;
};

// Runs `body` in a child that speaks AscendCL to `machine`, and expects it to succeed.
void run_program(const SimulatedMachine& machine, const std::function<void()>& body);
// For a Child's body: this process speaks to `machine` from now on.
void use_machine(const SimulatedMachine& machine);

struct CommandResult {
  int status = -1;  // exit status, or 128 + signal
  std::string output;
};
CommandResult run_command(const std::string& command);

// One byte from one process to another.
class Signal {
 public:
  Signal();
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;
  ~Signal();
  void raise() const;
  bool wait(std::chrono::milliseconds limit = std::chrono::seconds(20)) const;

 private:
  int ends_[2];
};

}  // namespace ascendsim
