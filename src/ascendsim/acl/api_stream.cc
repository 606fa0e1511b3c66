// Streams, events and callbacks.
#include <algorithm>
#include <cstring>

#include "acl/acl.h"
#include "ascendsim/acl/runtime.h"

namespace ascendsim {
namespace {

constexpr std::uint32_t kStreamFlags = ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC;
constexpr std::uint32_t kEventFlags =
    ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS | ACL_EVENT_TIME_LINE | ACL_EVENT_EXTERNAL;
constexpr std::size_t kEventsMax = 65536;

aclError null_result(const char* what) {
  return fail(ACL_ERROR_INVALID_PARAM, std::string(what) + " is NULL");
}

aclError create_stream(aclrtStream* stream, std::uint32_t priority, std::uint64_t flags) {
  if (stream == nullptr) return null_result("stream");
  if (priority > kPriorityLowest) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "priority " + std::to_string(priority) + " is not in 0 to 7");
  }
  if ((flags & ~std::uint64_t{kStreamFlags}) != 0) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "flag " + std::to_string(flags) + " is not known");
  }
  Runtime& runtime = Runtime::get();
  Runtime::Lock lock(runtime.mutex);
  const auto context = current_context(lock);
  if (context == nullptr) return fail(ACL_ERROR_RT_CONTEXT_NULL, "this thread has no device set");
  std::shared_ptr<Stream> created;
  const auto flag_bits = static_cast<std::uint32_t>(flags);
  const aclError error = runtime.create_stream(lock, context, priority, flag_bits, &created);
  if (error == ACL_SUCCESS) *stream = created.get();
  return error;
}

aclError wait_stream(Runtime::Lock& lock, const std::shared_ptr<Stream>& stream, std::int32_t timeout_ms) {
  Runtime& runtime = Runtime::get();
  const auto tail = stream->tail;
  if (tail != nullptr) {
    const aclError error = runtime.wait(lock, tail, timeout_ms, ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    if (error != ACL_SUCCESS) return error;
  }
  if (runtime.lost(*stream->device)) return fail(ACL_ERROR_RT_LOST_HEARTBEAT, "the device was lost");
  return stream->error == ACL_SUCCESS ? ACL_SUCCESS
                                      : fail(stream->error, "a task of the stream did not end well");
}

aclError destroy_stream(aclrtStream handle, bool force) {
  if (handle == nullptr) return null_result("stream");
  Runtime& runtime = Runtime::get();
  Runtime::Lock lock(runtime.mutex);
  std::shared_ptr<Stream> stream;
  if (const aclError error = resolve_stream(lock, handle, &stream); error != ACL_SUCCESS) return error;
  const auto context = stream->context.lock();
  if (context != nullptr && context->default_stream == stream) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "the default stream goes with its context");
  }
  if (!force) wait_stream(lock, stream, -1);  // whatever became of its tasks, the stream goes
  runtime.drop_stream(lock, stream);
  return ACL_SUCCESS;
}

aclError create_event(aclrtEvent* event, std::uint32_t flags) {
  if (event == nullptr) return null_result("event");
  if (flags == 0 || (flags & ~kEventFlags) != 0) {
    return fail(ACL_ERROR_INVALID_PARAM, "flag " + std::to_string(flags) + " is not known");
  }
  Runtime& runtime = Runtime::get();
  const Runtime::Lock lock(runtime.mutex);
  if (current_context(lock) == nullptr)
    return fail(ACL_ERROR_RT_CONTEXT_NULL, "this thread has no device set");
  if (runtime.events.size() >= kEventsMax)
    return fail(ACL_ERROR_RT_NO_EVENT_RESOURCE, "the device has no event left");
  auto created = std::make_shared<Event>();
  created->flags = flags;
  runtime.events[created.get()] = created;
  *event = created.get();
  return ACL_SUCCESS;
}

aclError resolve_event(aclrtEvent handle, std::shared_ptr<Event>* event) {
  const auto found = Runtime::get().events.find(handle);
  if (found == Runtime::get().events.end()) return fail(ACL_ERROR_RT_PARAM_INVALID, "not an event");
  *event = found->second;
  return ACL_SUCCESS;
}

