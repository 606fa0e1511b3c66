// A real ascendsimd on a root of its own, for one test. Everything ends with the object, also when the test
// fails.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

namespace tangram::test {

struct Ran {
  int exit_code = -1;
  std::string output;
};

// Runs a program to its end (at most 20 s) and returns its standard output.
Ran run(const std::vector<std::string>& command);

// A child that is killed with the object. Its standard input stays open for its life.
class Child {
 public:
  explicit Child(const std::vector<std::string>& command);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { kill_now(); }

  pid_t pid() const { return pid_; }
  // The next line of its standard output; empty after 20 s or at the end of the output.
  std::string read_line();
  void kill_now();

 private:
  pid_t pid_ = -1;
  int input_ = -1;
  int output_ = -1;
};

class SimulatedMachine {
 public:
  // An empty description is the default machine: eight 910B4.
  explicit SimulatedMachine(const std::string& description = "");
  SimulatedMachine(const SimulatedMachine&) = delete;
  SimulatedMachine& operator=(const SimulatedMachine&) = delete;
  ~SimulatedMachine();

  // Starts ascendsimd and waits for its socket.
  void start();
  // As a driver that is gone: SIGKILL.
  void kill_now();

  Ran npu_smi(std::vector<std::string> arguments) const;
  Ran control(std::vector<std::string> arguments) const;

  std::string root() const { return root_; }
  std::string library() const { return root_ + "/driver/lib64/libdcmi.so"; }
  std::string socket() const { return root_ + "/driver/run/ascendsim.sock"; }

 private:
  std::string root_;
  std::vector<std::string> command_;
  std::unique_ptr<Child> daemon_;
};

// Two 310P3 on card 7 and one on card 2, with physical ids that are no card ids.
extern const char* const k310PMachine;

}  // namespace tangram::test
