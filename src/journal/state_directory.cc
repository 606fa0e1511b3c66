#include "journal/state_directory.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <string_view>
#include <utility>
#include <variant>

#include "base/plain_file.h"
#include "base/quote.h"

namespace tangram::journal {
namespace {

constexpr mode_t kDirectoryMode = 0700;
// Others pass through: the socket may lie below the same root.
constexpr mode_t kParentMode = 0755;
constexpr mode_t kFileMode = 0600;
constexpr std::size_t kSmallFileBytes = 64;
constexpr int kOrphanTries = 500;  // 5 s
constexpr useconds_t kOrphanPauseUs = 10'000;

Result<void> make_directories(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    const mode_t mode = end == std::string::npos ? kDirectoryMode : kParentMode;
    if (mkdir(part.c_str(), mode) != 0 && errno != EEXIST) {
      return fail(unusable("cannot make the directory " + part, errno));
    }
    if (end == std::string::npos) return {};
  }
}

Result<void> write_all(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t count = write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(unusable("cannot write " + path, errno));
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

// The first bytes of a small file.
std::string read_start(int fd) {
  std::array<char, kSmallFileBytes> bytes{};
  const ssize_t count = pread(fd, bytes.data(), bytes.size(), 0);
  return {bytes.data(), count > 0 ? static_cast<std::size_t>(count) : 0};
}

// The first line: the pid of the owner.
std::string owner_of(int fd) {
  const std::string text = read_start(fd);
  return text.substr(0, text.find('\n'));
}

bool is_gone(const std::string& owner) {
  pid_t pid = 0;
  const auto parsed = std::from_chars(owner.data(), owner.data() + owner.size(), pid);
  return parsed.ec == std::errc() && pid > 0 && kill(pid, 0) != 0 && errno == ESRCH;
}

// A child that a killed owner had just forked shares its lock until it executes its program: that passes by
// itself. Returns 0, or errno.
int take_lock(int fd) {
  for (int tries = 0;; ++tries) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) return 0;
    const int error = errno;
    if (error != EWOULDBLOCK || tries == kOrphanTries || !is_gone(owner_of(fd))) return error;
    usleep(kOrphanPauseUs);
  }
}

}  // namespace

Error unusable(std::string what, int error_number) {
  return with_remedy(system_error(std::move(what), error_number));
}

Error with_remedy(Error error) {
  std::int64_t error_number = error.reason == "file.not_plain" ? ENOTDIR : 0;
  for (const auto& [name, value] : error.details) {
    if (name == "errno" && std::holds_alternative<std::int64_t>(value))
      error_number = std::get<std::int64_t>(value);
  }
  switch (error_number) {
    case EROFS:
      error.hint =
          "make its file system writable (mount -o remount,rw), or choose another directory with --root";
      break;
    case ENOSPC:
    case EDQUOT:
      error.hint = "make room on its file system (df -h, df -i), or choose another directory with --root";
      break;
    case EACCES:
    case EPERM:
      error.hint = "start as the user who owns it, or choose another directory with --root";
      break;
    case ENOTDIR:
    case EISDIR:
      error.hint = "move away what stands in its place, or choose another directory with --root";
      break;
    default:
      break;
  }
  return error;
}

Result<StateDirectory> StateDirectory::own(const std::string& path) {
  TG_TRY_VOID(make_directories(path));
  const std::string lock_path = path + "/LOCK";
  const auto opened =
      open_plain_file("cannot open " + lock_path, lock_path, O_RDWR | O_CREAT | O_NOFOLLOW, kFileMode);
  if (!opened) return fail(with_remedy(opened.error()));
  const int fd = *opened;
  StateDirectory directory(path, fd);
  if (const int error = take_lock(fd); error != 0) {
    if (error != EWOULDBLOCK) return fail(unusable("cannot lock " + lock_path, error));
    const std::string owner = owner_of(fd);
    return fail(
        Code::kFailedPrecondition, "journal.in_use",
        "the state directory " + path + " is in use by process " + (owner.empty() ? "(unknown)" : owner),
        "stop that process first, or choose another directory");
  }
  const std::string text = std::to_string(getpid()) + "\n";
  if (ftruncate(fd, 0) != 0) return fail(unusable("cannot write " + lock_path, errno));
  TG_TRY_VOID(write_all(fd, text, lock_path));
  return directory;
}

StateDirectory::~StateDirectory() {
  if (lock_fd_ >= 0) close(lock_fd_);
}

StateDirectory::StateDirectory(StateDirectory&& other) noexcept
    : path_(std::move(other.path_)), lock_fd_(std::exchange(other.lock_fd_, -1)) {}

Result<std::optional<std::int64_t>> StateDirectory::version() const {
  const std::string path = file("VERSION");
  const auto opened = open_plain_file("cannot open " + path, path, O_RDONLY);
  if (!opened) {
    if (opened.error().code == Code::kNotFound) return std::optional<std::int64_t>();
    return fail(with_remedy(opened.error()));
  }
  const std::string text = read_start(*opened);
  close(*opened);
  std::int64_t version = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, version);
  const bool good = parsed.ec == std::errc() && version > 0 && std::string_view(parsed.ptr, end) == "\n";
  if (!good) {
    return fail(Code::kDataLoss, "journal.version.invalid",
                path + " does not hold a version number, but " + quoted(text),
                "put back the file from a backup of the directory");
  }
  return std::optional(version);
}

Result<void> StateDirectory::set_version(std::int64_t version) const {
  const std::string path = file("VERSION");
  const std::string making = path + ".new";
  unlink(making.c_str());  // of a start that was cut off
  const int fd = open(making.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode);
  if (fd < 0) return fail(unusable("cannot make " + making, errno));
  Result<void> written = write_all(fd, std::to_string(version) + "\n", making);
  if (written && fsync(fd) != 0) written = fail(unusable("cannot write " + making, errno));
  close(fd);
  TG_TRY_VOID(std::move(written));
  if (rename(making.c_str(), path.c_str()) != 0) return fail(unusable("cannot write " + path, errno));
  return sync();
}

Result<void> StateDirectory::sync() const {
  const int fd = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return fail(unusable("cannot open " + path_, errno));
  const int result = fsync(fd);
  const int error = errno;
  close(fd);
  if (result != 0) return fail(unusable("cannot write " + path_, error));
  return {};
}

}  // namespace tangram::journal