aclError wait_event(aclrtEvent handle, std::int32_t timeout_ms) {
  if (timeout_ms < -1)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "timeout " + std::to_string(timeout_ms) + " is below -1");
  Runtime& runtime = Runtime::get();
  Runtime::Lock lock(runtime.mutex);
  std::shared_ptr<Event> event;
  if (const aclError error = resolve_event(handle, &event); error != ACL_SUCCESS) return error;
  const auto record = event->record;
  if (record == nullptr) return ACL_SUCCESS;
  return runtime.wait(lock, record, timeout_ms, ACL_ERROR_RT_EVENT_SYNC_TIMEOUT);
}

bool recorded(const Event& event) {
  return event.record != nullptr && Runtime::get().complete(*event.record);
}

// The time of an event that has one.
aclError timestamp(const Event& event, std::uint64_t* ns) {
  if ((event.flags & ACL_EVENT_TIME_LINE) == 0 || !recorded(event) || event.record->error != ACL_SUCCESS) {
    return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID,
                "the event has no time: not recorded, not complete, or no time line");
  }
  *ns = event.record->end_ns;
  return ACL_SUCCESS;
}

aclError launch_host_task(aclrtStream handle, HostCall call, bool blocks, std::function<void()> callback) {
  Runtime& runtime = Runtime::get();
  Runtime::Lock lock(runtime.mutex);
  std::shared_ptr<Stream> stream;
  if (const aclError error = resolve_stream(lock, handle, &stream); error != ACL_SUCCESS) return error;
  if (call == HostCall::kReportThread && !stream->subscribed) {
    return fail(ACL_ERROR_STREAM_NOT_SUBSCRIBE, "no thread is subscribed to the stream");
  }
  auto task = std::make_shared<Task>();
  task->kind = blocks ? TaskKind::kHost : TaskKind::kMark;
  task->host_call = call;
  task->blocks_stream = blocks;
  task->callback = std::move(callback);
  return runtime.submit(lock, stream, task, {0, 0, 0}, 0);
}

}  // namespace
}  // namespace ascendsim

using ascendsim::Event;
using ascendsim::fail;
using ascendsim::guarded;
using ascendsim::null_result;
using ascendsim::Runtime;
using ascendsim::Stream;
using ascendsim::Task;

extern "C" {

aclError aclrtCreateStream(aclrtStream* stream) {
  return guarded([&] { return ascendsim::create_stream(stream, ascendsim::kPriorityHighest, 0); });
}

aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority, uint32_t flag) {
  return guarded([&] { return ascendsim::create_stream(stream, priority, flag); });
}

aclrtStreamConfigHandle* aclrtCreateStreamConfigHandle() {
  return new (std::nothrow) aclrtStreamConfigHandle{};
}

aclError aclrtSetStreamConfigOpt(aclrtStreamConfigHandle* handle, aclrtStreamConfigAttr attr,
                                 const void* attrValue, size_t valueSize) {
  return guarded([&] {
    if (handle == nullptr || attrValue == nullptr) return null_result("handle or attrValue");
    const auto take = [&](auto* field) {
      if (valueSize != sizeof *field) {
        return fail(ACL_ERROR_INVALID_PARAM,
                    "valueSize " + std::to_string(valueSize) + " should be " + std::to_string(sizeof *field));
      }
      std::memcpy(static_cast<void*>(field), attrValue, sizeof *field);
      return ACL_SUCCESS;
    };
    switch (attr) {
      case ACL_RT_STREAM_WORK_ADDR_PTR:
        return take(&handle->workptr);
      case ACL_RT_STREAM_WORK_SIZE:
        return take(&handle->workSize);
      case ACL_RT_STREAM_FLAG:
        return take(&handle->flag);
      case ACL_RT_STREAM_PRIORITY:
        return take(&handle->priority);
    }
    return fail(ACL_ERROR_INVALID_PARAM,
                "attribute " + std::to_string(static_cast<int>(attr)) + " is not known");
  });
}

aclError aclrtDestroyStreamConfigHandle(aclrtStreamConfigHandle* handle) {
  return guarded([&] {
    if (handle == nullptr) return null_result("handle");
    delete handle;
    return ACL_SUCCESS;
  });
}

