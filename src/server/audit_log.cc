#include "server/audit_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/plain_file.h"
#include "base/secret_text.h"
#include "net/problem.h"
#include "wire/schema.h"

namespace tangram::server {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kLinesWaitingMax = 8'192;
constexpr std::size_t kRepeatedMax = 1'024;
constexpr std::size_t kPathShownMax = 200;
constexpr std::chrono::seconds kRepeatPause{1};

std::string now_text() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return wire::format_time(TimeMs(std::chrono::duration_cast<std::chrono::milliseconds>(now).count()));
}

void add(std::string& line, std::string_view name, const std::string& value) {
  if (!value.empty()) line.append(",\"").append(name).append("\":").append(net::json_quoted(value));
}

std::string line_of(const AuditEntry& entry, std::int64_t count) {
  std::string line = "{\"at\":\"" + now_text() + "\"";
  add(line, "who", entry.who.empty() ? "unknown" : entry.who);
  add(line, "name", entry.name);
  add(line, "role", entry.role);
  add(line, "tenant", entry.tenant);
  add(line, "from", entry.from);
  add(line, "method", entry.method);
  add(line, "path", without_secrets(entry.path).substr(0, kPathShownMax));
  line += ",\"status\":" + std::to_string(entry.status);
  add(line, "reason", entry.reason);
  if (count > 1) line += ",\"count\":" + std::to_string(count);
  return line + "}\n";
}

std::string lost_line(std::int64_t lost) {
  return "{\"at\":\"" + now_text() + "\",\"lost\":" + std::to_string(lost) + "}\n";
}

}  // namespace

Result<std::unique_ptr<AuditLog>> AuditLog::open(AuditOptions options) {
  auto log = std::unique_ptr<AuditLog>(new AuditLog(std::move(options)));
  std::error_code problem;
  std::filesystem::create_directories(std::filesystem::path(log->options_.path).parent_path(), problem);
  TG_TRY_VOID(log->open_file());
  log->thread_ = std::thread([self = log.get()] { self->run(); });
  return log;
}

AuditLog::~AuditLog() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  if (fd_ >= 0) close(fd_);
}

// What was open stays so until the new file is.
Result<void> AuditLog::open_file() {
  const auto opened = open_plain_file("cannot write the audit log " + options_.path, options_.path,
                                      O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
  if (!opened) {
    Error error = opened.error();
    error.reason = "audit.unwritable";
    error.hint = "let tangramd write there, or name another file in audit.file of tangramd.yaml";
    return fail(std::move(error));
  }
  if (fd_ >= 0) close(fd_);
  fd_ = *opened;
  struct stat info{};
  size_ = fstat(fd_, &info) == 0 ? info.st_size : 0;
  return {};
}

void AuditLog::record(const AuditEntry& entry) {
  std::string line = line_of(entry, 1);
  const std::lock_guard lock(mutex_);
  if (lines_.size() >= kLinesWaitingMax) {
    ++dropped_;
    return;
  }
  lines_.push_back(std::move(line));
  changed_.notify_one();
}

void AuditLog::record_refusal(const AuditEntry& entry) {
  const std::string key = entry.who + "|" + entry.party + "|" + entry.method + "|" +
                          std::to_string(entry.status) + "|" + entry.reason;
  {
    const std::lock_guard lock(mutex_);
    const auto found = repeated_.find(key);
    if (found != repeated_.end()) {
      ++found->second.count;
      return;
    }
    if (repeated_.size() >= kRepeatedMax) {
      ++dropped_;
      return;
    }
    repeated_[key] = Repeated{entry, 0, steady_clock::now()};
  }
  record(entry);
}

// What was held back for a second becomes a line; who has been silent for a second is forgotten.
void AuditLog::tell_repeated_locked(bool all) {
  const auto now = steady_clock::now();
  for (auto at = repeated_.begin(); at != repeated_.end();) {
    Repeated& repeated = at->second;
    if (!all && now - repeated.told < kRepeatPause) {
      ++at;
      continue;
    }
    if (repeated.count == 0) {
      at = repeated_.erase(at);
      continue;
    }
    lines_.push_back(line_of(repeated.entry, std::exchange(repeated.count, 0)));
    repeated.told = now;
    ++at;
  }
}

void AuditLog::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    const auto ready = [this] { return stopping_ || !lines_.empty(); };
    if (repeated_.empty() && dropped_ == 0) {
      changed_.wait(lock, [&] { return ready() || !repeated_.empty(); });
    } else {
      changed_.wait_for(lock, kRepeatPause, ready);
    }
    const bool last = stopping_;
    tell_repeated_locked(last);
    std::string text;
    const auto count = static_cast<std::int64_t>(lines_.size());
    for (const std::string& line : lines_) text += line;
    lines_.clear();
    const std::int64_t dropped = std::exchange(dropped_, 0);
    lock.unlock();
    lost_ += dropped;
    if (count > 0 || lost_ > 0) write_out(text, count);
    lock.lock();
    if (last && lines_.empty()) return;
  }
}

