// How far the journal was acknowledged, beside the journal. SQLite drops what follows a damaged place of its
// write-ahead log without a word, and a log that is gone altogether is an empty one to it; the mark tells.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tangram::journal {

// It only ever helps to notice a loss, so nothing here fails: what cannot be read or written goes to the log,
// and the journal goes on without a mark. Never above what is durable, since it is raised only after a
// commit: a kill leaves it exact or one commit behind, a loss of power behind by what the kernel had not
// written yet. One owner at a time.
class HighWaterMark {
 public:
  // What the file says; empty when there is none, or when it holds no mark. Written twice in the file, so
  // that a mix of an older and a newer mark, as a loss of power in the middle of a write may leave, is none.
  static std::optional<std::uint64_t> read(const std::string& path);

  // Opens the file, or makes a durable one that says `sequence` when read() finds none. The file has its name
  // only once it is whole. One that cannot be made is tried again at the next start.
  static HighWaterMark open(const std::string& path, std::uint64_t sequence);

  ~HighWaterMark();
  HighWaterMark(HighWaterMark&& other) noexcept;
  HighWaterMark& operator=(HighWaterMark&&) = delete;

  // Does not wait for the disk.
  void raise(std::uint64_t sequence);

 private:
  HighWaterMark(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::string path_;
  int fd_;  // -1: there is no mark
  bool told_ = false;
};

}  // namespace tangram::journal
