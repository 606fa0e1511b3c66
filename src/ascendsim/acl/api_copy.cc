// Copies and fills, synchronous and asynchronous.
#include <cstring>
#include <limits>

#include "acl/acl.h"
#include "ascendsim/acl/runtime.h"

namespace ascendsim {
namespace {

// `height` rows of `width` bytes; a plain copy is one row.
struct Copy {
  void* to = nullptr;
  std::size_t to_pitch = 0;
  const void* from = nullptr;
  std::size_t from_pitch = 0;
  std::size_t width = 0;
  std::size_t height = 1;
};

struct Ends {
  std::shared_ptr<Block> to;
  std::shared_ptr<Block> from;
};

bool on_device(const std::shared_ptr<Block>& block) {
  return block != nullptr && block->kind != MemoryKind::kPinnedHost && block->device != nullptr;
}

std::size_t span(std::size_t pitch, const Copy& copy) {
  return pitch * (copy.height - 1) + copy.width;
}

aclError check_kind(aclrtMemcpyKind kind) {
  if (kind >= ACL_MEMCPY_HOST_TO_HOST && kind <= ACL_MEMCPY_INTER_DEVICE_TO_DEVICE) return ACL_SUCCESS;
  return fail(ACL_ERROR_INVALID_PARAM, "kind " + std::to_string(static_cast<int>(kind)) + " is not known");
}

aclError check(const Copy& copy, std::size_t to_bytes) {
  if (copy.to == nullptr || copy.from == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "dst or src is NULL");
  if (copy.width > to_bytes) {
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "count " + std::to_string(copy.width) + " is more than destMax " + std::to_string(to_bytes));
  }
  return ACL_SUCCESS;
}

aclError check_2d(const Copy& copy) {
  if (copy.to == nullptr || copy.from == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "dst or src is NULL");
  const std::size_t pitch = std::max(copy.to_pitch, copy.from_pitch);
  const bool valid = copy.width != 0 && copy.height != 0 && copy.width <= copy.to_pitch &&
                     copy.width <= copy.from_pitch &&
                     pitch <= std::numeric_limits<std::size_t>::max() / copy.height;
  return valid ? ACL_SUCCESS
               : fail(ACL_ERROR_RT_PARAM_INVALID, "width must be at most both pitches, and nothing 0");
}

// The kind is only advice: where the bytes are decides.
aclError find_ends(const Runtime& runtime, const Copy& copy, Ends* ends) {
  ends->to = runtime.blocks.around(copy.to);
  ends->from = runtime.blocks.around(copy.from);
  if (ends->to != nullptr && !contains(*ends->to, copy.to, span(copy.to_pitch, copy))) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "dst reaches beyond its memory");
  }
  if (ends->from != nullptr && !contains(*ends->from, copy.from, span(copy.from_pitch, copy))) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "src reaches beyond its memory");
  }
  return ACL_SUCCESS;
}

void move(const Copy& copy) {
  for (std::size_t row = 0; row < copy.height; ++row) {
    std::memmove(static_cast<char*>(copy.to) + row * copy.to_pitch,
                 static_cast<const char*>(copy.from) + row * copy.from_pitch, copy.width);
  }
}

TaskKind kind_of(const Ends& ends) {
  if (on_device(ends.to) && on_device(ends.from)) return TaskKind::kOnDevice;
  return on_device(ends.from) ? TaskKind::kDeviceToHost : TaskKind::kHostToDevice;
}

aclError copy_sync(const Copy& copy) {
  Runtime& runtime = Runtime::get();
  Runtime::Lock lock(runtime.mutex);
  const auto context = current_context(lock);
  if (context == nullptr) return fail(ACL_ERROR_RT_CONTEXT_NULL, "this thread has no device set");
  Ends ends;
  if (const aclError error = find_ends(runtime, copy, &ends); error != ACL_SUCCESS) return error;
  if (!on_device(ends.to) && !on_device(ends.from)) {
    lock.unlock();
    move(copy);
    return ACL_SUCCESS;
  }
  auto task = std::make_shared<Task>();
  task->kind = kind_of(ends);
  task->compute = [copy, ends] { move(copy); };
  const std::uint64_t bytes = std::uint64_t{copy.width} * copy.height;
  const aclError error = runtime.submit(lock, context->device->sync_stream, task, {bytes, 0, 0}, 0);
  return error == ACL_SUCCESS ? runtime.wait(lock, task, -1, ACL_SUCCESS) : error;
}

