#include "kube_api/api_server.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdlib>
#include <utility>

namespace tangram::kube {
namespace {

net::Headers parse_headers(std::string_view head) {
  net::Headers headers;
  for (std::size_t at = head.find("\r\n"); at != std::string_view::npos;) {
    const std::size_t end = head.find("\r\n", at + 2);
    const std::string_view line = head.substr(at + 2, end == std::string_view::npos ? end : end - at - 2);
    const std::size_t colon = line.find(": ");
    if (colon != std::string_view::npos)
      headers.add(std::string(line.substr(0, colon)), std::string(line.substr(colon + 2)));
    at = end;
  }
  return headers;
}

SeenRequest parse_head(std::string_view head) {
  SeenRequest request;
  const std::size_t first = head.find(' ');
  const std::size_t second = head.find(' ', first + 1);
  request.method = std::string(head.substr(0, first));
  const std::string_view target = head.substr(first + 1, second - first - 1);
  const std::size_t question = target.find('?');
  request.path = std::string(target.substr(0, question));
  if (question != std::string_view::npos) request.query = *net::Query::parse(target.substr(question + 1));
  request.headers = parse_headers(head);
  return request;
}

SSL_CTX* make_context(const ApiServer::TlsFiles& files) {
  SSL_CTX* const context = SSL_CTX_new(TLS_server_method());
  const bool good = SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) == 1 &&
                    SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM) == 1;
  if (!good) std::abort();
  if (!files.client_authority.empty()) {
    if (SSL_CTX_load_verify_file(context, files.client_authority.c_str()) != 1) std::abort();
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  return context;
}

}  // namespace

// ---- one connection

Conversation::Conversation(int fd, SSL_CTX* tls) : fd_(fd) {
  if (tls == nullptr) return;
  tls_ = SSL_new(tls);
  SSL_set_fd(tls_, fd_);
}

Conversation::~Conversation() {
  if (tls_ != nullptr) SSL_free(tls_);
  close(fd_);
}

