// Events of Kubernetes: what `kubectl describe` shows below an object. Written so that no storm of them can
// hurt anybody: the same thing again only counts up, each is written at most once a minute, all together at a
// bounded rate, and what is kept is bounded. An event that cannot be written is dropped and counted: events
// are hints, the truth is in the objects.
//
// Threads: record() from any thread, and never blocks on I/O; run() takes a thread of the caller's.
//
// Source: k8s.io/api events/v1 and the validation of the API server (lengths; all but `series` is immutable);
// client-go tools/events.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/result.h"
#include "kube/api/client.h"
#include "kube/api/token_bucket.h"
#include "net/interrupt.h"

namespace tangram::kube {

struct ObjectReference {
  std::string api_version;  // "v1"
  std::string kind;         // "Pod"
  std::string space;        // empty where the kind has none; the event then stands in "default"
  std::string name;
  std::string uid;
  std::string resource_version{};
};

struct EventNote {
  ObjectReference regarding;
  bool warning = false;  // else "Normal"
  std::string reason;    // "Admitted": one word, UpperCamel
  std::string action;    // "Admit": what was done or tried
  std::string note;      // a sentence for people; cut after 1000 bytes
};

struct RecorderOptions {
  std::string controller;  // "tangram.dev/manager"
  std::string instance;    // which one of several: the Pod's name
  std::size_t kept_max = 4'096;
  std::chrono::milliseconds write_again{60'000};    // of one thing that goes on
  std::chrono::milliseconds forget_after{360'000};  // the same thing later is a new event
  std::int64_t burst = 50;
  std::chrono::milliseconds every{200};  // in the long run
  std::function<void(const Error&)> on_trouble{};
};

class EventRecorder {
 public:
  struct Counters {
    std::uint64_t recorded = 0;
    std::uint64_t written = 0;  // calls that succeeded
    std::uint64_t dropped = 0;  // occurrences that nobody will see
  };

  // `client` must outlive it.
  EventRecorder(ApiClient& client, RecorderOptions options);

  // The same object, reason, action and type is the same thing. When its note changes, the new one is written
  // when it is due, as an event of its own.
  void record(EventNote event);

  // Writes until `stop` is raised; what is not written then is dropped.
  void run(const net::Interrupt& stop);

  // One turn of run(): writes what is due, as far as the rate allows.
  void write_due(const net::Interrupt* stop);

  Counters counters() const { return {recorded_, written_, dropped_}; }
  std::size_t kept() const;

 private:
  using Milliseconds = std::chrono::milliseconds;
  using Wall = std::chrono::system_clock::time_point;

  // One thing that happens again and again.
  struct Series {
    EventNote latest;
    std::string written_note;
    std::string event_name;  // of the Event in the API; empty: there is none yet
    std::int64_t count = 0;  // since that Event was made
    std::int64_t unwritten = 0;
    Wall last_at;
    Milliseconds seen{};  // when it happened last
    Milliseconds due{};   // when it may be written next
    int tries = 0;
    bool writing = false;
  };
  using SeriesMap = std::map<std::string, Series>;
  using Order = std::set<std::pair<Milliseconds, std::string>>;

  // What is sent for a series, made under the lock.
  struct Write {
    std::string key;
    std::string space;
    std::string event_name;
    bool create = false;
    std::int64_t unwritten = 0;
    std::string note;
    json::object body;
  };

  static std::string key_of(const EventNote& event);
  bool make_room(Milliseconds now);
  void forget_old(Milliseconds now);
  std::optional<Write> next_write(Milliseconds now);
  Write write_of(const std::string& key, Series& series);
  json::object event_of(const Series& series, const std::string& name, const std::string& space) const;
  std::string new_name(const std::string& object_name);
  Result<std::string> send(const Write& write, const net::Interrupt* stop);
  void settle(const Write& write, const std::optional<Error>& error, Milliseconds now);

  ApiClient& client_;
  const RecorderOptions options_;

  mutable std::mutex mutex_;
  SeriesMap series_;
  Order due_;    // of those with something unwritten, by due time
  Order quiet_;  // of the others, by when they happened last
  TokenBucket bucket_;
  std::uint64_t names_ = 0;

  std::atomic<std::uint64_t> recorded_ = 0;
  std::atomic<std::uint64_t> written_ = 0;
  std::atomic<std::uint64_t> dropped_ = 0;
};

}  // namespace tangram::kube
