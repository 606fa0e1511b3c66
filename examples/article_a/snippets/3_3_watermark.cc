// Article A, 3.3 显存水位监控 (memory watermark): total, used and free memory, and an alarm above 85 %.
//
//   3_3_watermark [MIB]     MIB: device memory to take first
#include <cstdio>
#include <cstdlib>

#include "article_a/snippets/support.h"

int main(int argc, char** argv) {
  const article_a::Session session;
  article_a::must(aclrtSetDevice(0), "aclrtSetDevice");
  if (argc > 1) {
    void* memory = nullptr;
    const std::size_t bytes = std::strtoull(argv[1], nullptr, 10) << 20;
    article_a::must(aclrtMallocAlign32(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMallocAlign32");
  }

  // clang-format off: as printed
  // 查询当前 Device 的显存使用情况
  aclrtMemInfo mem_info;
  aclError ret = aclrtGetMemInfo(&mem_info);
  if (ret == ACL_SUCCESS) {
      printf("[显存监控] 总量: %zu MB, 已用: %zu MB, 可用: %zu MB\n",
             mem_info.total / (1024*1024),
             mem_info.used / (1024*1024),
             mem_info.free / (1024*1024));
      
      // 显存使用率超过 85% 时触发告警
      double usage_rate = (double)mem_info.used / mem_info.total;
      if (usage_rate > 0.85) {
          printf("[告警] 显存使用率 %.1f%%，建议释放非必要缓存\n", usage_rate * 100);
      }
  }
  // clang-format on
  return ret == ACL_SUCCESS ? 0 : 1;
}
