#include "net/client.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/quote.h"
#include "net/answer_reader.h"
#include "net/client_socket.h"

namespace tangram::net {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using Deadline = ClientDeadline;

// A connected socket and what was read from it beyond the last answer.
struct Wire {
  explicit Wire(std::unique_ptr<ClientSocket> connected)
      : socket(std::move(connected)), incoming([this](void* into, std::size_t size, Deadline deadline) {
          return socket->read(into, size, deadline);
        }) {}
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  bool fresh() const { return incoming.waiting().empty() && socket->fresh(); }

  // Sends all, or less when the server answers before that. A failed send is no error yet: the reason for it
  // may wait to be read.
  Result<void> send(std::string_view data, Deadline deadline) {
    TG_TRY(const bool all, socket->send(data, deadline));
    if (!all) reusable = false;
    return {};
  }

  const std::unique_ptr<ClientSocket> socket;
  Incoming incoming;
  bool reusable = true;
};

bool has_line_break(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
}

// "localhost" on a Unix socket.
std::string host_of(const ClientOptions& options) {
  if (options.host.empty()) return "localhost";
  const bool v6 = options.host.find(':') != std::string::npos;
  return (v6 ? "[" + options.host + "]" : options.host) + ":" + std::to_string(options.port);
}

Result<std::string> serialize(const ClientRequest& request, const ClientOptions& options) {
  std::string target = request.path;
  if (!request.query.empty()) target += "?" + request.query.encode();
  const bool good_target =
      !target.empty() && target.front() == '/' && std::none_of(target.begin(), target.end(), [](char c) {
        return static_cast<unsigned char>(c) <= ' ' || c == 0x7f;
      });
  if (!good_target) {
    return fail(Code::kInvalidArgument, "client.request.invalid",
                "the path " + quoted(target, 100) + " cannot stand in a request",
                "escape it with encode_segment");
  }
  if (has_line_break(options.bearer_token)) {
    return fail(Code::kInvalidArgument, "client.request.invalid", "the token holds a line break");
  }
  std::string text(to_string(request.method));
  text += " " + target + " HTTP/1.1\r\nHost: " + host_of(options) + "\r\n";
  if (!options.bearer_token.empty()) text += "Authorization: Bearer " + options.bearer_token + "\r\n";
  for (const Headers::Field& field : request.headers) {
    if (field.name.empty() || has_line_break(field.name) || has_line_break(field.value)) {
      return fail(Code::kInvalidArgument, "client.request.invalid",
                  "the header " + quoted(field.name) + " holds a line break or has no name");
    }
    text += field.name + ": " + field.value + "\r\n";
  }
  const bool carries_body = request.method == Method::kPost || request.method == Method::kPut ||
                            request.method == Method::kPatch || !request.body.empty();
  if (carries_body) text += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
  return text + "\r\n" + request.body;
}

bool safe_to_repeat(const ClientRequest& request) {
  switch (request.method) {
    case Method::kGet:
    case Method::kHead:
    case Method::kPut:
    case Method::kDelete:
    case Method::kOptions:
      return true;
    case Method::kPost:
    case Method::kPatch:
    case Method::kOther:
      return request.headers.get("Idempotency-Key").has_value();
  }
  return false;
}

}  // namespace

struct HttpClient::Impl {
  const ClientOptions options;
  std::mutex mutex;
  std::vector<std::unique_ptr<Wire>> idle;
  std::shared_ptr<ClientTrust> trust;  // once it was needed

  explicit Impl(ClientOptions with) : options(std::move(with)) {}

  std::unique_ptr<Wire> take_idle() {
    const std::lock_guard lock(mutex);
    while (!idle.empty()) {
      std::unique_ptr<Wire> wire = std::move(idle.back());
      idle.pop_back();
      if (wire->fresh()) return wire;
    }
    return nullptr;
  }

  // An exchange whose answer's head was read. The wire is then at the start of the body.
  struct Begun {
    std::unique_ptr<Wire> wire;
    std::unique_ptr<AnswerReader> reader;
    Response head;
  };

