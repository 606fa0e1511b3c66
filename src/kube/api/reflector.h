// Follows a set of objects for as long as it runs: first all that there is, then each change, across lost
// connections, restarts of the API server and compactions of etcd.
//
// It asks for a WatchList (all objects as events, then a bookmark), and falls back to pages of a list where
// the server refuses or cannot do that. A stream that ends is taken up at the last resource version; a
// bookmark moves that on when nothing else happens, so that it does not grow too old. 410 means a new list; a
// stream on which nothing comes, although a bookmark is due every minute, is given up as stalled. Memory: one
// page of a list or one event at a time, beside what the sink keeps.
//
// Threads: run() takes a thread of the caller's until the interrupt is raised, and calls the sink there. The
// status may be read from any thread. No lock is held during I/O or a call of the sink.
//
// Source: client-go tools/cache/reflector.go for the order of things; KEP-3157 for WatchList.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "kube/api/backoff.h"
#include "kube/api/client.h"
#include "kube/api/object_sink.h"
#include "kube/api/watch_event.h"
#include "net/interrupt.h"

namespace tangram::kube {

struct ReflectorOptions {
  Selection selection;
  bool watch_list = true;
  std::size_t page_objects = 500;
  // How long one watch is asked for: up to twice this, so that not all end together.
  std::chrono::seconds open_for{300};
  // The server sends a bookmark about every minute.
  std::chrono::milliseconds silence_max{150'000};
  // A server that does not know WatchList, and does not say so, never ends the initial events.
  std::chrono::milliseconds initial_events_max{180'000};
  BackoffLimits rests{};
  // Each trouble, for the log and the metrics; may be empty. On the reflector's thread.
  std::function<void(const Error&)> on_trouble{};
};

// Counters only grow.
struct ReflectorStatus {
  bool synced = false;        // all that there was has been told at least once
  std::uint64_t events = 0;   // lines of watches that were understood
  std::uint64_t watches = 0;  // streams that were asked for
  std::uint64_t lists = 0;    // times that all objects were asked for, either way
  std::uint64_t troubles = 0;
  std::chrono::milliseconds heard{};  // Timing::now() of the last event, bookmark or list
};

class Reflector {
 public:
  // `client` and `sink` must outlive it.
  Reflector(ApiClient& client, ReflectorOptions options, ObjectSink& sink);

  void run(const net::Interrupt& stop);

  ReflectorStatus status() const;

 private:
  // What one stream has come to.
  struct Stream {
    bool initial = false;  // the initial events have not ended
    bool any = false;      // anything was understood
    std::chrono::milliseconds initial_by{};
  };

  // The state of all objects, one way or the other; then what follows on the same stream, if there is one.
  Result<void> sync(const net::Interrupt& stop);
  Result<void> sync_by_list(const net::Interrupt& stop);
  // One stream from version_ on, or from the initial events.
  Result<void> follow(bool initial, const net::Interrupt& stop);
  Result<bool> take(std::string_view line, Stream& stream);
  void take_bookmark(const WatchEvent& event, Stream& stream);
  bool without_watch_list(const Error& error);
  // Decides where to go on after `error`, and rests.
  void recover(const Error& error, const net::Interrupt& stop);
  void note_trouble(const Error& error);
  void heard();

  ApiClient& client_;
  const ReflectorOptions options_;
  ObjectSink& sink_;
  JsonReader reader_;
  Backoff backoff_;
  std::string version_;      // empty: list first
  bool watch_list_;          // until the server refuses
  bool progressed_ = false;  // since the last trouble

  std::atomic<bool> synced_ = false;
  std::atomic<std::uint64_t> events_ = 0;
  std::atomic<std::uint64_t> watches_ = 0;
  std::atomic<std::uint64_t> lists_ = 0;
  std::atomic<std::uint64_t> troubles_ = 0;
  std::atomic<std::int64_t> heard_ms_ = 0;
};

}  // namespace tangram::kube
