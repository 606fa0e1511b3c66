#include "server/log_stream.h"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "net/base64.h"
#include "server/exchange.h"
#include "server/log_reader.h"

namespace tangram::server {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPollPause{100};
constexpr int kPiecesPerStep = 8;                // of at most LogReader::kChunkBytes
constexpr std::chrono::seconds kCheckPause{5};   // between questions whether the reader still may
constexpr std::chrono::seconds kSilenceMax{10};  // then a comment says that the stream lives

// Each step runs on a handler thread, because it reads a file on a disk that may stand still, and arranges
// for at most one next step. It sends a few pieces and lets others have the thread, however fast the reader
// takes them and the file grows.
class LogStream : public std::enable_shared_from_this<LogStream> {
 public:
  LogStream(service::Service& service, service::AttemptLog log, const LogQuery& query,
            std::function<Result<void>()> may_go_on, wire::Language language, net::StreamWriter writer)
      : service_(service),
        log_(std::move(log)),
        query_(query),
        may_go_on_(std::move(may_go_on)),
        language_(language),
        writer_(std::move(writer)) {}

  void step() {
    for (int pieces = 0; !writer_.closed(); ++pieces) {
      if (pieces == kPiecesPerStep) return step_later();
      if (const auto allowed = check_now_and_then(); !allowed) {
        // A text has no place for the problem, and must not look like the whole log.
        if (query_.form != LogForm::kEvents) return writer_.break_off();
        (void)writer_.write(problem_event(allowed.error(), language_));
        return writer_.finish();
      }
      if (chunk_.empty()) make_chunk();
      if (chunk_.empty()) {
        if (ended_) {
          writer_.finish();
        } else {
          service_.call_after(kPollPause, [self = shared_from_this()] { self->step_later(); });
        }
        return;
      }
      switch (writer_.write(chunk_)) {
        case net::StreamWriter::Status::kTaken:
          chunk_.clear();
          last_sign_ = steady_clock::now();
          break;
        case net::StreamWriter::Status::kFull:
          return step_later();
        case net::StreamWriter::Status::kClosed:
          return;
      }
    }
  }

 private:
  // On a handler thread, in the turn of the reader's share, once the network has taken what was sent.
  void step_later() {
    writer_.on_writable([self = shared_from_this()] { self->step(); });
  }

  Result<void> check_now_and_then() {
    const auto now = steady_clock::now();
    if (now - last_check_ < kCheckPause) return {};
    last_check_ = now;
    return may_go_on_();
  }

  // What goes to the reader next; nothing: wait, or with `ended_` that was all.
  void make_chunk() {
    if (ended_) return;
    chunk_ = read_output();
    const bool events = query_.form == LogForm::kEvents;
    if (!chunk_.empty()) {
      if (events && reader_) {
        chunk_ =
            "id: " + std::to_string(reader_->position()) + "\ndata: " + net::encode_base64(chunk_) + "\n\n";
      }
      return;
    }
    ended_ = !query_.follow || log_.ended;
    if (!events) return;
    if (ended_) {
      chunk_ = "event: end\ndata:\n\n";
    } else if (steady_clock::now() - last_sign_ > kSilenceMax) {
      chunk_ = ": keep-alive\n\n";
    }
  }

  // Asks first whether the attempt has ended and reads then: what it wrote last is not missed.
  std::string read_output() {
    if (!log_.ended) log_ = service_.log_again(log_);
    if (!reader_ && !log_.path.empty()) reader_.emplace(log_.path, log_.bytes_max, query_.offset);
    return reader_ ? reader_->read() : std::string();
  }

  service::Service& service_;
  service::AttemptLog log_;
  const LogQuery query_;
  const std::function<Result<void>()> may_go_on_;
  const wire::Language language_;
  std::optional<LogReader> reader_;
  std::string chunk_;
  bool ended_ = false;  // everything was read
  steady_clock::time_point last_sign_ = steady_clock::now();
  steady_clock::time_point last_check_ = steady_clock::now();
  net::StreamWriter writer_;
};

}  // namespace

LogQuery read_log_query(const Parameters& parameters, const net::Request& request) {
  LogQuery log;
  if (const auto attempt = parameters.number("attempt")) log.attempt = static_cast<std::int32_t>(*attempt);
  log.offset = parameters.number("offset").value_or(0);
  log.follow = parameters.flag("follow");
  if (request.headers.get("Accept") == wire::kMediaEvents) log.form = LogForm::kEvents;
  return log;
}

void stream_log(service::Service& service, const service::AttemptLog& log, const LogQuery& query,
                std::function<Result<void>()> may_go_on, wire::Language language, net::Responder responder) {
  net::Response head;
  const bool events = query.form == LogForm::kEvents;
  head.headers.set("Content-Type", events ? std::string(wire::kMediaEvents) : "text/plain; charset=utf-8");
  head.headers.set("Cache-Control", "no-store");
  head.headers.set("Tangram-Log-Offset", std::to_string(query.offset));
  std::make_shared<LogStream>(service, log, query, std::move(may_go_on), language,
                              responder.stream(std::move(head)))
      ->step();
}

}  // namespace tangram::server
