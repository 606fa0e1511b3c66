// Article A, 3.1 基于 Context 的内存隔离 (memory and contexts): memory taken under two contexts of one
// device.
//
// The article says that ptr_a cannot be seen under ctx_b. In AscendCL it can: contexts of one process share
// its memory. What holds tenants apart is that they are different processes.
#include <cstdio>
#include <cstring>

#include "article_a/snippets/support.h"

int main() {
  const article_a::Session session;
  const int device_id = 0;

  // clang-format off: as printed
  // 进程 A 的 Context
  aclrtContext ctx_a;
  aclrtCreateContext(&ctx_a, device_id);
  aclrtSetCurrentContext(ctx_a);

  // 进程 A 分配 2GB 显存
  void* ptr_a;
  aclrtMalloc(&ptr_a, 2ULL * 1024 * 1024 * 1024, ACL_MEM_MALLOC_HBM_FIRST);

  // 切换到进程 B 的 Context
  aclrtContext ctx_b;
  aclrtCreateContext(&ctx_b, device_id);
  aclrtSetCurrentContext(ctx_b);

  // 进程 B 看不到 ptr_a，只能看到自己 Context 下分配的内存
  // 进程 B 分配自己的显存
  void* ptr_b;
  aclrtMalloc(&ptr_b, 1ULL * 1024 * 1024 * 1024, ACL_MEM_MALLOC_HBM_FIRST);
  // clang-format on

  aclrtMemUsageInfo usage{};
  std::size_t entries = 0;
  article_a::must(aclrtGetMemUsageInfo(device_id, &usage, 1, &entries), "aclrtGetMemUsageInfo");
  std::printf("held under both contexts: %zu MiB\n", static_cast<std::size_t>(usage.curMemSize >> 20));

  const char text[] = "written under ctx_a";
  char back[sizeof text] = "";
  article_a::must(aclrtSetCurrentContext(ctx_a), "aclrtSetCurrentContext");
  article_a::must(aclrtMemcpy(ptr_a, sizeof text, text, sizeof text, ACL_MEMCPY_HOST_TO_DEVICE),
                  "aclrtMemcpy");
  article_a::must(aclrtSetCurrentContext(ctx_b), "aclrtSetCurrentContext");
  const aclError error = aclrtMemcpy(back, sizeof back, ptr_a, sizeof back, ACL_MEMCPY_DEVICE_TO_HOST);
  std::printf("ptr_a under ctx_b: %s\n",
              error == ACL_SUCCESS && std::strcmp(back, text) == 0 ? back : "not readable");
  return 0;
}