// Somebody may have removed or moved it: what is written to a file without a name nobody will read. While no
// new one can be made the old one serves.
void AuditLog::follow_path() {
  struct stat there{};
  struct stat ours{};
  const bool is_there = stat(options_.path.c_str(), &there) == 0;
  if (fstat(fd_, &ours) != 0) return;
  if (is_there && there.st_ino == ours.st_ino && there.st_dev == ours.st_dev) return;
  const auto opened = open_file();
  if (opened) {
    log::warn("the audit log " + options_.path + " was taken away, and is begun anew");
  } else if (!taken_away_) {
    log::error("the audit log was taken away: " + opened.error().to_string());
  }
  taken_away_ = !opened;
}

void AuditLog::write_out(const std::string& text, std::int64_t lines) {
  follow_path();
  const std::string whole = (lost_ > 0 ? lost_line(lost_) : std::string()) + text;
  const auto size_with_it = [&] { return size_ + static_cast<std::int64_t>(whole.size()); };
  if (size_ > 0 && size_with_it() > options_.bytes_max) rotate_if_due();
  ssize_t written = -1;
  errno = EFBIG;
  if (size_ == 0 || size_with_it() <= 2 * options_.bytes_max)
    written = write(fd_, whole.data(), whole.size());
  if (written == static_cast<ssize_t>(whole.size())) {
    size_ += written;
    if (lost_ > 0) log::info("the audit log is written again; lines lost: " + std::to_string(lost_));
    lost_ = 0;
    return;
  }
  const int number = written < 0 ? errno : ENOSPC;
  // Half a line would make the file unreadable for tools.
  if (written > 0 && ftruncate(fd_, size_) != 0) size_ += written;
  if (lost_ == 0) log::error("cannot write the audit log " + options_.path + ": " + errno_text(number));
  lost_ += lines;
}

void AuditLog::rotate_if_due() {
  const auto now = steady_clock::now();
  if (now < next_rotation_) return;
  const auto rotated = rotate();
  if (!rotated) {
    next_rotation_ = now + options_.rotate_retry;
    if (!rotation_failed_) log::error(rotated.error().to_string());
  } else if (rotation_failed_) {
    log::info("the audit log " + options_.path + " is rotated again");
  }
  rotation_failed_ = !rotated;
}

Result<void> AuditLog::rotate() {
  TG_TRY_VOID(move_files());
  return open_file();
}

// Stops at the first that does not go: the one behind it would be overwritten.
Result<void> AuditLog::move_files() const {
  const auto cannot = [](const std::string& what, int number) {
    Error error = system_error("cannot rotate the audit log: " + what, number);
    error.reason = "audit.unwritable";
    error.hint = "look at what stands there and who may write; it is tried again every minute";
    return fail(std::move(error));
  };
  if (options_.files_max <= 1) {
    if (std::remove(options_.path.c_str()) == 0 || errno == ENOENT) return {};
    return cannot("remove " + options_.path, errno);
  }
  const auto numbered = [this](std::int64_t n) {
    return n == 0 ? options_.path : options_.path + "." + std::to_string(n);
  };
  // One that is not there is not to be moved, nor those before it made room for.
  if (access(options_.path.c_str(), F_OK) != 0) return {};
  for (std::int64_t n = options_.files_max - 1; n > 0; --n) {
    const std::string from = numbered(n - 1);
    if (std::rename(from.c_str(), numbered(n).c_str()) == 0 || errno == ENOENT) continue;
    return cannot(from + " to " + numbered(n), errno);
  }
  return {};
}

}  // namespace tangram::server
