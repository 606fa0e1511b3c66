#include "ascendsim/acl/runtime.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>
#include <utility>

namespace ascendsim {
namespace {

// In a thread that lives on in a forked child, what it remembers belongs to the parent's runtime.
struct ThreadState {
  const Runtime* owner = nullptr;
  std::shared_ptr<Context> context;
};
thread_local ThreadState thread_state;

std::atomic<Runtime*> instance{nullptr};
std::mutex instance_mutex;

std::optional<ComputeMode> compute_mode_of(const char* text) {
  if (text == nullptr) return std::nullopt;
  const std::string_view mode = text;
  if (mode == "full") return ComputeMode::kFull;
  if (mode == "sample") return ComputeMode::kSample;
  if (mode == "none") return ComputeMode::kNone;
  return std::nullopt;
}

// The kernel's own verdict: where the device cgroup allows the node, opening it says that no driver is behind
// it.
bool node_allows(const char* path) {
  const Descriptor node(open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK));
  return node.valid() || errno == ENXIO;
}

}  // namespace

std::uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

Runtime& Runtime::get() {
  if (Runtime* ready = instance.load(std::memory_order_acquire); ready != nullptr) return *ready;
  const std::lock_guard lock(instance_mutex);
  if (instance.load(std::memory_order_acquire) == nullptr) {
    static const int registered =
        pthread_atfork([] { instance_mutex.lock(); }, [] { instance_mutex.unlock(); },
                       [] {
                         abandon_in_child();
                         instance_mutex.unlock();
                       });
    (void)registered;
    instance.store(new Runtime, std::memory_order_release);
  }
  return *instance.load(std::memory_order_acquire);
}

// Its locks may be held by threads that the child does not have, so the parent's runtime is only let go of.
// Its descriptors are closed: the driver must see the end of the parent when the parent ends.
void Runtime::abandon_in_child() {
  Runtime* old = instance.exchange(nullptr);
  if (old == nullptr) return;
  old->connection.abandon();
  old->bell_.reset();
  if (old->rings_ != nullptr) munmap(old->rings_, sizeof(SharedRings));
}

std::vector<std::uint32_t> narrow_devices(const char* variable, std::uint32_t count) {
  std::vector<std::uint32_t> ids;
  if (variable == nullptr) {
    for (std::uint32_t id = 0; id < count; ++id) ids.push_back(id);
    return ids;
  }
  std::string_view rest = variable;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    std::uint32_t id = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), id);
    const bool number = error == std::errc() && end == part.data() + part.size();
    if (!number || id >= count || std::find(ids.begin(), ids.end(), id) != ids.end()) break;
    ids.push_back(id);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return ids;
}

aclError Runtime::attach(Lock& lock) {
  if (!lock.owns_lock()) return ACL_ERROR_INTERNAL_ERROR;
  if (lost_) return fail(ACL_ERROR_RT_DRV_INTERNAL_ERROR, "the driver does not answer any more");
  if (attached_) return ACL_SUCCESS;
  const std::string path = driver_socket_path(reinterpret_cast<const void*>(&narrow_devices));
  connection = Connection::open(path);
  if (!connection.connected()) {
    return fail(ACL_ERROR_RT_DRV_INTERNAL_ERROR, "no driver at " + path + ": " + std::strerror(errno));
  }
  AttachReply reply{};
  std::vector<Descriptor> descriptors;
  const CallResult result = connection.call<Connection::NoBody, AttachReply, Connection::NoBody>(
      RequestType::kAttach, 0, {}, &reply, nullptr, &descriptors);
  if (!result.ok()) return fail(result, "attach");
  if (const aclError error = map_rings(descriptors, reply.ring_bytes); error != ACL_SUCCESS) return error;
  compute_mode = compute_mode_of(std::getenv("ASCENDSIM_COMPUTE")).value_or(reply.compute_mode);
  visible_ = narrow_devices(std::getenv("ASCEND_RT_VISIBLE_DEVICES"), reply.npu_count);
  start_threads();
  attached_ = true;
  return ACL_SUCCESS;
}

aclError Runtime::map_rings(std::vector<Descriptor>& descriptors, std::uint64_t bytes) {
  const bool usable = descriptors.size() == 2 && bytes == sizeof(SharedRings);
  void* mapped =
      usable ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptors[0].get(), 0) : MAP_FAILED;
  if (mapped == MAP_FAILED) return fail(ACL_ERROR_RT_DRV_INTERNAL_ERROR, "cannot map the driver's rings");
  rings_ = static_cast<SharedRings*>(mapped);
  bell_ = std::move(descriptors[1]);
  return ACL_SUCCESS;
}

std::shared_ptr<Device> Runtime::find_device(std::uint32_t user_id) const {
  const auto found = devices_.find(user_id);
  return found == devices_.end() ? nullptr : found->second;
}