aclError aclrtCreateStreamV2(aclrtStream* stream, const aclrtStreamConfigHandle* handle) {
  return guarded([&] {
    if (handle == nullptr) return null_result("handle");
    return ascendsim::create_stream(stream, handle->priority, handle->flag);
  });
}

aclError aclrtDestroyStream(aclrtStream stream) {
  return guarded([&] { return ascendsim::destroy_stream(stream, false); });
}

aclError aclrtDestroyStreamForce(aclrtStream stream) {
  return guarded([&] { return ascendsim::destroy_stream(stream, true); });
}

aclError aclrtSynchronizeStream(aclrtStream stream) {
  return aclrtSynchronizeStreamWithTimeout(stream, -1);
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout) {
  return guarded([&] {
    if (timeout < -1)
      return fail(ACL_ERROR_RT_PARAM_INVALID, "timeout " + std::to_string(timeout) + " is below -1");
    Runtime::Lock lock(Runtime::get().mutex);
    std::shared_ptr<Stream> target;
    if (const aclError error = ascendsim::resolve_stream(lock, stream, &target); error != ACL_SUCCESS)
      return error;
    return ascendsim::wait_stream(lock, target, timeout);
  });
}

aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status) {
  return guarded([&] {
    if (status == nullptr) return null_result("status");
    Runtime& runtime = Runtime::get();
    const Runtime::Lock lock(runtime.mutex);
    std::shared_ptr<Stream> target;
    if (const aclError error = ascendsim::resolve_stream(lock, stream, &target); error != ACL_SUCCESS)
      return error;
    if (runtime.lost(*target->device)) return fail(ACL_ERROR_RT_LOST_HEARTBEAT, "the device was lost");
    const bool done = target->tail == nullptr || runtime.complete(*target->tail);
    *status = done ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
    return target->error == ACL_SUCCESS ? ACL_SUCCESS
                                        : fail(target->error, "a task of the stream did not end well");
  });
}

aclError aclrtStreamGetId(aclrtStream stream, int32_t* streamId) {
  return guarded([&] {
    if (streamId == nullptr) return null_result("streamId");
    const Runtime::Lock lock(Runtime::get().mutex);
    std::shared_ptr<Stream> target;
    if (const aclError error = ascendsim::resolve_stream(lock, stream, &target); error != ACL_SUCCESS)
      return error;
    *streamId = static_cast<int32_t>(target->id);
    return ACL_SUCCESS;
  });
}

aclError aclrtStreamGetPriority(aclrtStream stream, uint32_t* priority) {
  return guarded([&] {
    if (priority == nullptr) return null_result("priority");
    const Runtime::Lock lock(Runtime::get().mutex);
    std::shared_ptr<Stream> target;
    if (const aclError error = ascendsim::resolve_stream(lock, stream, &target); error != ACL_SUCCESS)
      return error;
    *priority = target->priority;
    return ACL_SUCCESS;
  });
}

aclError aclrtDeviceGetStreamPriorityRange(int32_t* leastPriority, int32_t* greatestPriority) {
  return guarded([&] {
    if (leastPriority != nullptr) *leastPriority = static_cast<int32_t>(ascendsim::kPriorityLowest);
    if (greatestPriority != nullptr) *greatestPriority = static_cast<int32_t>(ascendsim::kPriorityHighest);
    return ACL_SUCCESS;
  });
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
  return guarded([&] {
    Runtime& runtime = Runtime::get();
    Runtime::Lock lock(runtime.mutex);
    std::shared_ptr<Stream> target;
    std::shared_ptr<Event> awaited;
    if (const aclError error = ascendsim::resolve_stream(lock, stream, &target); error != ACL_SUCCESS)
      return error;
    if (const aclError error = ascendsim::resolve_event(event, &awaited); error != ACL_SUCCESS) return error;
    if (awaited->record == nullptr) return ACL_SUCCESS;  // never recorded: nothing to wait for
    auto task = std::make_shared<Task>();
    task->kind = ascendsim::TaskKind::kWait;
    task->after = awaited->record;
    awaited->last_wait = task;
    return runtime.submit(lock, target, task, {0, 0, 0}, 0);
  });
}

aclError aclrtCreateEvent(aclrtEvent* event) {
  return guarded([&] { return ascendsim::create_event(event, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE); });
}

aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag) {
  return guarded([&] { return ascendsim::create_event(event, flag); });
}

aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag) {
  return guarded([&] { return ascendsim::create_event(event, flag); });
}

aclError aclrtDestroyEvent(aclrtEvent event) {
  return guarded([&] {
    Runtime& runtime = Runtime::get();
    const Runtime::Lock lock(runtime.mutex);
    if (event == nullptr) return null_result("event");
    return runtime.events.erase(event) == 1 ? ACL_SUCCESS : fail(ACL_ERROR_RT_PARAM_INVALID, "not an event");
  });
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
  return guarded([&] {
    Runtime& runtime = Runtime::get();
    Runtime::Lock lock(runtime.mutex);
    std::shared_ptr<Stream> target;
    std::shared_ptr<Event> marked;
    if (const aclError error = ascendsim::resolve_stream(lock, stream, &target); error != ACL_SUCCESS)
      return error;
    if (const aclError error = ascendsim::resolve_event(event, &marked); error != ACL_SUCCESS) return error;
    auto task = std::make_shared<Task>();
    task->kind = ascendsim::TaskKind::kMark;
    marked->record = task;
    return runtime.submit(lock, target, task, {0, 0, 0}, 0);
  });
}

aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream) {
  return guarded([&] {
    const Runtime::Lock lock(Runtime::get().mutex);
    std::shared_ptr<Stream> target;
    std::shared_ptr<Event> reset;
    if (const aclError error = ascendsim::resolve_stream(lock, stream, &target); error != ACL_SUCCESS)
      return error;
    if (const aclError error = ascendsim::resolve_event(event, &reset); error != ACL_SUCCESS) return error;
    // Waits that were queued before hold on to the mark they wait for.
    reset->record.reset();
    return ACL_SUCCESS;
  });
}

aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus* status) {
  return guarded([&] {
    if (status == nullptr) return null_result("status");
    const Runtime::Lock lock(Runtime::get().mutex);
    std::shared_ptr<Event> queried;
    if (const aclError error = ascendsim::resolve_event(event, &queried); error != ACL_SUCCESS) return error;
    *status = ascendsim::recorded(*queried) ? ACL_EVENT_STATUS_COMPLETE : ACL_EVENT_STATUS_NOT_READY;
    return ACL_SUCCESS;
  });
}

aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
  return guarded([&] {
    if (status == nullptr) return null_result("status");
    const Runtime::Lock lock(Runtime::get().mutex);
    std::shared_ptr<Event> queried;
    if (const aclError error = ascendsim::resolve_event(event, &queried); error != ACL_SUCCESS) return error;
    *status = ascendsim::recorded(*queried) ? ACL_EVENT_RECORDED_STATUS_COMPLETE
                                            : ACL_EVENT_RECORDED_STATUS_NOT_READY;
    return ACL_SUCCESS;
  });
}

aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus* status) {
  return guarded([&] {
    if (status == nullptr) return null_result("status");
    Runtime& runtime = Runtime::get();
    const Runtime::Lock lock(runtime.mutex);
    std::shared_ptr<Event> queried;
    if (const aclError error = ascendsim::resolve_event(event, &queried); error != ACL_SUCCESS) return error;
    const bool done = queried->last_wait == nullptr || runtime.complete(*queried->last_wait);
    *status = done ? ACL_EVENT_WAIT_STATUS_COMPLETE : ACL_EVENT_WAIT_STATUS_NOT_READY;
    return ACL_SUCCESS;
  });
}

aclError aclrtSynchronizeEvent(aclrtEvent event) {
  return guarded([&] { return ascendsim::wait_event(event, -1); });
}

aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout) {
  return guarded([&] { return ascendsim::wait_event(event, timeout); });
}

aclError aclrtEventElapsedTime(float* ms, aclrtEvent startEvent, aclrtEvent endEvent) {
  return guarded([&] {
    if (ms == nullptr) return null_result("ms");
    const Runtime::Lock lock(Runtime::get().mutex);
    std::shared_ptr<Event> first;
    std::shared_ptr<Event> last;
    if (const aclError error = ascendsim::resolve_event(startEvent, &first); error != ACL_SUCCESS)
      return error;
    if (const aclError error = ascendsim::resolve_event(endEvent, &last); error != ACL_SUCCESS) return error;
    std::uint64_t first_ns = 0;
    std::uint64_t last_ns = 0;
    if (const aclError error = ascendsim::timestamp(*first, &first_ns); error != ACL_SUCCESS) return error;
    if (const aclError error = ascendsim::timestamp(*last, &last_ns); error != ACL_SUCCESS) return error;
    if (last_ns < first_ns) {
      return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL, "the end event was recorded before the start event");
    }
    *ms = static_cast<float>(static_cast<double>(last_ns - first_ns) / 1e6);
    return ACL_SUCCESS;
  });
}

aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t* timestamp) {
  return guarded([&] {
    if (timestamp == nullptr) return null_result("timestamp");
    const Runtime::Lock lock(Runtime::get().mutex);
    std::shared_ptr<Event> queried;
    if (const aclError error = ascendsim::resolve_event(event, &queried); error != ACL_SUCCESS) return error;
    std::uint64_t ns = 0;
    if (const aclError error = ascendsim::timestamp(*queried, &ns); error != ACL_SUCCESS) return error;
    *timestamp = ns / 1000;
    return ACL_SUCCESS;
  });
}

aclError aclrtLaunchCallback(aclrtCallback fn, void* userData, aclrtCallbackBlockType blockType,
                             aclrtStream stream) {
  return guarded([&] {
    if (fn == nullptr) return null_result("fn");
    if (blockType != ACL_CALLBACK_NO_BLOCK && blockType != ACL_CALLBACK_BLOCK) {
      return fail(ACL_ERROR_RT_PARAM_INVALID, "blockType is not known");
    }
    return ascendsim::launch_host_task(stream, ascendsim::HostCall::kReportThread,
                                       blockType == ACL_CALLBACK_BLOCK, [fn, userData] { fn(userData); });
  });
}

aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void* args) {
  return guarded([&] {
    if (fn == nullptr) return null_result("fn");
    return ascendsim::launch_host_task(stream, ascendsim::HostCall::kOwnThread, true,
                                       [fn, args] { fn(args); });
  });
}

aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream) {
  return guarded([&] {
    const Runtime::Lock lock(Runtime::get().mutex);
    std::shared_ptr<Stream> target;
    if (const aclError error = ascendsim::resolve_stream(lock, stream, &target); error != ACL_SUCCESS)
      return error;
    if (target->subscribed) return fail(ACL_ERROR_REPEAT_SUBSCRIBE, "a thread is subscribed to the stream");
    target->subscribed = true;
    target->report_thread = static_cast<pthread_t>(threadId);
    return ACL_SUCCESS;
  });
}

aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream) {
  return guarded([&] {
    const Runtime::Lock lock(Runtime::get().mutex);
    std::shared_ptr<Stream> target;
    if (const aclError error = ascendsim::resolve_stream(lock, stream, &target); error != ACL_SUCCESS)
      return error;
    if (!target->subscribed)
      return fail(ACL_ERROR_STREAM_NOT_SUBSCRIBE, "no thread is subscribed to the stream");
    if (pthread_equal(target->report_thread, static_cast<pthread_t>(threadId)) == 0) {
      return fail(ACL_ERROR_THREAD_NOT_SUBSCRIBE, "another thread is subscribed to the stream");
    }
    target->subscribed = false;
    return ACL_SUCCESS;
  });
}

aclError aclrtProcessReport(int32_t timeout) {
  return guarded([&] {
    if (timeout < -1)
      return fail(ACL_ERROR_RT_PARAM_INVALID, "timeout " + std::to_string(timeout) + " is below -1");
    Runtime& runtime = Runtime::get();
    Runtime::Lock lock(runtime.mutex);
    const bool subscribed =
        std::any_of(runtime.streams.begin(), runtime.streams.end(), [](const auto& entry) {
          return entry.second->subscribed && pthread_equal(entry.second->report_thread, pthread_self()) != 0;
        });
    if (!subscribed) return fail(ACL_ERROR_THREAD_NOT_SUBSCRIBE, "this thread is subscribed to no stream");
    if (runtime.run_report(lock, timeout)) return ACL_SUCCESS;
    return fail(ACL_ERROR_WAIT_CALLBACK_TIMEOUT, "no callback in " + std::to_string(timeout) + " ms");
  });
}

}  // extern "C"
