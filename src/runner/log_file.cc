#include "runner/log_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "runner/files.h"

namespace tangram::runner {
namespace {

constexpr std::size_t kCopyBytes = 1 << 16;
constexpr std::int64_t kMarkRoom = 128;
// Of a file that is cut, see log_file.h.
constexpr mode_t kCutMode = 0400;

// Copies `count` bytes from `offset`; the errno of the first failure, or 0.
int copy_range(int from, std::int64_t offset, std::int64_t count, int to) {
  char buffer[kCopyBytes];
  while (count > 0) {
    const auto want = static_cast<std::size_t>(std::min<std::int64_t>(count, kCopyBytes));
    const ssize_t got = pread(from, buffer, want, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got < 0 ? errno : EIO;
    if (const int error = write_all(to, {buffer, static_cast<std::size_t>(got)}); error != 0) return error;
    offset += got;
    count -= got;
  }
  return 0;
}

std::string cut_mark(std::int64_t bytes) {
  return "\n[tangram: " + std::to_string(bytes) + " bytes were cut here]\n";
}

}  // namespace

LogFile::LogFile(std::string path, std::int64_t bytes_max, UniqueFd fd)
    : path_(std::move(path)), bytes_max_(std::max(bytes_max, kBytesMin)), fd_(std::move(fd)) {}

Result<LogFile> LogFile::open(std::string path, std::int64_t bytes_max) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) return fail(system_error("cannot create the log " + path, errno));
  return LogFile(std::move(path), bytes_max, std::move(fd));
}

void LogFile::append(std::string_view bytes) {
  const std::int64_t piece_max = bytes_max_ / 12;
  while (!bytes.empty()) {
    const auto piece = std::min<std::size_t>(bytes.size(), static_cast<std::size_t>(piece_max));
    write_now(bytes.substr(0, piece));
    bytes.remove_prefix(piece);
  }
}

void LogFile::write_now(std::string_view bytes) {
  const auto count = static_cast<std::int64_t>(bytes.size());
  if (size_ + count + kMarkRoom > bytes_max_ / 3 * 2 && (lost_ < retry_at_lost_ || !cut_middle())) {
    lost_ += count;
    return;
  }
  if (lost_ != lost_marked_ && !write_lost_mark()) {
    lost_ += count;
    return;
  }
  while (!bytes.empty()) {
    const ssize_t put = write(fd_.get(), bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      lost_reason_ = errno;
      lost_ += static_cast<std::int64_t>(bytes.size());
      return;
    }
    size_ += put;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
}

bool LogFile::write_lost_mark() {
  const std::string mark = "\n[tangram: " + std::to_string(lost_ - lost_marked_) +
                           " bytes were lost here: " + errno_text(lost_reason_) + "]\n";
  const ssize_t put = write(fd_.get(), mark.data(), mark.size());
  if (put > 0) size_ += put;
  if (put != static_cast<ssize_t>(mark.size())) return false;
  lost_marked_ = lost_;
  return true;
}

bool LogFile::cut_middle() {
  const std::int64_t keep = bytes_max_ / 6;
  const std::int64_t head = head_end_ == 0 ? keep : head_end_;
  const std::int64_t tail_from = std::max(size_ - keep, tail_start_);
  const std::int64_t cut = cut_ + tail_from - (head_end_ == 0 ? head : tail_start_);
  const std::string mark = cut_mark(cut);
  const std::string beside = path_ + ".new";
  UniqueFd fresh(
      ::open(beside.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  int error = fresh.valid() ? 0 : errno;
  if (error == 0) error = copy_range(fd_.get(), 0, head, fresh.get());
  if (error == 0) error = write_all(fresh.get(), mark);
  if (error == 0) error = copy_range(fd_.get(), tail_from, size_ - tail_from, fresh.get());
  if (error == 0 && fchmod(fresh.get(), kCutMode) != 0) error = errno;
  if (error == 0 && rename(beside.c_str(), path_.c_str()) != 0) error = errno;
  if (error != 0) {
    unlink(beside.c_str());
    lost_reason_ = error;
    retry_at_lost_ = lost_ + keep;
    return false;
  }
  fd_ = std::move(fresh);
  cut_ = cut;
  head_end_ = head;
  tail_start_ = head + static_cast<std::int64_t>(mark.size());
  size_ = tail_start_ + size_ - tail_from;
  return true;
}

void LogFile::finish() {
  if (lost_ != lost_marked_) write_lost_mark();
}

}  // namespace tangram::runner
