// The output of a job in one file of bounded size: the head and the newest tail, a mark where something was
// cut.
//
// The file grows until it would pass two thirds of its bound. Then it is written anew beside itself (the
// first sixth of the bound, a mark, the newest sixth) and renamed over itself, so that both together stay
// within the bound and a reader of the path always sees a whole file. The mark says how many bytes are cut at
// its place: with it a reader tells the offset in the whole output of each byte behind it
// (server/log_reader.h). A file with a mark has the mode 0400, one without 0600: by that a reader knows that
// the mark is the writer's, and not of a program that prints the same words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "runner/unique_fd.h"

namespace tangram::runner {

// Not thread-safe. Never fails after open(): what cannot be written is counted and marked when writing works
// again.
class LogFile {
 public:
  static constexpr std::int64_t kBytesMin = 4096;

  // Creates `path` with mode 0600. A bound below kBytesMin is raised to it.
  static Result<LogFile> open(std::string path, std::int64_t bytes_max);

  void append(std::string_view bytes);

  // Writes the marks that are due.
  void finish();

  std::int64_t bytes_cut() const { return cut_; }
  std::int64_t bytes_lost() const { return lost_; }

 private:
  LogFile(std::string path, std::int64_t bytes_max, UniqueFd fd);

  void write_now(std::string_view bytes);
  bool write_lost_mark();
  bool cut_middle();

  std::string path_;
  std::int64_t bytes_max_ = 0;
  UniqueFd fd_;
  std::int64_t size_ = 0;
  std::int64_t head_end_ = 0;    // where the mark of the cut starts; 0 before the first cut
  std::int64_t tail_start_ = 0;  // behind that mark
  std::int64_t cut_ = 0;
  std::int64_t lost_ = 0;
  std::int64_t lost_marked_ = 0;
  int lost_reason_ = 0;
  std::int64_t retry_at_lost_ = 0;  // after a failed cut: not tried again before this much is lost
};

}  // namespace tangram::runner
