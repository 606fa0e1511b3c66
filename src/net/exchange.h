// One request and its answer: the meeting point of handler threads (producers) and the I/O thread (consumer).
// Knows nothing of sockets.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "net/handler_pool.h"
#include "net/http.h"
#include "net/server.h"

namespace tangram::net {

// Thread-safe.
class Exchange {
 public:
  // `wake` is called, with a lock held, whenever the consumer has something to do; never after close().
  // Callbacks run in that lane of the pool.
  Exchange(Request request, std::size_t buffer_bytes_max, std::shared_ptr<HandlerPool> pool, std::string lane,
           std::function<void()> wake);

  const Request& request() const { return request_; }

  // ---- for the handler's side; see Responder and StreamWriter

  void send(Response response);
  bool start_stream(Response head);  // false: already answered
  StreamWriter::Status write(std::string_view chunk);
  void on_writable(std::function<void()> callback);
  void on_cancel(std::function<void()> callback);
  void on_answer(std::function<void(int)> callback);
  void finish(bool whole = true);  // not whole: the end of the answer is missing
  bool closed() const;
  // The answer for a handler that threw or let go without one. Does nothing when there is one.
  void fail_unanswered(std::string_view why);

  // ---- for the I/O thread

  struct Output {
    std::optional<Response> head;  // once: the whole answer, or the head of a stream
    bool stream = false;
    std::string data;       // the next bytes of the stream
    bool finished = false;  // nothing comes after this
    bool whole = true;      // finished: and nothing is missing
  };
  Output take();

  // The client has gone, or the server is stopping: tell the producer.
  void cancel();
  // No answer can leave any more.
  void close();

 private:
  enum class Phase { kOpen, kStreaming, kFinished };

  void call(std::function<void()>& callback);
  void set_head(Response head);
  void notify();

  const Request request_;
  const std::size_t buffer_bytes_max_;
  const std::shared_ptr<HandlerPool> pool_;
  const std::string lane_;

  mutable std::mutex mutex_;
  std::function<void()> wake_;
  Phase phase_ = Phase::kOpen;
  std::optional<Response> head_;
  std::string buffer_;
  bool whole_ = true;
  bool cancelled_ = false;
  bool closed_ = false;
  std::function<void()> on_writable_;
  std::function<void()> on_cancel_;
  std::function<void(int)> on_answer_;
};

// Makes the handle that a handler gets.
Responder make_responder(std::shared_ptr<Exchange> exchange);

}  // namespace tangram::net
