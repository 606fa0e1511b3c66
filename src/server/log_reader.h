// Reads an attempt's log file from an offset on, across the cuts that keep its size bounded: when the middle
// is cut, the file is replaced by one of head, mark and tail, and reading goes on at the same byte of the
// output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tangram::server {

// Not thread-safe.
class LogReader {
 public:
  static constexpr std::size_t kChunkBytes = 64 * 1024;

  // `bytes_max`: the bound under which the log is written; a sixth of it is the head.
  LogReader(std::string path, std::int64_t bytes_max, std::int64_t offset);
  ~LogReader();
  LogReader(const LogReader&) = delete;
  LogReader& operator=(const LogReader&) = delete;

  // The next bytes; empty when there are none now, or no regular file stands at the path.
  std::string read();

 private:
  std::string read_at_offset();
  bool switch_to_new_file();

  const std::string path_;
  const std::int64_t head_bytes_;
  std::int64_t offset_;
  int fd_ = -1;
};

}  // namespace tangram::server
