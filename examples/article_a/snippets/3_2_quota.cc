// Article A, 3.2 显存配额限制 (memory quota): a check in front of aclrtMalloc, kept by the program itself.
#include <cstdint>
#include <cstdio>

#include "article_a/snippets/support.h"

// clang-format off: as printed
// 伪代码：显存配额管理
typedef struct {
    uint32_t tenant_id;
    size_t quota_bytes;      // 配额上限
    size_t used_bytes;       // 已使用量
    aclrtContext context;    // 对应的 Context
} TenantQuota;

// 检查是否超过配额
aclError check_quota(TenantQuota* quota, size_t request_size) {
    if (quota->used_bytes + request_size > quota->quota_bytes) {
        printf("[拒绝] 租户 %u 显存不足：请求 %zu MB，已用 %zu MB，配额 %zu MB\n",
               quota->tenant_id,
               request_size / (1024*1024),
               quota->used_bytes / (1024*1024),
               quota->quota_bytes / (1024*1024));
        return ACL_ERROR_FAILURE;
    }
    return ACL_SUCCESS;
}

// 带配额检查的内存分配
aclError tenant_malloc(TenantQuota* quota, void** ptr, size_t size) {
    aclError ret = check_quota(quota, size);
    if (ret != ACL_SUCCESS) return ret;
    
    aclrtSetCurrentContext(quota->context);
    ret = aclrtMalloc(ptr, size, ACL_MEM_MALLOC_HBM_FIRST);
    if (ret == ACL_SUCCESS) {
        quota->used_bytes += size;
    }
    return ret;
}
// clang-format on

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

void allocate(TenantQuota& quota, std::size_t mib) {
  void* memory = nullptr;
  const aclError error = tenant_malloc(&quota, &memory, mib * kMiB);
  aclrtContext current = nullptr;
  article_a::must(aclrtGetCurrentContext(&current), "aclrtGetCurrentContext");
  std::printf("tenant %u, %zu MB: %d, %s; used %zu MB; in its context: %s\n", quota.tenant_id, mib, error,
              memory == nullptr ? "nothing" : "memory", quota.used_bytes / kMiB,
              current == quota.context ? "yes" : "no");
}

}  // namespace

int main() {
  article_a::line_by_line();
  const article_a::Session session;
  TenantQuota first = {7, 1536 * kMiB, 0, nullptr};
  TenantQuota second = {8, 64 * 1024 * kMiB, 0, nullptr};
  article_a::must(aclrtCreateContext(&first.context, 0), "aclrtCreateContext");
  article_a::must(aclrtCreateContext(&second.context, 0), "aclrtCreateContext");
  allocate(first, 1024);
  allocate(second, 2048);
  allocate(first, 512);     // up to the last byte of its quota
  allocate(first, 1);       // refused by the quota
  allocate(second, 32768);  // within its quota, but the device has not so much
  return 0;
}
