#include "server/log_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

namespace tangram::server {
namespace {

constexpr std::int64_t kBoundMin = 4096;  // the writer raises a smaller one
constexpr std::string_view kMarkStart = "\n[tangram: ";
constexpr std::string_view kMarkEnd = " bytes were cut here]\n";
constexpr std::size_t kMarkBytesMax = 128;

// A regular file or -1: what stands at the path was made beside a tenant's files.
int open_log(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return -1;
  struct stat about{};
  if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode)) return fd;
  close(fd);
  return -1;
}

struct Cut {
  std::int64_t bytes = 0;       // of the output that are missing
  std::int64_t tail_start = 0;  // where the file goes on behind the mark
};

// The mark behind the head, if the middle of this file was cut.
std::optional<Cut> find_cut(int fd, std::int64_t head_bytes) {
  char buffer[kMarkBytesMax];
  const ssize_t got = pread(fd, buffer, sizeof buffer, head_bytes);
  if (got <= 0) return std::nullopt;
  const std::string_view text(buffer, static_cast<std::size_t>(got));
  if (!text.starts_with(kMarkStart)) return std::nullopt;
  const std::size_t end = text.find(kMarkEnd);
  if (end == std::string_view::npos) return std::nullopt;
  Cut cut;
  const std::string_view number = text.substr(kMarkStart.size(), end - kMarkStart.size());
  const auto [stop, problem] = std::from_chars(number.data(), number.data() + number.size(), cut.bytes);
  if (problem != std::errc{} || stop != number.data() + number.size()) return std::nullopt;
  cut.tail_start = head_bytes + static_cast<std::int64_t>(end + kMarkEnd.size());
  return cut;
}

// Which byte of the whole output stands at the offset.
std::int64_t output_position(int fd, std::int64_t head_bytes, std::int64_t offset) {
  const auto cut = find_cut(fd, head_bytes);
  if (!cut || offset < cut->tail_start) return std::min(offset, cut ? head_bytes : offset);
  return head_bytes + cut->bytes + (offset - cut->tail_start);
}

// Where that byte stands in the file; the mark, if it was cut.
std::int64_t file_offset(int fd, std::int64_t head_bytes, std::int64_t position) {
  const auto cut = find_cut(fd, head_bytes);
  if (!cut || position < head_bytes) return position;
  const std::int64_t in_tail = position - head_bytes - cut->bytes;
  return in_tail < 0 ? head_bytes : cut->tail_start + in_tail;
}

}  // namespace

LogReader::LogReader(std::string path, std::int64_t bytes_max, std::int64_t offset)
    : path_(std::move(path)), head_bytes_(std::max(bytes_max, kBoundMin) / 6), offset_(offset) {}

LogReader::~LogReader() {
  if (fd_ >= 0) close(fd_);
}

std::string LogReader::read() {
  if (fd_ < 0) fd_ = open_log(path_);
  if (fd_ < 0) return {};
  std::string chunk = read_at_offset();
  // The old file is read to its end first: the new one starts behind it.
  if (chunk.empty() && switch_to_new_file()) chunk = read_at_offset();
  return chunk;
}

std::string LogReader::read_at_offset() {
  std::string chunk(kChunkBytes, '\0');
  const ssize_t got = pread(fd_, chunk.data(), chunk.size(), offset_);
  chunk.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  offset_ += static_cast<std::int64_t>(chunk.size());
  return chunk;
}

bool LogReader::switch_to_new_file() {
  struct stat present{};
  struct stat ours{};
  if (lstat(path_.c_str(), &present) != 0 || fstat(fd_, &ours) != 0) return false;
  if (present.st_ino == ours.st_ino && present.st_dev == ours.st_dev) return false;
  const int fresh = open_log(path_);
  if (fresh < 0) return false;
  const std::int64_t position = output_position(fd_, head_bytes_, offset_);
  close(fd_);
  fd_ = fresh;
  offset_ = file_offset(fd_, head_bytes_, position);
  return true;
}

}  // namespace tangram::server
