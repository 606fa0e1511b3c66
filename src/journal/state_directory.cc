#include "journal/state_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <string_view>
#include <utility>

namespace tangram::journal {
namespace {

constexpr mode_t kDirectoryMode = 0700;
// Others pass through: the socket may lie below the same root.
constexpr mode_t kParentMode = 0755;
constexpr mode_t kFileMode = 0600;
constexpr std::size_t kSmallFileBytes = 64;

Result<void> make_directories(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    const mode_t mode = end == std::string::npos ? kDirectoryMode : kParentMode;
    if (mkdir(part.c_str(), mode) != 0 && errno != EEXIST) {
      return fail(system_error("cannot make the directory " + part, errno));
    }
    if (end == std::string::npos) return {};
  }
}

Result<void> write_all(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t count = write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(system_error("cannot write " + path, errno));
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

}  // namespace

Result<StateDirectory> StateDirectory::own(const std::string& path) {
  TG_TRY_VOID(make_directories(path));
  const std::string lock_path = path + "/LOCK";
  const int fd = open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kFileMode);
  if (fd < 0) return fail(system_error("cannot open " + lock_path, errno));
  StateDirectory directory(path, fd);
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return fail(system_error("cannot lock " + lock_path, errno));
    std::string owner = read_start(fd);
    owner = owner.substr(0, owner.find('\n'));
    return fail(
        Code::kFailedPrecondition, "journal.in_use",
        "the state directory " + path + " is in use by process " + (owner.empty() ? "(unknown)" : owner),
        "stop that process first, or choose another directory");
  }
  const std::string text = std::to_string(getpid()) + "\n";
  if (ftruncate(fd, 0) != 0) return fail(system_error("cannot write " + lock_path, errno));
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
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    if (errno == ENOENT) return std::optional<std::int64_t>();
    return fail(system_error("cannot open " + path, errno));
  }
  const std::string text = read_start(fd);
  close(fd);
  std::int64_t version = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, version);
  const bool good = parsed.ec == std::errc() && version > 0 && std::string_view(parsed.ptr, end) == "\n";
  if (!good) {
    return fail(Code::kDataLoss, "journal.version.invalid",
                path + " does not hold a version number, but \"" + text + "\"",
                "put back the file from a backup of the directory");
  }
  return std::optional(version);
}

Result<void> StateDirectory::set_version(std::int64_t version) const {
  const std::string path = file("VERSION");
  const std::string making = path + ".new";
  const int fd = open(making.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kFileMode);
  if (fd < 0) return fail(system_error("cannot make " + making, errno));
  Result<void> written = write_all(fd, std::to_string(version) + "\n", making);
  if (written && fsync(fd) != 0) written = fail(system_error("cannot write " + making, errno));
  close(fd);
  TG_TRY_VOID(std::move(written));
  if (rename(making.c_str(), path.c_str()) != 0) return fail(system_error("cannot write " + path, errno));
  return sync();
}

Result<void> StateDirectory::sync() const {
  const int fd = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return fail(system_error("cannot open " + path_, errno));
  const int result = fsync(fd);
  const int error = errno;
  close(fd);
  if (result != 0) return fail(system_error("cannot write " + path_, error));
  return {};
}

}  // namespace tangram::journal
