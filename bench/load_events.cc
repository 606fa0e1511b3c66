#include "load_events.h"

#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <charconv>
#include <functional>
#include <string_view>
#include <utility>

namespace tangram::bench {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

class LoadEvents::Subscriber : public std::enable_shared_from_this<Subscriber> {
 public:
  Subscriber(LoadEvents& owner, asio::io_context& io) : owner_(owner), socket_(io) {
    parser_.body_limit(boost::none);
    parser_.on_chunk_body(on_chunk_);
  }

  void start() {
    socket_.async_connect(owner_.to_.endpoint, [self = shared_from_this()](const error_code& error) {
      if (error) return self->end(error.message());
      asio::async_write(self->socket_, asio::buffer(self->owner_.request_),
                        [self](const error_code& failed, std::size_t) {
                          if (failed) return self->end(failed.message());
                          self->read();
                        });
    });
  }

  void stop() {
    stopped_ = true;
    error_code ignored;
    socket_.close(ignored);  // NOLINT(bugprone-unused-return-value): the same as `ignored`
  }

 private:
  // Ends with the stream; what comes before goes to on_chunk_.
  void read() {
    http::async_read(socket_, buffer_, parser_,
                     [self = shared_from_this()](const error_code& error, std::size_t) {
                       if (!self->stopped_) self->end(error.message());
                     });
  }

  std::size_t take(std::string_view chunk) {
    text_ += chunk;
    std::size_t at = 0;
    for (auto end = text_.find('\n'); end != std::string::npos; end = text_.find('\n', at)) {
      owner_.take(text_.substr(at, end - at));
      at = end + 1;
    }
    text_.erase(0, at);
    return chunk.size();
  }

  void end(const std::string& why) {
    if (stopped_) return;
    stop();
    ++owner_.broken_;
    const bool refused = parser_.is_header_done() && parser_.get().result_int() != 200;
    if (owner_.first_error_.empty())
      owner_.first_error_ = refused ? parser_.get().body().substr(0, 200) : why;
  }

  LoadEvents& owner_;
  asio::generic::stream_protocol::socket socket_;
  boost::beast::flat_buffer buffer_;
  http::response_parser<http::string_body> parser_;
  // The parser keeps a reference.
  std::function<std::size_t(std::uint64_t, boost::beast::string_view, error_code&)> on_chunk_ =
      [this](std::uint64_t, boost::beast::string_view chunk, error_code&) { return take(chunk); };
  std::string text_;  // the beginning of a line
  bool stopped_ = false;
};

LoadEvents::LoadEvents(asio::io_context& io, const Target& to, StreamSpec spec, const Slots& slots,
                       const IntendedTimes& times, std::string run)
    : io_(io),
      to_(to),
      spec_(std::move(spec)),
      slots_(slots),
      times_(times),
      mark_("\"jobName\":\"load-" + std::move(run) + '-'),
      request_(make_request(to, "GET", "/v1/events")) {}

LoadEvents::~LoadEvents() {
  stop();
}

void LoadEvents::start() {
  if (!spec_.disturbs) connect();
}

void LoadEvents::connect() {
  for (std::size_t i = 0; i < spec_.connections; ++i) {
    subscribers_.push_back(std::make_shared<Subscriber>(*this, io_));
    subscribers_.back()->start();
  }
}

void LoadEvents::on_slot(bool disturbed) {
  if (!spec_.disturbs) return;
  stop();
  if (disturbed) connect();
}

void LoadEvents::stop() {
  for (const auto& subscriber : subscribers_) subscriber->stop();
  subscribers_.clear();
}

void LoadEvents::take(const std::string& line) {
  if (!line.starts_with("data:")) return;
  ++events_;
  if (line.find(R"("type":"job.submitted")") == std::string::npos) return;
  const auto at = line.find(mark_);
  if (at == std::string::npos) return;
  std::size_t number = 0;
  std::from_chars(line.data() + at + mark_.size(), line.data() + line.size(), number);
  if (number >= times_.size()) return;
  if (slots_.settled(times_.at(number))) latencies_.add(Clock::now() - times_.at(number));
}

std::string LoadEvents::to_json(double seconds) {
  return R"({"name":)" + json_text(spec_.name) + R"(,"seconds":)" + std::to_string(seconds) + R"(,"sent":)" +
         std::to_string(events_) + R"(,"unanswered":)" + std::to_string(broken_) +
         R"(,"jobs":0,"statuses":{},"first_error":)" + json_text(first_error_) + R"(,"quiet":)" +
         latencies_.to_json() + R"(,"disturbed":)" + Tally().to_json() + R"(,"own_delay":)" +
         Tally().to_json() + "}";
}

}  // namespace tangram::bench
