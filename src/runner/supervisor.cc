#include "runner/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include "base/crash_point.h"
#include "runner/attempt_dir.h"
#include "runner/control.h"
#include "runner/files.h"
#include "runner/job_init.h"
#include "runner/job_view.h"
#include "runner/log_file.h"
#include "runner/spec.h"
#include "runner/verdict.h"

namespace tangram::runner {
namespace {

constexpr std::size_t kSpecBytesMax = 64 << 20;
constexpr std::size_t kConnectionsMax = 8;
// Shorter than a job's own grace: what outlives its program must not keep NPUs from the next job.
constexpr std::int64_t kLeftoverGraceMs = 300;
constexpr std::int64_t kKillRepeatMs = 50;
constexpr std::int64_t kKillRepeatMsMax = 1000;
constexpr useconds_t kRecordRetryUs = 200'000;
constexpr int kLogReadsPerRound = 16;
constexpr std::size_t kLogReadBytes = 1 << 16;
// A job that floods its log waits in its own writes, and does not take the disk from everybody else: neither
// this process nor what it writes counts as the job's.
constexpr std::int64_t kLogBytesPerMs = 32 << 10;

class Supervisor {
 public:
  explicit Supervisor(SuperviseSpec spec) : spec_(std::move(spec)), dir_{spec_.dir}, cgroup_(spec_.cgroup) {}

  Result<void> get_ready();
  // Until the attempt is over and recorded.
  void run();
  void say(std::string_view packet);

 private:
  enum class Phase : std::uint8_t {
    kWaiting,      // for go
    kRunning,      // init exists; until the program has ended or is to end
    kTerminating,  // SIGTERM was sent to all, the grace runs
    kKilling,      // SIGKILL is sent until nothing is left
    kOver,
  };

  void wait_and_handle();
  void on_connection(std::size_t index);
  void on_word(const UniqueFd& connection, std::string_view word);
  void launch();
  Result<void> try_launch();
  void on_init_reports();
  void on_init_ended();
  void on_deadline();
  void terminate();
  void kill_all();
  void finish_if_empty();
  void finish();
  std::int64_t drain_log(int rounds);
  int poll_timeout_ms(std::int64_t now) const;
  void tell_init(char command) const;
  std::string_view state_word() const;

