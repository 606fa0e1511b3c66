#include "runner/job_init.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/crash_point.h"
#include "runner/control.h"
#include "runner/files.h"
#include "runner/job_exec.h"
#include "runner/job_view.h"
#include "runner/private_mounts.h"

namespace tangram::runner {
namespace {

constexpr int kHuntPauseMs = 20;
constexpr int kOutOfTheWay = 64;  // above every number that matters
constexpr int kInitChannelFd = 3;
constexpr int kInitOutputFd = 4;

class JobInit {
 public:
  JobInit(const SuperviseSpec& spec, UniqueFd channel, int output)
      : spec_(spec), channel_(std::move(channel)), output_(output) {}

  [[noreturn]] void run() {
    Result<void> started = prepare();
    if (started) started = spawn_main();
    if (!started) {
      report_failure(no_process_ ? InitReport::Kind::kNoProcess : InitReport::Kind::kFailed,
                     started.error().to_string());
      _exit(1);
    }
    loop();
  }

 private:
  Result<void> prepare();
  Result<void> spawn_main();
  [[noreturn]] void loop();
  void on_command();
  void on_exec_pipe();
  void reap();
  void signal_all(int signal_number) const;
  void report(const InitReport& message) const {
    if (!channel_.valid()) return;  // nobody is there to hear it
    (void)send(channel_.get(), &message, sizeof message, MSG_NOSIGNAL);
  }
  void report_failure(InitReport::Kind kind, const std::string& text) const;
  pid_t fork_patiently() const;

  const SuperviseSpec& spec_;
  UniqueFd channel_;
  int output_;
  UniqueFd lock_;
  UniqueFd signals_;
  UniqueFd exec_pipe_;
  pid_t main_ = -1;
  bool hunting_ = false;
  bool no_process_ = false;
};

Result<void> JobInit::prepare() {
  prctl(PR_SET_NAME, "tangram-init");
  if (spec_.walls.namespaces) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
  } else {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
  }
  TG_TRY(std::optional<UniqueFd> lock, try_lock(AttemptDir{spec_.dir}.init_lock()));
  if (lock) lock_ = std::move(*lock);
  sigset_t watched;
  sigemptyset(&watched);
  sigaddset(&watched, SIGCHLD);
  sigprocmask(SIG_SETMASK, &watched, nullptr);
  signals_ = UniqueFd(signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_.valid()) return fail(system_error("cannot watch child processes", errno));
  return {};
}

Result<void> JobInit::spawn_main() {
  ExecPlan plan;
  TG_TRY(plan.join, open_join_files(spec_));
  // Before any directory is opened: it may give the process another root directory.
  if (spec_.walls.namespaces) TG_TRY_VOID(make_mounts_private());
  TG_TRY(const UniqueFd workdir, open_workdir(spec_));
  if (spec_.walls.namespaces) {
    TG_TRY(const std::vector<DeviceNode> devices, find_device_nodes(spec_.device_dir, spec_.launch));
    TG_TRY_VOID(build_job_view(spec_, devices, workdir));
  }
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return fail(system_error("cannot make a pipe", errno));
  exec_pipe_ = UniqueFd(ends[0]);
  const UniqueFd writer(ends[1]);
  plan.output = output_;
  plan.errors = writer.get();
  main_ = fork_patiently();
  if (main_ < 0) {
    no_process_ = true;
    return fail(system_error("cannot start a process", errno));
  }
  if (main_ == 0) execute_program(spec_, plan);
  close(output_);
  return {};
}

// The child has all signals blocked until it has reset them (execute_program): this process ignores SIGTERM,
// and one that came between would be lost for good.
pid_t fork_with_signals_kept() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t made = fork();
  const int error = errno;
  if (made != 0) sigprocmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return made;
}

// Until a process is there, the patience is over, or the supervisor has something to say.
pid_t JobInit::fork_patiently() const {
  for (int waited_ms = 0;; waited_ms += kForkPauseMs) {
    const pid_t made = fork_with_signals_kept();
    if (made >= 0 || (errno != EAGAIN && errno != ENOMEM) || waited_ms >= kForkPatienceMs) return made;
    const int error = errno;
    pollfd word = {channel_.get(), POLLIN, 0};
    const bool asked = poll(&word, 1, kForkPauseMs) > 0;
    errno = error;
    if (asked) return -1;
  }
}

