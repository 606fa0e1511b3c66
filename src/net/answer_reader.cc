#include "net/answer_reader.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <utility>

namespace tangram::net {
namespace {

namespace http = boost::beast::http;
using boost::system::error_code;

constexpr std::size_t kReadBytes = std::size_t{16} * 1024;
constexpr std::size_t kHeaderBytesMax = std::size_t{64} * 1024;

tl::unexpected<Error> invalid(const error_code& error) {
  return fail(Code::kInternal, "client.answer.invalid",
              "the server's answer is not valid HTTP/1.1: " + error.message());
}

}  // namespace

void Incoming::consume(std::size_t count) {
  begin_ += count;
  if (begin_ < bytes_.size()) return;
  bytes_.clear();
  begin_ = 0;
}

Result<bool> Incoming::read_more(ClientDeadline deadline) {
  bytes_.erase(0, std::exchange(begin_, 0));
  const std::size_t before = bytes_.size();
  bytes_.resize(before + kReadBytes);
  const Result<std::size_t> count = read_(bytes_.data() + before, kReadBytes, deadline);
  bytes_.resize(before + count.value_or(0));
  if (!count) return fail(count.error());
  any_read = any_read || *count > 0;
  return *count > 0;
}

struct AnswerReader::Impl {
  using Parser = http::response_parser<http::buffer_body>;

  Impl(Incoming& from, bool only_head) : incoming(from), head_only(only_head) { restart(); }

  void restart() {
    parser = std::make_unique<Parser>();
    parser->header_limit(kHeaderBytesMax);
    parser->body_limit(boost::none);  // counted by whoever collects it
    parser->skip(head_only);
  }

  // Gives the parser what waits.
  error_code put() {
    error_code error;
    const std::string_view bytes = incoming.waiting();
    incoming.consume(parser->put(boost::asio::buffer(bytes.data(), bytes.size()), error));
    return error;
  }

  Result<void> parse_head(ClientDeadline deadline) {
    while (!parser->is_header_done()) {
      if (incoming.waiting().empty()) TG_TRY_VOID(read_more(deadline));
      const error_code error = put();
      if (error == http::error::need_more) {
        TG_TRY_VOID(read_more(deadline));
      } else if (error) {
        return invalid(error);
      }
    }
    return {};
  }

  Result<void> read_more(ClientDeadline deadline) const {
    if (incoming.waiting().size() > kHeaderBytesMax) return invalid(http::error::header_limit);
    TG_TRY(const bool more, incoming.read_more(deadline));
    if (!more) return connection_lost("before its end");
    return {};
  }

  // A body without a length ends with the connection.
  Result<void> end_of_stream() {
    at_the_end = true;
    error_code error;
    parser->put_eof(error);
    if (error) return connection_lost("in the middle of the body");
    return {};
  }

  Incoming& incoming;
  const bool head_only;
  bool at_the_end = false;
  std::unique_ptr<Parser> parser;
  std::array<char, kReadBytes> piece{};
};

AnswerReader::AnswerReader(Incoming& incoming, bool head_only)
    : impl_(std::make_unique<Impl>(incoming, head_only)) {}
AnswerReader::~AnswerReader() = default;

Result<Response> AnswerReader::read_head(ClientDeadline deadline) {
  while (true) {
    TG_TRY_VOID(impl_->parse_head(deadline));
    const auto& message = impl_->parser->get();
    Response response;
    response.status = static_cast<int>(message.result_int());
    if (response.status >= 200) {
      for (const auto& field : message) {
        response.headers.add(std::string(field.name_string()), std::string(field.value()));
      }
      return response;
    }
    impl_->restart();
  }
}

Result<std::string_view> AnswerReader::read_body(ClientDeadline deadline) {
  while (!impl_->parser->is_done()) {
    if (impl_->incoming.waiting().empty()) {
      TG_TRY(const bool more, impl_->incoming.read_more(deadline));
      if (!more) {
        TG_TRY_VOID(impl_->end_of_stream());
        continue;
      }
    }
    auto& body = impl_->parser->get().body();
    body.data = impl_->piece.data();
    body.size = impl_->piece.size();
    body.more = true;
    const error_code error = impl_->put();
    const std::size_t count = impl_->piece.size() - body.size;
    if (error == http::error::need_more && count == 0) {
      // A chunk's own header that is not whole yet.
      TG_TRY_VOID(impl_->read_more(deadline));
    } else if (error && error != http::error::need_buffer && error != http::error::need_more) {
      return invalid(error);
    }
    if (count > 0) return std::string_view(impl_->piece.data(), count);
  }
  return std::string_view();
}

bool AnswerReader::keeps_alive() const {
  return !impl_->at_the_end && impl_->parser->keep_alive();
}

}  // namespace tangram::net
