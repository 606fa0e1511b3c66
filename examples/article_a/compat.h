// Names that an article on multi-tenant NPU management prints and AscendCL does not have, or has with other
// parameters.
//
// With this header the article's C++ snippets compile and run as printed. It is opt-in, for C++ only, and no
// part of the ABI: everything is inline and ends in calls of the vendor's interface. New programs use the
// vendor's own names, which stand beside each of the article's below. docs/articles.md tells where the
// article's claims and the interface differ.
//
// Errors: codes of AscendCL, and aclGetRecentErrMsg() says more where the vendor's call failed; what this
// header itself refuses is ACL_ERROR_INVALID_PARAM. Thread-safety: that of the calls underneath; a Session
// may be used by all threads.
#pragma once

#include <acl/acl.h>
#include <acl/ops/acl_cblas.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <utility>

namespace article_a {

// ---- stream priorities ----

// The article counts from 0 (first) over 5 to 10 (last), AscendCL from 0 (first) to 7 (last).
enum class PriorityClass { kHigh, kNormal, kLow };

constexpr int kLastPriority = 10;
constexpr std::uint32_t kLastStreamPriority = 7;

// 0, 5 and 10 become 0, 3 and 7; what lies between keeps its place. `priority` is from 0 to kLastPriority.
constexpr std::uint32_t stream_priority(int priority) {
  return static_cast<std::uint32_t>(priority) * kLastStreamPriority / kLastPriority;
}

// The class of one of AscendCL's priorities: 0 and 1 are high, 6 and 7 low.
constexpr PriorityClass priority_class(std::uint32_t stream_priority) {
  if (stream_priority <= 1) return PriorityClass::kHigh;
  return stream_priority <= 5 ? PriorityClass::kNormal : PriorityClass::kLow;
}

enum class StreamAttrKind { kUnset, kPriority };

struct StreamAttr {
  StreamAttrKind kind = StreamAttrKind::kUnset;
  std::uint32_t priority = 0;
};

// ---- what the article leaves out around its snippets ----

// Device memory for the factors alpha and beta: the article passes them as numbers, kernels read them on the
// device. Each distinct value takes one page of its device, from its first use to the end of the session.
class Factors {
 public:
  static Factors& get() {
    static Factors factors;
    return factors;
  }

  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
  }
  void close() {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, memory] : kept_) aclrtFree(memory);
    kept_.clear();
    open_ = false;
  }

  // Memory of the current device that holds `value` as a half.
  aclError keep(float value, const void** on_device) {
    std::int32_t device = 0;
    if (const aclError error = aclrtGetDevice(&device); error != ACL_SUCCESS) return error;
    const aclFloat16 half = aclFloatToFloat16(value);
    const std::lock_guard lock(mutex_);
    if (!open_) return ACL_ERROR_UNINITIALIZE;
    void*& memory = kept_[{device, half}];
    if (memory == nullptr) {
      if (const aclError error = upload(half, &memory); error != ACL_SUCCESS) return error;
    }
    *on_device = memory;
    return ACL_SUCCESS;
  }

 private:
  Factors() = default;

  static aclError upload(aclFloat16 half, void** memory) {
    void* made = nullptr;
    aclError error = aclrtMalloc(&made, sizeof half, ACL_MEM_MALLOC_NORMAL_ONLY);
    if (error != ACL_SUCCESS) return error;
    error = aclrtMemcpy(made, sizeof half, &half, sizeof half, ACL_MEMCPY_HOST_TO_DEVICE);
    if (error != ACL_SUCCESS) {
      aclrtFree(made);
      return error;
    }
    *memory = made;
    return ACL_SUCCESS;
  }

  std::mutex mutex_;
  bool open_ = false;
  std::map<std::pair<std::int32_t, aclFloat16>, void*> kept_;  // by device and value
};

// AscendCL for as long as the object lives: aclInit and aclFinalize. One at a time. Devices must not be reset
// while it lives: it holds memory there. If aclInit fails, so does the first call that needs it.
class Session {
 public:
  Session() {
    aclInit(nullptr);
    Factors::get().open();
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() {
    Factors::get().close();
    aclFinalize();
  }
};

}  // namespace article_a

// ---- streams with a priority; instead: aclrtCreateStreamWithConfig ----

// Macros, because AscendCL 9 uses both names for an enumeration of its own.
#define aclrtStreamAttr article_a::StreamAttr
#define ACL_STREAM_ATTR_PRIORITY article_a::StreamAttrKind::kPriority

inline aclError aclrtInitStreamAttr(article_a::StreamAttr* attr, article_a::StreamAttrKind kind) {
  if (attr == nullptr || kind != article_a::StreamAttrKind::kPriority) return ACL_ERROR_INVALID_PARAM;
  *attr = {kind, 0};
  return ACL_SUCCESS;
}

// `priority` is the article's, from 0 (first) to 10 (last).
inline aclError aclrtSetStreamAttrPriority(article_a::StreamAttr* attr, int priority) {
  const bool valid = attr != nullptr && attr->kind == article_a::StreamAttrKind::kPriority && priority >= 0 &&
                     priority <= article_a::kLastPriority;
  if (!valid) return ACL_ERROR_INVALID_PARAM;
  attr->priority = article_a::stream_priority(priority);
  return ACL_SUCCESS;
}

inline aclError aclrtCreateStreamWithAttr(aclrtStream* stream, const article_a::StreamAttr* attr) {
  const bool valid = attr != nullptr && attr->kind == article_a::StreamAttrKind::kPriority;
  return valid ? aclrtCreateStreamWithConfig(stream, attr->priority, 0) : ACL_ERROR_INVALID_PARAM;
}

