// A temporary directory, a raw client socket, and a server with a small set of routes.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "net/client.h"
#include "net/server.h"

namespace tangram::net {

using std::chrono::milliseconds;

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "tangram-net-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

// Waits for `condition`; false when it does not come true within ten seconds.
inline bool eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 2000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return condition();
}

// A client that sends bytes, good or bad.
class RawClient {
 public:
  explicit RawClient(const std::string& path) : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), std::min(path.size(), sizeof address.sun_path - 1));
    connected_ = connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  ~RawClient() { hang_up(); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool connected() const { return connected_; }

  // False when the server closed before all was sent.
  bool send(std::string_view data) {
    while (!data.empty()) {
      const ssize_t sent = ::send(fd_, data.data(), data.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      data.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  // Reads until `enough` is satisfied with all that came, the end of the stream, or ten seconds.
  std::string read_until(const std::function<bool(const std::string&)>& enough) {
    while (!enough(received_)) {
      pollfd poll_fd{fd_, POLLIN, 0};
      if (poll(&poll_fd, 1, 10'000) <= 0) break;
      char piece[4096];
      const ssize_t count = recv(fd_, piece, sizeof piece, 0);
      if (count <= 0) {
        ended_ = count == 0;
        break;
      }
      received_.append(piece, static_cast<std::size_t>(count));
    }
    return received_;
  }
  std::string read_to_end() {
    return read_until([](const std::string&) { return false; });
  }
  std::string read_until_contains(std::string_view text) {
    return read_until([&](const std::string& all) { return all.find(text) != std::string::npos; });
  }

  // Whether the last read met a clean end of the stream, not a reset and not a time-out.
  bool ended() const { return ended_; }

  void half_close() { shutdown(fd_, SHUT_WR); }
  void hang_up() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
  bool connected_ = false;
  bool ended_ = false;
  std::string received_;
};

inline ClientOptions to_socket(const std::string& path) {
  ClientOptions options;
  options.socket_path = path;
  options.unreachable_hint = "start it";
  return options;
}

// A server on a socket of its own with the handler of the test.
class ServerFixture : public ::testing::Test {
 protected:
  // Stops the server when it goes: declared after what the handler refers to, it goes first.
  struct Running {
    ServerFixture* test;

    explicit Running(ServerFixture* of) : test(of) {}
    ~Running() { test->server_.reset(); }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
  };

  [[nodiscard]] Running serve(Handler handler, ServerLimits limits = {}) {
    ServerOptions options;
    options.endpoints = {UnixEndpoint{socket_path(), 0600, std::nullopt, std::nullopt}};
    options.limits = limits;
    auto started = HttpServer::start(std::move(options), std::move(handler));
    if (!started) {
      ADD_FAILURE() << started.error().to_string();
      std::abort();
    }
    server_ = std::move(*started);
    return Running(this);
  }

  std::string socket_path() const { return directory_.file("s"); }
  HttpClient client() const { return HttpClient(to_socket(socket_path())); }

  TemporaryDirectory directory_;
  std::unique_ptr<HttpServer> server_;
};

// Answers with method, path, query and body, so that a test sees what arrived.
inline void echo(const Request& request, Responder responder) {
  Response response;
  response.headers.set("Content-Type", "text/plain");
  response.body = std::string(to_string(request.method)) + " " + request.path + "?" + request.query.encode() +
                  " " + request.body;
  responder.send(std::move(response));
}

// Holds values that come from another thread until a test asks for them.
template <class T>
class Mailbox {
 public:
  void put(T value) {
    const std::lock_guard lock(mutex_);
    values_.push_back(std::move(value));
    changed_.notify_all();
  }
  // Aborts the test binary when nothing comes within ten seconds: the caller could not go on.
  T take() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::seconds(10), [this] { return !values_.empty(); })) std::abort();
    T value = std::move(values_.front());
    values_.erase(values_.begin());
    return value;
  }
  bool empty() {
    const std::lock_guard lock(mutex_);
    return values_.empty();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<T> values_;
};

}  // namespace tangram::net
