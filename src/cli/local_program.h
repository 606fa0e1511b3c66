// A program that runs beside this command, on its terminal, and never outlives it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tangram::cli {

// Signals of this process as something to wait for. While one of these lives, SIGINT, SIGTERM, SIGHUP and
// SIGCHLD reach the process in no other way. Made before other threads are, so that none of them gets one.
class SignalInbox {
 public:
  SignalInbox();
  ~SignalInbox();
  SignalInbox(const SignalInbox&) = delete;
  SignalInbox& operator=(const SignalInbox&) = delete;

  int fd() const { return fd_; }  // readable when there is one

  struct Signal {
    int number = 0;
    bool from_terminal = false;  // then the programs of the terminal have got it too
  };
  std::optional<Signal> take();

 private:
  sigset_t before_{};
  int fd_ = -1;
};

// Not thread-safe.
class LocalProgram {
 public:
  // Looked up in PATH, with this process's environment and these variables. kInvalidArgument
  // "cli.program.failed" when it cannot be executed.
  static Result<LocalProgram> start(const std::vector<std::string>& command,
                                    const std::vector<std::pair<std::string, std::string>>& environment);

  void signal(int number) const;
  // How it has ended, as a shell counts: its exit status, or 128 + n. None: it runs.
  std::optional<int> ended();

 private:
  explicit LocalProgram(pid_t pid) : pid_(pid) {}

  pid_t pid_;
  std::optional<int> status_;
};

}  // namespace tangram::cli
