#include "journal/high_water_mark.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <string_view>
#include <utility>

#include "base/crash_point.h"
#include "base/error.h"
#include "base/log.h"

namespace tangram::journal {
namespace {

constexpr mode_t kFileMode = 0600;
// As many digits as the greatest number has; twice, with a space and a line's end: always written as a whole,
// in one place.
constexpr int kDigits = 20;
constexpr std::size_t kFileBytes = std::size_t{2} * kDigits + 2;

std::string text_of(std::uint64_t sequence) {
  std::array<char, kFileBytes + 1> text{};
  const auto number = static_cast<unsigned long long>(sequence);
  std::snprintf(text.data(), text.size(), "%0*llu %0*llu\n", kDigits, number, kDigits, number);
  return {text.data(), kFileBytes};
}

std::optional<std::uint64_t> parse(std::string_view text) {
  std::uint64_t sequence = 0;
  const std::string_view digits = text.substr(0, kDigits);
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), sequence);
  if (parsed.ec != std::errc() || text != text_of(sequence)) return std::nullopt;
  return sequence;
}

// 0, or what went wrong.
int write_mark(int fd, std::uint64_t sequence) {
  const std::string text = text_of(sequence);
  ssize_t count = 0;
  do {
    count = pwrite(fd, text.data(), text.size(), 0);
  } while (count < 0 && errno == EINTR);
  if (count < 0) return errno;
  return count == static_cast<ssize_t>(text.size()) ? 0 : ENOSPC;
}

void tell_unwritten(const std::string& path, int error) {
  log::warn("journal: cannot write " + path + ": " + errno_text(error) +
            "; a loss of records may not be noticed at a later start");
}

// Makes the whole file beside its place; its descriptor, or -1 with errno.
int make(const std::string& path, std::uint64_t sequence) {
  const std::string making = path + ".new";
  unlink(making.c_str());  // of a start that was cut off
  const int fd = ::open(making.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode);
  if (fd < 0) return -1;
  int error = write_mark(fd, sequence);
  TG_CRASH_POINT("journal.before_mark_file");
  // From here on the file has its block: a loss of power cannot leave it empty.
  if (error == 0 && fsync(fd) != 0) error = errno;
  if (error == 0 && rename(making.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return fd;
  unlink(making.c_str());
  close(fd);
  errno = error;
  return -1;
}

}  // namespace

std::optional<std::uint64_t> HighWaterMark::read(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0 && errno == ENOENT) return std::nullopt;
  std::array<char, kFileBytes + 1> bytes{};
  const ssize_t count = fd < 0 ? -1 : pread(fd, bytes.data(), bytes.size(), 0);
  const std::string problem = count < 0 ? errno_text(errno) : "it does not hold the number of a record";
  if (fd >= 0) close(fd);
  if (count >= 0) {
    if (const auto sequence = parse({bytes.data(), static_cast<std::size_t>(count)})) return sequence;
  }
  log::warn("journal: cannot read " + path + ": " + problem +
            "; whether records are missing cannot be told this time");
  return std::nullopt;
}

HighWaterMark HighWaterMark::open(const std::string& path, std::uint64_t sequence) {
  const bool known = read(path).has_value();
  const int fd = known ? ::open(path.c_str(), O_WRONLY | O_CLOEXEC) : make(path, sequence);
  if (fd < 0) tell_unwritten(path, errno);
  return {path, fd};
}

HighWaterMark::~HighWaterMark() {
  if (fd_ >= 0) close(fd_);
}

HighWaterMark::HighWaterMark(HighWaterMark&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), told_(other.told_) {}

void HighWaterMark::raise(std::uint64_t sequence) {
  if (fd_ < 0) return;
  const int error = write_mark(fd_, sequence);
  if (error == 0 || told_) return;
  told_ = true;
  tell_unwritten(path_, error);
}

}  // namespace tangram::journal
