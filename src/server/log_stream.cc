#include "server/log_stream.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "server/log_reader.h"

namespace tangram::server {
namespace {

constexpr std::chrono::milliseconds kPollPause{100};

// Each step runs on whatever thread woke it, and arranges for at most one next step.
class LogStream : public std::enable_shared_from_this<LogStream> {
 public:
  LogStream(service::Service& service, service::AttemptLog log, const LogQuery& query,
            net::StreamWriter writer)
      : service_(service),
        log_(std::move(log)),
        offset_(query.offset),
        follow_(query.follow),
        writer_(std::move(writer)) {}

  void step() {
    while (!writer_.closed()) {
      if (chunk_.empty() && !read_chunk()) {
        if (!follow_ || log_.ended) {
          writer_.finish();
        } else {
          service_.call_after(kPollPause, [self = shared_from_this()] { self->step(); });
        }
        return;
      }
      switch (writer_.write(chunk_)) {
        case net::StreamWriter::Status::kTaken:
          chunk_.clear();
          break;
        case net::StreamWriter::Status::kFull:
          writer_.on_writable([self = shared_from_this()] { self->step(); });
          return;
        case net::StreamWriter::Status::kClosed:
          return;
      }
    }
  }

 private:
  // Asks first whether the attempt has ended and reads then: what it wrote last is not missed.
  bool read_chunk() {
    if (!log_.ended) log_ = service_.log_again(log_);
    if (!reader_ && !log_.path.empty()) reader_.emplace(log_.path, log_.bytes_max, offset_);
    if (reader_) chunk_ = reader_->read();
    return !chunk_.empty();
  }

  service::Service& service_;
  service::AttemptLog log_;
  const std::int64_t offset_;
  const bool follow_;
  std::optional<LogReader> reader_;
  std::string chunk_;
  net::StreamWriter writer_;
};

}  // namespace

LogQuery read_log_query(const Parameters& parameters) {
  LogQuery log;
  if (const auto attempt = parameters.number("attempt")) log.attempt = static_cast<std::int32_t>(*attempt);
  log.offset = parameters.number("offset").value_or(0);
  log.follow = parameters.flag("follow");
  return log;
}

void stream_log(service::Service& service, const service::AttemptLog& log, const LogQuery& query,
                net::Responder responder) {
  net::Response head;
  head.headers.set("Content-Type", "text/plain; charset=utf-8");
  head.headers.set("Tangram-Log-Offset", std::to_string(query.offset));
  std::make_shared<LogStream>(service, log, query, responder.stream(std::move(head)))->step();
}

}  // namespace tangram::server
