#include "device/dcmi/helper_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>
#include <vector>

#include "base/invariant.h"

namespace tangram::device {
namespace {

constexpr int kReapMs = 1000;
constexpr std::size_t kPrefixBytes = 4;
constexpr pid_t kReaped = -1;
constexpr int kFramesMax = 1000;  // announcements before one answer; a read of one NPU makes about a dozen

std::mutex stuck_mutex;
std::vector<pid_t>& stuck_pids() {
  static std::vector<pid_t> pids;
  return pids;
}

int remaining_ms(Deadline deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
}

// Waits until the process has ended, without reaping it.
bool wait_for_end(pid_t pid, int timeout_ms) {
  const int pid_fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (pid_fd < 0) return errno == ESRCH;
  pollfd waiting{pid_fd, POLLIN, 0};
  int ready = 0;
  do {
    ready = poll(&waiting, 1, timeout_ms);
  } while (ready < 0 && errno == EINTR);
  close(pid_fd);
  return ready > 0;
}

// Waits for the end and takes the process off the books. False: it still runs, or a debugger still holds it.
// `status` stays empty if somebody else reaped it.
bool reap(pid_t pid, int timeout_ms, std::optional<int>* status) {
  if (!wait_for_end(pid, timeout_ms)) return false;
  int raw = 0;
  const pid_t reaped = waitpid(pid, &raw, WNOHANG);
  if (reaped == pid) *status = raw;
  return reaped == pid || (reaped < 0 && errno == ECHILD);
}

std::string describe_end(std::optional<int> status) {
  if (!status) return "for an unknown reason";
  if (WIFSIGNALED(*status)) {
    const char* name = sigabbrev_np(WTERMSIG(*status));
    return std::string("by signal SIG") + (name != nullptr ? name : std::to_string(WTERMSIG(*status)));
  }
  return "with exit status " + std::to_string(WEXITSTATUS(*status));
}

class SpawnSetup {
 public:
  explicit SpawnSetup(int channel) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_adddup2(&actions_, channel, kHelperChannelFd);
    posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0);
    // The vendor's library prints to standard output now and then.
    posix_spawn_file_actions_addopen(&actions_, 1, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    // An own process group: a ^C at the terminal is for the daemon to handle.
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;
  ~SpawnSetup() {
    posix_spawnattr_destroy(&attributes_);
    posix_spawn_file_actions_destroy(&actions_);
  }

  int spawn(pid_t& pid, const std::string& program) const {
    std::string name = program;
    std::array<char*, 2> arguments{name.data(), nullptr};
    return posix_spawn(&pid, program.c_str(), &actions_, &attributes_, arguments.data(), environ);
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

}  // namespace

std::size_t stuck_helper_count() {
  const std::lock_guard lock(stuck_mutex);
  std::optional<int> ignored;
  std::erase_if(stuck_pids(), [&ignored](pid_t pid) { return reap(pid, 0, &ignored); });
  return stuck_pids().size();
}

Result<std::unique_ptr<HelperProcess>> HelperProcess::start(const std::string& program) {
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, &ends[0]) != 0) {
    return fail(system_error("cannot create the helper's channel", errno));
  }
  pid_t pid = -1;
  const int spawned = SpawnSetup(ends[1]).spawn(pid, program);
  close(ends[1]);
  if (spawned != 0) {
    close(ends[0]);
    return fail(Code::kUnavailable, "device.helper.missing",
                "cannot start " + program + ": " + errno_text(spawned),
                "install tangram-dcmi-helper beside tangramd");
  }
  return std::unique_ptr<HelperProcess>(new HelperProcess(pid, ends[0]));
}

HelperProcess::~HelperProcess() {
  // Before the channel closes: the helper must not start an orderly end, which vendor code could hang in.
  if (pid_ != kReaped) kill(pid_, SIGKILL);
  close(channel_);
  std::optional<int> ignored;
  if (pid_ == kReaped || reap(pid_, kReapMs, &ignored)) return;
  const std::lock_guard lock(stuck_mutex);
  stuck_pids().push_back(pid_);
}

Result<HelperAnswer> HelperProcess::call(const HelperRequest& request, std::chrono::milliseconds each,
                                         Deadline deadline) {
  under_way_.clear();
  TG_ASSERT(pid_ != kReaped, "a helper that has ended is not called again");
  if (!write_frame(channel_, encode(request))) return died();
  for (int frames = 0; frames < kFramesMax; ++frames) {
    TG_TRY(const std::string frame,
           read_frame_before(std::min(deadline, std::chrono::steady_clock::now() + each)));
    TG_TRY(HelperAnswer answer, decode_answer(frame));
    if (answer.kind != AnswerKind::kCalling) return answer;
    under_way_ = std::move(answer.text);
  }
  return fail(Code::kDataLoss, "device.helper.malformed", "the helper announces calls without end");
}

Result<std::string> HelperProcess::read_frame_before(Deadline deadline) {
  while (true) {
    if (inbox_.size() >= kPrefixBytes) {
      std::size_t size = 0;
      for (std::size_t i = 0; i < kPrefixBytes; ++i) {
        size |= static_cast<std::size_t>(static_cast<unsigned char>(inbox_[i])) << (8U * i);
      }
      if (size > kFrameBytesMax) {
        return fail(Code::kDataLoss, "device.helper.malformed",
                    "a frame of " + std::to_string(size) + " bytes on the helper's channel");
      }
      if (inbox_.size() >= kPrefixBytes + size) {
        std::string frame = inbox_.substr(kPrefixBytes, size);
        inbox_.erase(0, kPrefixBytes + size);
        return frame;
      }
    }
    pollfd waiting{channel_, POLLIN, 0};
    const int left_ms = remaining_ms(deadline);
    const int ready = poll(&waiting, 1, left_ms);
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return fail(system_error("cannot wait for the helper", errno));
    if (ready == 0) {
      const std::string what = under_way_.empty() ? "loading libdcmi.so" : under_way_;
      return fail(Code::kDeadlineExceeded, "device.call.hung", what + " did not answer in time");
    }
    char chunk[4096];
    const ssize_t got = recv(channel_, &chunk[0], sizeof chunk, MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) return died();
    inbox_.append(&chunk[0], static_cast<std::size_t>(got));
  }
}

tl::unexpected<Error> HelperProcess::died() {
  // The channel closes a moment before the process can be reaped.
  std::optional<int> status;
  if (reap(pid_, kReapMs, &status)) pid_ = kReaped;  // the number may be another process from now on
  const std::string where = under_way_.empty() ? "" : " in " + under_way_;
  return fail(Code::kUnavailable, "device.helper.died",
              "the helper that reads the vendor's library ended" + where + " " + describe_end(status));
}

}  // namespace tangram::device
