#include "server/log_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>
#include <utility>

namespace tangram::server {
namespace {

constexpr std::int64_t kBoundMin = 4096;  // the writer raises a smaller one
constexpr std::string_view kMarkStart = "\n[tangram: ";
constexpr std::string_view kMarkEnd = " bytes were cut here]\n";
constexpr std::size_t kMarkBytesMax = 128;
// The writer (runner/log_file.cc) takes the right to write from a file that it has cut. A job can print what
// looks like a mark, but it cannot do that.
constexpr mode_t kCutWithout = S_IWUSR;
// No log is longer; positions behind such a cut can still be added up.
constexpr std::int64_t kCutBytesMax = std::numeric_limits<std::int64_t>::max() / 2;

// A regular file or -1: what stands at the path was made beside a tenant's files.
int open_log(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return -1;
  struct stat about{};
  if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode)) return fd;
  close(fd);
  return -1;
}

bool was_cut(int fd) {
  struct stat about{};
  return fstat(fd, &about) == 0 && (about.st_mode & kCutWithout) == 0;
}

std::string read_at(int fd, std::int64_t offset, std::size_t count) {
  std::string bytes(count, '\0');
  const ssize_t got = pread(fd, bytes.data(), count, offset);
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return bytes;
}

}  // namespace

LogReader::LogReader(std::string path, std::int64_t bytes_max, std::int64_t position)
    : path_(std::move(path)), head_bytes_(std::max(bytes_max, kBoundMin) / 6), position_(position) {}

LogReader::~LogReader() {
  if (fd_ >= 0) close(fd_);
}

// A file is cut when it is made and never later, so its mark is looked for once.
void LogReader::use(int fd) {
  if (fd_ >= 0) close(fd_);
  fd_ = fd;
  cut_.reset();
  if (!was_cut(fd_)) return;
  const std::string text = read_at(fd_, head_bytes_, kMarkBytesMax);
  const std::size_t end = text.find(kMarkEnd);
  if (!text.starts_with(kMarkStart) || end == std::string::npos) return;
  Cut cut;
  const char* const number = text.data() + kMarkStart.size();
  const auto [stop, problem] = std::from_chars(number, text.data() + end, cut.bytes);
  if (problem != std::errc{} || stop != text.data() + end) return;
  cut.mark_bytes = static_cast<std::int64_t>(end + kMarkEnd.size());
  // More is cut than the mark takes, or the file would have grown by it.
  if (cut.bytes < cut.mark_bytes || cut.bytes > kCutBytesMax) return;
  cut_ = cut;
}

std::string LogReader::read() {
  if (fd_ < 0) {
    const int fd = open_log(path_);
    if (fd < 0) return {};
    use(fd);
  }
  std::string chunk = read_here();
  // The old file is read to its end first: the new one starts behind it.
  if (chunk.empty() && switch_to_new_file()) chunk = read_here();
  return chunk;
}

std::string LogReader::read_here() {
  if (!cut_ || position_ < head_bytes_) {
    const std::size_t most =
        cut_ ? static_cast<std::size_t>(std::min<std::int64_t>(head_bytes_ - position_, kChunkBytes))
             : kChunkBytes;
    std::string chunk = read_at(fd_, position_, most);
    position_ += static_cast<std::int64_t>(chunk.size());
    return chunk;
  }
  std::string mark;
  if (position_ < tail_position()) {
    mark = read_at(fd_, head_bytes_, static_cast<std::size_t>(cut_->mark_bytes));
    position_ = tail_position();
  }
  const std::int64_t tail_start = head_bytes_ + cut_->mark_bytes;
  const std::string chunk =
      read_at(fd_, tail_start + (position_ - tail_position()), kChunkBytes - mark.size());
  position_ += static_cast<std::int64_t>(chunk.size());
  return mark + chunk;
}

bool LogReader::switch_to_new_file() {
  struct stat present{};
  struct stat ours{};
  if (lstat(path_.c_str(), &present) != 0 || fstat(fd_, &ours) != 0) return false;
  if (present.st_ino == ours.st_ino && present.st_dev == ours.st_dev) return false;
  const int fresh = open_log(path_);
  if (fresh < 0) return false;
  use(fresh);
  return true;
}

}  // namespace tangram::server