bool Conversation::read_more() {
  char piece[16'384];
  const ssize_t count =
      tls_ != nullptr ? SSL_read(tls_, piece, sizeof piece) : recv(fd_, piece, sizeof piece, 0);
  if (count <= 0) {
    ended_ = true;
    return false;
  }
  received_.append(piece, static_cast<std::size_t>(count));
  return true;
}

std::optional<SeenRequest> Conversation::next() {
  if (tls_ != nullptr && SSL_is_init_finished(tls_) == 0 && SSL_accept(tls_) != 1) {
    ended_ = true;
    return std::nullopt;
  }
  std::size_t end = std::string::npos;
  while ((end = received_.find("\r\n\r\n")) == std::string::npos) {
    if (ended_ || !read_more()) return std::nullopt;
  }
  SeenRequest request = parse_head(std::string_view(received_).substr(0, end));
  received_.erase(0, end + 4);
  std::size_t length = 0;
  const std::string text = request.header("Content-Length");
  std::from_chars(text.data(), text.data() + text.size(), length);
  while (received_.size() < length) {
    if (!read_more()) return std::nullopt;
  }
  request.body = received_.substr(0, length);
  received_.erase(0, length);
  return request;
}

void Conversation::send(std::string_view bytes) {
  while (!bytes.empty() && !ended_) {
    const ssize_t sent = tls_ != nullptr ? SSL_write(tls_, bytes.data(), static_cast<int>(bytes.size()))
                                         : ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) {
      ended_ = true;
      return;
    }
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void Conversation::answer(int status, std::string_view body,
                          std::initializer_list<net::Headers::Field> headers) {
  std::string text = "HTTP/1.1 " + std::to_string(status) + " Because\r\nContent-Type: application/json\r\n";
  for (const net::Headers::Field& field : headers) text += field.name + ": " + field.value + "\r\n";
  send(text + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body));
}

void Conversation::begin_stream() {
  send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
}

void Conversation::chunk(std::string_view bytes) {
  char size[20];
  const auto [end, problem] = std::to_chars(size, size + sizeof size, bytes.size(), 16);
  if (problem != std::errc()) std::abort();
  send(std::string(size, end) + "\r\n" + std::string(bytes) + "\r\n");
}

void Conversation::end_stream() {
  send("0\r\n\r\n");
}

void Conversation::cut() {
  ended_ = true;
  shutdown(fd_, SHUT_RDWR);
}

void Conversation::wait_gone() {
  while (!ended_ && read_more()) {
  }
}

void Conversation::interrupt() {
  shutdown(fd_, SHUT_RDWR);
}

// ---- the server

ApiServer::ApiServer(Handler handler, std::optional<TlsFiles> tls)
    : handler_(std::move(handler)),
      listener_(std::move(*net::Listener::open(net::TcpEndpoint{"127.0.0.1", 0, nullptr}))),
      context_(tls ? make_context(*tls) : nullptr) {
  if (tls) std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes with write(2)
  acceptor_ = std::thread([this] { accept_all(); });
}

ApiServer::~ApiServer() {
  stopping_ = true;
  acceptor_.join();
  {
    const std::lock_guard lock(mutex_);
    for (Conversation& conversation : conversations_) conversation.interrupt();
  }
  for (std::thread& thread : threads_) thread.join();
  conversations_.clear();
  if (context_ != nullptr) SSL_CTX_free(context_);
}

void ApiServer::accept_all() {
  while (!stopping_) {
    pollfd waiting{listener_.fd(), POLLIN, 0};
    if (poll(&waiting, 1, 20) <= 0) continue;
    const int fd = accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    ++accepted_;
    const std::lock_guard lock(mutex_);
    Conversation& conversation = conversations_.emplace_back(fd, context_);
    threads_.emplace_back([this, &conversation] { serve(conversation); });
  }
}

void ApiServer::serve(Conversation& conversation) {
  while (!stopping_) {
    const auto request = conversation.next();
    if (!request) break;
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(*request);
    }
    handler_(*request, conversation);
  }
  conversation.cut();
}

ClusterConfig ApiServer::config() const {
  ClusterConfig config;
  config.host = "127.0.0.1";
  config.port = port();
  config.tls = context_ != nullptr;
  return config;
}

std::vector<SeenRequest> ApiServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

// ---- what the API answers

std::string status_body(int code, std::string_view reason, std::string_view message,
                        std::string_view details) {
  return R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":")" +
         std::string(message) + R"(","reason":")" + std::string(reason) + R"(","details":)" +
         std::string(details) + R"(,"code":)" + std::to_string(code) + "}";
}

std::string pod(std::string_view name, std::string_view version, std::string_view node,
                std::string_view uid) {
  return R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":")" + std::string(name) +
         R"(","namespace":"team-a","uid":")" + std::string(uid.empty() ? name : uid) +
         R"(","resourceVersion":")" + std::string(version) + R"("},"spec":{"nodeName":")" +
         std::string(node) + R"("}})";
}

std::string event_line(std::string_view type, std::string_view object) {
  return R"({"type":")" + std::string(type) + R"(","object":)" + std::string(object) + "}";
}

std::string bookmark_line(std::string_view version, bool initial_events_end) {
  return event_line("BOOKMARK",
                    R"({"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":")" +
                        std::string(version) + "\"" +
                        (initial_events_end ? R"(,"annotations":{"k8s.io/initial-events-end":"true"})" : "") +
                        R"(},"spec":{"containers":null},"status":{}})");
}

std::string list_body(std::initializer_list<std::string> items, std::string_view version,
                      std::string_view go_on) {
  std::string text = R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":")" +
                     std::string(version) + R"(","continue":")" + std::string(go_on) + R"("},"items":[)";
  bool first = true;
  for (const std::string& item : items) {
    if (!std::exchange(first, false)) text += ",";
    text += item;
  }
  return text + "]}";
}

}  // namespace tangram::kube
