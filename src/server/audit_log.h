// Who asked what, and with what result: one line of JSON each, in a file of bounded size that is rotated. The
// secret of a token is never in it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/result.h"

namespace tangram::server {

struct AuditOptions {
  std::string path;  // older files stand beside it as path.1, path.2, …
  std::int64_t bytes_max = 16LL << 20;
  std::int64_t files_max = 8;  // with the present one
  // How long a rotation that failed is not tried again.
  std::chrono::milliseconds rotate_retry{60'000};
};

struct AuditEntry {
  std::string who;   // "token t-3", "uid 1000"; empty: not known
  std::string name;  // of the token
  std::string role;  // "operator", "tenant", "viewer"
  std::string tenant;
  std::string from;   // "192.0.2.7:40112", "pid 4711 uid 1000"
  std::string party;  // whose refusals count together, whatever their process or port; not written
  std::string method;
  std::string path;    // without the query
  int status = 0;      // HTTP; 0: nobody was left to answer
  std::string reason;  // of a refusal before anything was read
};

// Thread-safe. Recording never waits for the disk: a thread of its own writes. When that is more behind than
// a few thousand lines, or the disk is full, lines are lost, and a line that says how many follows. While the
// file cannot be rotated it grows to twice its size, and then lines are lost as well. A file that somebody
// takes away is begun anew with the next line.
class AuditLog {
 public:
  // Makes the directory when it is missing. Errors: "audit.unwritable" names the file.
  static Result<std::unique_ptr<AuditLog>> open(AuditOptions options);
  ~AuditLog();  // writes what is left
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  void record(const AuditEntry& entry);

  // As record(), but refusals of one party that differ in path alone are told once a second, with their
  // number: a stranger who knocks without end must not push everything else out of the file.
  void record_refusal(const AuditEntry& entry);

 private:
  struct Repeated {
    AuditEntry entry;
    std::int64_t count = 0;  // since it was told last
    std::chrono::steady_clock::time_point told;
  };

  explicit AuditLog(AuditOptions options) : options_(std::move(options)) {}

  Result<void> open_file();
  void run();
  void tell_repeated_locked(bool all);
  void write_out(const std::string& text, std::int64_t lines);
  void follow_path();
  // Rotates, unless the last try has failed a short time ago.
  void rotate_if_due();
  Result<void> rotate();
  Result<void> move_files() const;

  const AuditOptions options_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> lines_;
  std::map<std::string, Repeated> repeated_;
  std::int64_t dropped_ = 0;  // lines that found no place
  bool stopping_ = false;

  // The thread's own.
  int fd_ = -1;
  std::int64_t size_ = 0;
  std::int64_t lost_ = 0;  // lines that could not be written
  bool rotation_failed_ = false;
  bool taken_away_ = false;                                // the file has no name any more
  std::chrono::steady_clock::time_point next_rotation_{};  // not before
  std::thread thread_;
};

}  // namespace tangram::server
