// What the opaque handles of AscendCL stand for in this process. All fields are guarded by the runtime's
// lock.
#pragma once

#include <pthread.h>

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "acl/acl_rt.h"
#include "ascendsim/acl/memory.h"
#include "ascendsim/protocol/messages.h"
#include "ascendsim/protocol/ring.h"

namespace ascendsim {

struct Context;
struct Stream;

// One NPU that this process has set.
struct Device {
  std::uint32_t user_id = 0;   // the program's numbering, after ASCEND_RT_VISIBLE_DEVICES
  std::uint32_t logic_id = 0;  // ascendsimd's numbering for this process
  OpenDeviceReply info{};
  std::uint32_t set_count = 0;
  bool closed = false;  // reset: handles to it are dead
  bool lost = false;    // dropped off the bus
  std::shared_ptr<Context> primary;
  std::vector<std::shared_ptr<Context>> contexts;  // the primary one too
  std::shared_ptr<Stream> sync_stream;  // where synchronous copies queue, away from the program's streams
};

struct Context {
  std::shared_ptr<Device> device;
  std::shared_ptr<Stream> default_stream;
  std::set<std::shared_ptr<Stream>> streams;  // the default one too
  bool alive = true;
};

enum class HostCall { kNone, kOwnThread, kReportThread };

// One piece of work. It is complete when ascendsimd has said when it ends, that instant has passed, and what
// it computes has been computed.
struct Task {
  std::uint64_t id = 0;
  TaskKind kind = TaskKind::kMark;
  std::shared_ptr<Device> device;
  std::weak_ptr<Stream> stream;
  std::shared_ptr<Task> after;    // kWait: the mark
  std::function<void()> compute;  // may be empty; holds on to its blocks
  bool heavy = false;             // arithmetic, for the idle-priority worker

  HostCall host_call = HostCall::kNone;
  std::function<void()> callback;
  bool blocks_stream = false;
  bool handed_over = false;

  bool started = false;  // a host task whose turn has come
  bool timed = false;    // start_ns and end_ns are known
  bool computing = false;
  bool computed = false;
  aclError error = ACL_SUCCESS;
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
};

struct Stream {
  std::uint32_t id = 0;
  std::uint32_t priority = 0;
  std::uint32_t flags = 0;
  std::weak_ptr<Context> context;
  std::shared_ptr<Device> device;
  std::shared_ptr<Task> tail;               // the latest task
  std::deque<std::shared_ptr<Task>> queue;  // not computed yet
  aclError error = ACL_SUCCESS;             // of a task that failed; stays
  bool alive = true;
  bool subscribed = false;
  pthread_t report_thread{};
};

struct Event {
  std::uint32_t flags = 0;
  std::shared_ptr<Task> record;     // the latest
  std::shared_ptr<Task> last_wait;  // the latest wait for it
};

}  // namespace ascendsim
