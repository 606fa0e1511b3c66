// Reads an attempt's log from a position on, across the cuts that keep its file bounded: when the middle is
// cut, the file is replaced by one of head, mark and tail, and reading goes on at the same byte of the
// output.
//
// Positions count bytes of the output as the program wrote it; the mark of a cut is none of them. So they
// mean the same before and after a cut, and a reader that was interrupted goes on where it was. What a
// program prints in the likeness of a mark is output like any other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace tangram::server {

// Not thread-safe.
class LogReader {
 public:
  static constexpr std::size_t kChunkBytes = 64 * 1024;

  // `bytes_max`: the bound under which the log is written; a sixth of it is the head.
  LogReader(std::string path, std::int64_t bytes_max, std::int64_t position);
  ~LogReader();
  LogReader(const LogReader&) = delete;
  LogReader& operator=(const LogReader&) = delete;

  // The next bytes; empty when there are none now, or no regular file stands at the path. Where output is
  // missing the mark stands for it, whole and first in its piece.
  std::string read();

  // Behind what read() gave so far.
  std::int64_t position() const { return position_; }

 private:
  // The middle of a file that is missing.
  struct Cut {
    std::int64_t bytes = 0;       // of the output
    std::int64_t mark_bytes = 0;  // what stands for them, behind the head
  };

  std::string read_here();
  bool switch_to_new_file();
  void use(int fd);
  std::int64_t tail_position() const { return head_bytes_ + cut_->bytes; }

  const std::string path_;
  const std::int64_t head_bytes_;
  std::int64_t position_;
  int fd_ = -1;
  std::optional<Cut> cut_;  // of the file that is open
};

}  // namespace tangram::server
