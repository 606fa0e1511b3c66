#include "runner/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

namespace tangram::runner {
namespace {

constexpr int kFieldsAfterName = 20;  // of /proc/<pid>/stat, up to and with the start time

}  // namespace

Result<std::string> read_fd(int fd, std::size_t bytes_max) {
  std::string text;
  char buffer[16384];
  for (;;) {
    const ssize_t got = pread(fd, buffer, sizeof buffer, static_cast<off_t>(text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(system_error("cannot read", errno));
    if (got == 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
    if (text.size() > bytes_max) {
      return fail(Code::kDataLoss, "runner.file.too_large",
                  "larger than " + std::to_string(bytes_max) + " bytes");
    }
  }
}

Result<std::string> read_file(const std::string& path, std::size_t bytes_max) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid()) return fail(system_error("cannot open " + path, errno));
  Result<std::string> text = read_fd(fd.get(), bytes_max);
  if (!text) return fail(wrap("cannot use " + path, std::move(text).error()));
  return text;
}

Result<void> write_control(const std::string& path, std::string_view text) {
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid()) return fail(system_error("cannot open " + path, errno));
  if (write(fd.get(), text.data(), text.size()) < 0) {
    return fail(system_error("cannot write " + std::string(text) + " to " + path, errno));
  }
  return {};
}

int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = write(fd, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  return 0;
}

Result<void> allow_passage(const std::string& path) {
  struct stat info{};
  const bool allowed =
      stat(path.c_str(), &info) == 0 && chmod(path.c_str(), (info.st_mode & 07777U) | S_IXGRP | S_IXOTH) == 0;
  if (!allowed) return fail(system_error("cannot open a way through " + path, errno));
  return {};
}

Result<void> make_directory(const std::string& path, mode_t mode) {
  if (mkdir(path.c_str(), mode) == 0) return {};
  const int error = errno;
  struct stat info{};
  if (error == EEXIST && stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return {};
  return fail(system_error("cannot create the directory " + path, error));
}

Result<void> make_directories(const std::string& path, mode_t mode) {
  for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
    TG_TRY_VOID(make_directory(path.substr(0, at), mode));
  }
  return make_directory(path, mode);
}

Result<std::optional<UniqueFd>> try_lock(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) return fail(system_error("cannot open " + path, errno));
  if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return std::optional<UniqueFd>(std::move(fd));
  if (errno == EWOULDBLOCK) return std::optional<UniqueFd>();
  return fail(system_error("cannot lock " + path, errno));
}

std::int64_t boot_time_ms() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

Result<std::string> read_boot_id() {
  TG_TRY(std::string text, read_file("/proc/sys/kernel/random/boot_id", 100));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

Result<std::uint64_t> read_start_ticks(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  TG_TRY(const std::string text, read_file(path, 8192));
  // The second field is the name in parentheses, which may itself hold blanks and parentheses.
  std::size_t at = text.rfind(')');
  for (int field = 0; field < kFieldsAfterName && at != std::string::npos; ++field)
    at = text.find(' ', at + 1);
  std::uint64_t ticks = 0;
  if (at != std::string::npos &&
      std::from_chars(text.data() + at + 1, text.data() + text.size(), ticks).ec == std::errc()) {
    return ticks;
  }
  return fail(Code::kDataLoss, "runner.proc.format", path + " has no start time in field 22");
}

Result<UniqueFd> open_pidfd(pid_t pid) {
  UniqueFd fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!fd.valid()) return fail(system_error("cannot open a handle of process " + std::to_string(pid), errno));
  return fd;
}

}  // namespace tangram::runner
