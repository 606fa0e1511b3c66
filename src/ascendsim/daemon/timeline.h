// The engines of all NPUs and the tasks that wait for them, in model time. Pure arithmetic: time comes in as
// a number, notices go out through a function. A task starts at the largest of: its engine free, itself
// submitted, its predecessor in the stream ended, the mark it waits for ended. It ends after its cost, and is
// never preempted. Among the tasks that wait when an engine comes free, the stream with the smallest priority
// number goes first, then the one that has been ready longest.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ascendsim/daemon/busy_meter.h"
#include "ascendsim/daemon/ledger.h"
#include "ascendsim/protocol/ring.h"

namespace ascendsim {

enum class Engine : std::uint32_t { kCube, kVector, kHostToDevice, kDeviceToHost, kOnDevice };
constexpr std::size_t kEngineCount = 5;

// A task with its cost worked out.
struct Work {
  std::uint64_t task = 0;
  std::uint64_t submitted_ns = 0;
  std::uint64_t after = 0;
  std::uint64_t cost_ns = 0;
  TaskKind kind = TaskKind::kMark;
};

class Timeline {
 public:
  using Post = std::function<void(ClientId, const NoticeEntry&)>;

  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  // The driver's limit for one operator on this family of chips; a longer task ends then, with kTimeout.
  static constexpr std::uint64_t kExecutionNsMax = std::uint64_t{1091} * 1'000'000'000;

  // `post` must not call back into the Timeline.
  Timeline(std::size_t npus, Post post);

  void add_stream(ClientId client, std::uint32_t stream, std::uint32_t npu, std::uint32_t priority);
  bool has_stream(ClientId client, std::uint32_t stream) const {
    return streams_.count({client, stream}) != 0;
  }
  // Tasks that have not started get a notice with kAborted.
  void drop_stream(ClientId client, std::uint32_t stream, std::uint64_t now_ns);
  // The driver resets what a dead process was running: its engines are free at once.
  void drop_client(ClientId client, std::uint64_t now_ns);
  // Everything queued on the NPU, now and until it returns, gets kLost.
  void lose_npu(std::uint32_t npu, std::uint64_t now_ns);
  void return_npu(std::uint32_t npu) { npus_[npu].lost = false; }

  // The stream must exist. Call in order of submission.
  void submit(ClientId client, std::uint32_t stream, const Work& work);
  // False when that host task is not waiting for it.
  bool finish_host_task(ClientId client, std::uint64_t task, std::uint64_t now_ns);

  // Starts every task that can start by `now_ns`. Returns when to call again, if nothing comes in before.
  std::uint64_t advance(std::uint64_t now_ns);

  std::uint32_t busy_percent(std::uint32_t npu, Engine engine, std::uint64_t now_ns) const;

 private:
  struct Stream {
    ClientId client = 0;
    std::uint32_t id = 0;
    std::uint32_t npu = 0;
    std::uint32_t priority = 0;
    std::uint64_t last_end_ns = 0;
    std::uint64_t host_task = 0;  // started, not done: holds the stream
    std::deque<Work> queue;
  };
  struct EngineState {
    std::uint64_t free_ns = 0;
    ClientId running_for = 0;
    BusyMeter meter;
  };
  struct Npu {
    std::array<EngineState, kEngineCount> engines;
    bool lost = false;
  };
  // Marks of one client: those that have not ended, and when the latest others did.
  struct Marks {
    static constexpr std::size_t kRemembered = 256;
    std::unordered_set<std::uint64_t> pending;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ended;
    std::size_t next = 0;
  };
  struct Choice {
    Stream* stream = nullptr;
    std::uint64_t ready_ns = kNever;
    std::uint64_t start_ns = kNever;
  };
  using StreamKey = std::pair<ClientId, std::uint32_t>;

  std::uint64_t ready_time(const Stream& stream) const;
  Choice choose();
  void start(const Choice& choice);
  void abort_queue(Stream& stream, Status status, std::uint64_t now_ns);
  void mark_ended(ClientId client, std::uint64_t task, std::uint64_t end_ns);

  Post post_;
  std::vector<Npu> npus_;
  std::vector<std::array<std::uint64_t, kEngineCount>> first_ready_;  // of choose(), all kNever between calls
  std::map<StreamKey, Stream> streams_;
  std::map<StreamKey, Stream*> active_;  // those with a queue that no host task holds
  std::unordered_map<ClientId, Marks> marks_;
};

}  // namespace ascendsim
