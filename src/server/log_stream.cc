#include "server/log_stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <string>

#include "server/parameters.h"

namespace tangram::server {
namespace {

constexpr std::size_t kChunkBytes = 64 * 1024;
constexpr std::chrono::milliseconds kPollPause{100};

// A regular file or -1: what stands at the path was made beside a tenant's files.
int open_log(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return -1;
  struct stat about {};
  if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode)) return fd;
  close(fd);
  return -1;
}

// Each step runs on whatever thread woke it, and arranges for at most one next step.
class LogStream : public std::enable_shared_from_this<LogStream> {
 public:
  LogStream(service::Service& service, service::AttemptLog log, const LogQuery& query)
      : service_(service), log_(std::move(log)), offset_(query.offset), follow_(query.follow) {}
  LogStream(const LogStream&) = delete;
  LogStream& operator=(const LogStream&) = delete;
  ~LogStream() {
    if (fd_ >= 0) close(fd_);
  }

  void start(net::Responder& responder) {
    net::Response head;
    head.headers.set("Content-Type", "text/plain; charset=utf-8");
    head.headers.set("Tangram-Log-Offset", std::to_string(offset_));
    writer_.emplace(responder.stream(std::move(head)));
    step();
  }

 private:
  void step() {
    while (!writer_->closed()) {
      if (chunk_.empty() && !read_chunk()) {
        if (!follow_ || log_.ended) {
          writer_->finish();
        } else {
          service_.call_after(kPollPause, [self = shared_from_this()] { self->step(); });
        }
        return;
      }
      switch (writer_->write(chunk_)) {
        case net::StreamWriter::Status::kTaken:
          offset_ += static_cast<std::int64_t>(chunk_.size());
          chunk_.clear();
          break;
        case net::StreamWriter::Status::kFull:
          writer_->on_writable([self = shared_from_this()] { self->step(); });
          return;
        case net::StreamWriter::Status::kClosed: return;
      }
    }
  }

  // Asks first whether the attempt has ended and reads then: what it wrote last is not missed.
  bool read_chunk() {
    if (!log_.ended) log_ = service_.log_again(log_);
    if (fd_ < 0 && !log_.path.empty()) fd_ = open_log(log_.path);
    if (fd_ < 0) return false;
    chunk_.resize(kChunkBytes);
    const ssize_t got = pread(fd_, chunk_.data(), chunk_.size(), offset_);
    chunk_.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return !chunk_.empty();
  }

  service::Service& service_;
  service::AttemptLog log_;
  std::int64_t offset_;
  bool follow_;
  int fd_ = -1;
  std::string chunk_;
  std::optional<net::StreamWriter> writer_;
};

}  // namespace

Result<LogQuery> read_log_query(const net::Query& query) {
  TG_TRY_VOID(check_parameters(query, {"attempt", "offset", "follow"}));
  LogQuery log;
  TG_TRY(const auto attempt, number_parameter(query, "attempt", 1, std::numeric_limits<std::int32_t>::max()));
  if (attempt) log.attempt = static_cast<std::int32_t>(*attempt);
  TG_TRY(const auto offset, number_parameter(query, "offset", 0, std::numeric_limits<std::int64_t>::max()));
  log.offset = offset.value_or(0);
  TG_TRY(log.follow, flag_parameter(query, "follow"));
  return log;
}

void stream_log(service::Service& service, const service::AttemptLog& log, const LogQuery& query,
                net::Responder responder) {
  std::make_shared<LogStream>(service, log, query)->start(responder);
}

}  // namespace tangram::server
