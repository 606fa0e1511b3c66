#include "cli/local_program.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "cli/text.h"

namespace tangram::cli {
namespace {

constexpr int kSignalBase = 128;

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  all.reserve(texts.size() + 1);
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

// The environment of this process, with `more` over it.
std::vector<std::string> merged(const std::vector<std::pair<std::string, std::string>>& more) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    bool replaced = false;
    for (const auto& [name, value] : more) replaced = replaced || text.starts_with(name + "=");
    if (!replaced) all.emplace_back(text);
  }
  for (const auto& [name, value] : more) all.emplace_back(name).append("=").append(value);
  return all;
}

// In the child: only what is allowed between fork and exec of a process with threads.
[[noreturn]] void become(pid_t parent, int report, char* const* arguments, char* const* environment) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have gone before the line above.
  if (getppid() == parent) execvpe(arguments[0], arguments, environment);
  const int number = errno;
  (void)!write(report, &number, sizeof number);
  _exit(kSignalBase - 1);
}

}  // namespace

SignalInbox::SignalInbox() {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&wanted, number);
  pthread_sigmask(SIG_BLOCK, &wanted, &before_);
  fd_ = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
}

SignalInbox::~SignalInbox() {
  while (take()) {
  }
  if (fd_ >= 0) close(fd_);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<SignalInbox::Signal> SignalInbox::take() {
  signalfd_siginfo info{};
  if (read(fd_, &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return std::nullopt;
  return Signal{static_cast<int>(info.ssi_signo), info.ssi_code == SI_KERNEL};
}

Result<LocalProgram> LocalProgram::start(
    const std::vector<std::string>& command,
    const std::vector<std::pair<std::string, std::string>>& environment) {
  std::vector<std::string> arguments = command;
  std::vector<std::string> variables = merged(environment);
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> envp = pointers(variables);
  std::array<int, 2> pipe_ends{};
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) return fail(system_error("cannot make a pipe", errno));
  // Who ignores it, as some do for all they start, would never learn how the program ended.
  std::signal(SIGCHLD, SIG_DFL);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) become(parent, pipe_ends[1], argv.data(), envp.data());
  const int fork_error = errno;
  close(pipe_ends[1]);
  // End of file means that exec has closed the other end.
  int number = 0;
  const bool failed = pid < 0 || read(pipe_ends[0], &number, sizeof number) != 0;
  close(pipe_ends[0]);
  if (!failed) return LocalProgram(pid);
  if (pid > 0) waitpid(pid, nullptr, 0);
  return fail(
      Code::kInvalidArgument, "cli.program.failed",
      "cannot execute " + printable(command.front()) + ": " + errno_text(pid < 0 ? fork_error : number),
      "name a program of this machine");
}

void LocalProgram::signal(int number) const {
  if (!status_) kill(pid_, number);
}

std::optional<int> LocalProgram::ended() {
  int status = 0;
  if (!status_ && waitpid(pid_, &status, WNOHANG) == pid_) {
    status_ = WIFSIGNALED(status) ? kSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
  }
  return status_;
}

}  // namespace tangram::cli