aclError copy_async(const Copy& copy, aclrtStream handle) {
  Runtime& runtime = Runtime::get();
  Runtime::Lock lock(runtime.mutex);
  std::shared_ptr<Stream> stream;
  if (const aclError error = resolve_stream(lock, handle, &stream); error != ACL_SUCCESS) return error;
  Ends ends;
  if (const aclError error = find_ends(runtime, copy, &ends); error != ACL_SUCCESS) return error;
  auto task = std::make_shared<Task>();
  task->kind = kind_of(ends);
  task->compute = [copy, ends] { move(copy); };
  const std::uint64_t bytes = std::uint64_t{copy.width} * copy.height;
  const aclError error = runtime.submit(lock, stream, task, {bytes, 0, 0}, 0);
  if (error != ACL_SUCCESS) return error;
  // Pageable host memory may change or vanish under the copy, so the call does not return before it is done.
  const bool pageable = ends.to == nullptr || ends.from == nullptr;
  return pageable ? runtime.wait(lock, task, -1, ACL_SUCCESS) : ACL_SUCCESS;
}

aclError check_fill(const void* pointer, std::size_t max_count, std::size_t count) {
  if (pointer == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "devPtr is NULL");
  if (count > max_count) {
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "count " + std::to_string(count) + " is more than maxCount " + std::to_string(max_count));
  }
  return ACL_SUCCESS;
}

// On the stream, or, with none, at once on the device's own.
aclError fill(void* pointer, std::int32_t value, std::size_t count, const aclrtStream* handle) {
  Runtime& runtime = Runtime::get();
  Runtime::Lock lock(runtime.mutex);
  std::shared_ptr<Stream> stream;
  if (const aclError error = resolve_stream(lock, handle == nullptr ? nullptr : *handle, &stream);
      error != ACL_SUCCESS) {
    return error;
  }
  if (handle == nullptr) stream = stream->device->sync_stream;
  const auto block = runtime.blocks.around(pointer);
  if (block != nullptr && !contains(*block, pointer, count)) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "count reaches beyond the memory");
  }
  if (!on_device(block)) return fail(ACL_ERROR_RT_PARAM_INVALID, "devPtr is not device memory");
  auto task = std::make_shared<Task>();
  task->kind = TaskKind::kOnDevice;
  task->compute = [pointer, value, count, block] { std::memset(pointer, value, count); };
  const aclError error = runtime.submit(lock, stream, task, {count, 0, 0}, 0);
  if (error != ACL_SUCCESS || handle != nullptr) return error;
  return runtime.wait(lock, task, -1, ACL_SUCCESS);
}

}  // namespace
}  // namespace ascendsim

using ascendsim::Copy;
using ascendsim::guarded;

extern "C" {

aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind) {
  return guarded([&] {
    const Copy copy{dst, count, src, count, count, 1};
    if (const aclError error = ascendsim::check_kind(kind); error != ACL_SUCCESS) return error;
    if (count == 0) return ACL_SUCCESS;
    if (const aclError error = ascendsim::check(copy, destMax); error != ACL_SUCCESS) return error;
    return ascendsim::copy_sync(copy);
  });
}

aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind,
                          aclrtStream stream) {
  return guarded([&] {
    const Copy copy{dst, count, src, count, count, 1};
    if (const aclError error = ascendsim::check_kind(kind); error != ACL_SUCCESS) return error;
    if (count == 0) return ACL_SUCCESS;
    if (const aclError error = ascendsim::check(copy, destMax); error != ACL_SUCCESS) return error;
    return ascendsim::copy_async(copy, stream);
  });
}

aclError aclrtMemcpy2d(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                       aclrtMemcpyKind kind) {
  return guarded([&] {
    const Copy copy{dst, dpitch, src, spitch, width, height};
    if (const aclError error = ascendsim::check_kind(kind); error != ACL_SUCCESS) return error;
    if (const aclError error = ascendsim::check_2d(copy); error != ACL_SUCCESS) return error;
    return ascendsim::copy_sync(copy);
  });
}

aclError aclrtMemcpy2dAsync(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                            size_t height, aclrtMemcpyKind kind, aclrtStream stream) {
  return guarded([&] {
    const Copy copy{dst, dpitch, src, spitch, width, height};
    if (const aclError error = ascendsim::check_kind(kind); error != ACL_SUCCESS) return error;
    if (const aclError error = ascendsim::check_2d(copy); error != ACL_SUCCESS) return error;
    return ascendsim::copy_async(copy, stream);
  });
}

aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count) {
  return guarded([&] {
    if (const aclError error = ascendsim::check_fill(devPtr, maxCount, count); error != ACL_SUCCESS)
      return error;
    return count == 0 ? ACL_SUCCESS : ascendsim::fill(devPtr, value, count, nullptr);
  });
}

aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count, aclrtStream stream) {
  return guarded([&] {
    if (const aclError error = ascendsim::check_fill(devPtr, maxCount, count); error != ACL_SUCCESS)
      return error;
    return count == 0 ? ACL_SUCCESS : ascendsim::fill(devPtr, value, count, &stream);
  });
}

}  // extern "C"