// ---- memory ----

// NOLINTBEGIN(readability-identifier-naming): the article's names

// Instead: ACL_MEM_MALLOC_HUGE_FIRST. It falls back from huge pages to small ones, never to memory of the
// host.
inline constexpr aclrtMemMallocPolicy ACL_MEM_MALLOC_HBM_FIRST = ACL_MEM_MALLOC_HUGE_FIRST;

// Instead: ACL_MEMCPY_HOST_TO_DEVICE.
inline constexpr aclrtMemcpyKind ACL_MEMCPY_HOSTToDevice = ACL_MEMCPY_HOST_TO_DEVICE;

// NOLINTEND(readability-identifier-naming)

// Bytes of the current device that programs may use.
struct aclrtMemInfo {
  std::size_t total;
  std::size_t used;
  std::size_t free;
};

// Instead: aclrtGetMemInfo(ACL_HBM_MEM, &free, &total).
inline aclError aclrtGetMemInfo(aclrtMemInfo* info) {
  if (info == nullptr) return ACL_ERROR_INVALID_PARAM;
  std::size_t free = 0;
  std::size_t total = 0;
  if (const aclError error = aclrtGetMemInfo(ACL_HBM_MEM, &free, &total); error != ACL_SUCCESS) return error;
  *info = {total, total - free, free};
  return ACL_SUCCESS;
}

// ---- devices ----

struct aclrtDeviceInfo {
  char name[64];  // of the process's first device: AscendCL tells no other
  std::int32_t aiCoreNum;
  std::size_t memSize;  // bytes that programs may use
};

// Instead: aclrtQueryDeviceStatus, aclrtGetSocName, and aclrtGetDeviceInfo for each attribute. A device that
// is not well gives ACL_ERROR_RT_LOST_HEARTBEAT, as its work does.
inline aclError aclrtGetDeviceInfo(std::int32_t device_id, aclrtDeviceInfo* info) {
  if (info == nullptr || device_id < 0) return ACL_ERROR_INVALID_PARAM;
  aclrtDeviceStatus status = ACL_RT_DEVICE_STATUS_END;
  if (const aclError error = aclrtQueryDeviceStatus(device_id, &status); error != ACL_SUCCESS) return error;
  if (status != ACL_RT_DEVICE_STATUS_NORMAL) return ACL_ERROR_RT_LOST_HEARTBEAT;
  const auto id = static_cast<std::uint32_t>(device_id);
  std::int64_t cores = 0;
  std::int64_t bytes = 0;
  if (const aclError error = aclrtGetDeviceInfo(id, ACL_DEV_ATTR_AICORE_CORE_NUM, &cores);
      error != ACL_SUCCESS) {
    return error;
  }
  if (const aclError error = aclrtGetDeviceInfo(id, ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE, &bytes);
      error != ACL_SUCCESS) {
    return error;
  }
  const char* name = aclrtGetSocName();
  *info = {};
  std::snprintf(info->name, sizeof info->name, "%s", name == nullptr ? "unknown" : name);
  info->aiCoreNum = static_cast<std::int32_t>(cores);
  info->memSize = static_cast<std::size_t>(bytes);
  return ACL_SUCCESS;
}

// Instead: aclrtSetDevice(device_id) and aclrtSynchronizeDevice(). Leaves the device's default context
// current in this thread, unless another one of the device is. On a device that was lost it fails at once:
// nothing is drained.
inline aclError aclrtSynchronizeDevice(std::int32_t device_id) {
  std::int32_t current = -1;
  const bool there = aclrtGetDevice(&current) == ACL_SUCCESS && current == device_id;
  if (!there) {
    if (const aclError error = aclrtSetDevice(device_id); error != ACL_SUCCESS) return error;
  }
  return aclrtSynchronizeDevice();
}

// ---- matrix products ----

enum ACLblasLayout { ACLblasRowMajor };
enum ACLblasTranspose { ACLblasNoTrans };
enum ACLblasDataType { ACLblasFp16 };
enum ACLblasComputeType { ACLblasFp16Compute };

// C = alpha * A * B + beta * C on halves, row by row. Instead: AscendCL's aclblasGemmEx, which has no layout,
// takes the type behind the leading dimension, and alpha and beta as pointers to device memory. Needs an
// article_a::Session.
inline aclError aclblasGemmEx(ACLblasLayout /*layout*/, ACLblasTranspose /*trans_a*/,
                              ACLblasTranspose /*trans_b*/, int m, int n, int k, float alpha, const void* a,
                              ACLblasDataType /*type_a*/, int lda, const void* b, ACLblasDataType /*type_b*/,
                              int ldb, float beta, void* c, ACLblasDataType /*type_c*/, int ldc,
                              ACLblasComputeType /*compute*/, aclrtStream stream) {
  const void* device_alpha = nullptr;
  const void* device_beta = nullptr;
  if (const aclError error = article_a::Factors::get().keep(alpha, &device_alpha); error != ACL_SUCCESS) {
    return error;
  }
  if (const aclError error = article_a::Factors::get().keep(beta, &device_beta); error != ACL_SUCCESS) {
    return error;
  }
  return aclblasGemmEx(ACL_TRANS_N, ACL_TRANS_N, ACL_TRANS_N, m, n, k, device_alpha, a, lda, ACL_FLOAT16, b,
                       ldb, ACL_FLOAT16, device_beta, c, ldc, ACL_FLOAT16, ACL_COMPUTE_LOW_PRECISION, stream);
}
