// The process-wide state behind libascendcl.so: the connection to ascendsimd, the rings, the handles, the
// workers.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "ascendsim/acl/error.h"
#include "ascendsim/acl/memory.h"
#include "ascendsim/acl/objects.h"
#include "ascendsim/protocol/connection.h"
#include "ascendsim/protocol/ring.h"

namespace ascendsim {

struct Physical;  // of aclrtMallocPhysical

std::uint64_t monotonic_ns();

// One instance per process and, after fork(), a fresh one in the child: a child starts without a device. It
// is never destroyed, because its threads may outlive main().
//
// Everything but `connection` is guarded by `mutex`; `changed` is notified whenever a task makes progress.
// Calls to ascendsimd are never made by a thread that others wait for, except where a comment says so.
class Runtime {
 public:
  using Lock = std::unique_lock<std::mutex>;

  static Runtime& get();

  // Connects on first use. A failure is final for this process: the driver that it knew is gone.
  aclError attach(Lock& lock);
  // The driver's ids that this program may use, in the program's order.
  const std::vector<std::uint32_t>& visible_devices() const { return visible_; }

  // The device in use under that id, opened if need be.
  aclError open_device(Lock& lock, std::int32_t user_id, std::shared_ptr<Device>* device);
  std::shared_ptr<Device> find_device(std::uint32_t user_id) const;
  // Contexts, streams and memory of the device die.
  void close_device(Lock& lock, const std::shared_ptr<Device>& device);

  aclError create_stream(Lock& lock, const std::shared_ptr<Context>& context, std::uint32_t priority,
                         std::uint32_t flags, std::shared_ptr<Stream>* stream);
  // Tasks that have not started are thrown away.
  void drop_stream(Lock& lock, const std::shared_ptr<Stream>& stream);
  std::shared_ptr<Context> create_context(Lock& lock, const std::shared_ptr<Device>& device, aclError* error);
  void drop_context(Lock& lock, const std::shared_ptr<Context>& context);

  // Puts the task at the end of the stream. `work`: see TaskEntry. May wait for room in the ring.
  aclError submit(Lock& lock, const std::shared_ptr<Stream>& stream, const std::shared_ptr<Task>& task,
                  const std::uint64_t (&work)[3], std::uint32_t element_bytes);
  // Waits until the task is complete; `timeout_ms` < 0: for as long as it takes. Returns `timeout_code` when
  // that has passed, LOST_HEARTBEAT when the device or the driver is gone, and the task's own error.
  aclError wait(Lock& lock, const std::shared_ptr<Task>& task, std::int32_t timeout_ms,
                aclError timeout_code);
  bool complete(const Task& task) const;
  // The driver or the device behind it has gone.
  bool lost(const Device& device) const { return lost_ || device.lost; }

  // Runs one callback that waits for this thread. False: none came in time.
  bool run_report(Lock& lock, std::int32_t timeout_ms);
  // Waits until no task uses the block any more.
  void wait_unused(Lock& lock, const std::shared_ptr<Block>& block);

  std::mutex mutex;
  std::condition_variable changed;
  Connection connection;

  std::uint64_t init_count = 0;
  ComputeMode compute_mode = ComputeMode::kFull;
  BlockMap blocks;
  std::map<const void*, std::shared_ptr<Context>> contexts;
  std::map<const void*, std::shared_ptr<Stream>> streams;
  std::map<const void*, std::shared_ptr<Event>> events;
  std::map<const void*, std::shared_ptr<Physical>> physicals;
  std::map<std::uintptr_t, std::size_t> reservations;  // start -> bytes, of aclrtReserveMemAddress

 private:
  Runtime() = default;

  static void abandon_in_child();

  aclError map_rings(std::vector<Descriptor>& descriptors, std::uint64_t bytes);
  void start_threads();
  void notice_loop();
  void take_notices();
  void take_notice(const NoticeEntry& notice);
  void worker_loop(bool heavy);
  std::shared_ptr<Task> pick(bool heavy);
  void finish_compute(const std::shared_ptr<Task>& task);
  void host_call_loop();
  void hand_over(const std::shared_ptr<Task>& task);
  void run_callback(Lock& lock, const std::shared_ptr<Task>& task);
  bool put(Lock& lock, TaskEntry entry, bool needs_room);
  void ring_bell();

  bool attached_ = false;
  bool lost_ = false;
  std::vector<std::uint32_t> visible_;
  std::map<std::uint32_t, std::shared_ptr<Device>> devices_;  // by user id
  SharedRings* rings_ = nullptr;
  Descriptor bell_;
  std::uint64_t next_task_ = 1;
  std::uint64_t notices_read_ = 0;
  std::map<std::uint64_t, std::shared_ptr<Task>> untimed_;    // submitted, end not known
  std::map<std::uint32_t, std::shared_ptr<Stream>> working_;  // streams with a queue, by id
  std::deque<std::shared_ptr<Task>> own_calls_;
  std::deque<std::shared_ptr<Task>> report_calls_;
};

// ASCEND_RT_VISIBLE_DEVICES narrows and reorders what the driver grants; from the first entry on that is not
// one of `count` ids, or is given twice, the rest is ignored.
std::vector<std::uint32_t> narrow_devices(const char* variable, std::uint32_t count);

// The context that is current in this thread, or null.
std::shared_ptr<Context> current_context(const Runtime::Lock& lock);
void set_current_context(const Runtime::Lock& lock, const std::shared_ptr<Context>& context);
// NULL is the current context's default stream; a handle must be a stream of that context.
aclError resolve_stream(const Runtime::Lock& lock, aclrtStream handle, std::shared_ptr<Stream>* stream);

}  // namespace ascendsim