aclError Runtime::open_device(Lock& lock, std::int32_t user_id, std::shared_ptr<Device>* device) {
  if (const aclError error = attach(lock); error != ACL_SUCCESS) return error;
  const auto id = static_cast<std::uint32_t>(user_id);
  if (user_id < 0 || id >= visible_.size()) {
    return fail(ACL_ERROR_RT_INVALID_DEVICEID, "device " + std::to_string(user_id) +
                                                   " does not exist: there are " +
                                                   std::to_string(visible_.size()));
  }
  *device = find_device(id);
  if (*device != nullptr) return ACL_SUCCESS;
  auto opened = std::make_shared<Device>();
  opened->user_id = id;
  opened->logic_id = visible_[id];
  const std::string name = "device " + std::to_string(user_id);
  const CallResult result =
      connection.call(RequestType::kOpenDevice, opened->logic_id, Connection::NoBody{}, &opened->info);
  if (!result.ok()) return fail(result, name);
  if (opened->info.has_node != 0 && !node_allows(opened->info.node_path)) {
    const int reason = errno;
    connection.send(RequestType::kCloseDevice, opened->logic_id);
    return fail(ACL_ERROR_RT_NO_PERMISSION,
                name + ": " + opened->info.node_path + ": " + std::strerror(reason));
  }
  CreateStreamReply stream{};
  const CallResult streamed = connection.call(RequestType::kCreateStream, opened->logic_id,
                                              CreateStreamBody{kPriorityHighest, 0}, &stream);
  if (!streamed.ok()) return fail(streamed, name);
  opened->sync_stream = std::make_shared<Stream>();
  opened->sync_stream->id = stream.stream;
  opened->sync_stream->device = opened;
  aclError error = ACL_SUCCESS;
  opened->primary = create_context(lock, opened, &error);
  if (opened->primary == nullptr) {
    connection.send(RequestType::kCloseDevice, opened->logic_id);
    return error;
  }
  devices_[id] = opened;
  *device = std::move(opened);
  return ACL_SUCCESS;
}

void Runtime::close_device(Lock& lock, const std::shared_ptr<Device>& device) {
  device->closed = true;
  const auto contexts_of_device = device->contexts;
  for (const auto& context : contexts_of_device) drop_context(lock, context);
  drop_stream(lock, device->sync_stream);
  blocks.remove_device(device.get());
  connection.send(RequestType::kCloseDevice, device->logic_id);
  devices_.erase(device->user_id);
  // Breaks the circles of owners.
  device->sync_stream.reset();
  device->primary.reset();
  device->contexts.clear();
  changed.notify_all();
}

std::shared_ptr<Context> Runtime::create_context(Lock& lock, const std::shared_ptr<Device>& device,
                                                 aclError* error) {
  auto context = std::make_shared<Context>();
  context->device = device;
  *error = create_stream(lock, context, kPriorityHighest, 0, &context->default_stream);
  if (*error != ACL_SUCCESS) return nullptr;
  device->contexts.push_back(context);
  contexts[context.get()] = context;
  return context;
}

void Runtime::drop_context(Lock& lock, const std::shared_ptr<Context>& context) {
  context->alive = false;
  const auto streams_of_context = context->streams;
  for (const auto& stream : streams_of_context) drop_stream(lock, stream);
  context->streams.clear();
  context->default_stream.reset();
  std::erase(context->device->contexts, context);
  contexts.erase(context.get());
}

aclError Runtime::create_stream(Lock& lock, const std::shared_ptr<Context>& context, std::uint32_t priority,
                                std::uint32_t flags, std::shared_ptr<Stream>* stream) {
  if (!lock.owns_lock()) return ACL_ERROR_INTERNAL_ERROR;
  CreateStreamReply reply{};
  const CallResult result = connection.call(RequestType::kCreateStream, context->device->logic_id,
                                            CreateStreamBody{priority, 0}, &reply);
  if (result.connected && result.status == Status::kLimit) {
    return fail(ACL_ERROR_RT_NO_STREAM_RESOURCE, "the device has no stream left");
  }
  if (!result.ok()) return fail(result, "create stream");
  auto created = std::make_shared<Stream>();
  created->id = reply.stream;
  created->priority = priority;
  created->flags = flags;
  created->context = context;
  created->device = context->device;
  context->streams.insert(created);
  streams[created.get()] = created;
  *stream = std::move(created);
  return ACL_SUCCESS;
}

void Runtime::drop_stream(Lock& lock, const std::shared_ptr<Stream>& stream) {
  if (!lock.owns_lock() || stream == nullptr || !stream->alive) return;
  stream->alive = false;
  connection.send(RequestType::kDestroyStream, stream->device->logic_id, DestroyStreamBody{stream->id, 0});
  if (const auto context = stream->context.lock()) context->streams.erase(stream);
  streams.erase(stream.get());
}

std::shared_ptr<Context> current_context(const Runtime::Lock& lock) {
  if (!lock.owns_lock() || thread_state.owner != &Runtime::get() || thread_state.context == nullptr)
    return nullptr;
  return thread_state.context->alive ? thread_state.context : nullptr;
}

void set_current_context(const Runtime::Lock& lock, const std::shared_ptr<Context>& context) {
  if (!lock.owns_lock()) return;
  const Runtime* owner = &Runtime::get();
  // A forked child must not run the destructors of what its parent owned: leak it.
  if (thread_state.owner != nullptr && thread_state.owner != owner) {
    new std::shared_ptr<Context>(std::move(thread_state.context));
  }
  thread_state.owner = owner;
  thread_state.context = context;
}

aclError resolve_stream(const Runtime::Lock& lock, aclrtStream handle, std::shared_ptr<Stream>* stream) {
  const auto context = current_context(lock);
  if (context == nullptr) return fail(ACL_ERROR_RT_CONTEXT_NULL, "this thread has no device set");
  if (handle == nullptr) {
    *stream = context->default_stream;
    return ACL_SUCCESS;
  }
  const auto found = Runtime::get().streams.find(handle);
  if (found == Runtime::get().streams.end()) return fail(ACL_ERROR_RT_STREAM_CONTEXT, "not a stream");
  if (found->second->context.lock() != context) {
    return fail(ACL_ERROR_RT_STREAM_CONTEXT, "the stream belongs to another context");
  }
  *stream = found->second;
  return ACL_SUCCESS;
}

}  // namespace ascendsim