void JobInit::loop() {
  for (;;) {
    std::array<pollfd, 3> watched = {
        {{channel_.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}, {exec_pipe_.get(), POLLIN, 0}}};
    poll(watched.data(), watched.size(), hunting_ ? kHuntPauseMs : -1);
    if (watched[2].revents != 0) on_exec_pipe();
    if (watched[0].revents != 0) on_command();
    if (hunting_) signal_all(SIGKILL);
    reap();
  }
}

// End of file means that the exec has closed the pipe, hence succeeded; or that the child was killed before
// it.
void JobInit::on_exec_pipe() {
  char text[sizeof InitReport::text] = {};
  const ssize_t got = read(exec_pipe_.get(), text, sizeof text - 1);
  if (got < 0 && errno == EINTR) return;
  exec_pipe_.reset();
  if (got > 0) {
    report_failure(InitReport::Kind::kFailed, text);
    return;
  }
  InitReport message;
  message.kind = InitReport::Kind::kExecuted;
  report(message);
}

void JobInit::on_command() {
  if (!channel_.valid()) return;
  char command = 0;
  const ssize_t got = recv(channel_.get(), &command, 1, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    // With own namespaces the kernel ends the job with its process 1.
    if (spec_.walls.namespaces) _exit(1);
    channel_.reset();
    hunting_ = true;
    return;
  }
  if (command == kInitKill) hunting_ = true;
  if (command == kInitTerminate) {
    signal_all(SIGTERM);
    signal_all(SIGCONT);
  }
}

void JobInit::signal_all(int signal_number) const {
  if (spec_.walls.namespaces) {
    kill(-1, signal_number);
  } else {
    signal_descendants(signal_number);
  }
}

void JobInit::reap() {
  signalfd_siginfo ignored{};
  while (read(signals_.get(), &ignored, sizeof ignored) > 0) {
  }
  for (;;) {
    int status = 0;
    const pid_t ended = waitpid(-1, &status, WNOHANG);
    if (ended == 0) return;
    if (ended < 0 && errno == EINTR) continue;
    if (ended < 0) _exit(0);
    if (ended != main_) continue;
    if (exec_pipe_.valid()) on_exec_pipe();
    InitReport message;
    message.kind = InitReport::Kind::kMainEnded;
    message.wait_status = status;
    report(message);
  }
}

void JobInit::report_failure(InitReport::Kind kind, const std::string& text) const {
  InitReport message;
  message.kind = kind;
  std::memcpy(message.text, text.c_str(), std::min(text.size(), sizeof message.text - 1));
  report(message);
}

// The supervisor's lock, sockets and log must end with the supervisor, not with its child.
void keep_only(int channel, int output) {
  const int channel_copy = fcntl(channel, F_DUPFD_CLOEXEC, kOutOfTheWay);
  const int output_copy = fcntl(output, F_DUPFD_CLOEXEC, kOutOfTheWay);
  if (channel_copy < 0 || output_copy < 0 || dup3(channel_copy, kInitChannelFd, O_CLOEXEC) < 0 ||
      dup3(output_copy, kInitOutputFd, O_CLOEXEC) < 0) {
    _exit(1);
  }
  syscall(SYS_close_range, static_cast<unsigned>(kInitOutputFd) + 1, ~0U, 0U);
}

pid_t clone_process(std::uint64_t flags, int& pidfd) {
  clone_args arguments{};
  arguments.flags = flags | CLONE_PIDFD;
  arguments.pidfd = reinterpret_cast<std::uint64_t>(&pidfd);
  arguments.exit_signal = SIGCHLD;
  return static_cast<pid_t>(syscall(SYS_clone3, &arguments, sizeof arguments));
}

}  // namespace

Result<JobProcess> start_job(const SuperviseSpec& spec, int output) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return fail(system_error("cannot make a socket pair", errno));
  }
  JobProcess job;
  job.channel = UniqueFd(ends[0]);
  UniqueFd child_end(ends[1]);
  TG_CRASH_POINT("supervise.before_exec");
  int pidfd = -1;
  const std::uint64_t namespaces = spec.walls.namespaces ? CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC : 0;
  job.pid = clone_process(namespaces, pidfd);
  if (job.pid < 0) return fail(system_error("cannot start a process", errno));
  if (job.pid == 0) {
    keep_only(child_end.get(), output);
    (void)child_end.release();
    (void)job.channel.release();
    JobInit(spec, UniqueFd(kInitChannelFd), kInitOutputFd).run();
  }
  job.pidfd = UniqueFd(pidfd);
  return job;
}

}  // namespace tangram::runner