  SuperviseSpec spec_;
  AttemptDir dir_;
  Cgroup cgroup_;
  UniqueFd lock_;
  UniqueFd listener_;
  std::vector<UniqueFd> connections_;
  bool daemon_connected_ = true;  // connections_[0] is the one we were born with
  Phase phase_ = Phase::kWaiting;
  std::optional<std::int64_t> deadline_;
  std::int64_t kill_pause_ms_ = kKillRepeatMs;
  std::optional<LogFile> log_;
  UniqueFd log_pipe_;
  std::int64_t log_rests_until_ = 0;
  JobProcess job_;
  std::optional<std::int64_t> gives_up_at_;  // got its go, and waits for the machine to have a process for it
  Observed observed_;
};

Result<void> Supervisor::get_ready() {
  // The same open file as the daemon's, so this fails only when the lock is not what it should be.
  lock_ = UniqueFd(kLockFd);
  if (flock(kLockFd, LOCK_EX | LOCK_NB) != 0) return fail(system_error("cannot lock " + dir_.lock(), errno));
  connections_.emplace_back(kControlFd);
  TG_TRY(listener_, listen_at(dir_.control()));
  std::vector<std::string> own_dirs = {dir_.work()};
  if (!spec_.walls.namespaces) own_dirs.push_back(dir_.tmp());
  for (const std::string& path : own_dirs) {
    TG_TRY_VOID(make_directory(path, 0700));
    if (spec_.walls.user && chown(path.c_str(), spec_.launch.uid, spec_.launch.gid) != 0) {
      return fail(system_error("cannot give " + path + " to the tenant", errno));
    }
  }
  TG_TRY(log_, LogFile::open(dir_.log(), spec_.launch.log_bytes_max));
  std::vector<DeviceNumber> numbers = standard_devices();
  // A driver without nodes (the simulated one of a user who is not root) serves where nothing is done with
  // them.
  if (spec_.walls.namespaces || spec_.walls.device_filter) {
    TG_TRY(const std::vector<DeviceNode> nodes, find_device_nodes(spec_.device_dir, spec_.launch));
    for (const DeviceNode& node : nodes) numbers.push_back(node.number);
  }
  TG_TRY_VOID(write_cgroup_list(dir_, spec_.cgroup));
  return cgroup_.create(spec_.launch.limits, numbers, spec_.walls.device_filter);
}

void Supervisor::run() {
  say(kStateWaiting);
  while (phase_ != Phase::kOver) wait_and_handle();
}

void Supervisor::say(std::string_view packet) {
  for (const UniqueFd& connection : connections_) send_packet(connection.get(), packet);
}

void Supervisor::wait_and_handle() {
  const std::int64_t now = boot_time_ms();
  std::vector<pollfd> watched = {{listener_.get(), POLLIN, 0},
                                 {now < log_rests_until_ ? -1 : log_pipe_.get(), POLLIN, 0},
                                 {job_.channel.get(), POLLIN, 0},
                                 {job_.pidfd.get(), POLLIN, 0}};
  const std::size_t fixed = watched.size();
  for (const UniqueFd& connection : connections_) watched.push_back({connection.get(), POLLIN, 0});
  if (poll(watched.data(), watched.size(), poll_timeout_ms(now)) < 0) return;
  if (watched[1].revents != 0) {
    log_rests_until_ = boot_time_ms() + drain_log(kLogReadsPerRound) / kLogBytesPerMs;
  }
  // The reports first: with init's end nothing more can come from it.
  if (watched[2].revents != 0) on_init_reports();
  if (watched[3].revents != 0) on_init_ended();
  for (std::size_t i = watched.size(); i-- > fixed && phase_ != Phase::kOver;) {
    if (watched[i].revents != 0) on_connection(i - fixed);
  }
  if (watched[0].revents != 0 && connections_.size() < kConnectionsMax) {
    if (std::optional<UniqueFd> made = accept_from(listener_.get())) connections_.push_back(std::move(*made));
  }
  if (phase_ != Phase::kOver && deadline_ && boot_time_ms() >= *deadline_) on_deadline();
}

int Supervisor::poll_timeout_ms(std::int64_t now) const {
  std::int64_t until = deadline_.value_or(kUnlimited);
  if (now < log_rests_until_) until = std::min(until, log_rests_until_);
  if (until == kUnlimited) return -1;
  return static_cast<int>(std::clamp<std::int64_t>(until - now, 0, 60'000));
}

void Supervisor::on_connection(std::size_t index) {
  std::string word;
  const Received received = receive_packet(connections_[index].get(), word);
  if (received == Received::kNothing) return;
  if (received == Received::kPacket) {
    on_word(connections_[index], word);
    return;
  }
  const bool was_daemon = index == 0 && daemon_connected_;
  connections_.erase(connections_.begin() + static_cast<std::ptrdiff_t>(index));
  if (!was_daemon) return;
  daemon_connected_ = false;
  if (phase_ != Phase::kWaiting) return;
  observed_.start_error = "the daemon went away before it let the job start";
  finish();
}

void Supervisor::on_word(const UniqueFd& connection, std::string_view word) {
  if (word == kStatus) {
    send_packet(connection.get(), state_word());
  } else if (word == kGo && phase_ == Phase::kWaiting && !gives_up_at_) {
    gives_up_at_ = boot_time_ms() + kForkPatienceMs;
    launch();
  } else if (word == kStopCancelled || word == kStopDeviceLost) {
    const Outcome outcome = word == kStopCancelled ? Outcome::kCancelled : Outcome::kDeviceLost;
    if (phase_ == Phase::kOver || observed_.imposed) return;
    if (!observed_.main_status) observed_.imposed = outcome;
    if (phase_ == Phase::kWaiting) finish();
    if (phase_ == Phase::kRunning) terminate();
  }
}

Result<void> Supervisor::try_launch() {
  const UniqueFd mark(open(dir_.started().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!mark.valid()) return fail(system_error("cannot create " + dir_.started(), errno));
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return fail(system_error("cannot make a pipe", errno));
  log_pipe_ = UniqueFd(ends[0]);
  const UniqueFd output(ends[1]);
  fcntl(log_pipe_.get(), F_SETFL, O_NONBLOCK);
  TG_TRY(job_, start_job(spec_, output.get()));
  return {};
}

// A machine that lacks a process or memory at this moment is no fault of the job's: it is tried again for a
// while, and then, as nothing was executed, the attempt counts as one that never got its go.
void Supervisor::launch() {
  const Result<void> started = try_launch();
  if (started) {
    phase_ = Phase::kRunning;
    deadline_.reset();
    return;
  }
  const std::int64_t now = boot_time_ms();
  const bool may_pass = started.error().code == Code::kResourceExhausted;
  if (may_pass) {
    log_pipe_.reset();
    unlink(dir_.started().c_str());
  }
  if (may_pass && now < gives_up_at_.value_or(0)) {
    deadline_ = now + kForkPauseMs;
    return;
  }
  observed_.start_error = started.error().to_string();
  finish();
}

void Supervisor::on_init_reports() {
  InitReport report;
  for (;;) {
    const ssize_t got = recv(job_.channel.get(), &report, sizeof report, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got != static_cast<ssize_t>(sizeof report)) {
      if (got == 0) job_.channel.reset();
      return;
    }
    switch (report.kind) {
      case InitReport::Kind::kExecuted:
        observed_.executed = true;
        TG_CRASH_POINT("supervise.after_exec");
        say(kStateRunning);
        if (phase_ == Phase::kRunning && spec_.launch.time_limit_ms < kUnlimited) {
          deadline_ = boot_time_ms() + spec_.launch.time_limit_ms;
        }
        break;
      case InitReport::Kind::kFailed:
        observed_.start_error = std::string(report.text, strnlen(report.text, sizeof report.text));
        break;
      case InitReport::Kind::kNoProcess:
        observed_.start_error = std::string(report.text, strnlen(report.text, sizeof report.text));
        unlink(dir_.started().c_str());
        break;
      case InitReport::Kind::kMainEnded:
        observed_.main_status = report.wait_status;
        if (phase_ == Phase::kRunning) terminate();
        break;
    }
  }
}

void Supervisor::on_init_ended() {
  on_init_reports();
  waitid(P_PIDFD, static_cast<id_t>(job_.pidfd.get()), nullptr, WEXITED);
  job_.pidfd.reset();
  job_.channel.reset();
  finish_if_empty();
}

void Supervisor::on_deadline() {
  switch (phase_) {
    case Phase::kRunning:
      observed_.imposed = Outcome::kTimedOut;
      terminate();
      return;
    case Phase::kTerminating:
      kill_all();
      return;
    case Phase::kKilling:
      finish_if_empty();
      return;
    case Phase::kWaiting:
      launch();
      return;
    case Phase::kOver:
      return;
  }
}

void Supervisor::terminate() {
  phase_ = Phase::kTerminating;
  tell_init(kInitTerminate);
  std::int64_t grace = std::max<std::int64_t>(spec_.launch.grace_ms, 0);
  if (observed_.main_status && !observed_.imposed) grace = std::min(grace, kLeftoverGraceMs);
  deadline_ = boot_time_ms() + grace;
}

void Supervisor::kill_all() {
  phase_ = Phase::kKilling;
  cgroup_.kill_all();
  tell_init(kInitKill);
  if (!job_.pidfd.valid()) {
    signal_descendants(SIGKILL);
  } else if (spec_.walls.namespaces && kill_pause_ms_ == kKillRepeatMsMax) {
    // Init does not answer (its mounts may hang); its death takes the whole namespace with it.
    syscall(SYS_pidfd_send_signal, job_.pidfd.get(), SIGKILL, nullptr, 0U);
  }
  deadline_ = boot_time_ms() + kill_pause_ms_;
  kill_pause_ms_ = std::min(kill_pause_ms_ * 2, kKillRepeatMsMax);
}

// Without init, what is left has no one to collect it but us: children of a killed init come to this process.
void Supervisor::finish_if_empty() {
  while (waitpid(-1, nullptr, WNOHANG) > 0) {
  }
  const bool childless = waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD;
  if (!job_.pidfd.valid() && childless && cgroup_.empty()) {
    finish();
  } else {
    kill_all();
  }
}

void Supervisor::finish() {
  phase_ = Phase::kOver;
  // What the pipe holds and no more: somebody outside of the job may have been handed the other end.
  if (log_pipe_.valid()) {
    drain_log(fcntl(log_pipe_.get(), F_GETPIPE_SZ) / static_cast<int>(kLogReadBytes) + 1);
  }
  if (log_) log_->finish();
  observed_.out_of_memory_kills = cgroup_.out_of_memory_kills();
  const AttemptExit record = verdict(spec_.launch, observed_);
  TG_CRASH_POINT("supervise.before_exit_record");
  // A full disk must not turn a known end into an unknown one, however long it stays full. A directory that
  // somebody removed does not come back.
  while (!write_exit_record(dir_, record) && access(dir_.path.c_str(), F_OK) == 0) usleep(kRecordRetryUs);
  TG_CRASH_POINT("supervise.after_exit_record");
  cgroup_.remove();
  say(kStateEnded);
}

std::int64_t Supervisor::drain_log(int rounds) {
  char buffer[kLogReadBytes];
  std::int64_t bytes = 0;
  while (rounds-- > 0) {
    const ssize_t got = read(log_pipe_.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    if (got == 0) {
      log_pipe_.reset();
      break;
    }
    bytes += got;
    if (log_) log_->append({buffer, static_cast<std::size_t>(got)});
  }
  return bytes;
}

void Supervisor::tell_init(char command) const {
  if (job_.channel.valid()) send_packet(job_.channel.get(), {&command, 1});
}

std::string_view Supervisor::state_word() const {
  if (phase_ == Phase::kOver) return kStateEnded;
  return observed_.executed ? kStateRunning : kStateWaiting;
}

void become_supervisor() {
  setsid();
  umask(022);
  prctl(PR_SET_NAME, "tangram-superv");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  // Only root may ask to be spared; without it the supervisor takes its chance like everything else.
  (void)write_control("/proc/self/oom_score_adj", "-900");
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGUSR1, SIGUSR2})
    signal(number, SIG_IGN);
  syscall(SYS_close_range, static_cast<unsigned>(kLockFd) + 1, ~0U, 0U);
  for (const int fd : {kSpecFd, kControlFd, kLockFd}) fcntl(fd, F_SETFD, FD_CLOEXEC);
}

Result<SuperviseSpec> read_spec() {
  const UniqueFd file(kSpecFd);
  TG_TRY(const std::string bytes, read_fd(kSpecFd, kSpecBytesMax));
  return decode(bytes);
}

}  // namespace

int run_supervisor() {
  become_supervisor();
  const auto refuse = [](const Error& error) {
    send_packet(kControlFd, failed_word(error));
    return 1;
  };
  Result<SuperviseSpec> spec = read_spec();
  if (!spec) return refuse(spec.error());
  Supervisor supervisor(std::move(*spec));
  if (const Result<void> ready = supervisor.get_ready(); !ready) return refuse(ready.error());
  supervisor.run();
  return 0;
}

int run_probe_namespaces() {
  const Result<void> made = probe_namespaces();
  const std::string answer = made ? "ok" : made.error().to_string();
  return send_packet(kControlFd, answer) ? 0 : 1;
}

}  // namespace tangram::runner
