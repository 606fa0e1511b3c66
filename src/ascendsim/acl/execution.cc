// How tasks get through: submission, notices of ascendsimd, the workers that compute, callbacks and waiting.
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include "ascendsim/acl/runtime.h"

namespace ascendsim {
namespace {

using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC, as model time

// Each may have two notices on their way, and the notice ring must never run over.
constexpr std::size_t kUntimedMax = kRingEntries / 4;

Clock::time_point at(std::uint64_t ns) {
  return Clock::time_point(std::chrono::nanoseconds(ns));
}

std::optional<Clock::time_point> deadline_of(std::int32_t timeout_ms) {
  if (timeout_ms < 0) return std::nullopt;
  return Clock::now() + std::chrono::milliseconds(timeout_ms);
}

aclError error_of(Status status) {
  switch (status) {
    case Status::kOk:
      return ACL_SUCCESS;
    case Status::kTimeout:
      return ACL_ERROR_RT_AICORE_TIMEOUT;
    case Status::kAborted:
      return ACL_ERROR_RT_STREAM_ABORT;
    case Status::kLost:
      return ACL_ERROR_RT_LOST_HEARTBEAT;
    case Status::kInvalid:
    case Status::kNoSuchNpu:
    case Status::kDenied:
    case Status::kOutOfMemory:
    case Status::kLimit:
    case Status::kNotOpen:
    case Status::kUnsupported:
    case Status::kBusy:
    case Status::kNoSuchVdev:
    case Status::kOccupied:
      break;
  }
  return ACL_ERROR_RT_INTERNAL_ERROR;
}

void set_policy(int policy, int priority) {
  const sched_param parameter{priority};
  sched_setscheduler(0, policy,
                     &parameter);  // where the host does not allow it, the thread is merely less punctual
}

}  // namespace

void Runtime::start_threads() {
  // Signals are the program's business: its own threads take them.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([this] { notice_loop(); }).detach();
  std::thread([this] { worker_loop(false); }).detach();
  std::thread([this] { worker_loop(true); }).detach();
  std::thread([this] { host_call_loop(); }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Runtime::ring_bell() {
  send(bell_.get(), "!", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool Runtime::put(Lock& lock, TaskEntry entry, bool needs_room) {
  Ring<TaskEntry>& ring = rings_->tasks;
  const auto full = [&] {
    const std::uint64_t written = ring.written.load(std::memory_order_relaxed);
    const bool ring_full = written - ring.read.load(std::memory_order_acquire) >= kRingEntries / 2;
    return ring_full || (needs_room && untimed_.size() >= kUntimedMax);
  };
  while (full() && !lost_) changed.wait_for(lock, std::chrono::milliseconds(1));
  if (lost_) return false;
  entry.submitted_ns = monotonic_ns();
  const std::uint64_t written = ring.written.load(std::memory_order_relaxed);
  ring.entries[written % kRingEntries] = entry;
  ring.written.store(written + 1, std::memory_order_release);
  ring_bell();
  return true;
}

aclError Runtime::submit(Lock& lock, const std::shared_ptr<Stream>& stream, const std::shared_ptr<Task>& task,
                         const std::uint64_t (&work)[3], std::uint32_t element_bytes) {
  const auto gone = [&] { return lost(*stream->device) || !stream->alive; };
  while (untimed_.size() >= kUntimedMax && !gone()) changed.wait(lock);
  if (gone()) return fail(ACL_ERROR_RT_LOST_HEARTBEAT, "the device was lost");
  TaskEntry entry{};
  entry.task = next_task_++;
  entry.after = task->after == nullptr ? 0 : task->after->id;
  std::copy(std::begin(work), std::end(work), std::begin(entry.work));
  entry.stream = stream->id;
  entry.kind = task->kind;
  entry.element_bytes = element_bytes;
  task->id = entry.task;
  task->device = stream->device;
  task->stream = stream;
  untimed_[task->id] = task;
  stream->queue.push_back(task);
  stream->tail = task;
  working_[stream->id] = stream;
  if (!put(lock, entry, false))
    return fail(ACL_ERROR_RT_LOST_HEARTBEAT, "the driver does not answer any more");
  changed.notify_all();
  return ACL_SUCCESS;
}

void Runtime::notice_loop() {
  prctl(PR_SET_NAME, "acl-notice");
  set_policy(SCHED_FIFO | SCHED_RESET_ON_FORK, 1);
  std::array<char, 4096> bytes{};
  while (true) {
    // The lock below ends with each turn, which the analyzer does not see.
    // NOLINTNEXTLINE(clang-analyzer-unix.BlockInCriticalSection)
    const ssize_t received = recv(bell_.get(), bytes.data(), bytes.size(), 0);
    if (received < 0 && errno == EAGAIN) {
      pollfd bell{bell_.get(), POLLIN, 0};
      poll(&bell, 1, -1);
      continue;
    }
    if (received < 0 && errno == EINTR) continue;
    const Lock lock(mutex);
    take_notices();
    if (received <= 0) lost_ = true;
    changed.notify_all();
    if (lost_) return;
  }
}

void Runtime::take_notices() {
  Ring<NoticeEntry>& ring = rings_->notices;
  const std::uint64_t written = ring.written.load(std::memory_order_acquire);
  for (; notices_read_ != written; ++notices_read_) take_notice(ring.entries[notices_read_ % kRingEntries]);
  ring.read.store(notices_read_, std::memory_order_release);
}

void Runtime::take_notice(const NoticeEntry& notice) {
  if (notice.kind == NoticeKind::kNpuLost) {
    for (const auto& [id, device] : devices_) {
      if (device->info.phy_id == notice.task) device->lost = true;
    }
    return;
  }
  const auto found = untimed_.find(notice.task);
  if (found == untimed_.end()) return;
  const std::shared_ptr<Task> task = found->second;
  if (notice.kind == NoticeKind::kStarted) {
    task->started = true;
    task->start_ns = notice.start_ns;
    return;
  }
  untimed_.erase(found);
  if (!task->started) task->start_ns = notice.start_ns;
  task->started = true;
  task->timed = true;
  task->end_ns = notice.end_ns;
  task->error = error_of(notice.status);
  if (task->error == ACL_SUCCESS) return;
  if (const auto stream = task->stream.lock(); stream != nullptr && stream->error == ACL_SUCCESS) {
    stream->error = task->error;
  }
}

// The earliest task that is at the head of its stream, whose mark has been computed, and that is of this
// worker's kind.
std::shared_ptr<Task> Runtime::pick(bool heavy) {
  std::shared_ptr<Task> best;
  for (const auto& [id, stream] : working_) {
    const std::shared_ptr<Task>& head = stream->queue.front();
    const bool waits = head->after != nullptr && !head->after->computed;
    const bool host_waits = head->host_call != HostCall::kNone && (!head->started || head->handed_over);
    if (head->computing || waits || host_waits || head->heavy != heavy) continue;
    if (best == nullptr || head->id < best->id) best = head;
  }
  return best;
}

void Runtime::finish_compute(const std::shared_ptr<Task>& task) {
  task->computing = false;
  task->computed = true;
  task->compute = nullptr;
  task->after.reset();
  const auto stream = task->stream.lock();
  if (stream != nullptr && !stream->queue.empty() && stream->queue.front() == task) {
    stream->queue.pop_front();
    if (stream->queue.empty()) working_.erase(stream->id);
  }
}

void Runtime::worker_loop(bool heavy) {
  prctl(PR_SET_NAME, heavy ? "acl-arithmetic" : "acl-copy");
  // Arithmetic stands in for a chip that does not use the host's processor: it must not slow the host down.
  if (heavy) set_policy(SCHED_IDLE, 0);
  Lock lock(mutex);
  while (true) {
    const std::shared_ptr<Task> task = pick(heavy);
    if (task == nullptr) {
      changed.wait(lock);
      continue;
    }
    const bool failed = task->error != ACL_SUCCESS;
    if (task->host_call != HostCall::kNone && !failed) {
      hand_over(task);
      continue;
    }
    if (task->compute && !failed) {
      task->computing = true;
      lock.unlock();
      task->compute();
      lock.lock();
    }
    finish_compute(task);
    changed.notify_all();
  }
}

void Runtime::hand_over(const std::shared_ptr<Task>& task) {
  task->handed_over = true;
  (task->host_call == HostCall::kOwnThread ? own_calls_ : report_calls_).push_back(task);
  if (!task->blocks_stream) finish_compute(task);
  changed.notify_all();
}

void Runtime::run_callback(Lock& lock, const std::shared_ptr<Task>& task) {
  lock.unlock();
  task->callback();
  lock.lock();
  task->callback = nullptr;
  if (task->blocks_stream) {
    finish_compute(task);
    TaskEntry done{};
    done.kind = TaskKind::kHostDone;
    done.after = task->id;
    put(lock, done, false);
  }
  changed.notify_all();
}

void Runtime::host_call_loop() {
  prctl(PR_SET_NAME, "acl-host-call");
  Lock lock(mutex);
  while (true) {
    if (own_calls_.empty()) {
      changed.wait(lock);
      continue;
    }
    const std::shared_ptr<Task> task = std::move(own_calls_.front());
    own_calls_.pop_front();
    run_callback(lock, task);
  }
}

bool Runtime::run_report(Lock& lock, std::int32_t timeout_ms) {
  const auto deadline = deadline_of(timeout_ms);
  const auto mine = [](const std::shared_ptr<Task>& task) {
    const auto stream = task->stream.lock();
    return stream != nullptr && stream->subscribed &&
           pthread_equal(stream->report_thread, pthread_self()) != 0;
  };
  while (true) {
    const auto found = std::find_if(report_calls_.begin(), report_calls_.end(), mine);
    if (found != report_calls_.end()) {
      const std::shared_ptr<Task> task = std::move(*found);
      report_calls_.erase(found);
      run_callback(lock, task);
      return true;
    }
    if (lost_) return false;
    if (!deadline) {
      changed.wait(lock);
    } else if (changed.wait_until(lock, *deadline) == std::cv_status::timeout && Clock::now() >= *deadline) {
      return false;
    }
  }
}

bool Runtime::complete(const Task& task) const {
  return task.timed && task.computed && task.end_ns <= monotonic_ns();
}

aclError Runtime::wait(Lock& lock, const std::shared_ptr<Task>& task, std::int32_t timeout_ms,
                       aclError timeout_code) {
  const auto deadline = deadline_of(timeout_ms);
  while (!complete(*task)) {
    if (lost(*task->device)) return fail(ACL_ERROR_RT_LOST_HEARTBEAT, "the device was lost");
    auto until = deadline.value_or(Clock::time_point::max());
    const bool end_known = task->timed && task->computed;
    if (end_known) until = std::min(until, at(task->end_ns));
    if (until == Clock::time_point::max()) {
      changed.wait(lock);
    } else {
      changed.wait_until(lock, until);
    }
    if (deadline && Clock::now() >= *deadline && !complete(*task)) {
      return fail(timeout_code, "not complete after " + std::to_string(timeout_ms) + " ms");
    }
  }
  if (task->error != ACL_SUCCESS) return fail(task->error, "a task did not end well");
  return ACL_SUCCESS;
}

void Runtime::wait_unused(Lock& lock, const std::shared_ptr<Block>& block) {
  // One for the caller and one for the map.
  while (block.use_count() > 2 && !lost_) changed.wait_for(lock, std::chrono::milliseconds(1));
}

}  // namespace ascendsim
