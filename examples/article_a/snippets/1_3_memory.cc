// Article A, 1.3 内存分配与管理 (memory): device memory, memory of the host, a copy, and giving both back.
#include <cassert>
#include <cstdio>

#include "article_a/snippets/support.h"

int main() {
  const article_a::Session session;
  article_a::must(aclrtSetDevice(0), "aclrtSetDevice");

  // clang-format off: as printed
  // 分配 NPU 设备内存（HBM 上）
  void* device_ptr = nullptr;
  size_t alloc_size = 1024 * 1024 * 1024;  // 1GB
  aclError ret = aclrtMalloc(&device_ptr, alloc_size, ACL_MEM_MALLOC_HBM_FIRST);
  assert(ret == ACL_SUCCESS);

  // 分配 Host 内存（DMA 可访问，用于 Host-Device 传输）
  void* host_ptr = nullptr;
  ret = aclrtMallocHost(&host_ptr, alloc_size);
  assert(ret == ACL_SUCCESS);

  // Host → Device 数据传输（通过 DMA 引擎）
  ret = aclrtMemcpy(device_ptr, alloc_size, host_ptr, alloc_size, ACL_MEMCPY_HOSTToDevice);
  assert(ret == ACL_SUCCESS);

  // 释放内存
  ret = aclrtFree(device_ptr);
  assert(ret == ACL_SUCCESS);
  ret = aclrtFreeHost(host_ptr);
  assert(ret == ACL_SUCCESS);
  // clang-format on

  // The driver's own books tell what the program held in between.
  aclrtMemUsageInfo usage{};
  std::size_t entries = 0;
  article_a::must(aclrtGetMemUsageInfo(0, &usage, 1, &entries), "aclrtGetMemUsageInfo");
  std::printf("device memory held: at most %zu MiB, now %zu MiB\n",
              static_cast<std::size_t>(usage.memPeakSize >> 20),
              static_cast<std::size_t>(usage.curMemSize >> 20));
  return 0;
}
