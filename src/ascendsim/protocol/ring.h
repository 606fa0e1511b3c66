// The memory that a client and ascendsimd share for work: the client puts tasks into one ring, ascendsimd
// puts notices into the other. One writer and one reader each. ascendsimd makes the memory (sealed, so that
// it cannot be shrunk under its feet) and trusts nothing in it: it copies an entry before it looks at it, and
// checks every index.
#pragma once

#include <atomic>
#include <cstdint>

#include "ascendsim/protocol/messages.h"

namespace ascendsim {

enum class TaskKind : std::uint32_t {
  kMatrix = 1,  // work[0..2] = m, n, k; element_bytes; runs on the AI cores
  kVector = 2,  // work[0] = bytes; runs on the vector cores
  kHostToDevice = 3,
  kDeviceToHost = 4,
  kOnDevice = 5,  // copies: work[0] = bytes
  kMark = 6,      // an event: takes no time, ends when everything before it in its stream has ended
  kWait = 7,      // takes no time, and does not end before the mark `after`
  kHost = 8,      // holds its stream until a kHostDone; two notices: started, ended
  kHostDone = 9,  // `after` = the kHost task; takes no place in a stream and has no notice of its own
};

struct TaskEntry {
  std::uint64_t task;          // chosen by the client, rising, never 0
  std::uint64_t submitted_ns;  // CLOCK_MONOTONIC; ascendsimd does not believe a time in its future
  std::uint64_t after;         // a mark (kWait), a host task (kHostDone), else 0
  std::uint64_t work[3];
  std::uint32_t stream;
  TaskKind kind;
  std::uint32_t element_bytes;
  std::uint32_t reserved;
};

enum class NoticeKind : std::uint32_t { kEnds = 1, kStarted = 2, kNpuLost = 3 };

// Sent when a task *starts*: from then on nothing can change when it ends, so the client can wait for that
// instant by itself. `end_ns` may lie in the future. kStarted is for kHost tasks alone, whose end nobody
// knows yet.
struct NoticeEntry {
  std::uint64_t task;
  std::uint64_t start_ns;
  std::uint64_t end_ns;
  NoticeKind kind;
  Status status;
};

static_assert(sizeof(TaskEntry) == 64 && sizeof(NoticeEntry) == 32);

constexpr std::uint32_t kRingEntries = 4096;  // a power of two

// `written` and `read` only grow; their difference is the fill. An index is the number modulo kRingEntries.
template <class Entry>
struct Ring {
  alignas(64) std::atomic<std::uint64_t> written;
  alignas(64) std::atomic<std::uint64_t> read;
  alignas(64) Entry entries[kRingEntries];
};

struct SharedRings {
  Ring<TaskEntry> tasks;
  Ring<NoticeEntry> notices;
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace ascendsim