  // At the end of the body.
  void give_back(Begun begun) {
    std::unique_ptr<Wire> wire = std::move(begun.wire);
    if (!wire->reusable || !begun.reader->keeps_alive() || !wire->incoming.waiting().empty()) return;
    wire->socket->set_interrupt(nullptr);
    const std::lock_guard lock(mutex);
    if (idle.size() < options.idle_connections_max) idle.push_back(std::move(wire));
  }

  Result<std::unique_ptr<Wire>> dial(Deadline deadline, const Interrupt* interrupt) {
    if (!options.host.empty() && options.tls) {
      const std::lock_guard lock(mutex);
      if (!trust) {
        TG_TRY(trust, ClientTrust::load(options));
      }
    }
    TG_TRY(auto socket, ClientSocket::connect(options, trust, deadline, interrupt));
    return std::make_unique<Wire>(std::move(socket));
  }

  Result<Begun> begin_on(std::unique_ptr<Wire> wire, const ClientRequest& request, const std::string& text,
                         Deadline deadline, bool& any_read) const {
    wire->incoming.any_read = false;
    wire->socket->set_interrupt(request.interrupt);
    TG_TRY_VOID(wire->send(text, deadline));
    auto reader = std::make_unique<AnswerReader>(wire->incoming, request.method == Method::kHead);
    auto head = reader->read_head(deadline);
    any_read = wire->incoming.any_read;
    if (!head) return fail(std::move(head).error());
    return Begun{std::move(wire), std::move(reader), std::move(*head)};
  }

  Result<Begun> begin(const ClientRequest& request, Deadline deadline) {
    TG_TRY(const std::string text, serialize(request, options));
    if (std::unique_ptr<Wire> kept = take_idle()) {
      bool any_read = false;
      auto begun = begin_on(std::move(kept), request, text, deadline, any_read);
      const bool closed_unheard = !begun && !any_read && begun.error().reason == "client.connection_lost";
      if (!closed_unheard || !safe_to_repeat(request)) return begun;
    }
    TG_TRY(std::unique_ptr<Wire> wire, dial(deadline, request.interrupt));
    bool any_read = false;
    return begin_on(std::move(wire), request, text, deadline, any_read);
  }

  Result<Response> collect(Begun begun, Deadline deadline) {
    while (true) {
      TG_TRY(const std::string_view piece, begun.reader->read_body(deadline));
      if (piece.empty()) break;
      if (begun.head.body.size() + piece.size() > options.body_bytes_max) {
        return fail(
            Code::kResourceExhausted, "client.answer.too_large",
            "the server's answer is larger than " + std::to_string(options.body_bytes_max) + " bytes");
      }
      begun.head.body.append(piece);
    }
    Response answer = std::move(begun.head);
    give_back(std::move(begun));
    return answer;
  }
};

HttpClient::HttpClient(ClientOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
HttpClient::~HttpClient() = default;

Result<Response> HttpClient::request(const ClientRequest& request, milliseconds timeout) {
  const Deadline deadline = Clock::now() + timeout;
  TG_TRY(Impl::Begun begun, impl_->begin(request, deadline));
  return impl_->collect(std::move(begun), deadline);
}

Result<Response> HttpClient::stream(const ClientRequest& request, milliseconds head_timeout,
                                    milliseconds silence_timeout,
                                    const std::function<bool(std::string_view)>& on_chunk) {
  const auto next_deadline = [&]() -> Deadline {
    if (silence_timeout.count() == 0) return std::nullopt;
    return Clock::now() + silence_timeout;
  };
  TG_TRY(Impl::Begun begun, impl_->begin(request, Clock::now() + head_timeout));
  if (begun.head.status < 200 || begun.head.status > 299) {
    return impl_->collect(std::move(begun), Clock::now() + head_timeout);
  }
  while (true) {
    TG_TRY(const std::string_view piece, begun.reader->read_body(next_deadline()));
    if (piece.empty()) break;
    if (!on_chunk(piece)) return std::move(begun.head);
  }
  Response head = std::move(begun.head);
  impl_->give_back(std::move(begun));
  return head;
}

}  // namespace tangram::net
