// Article A, Q4：任务调度延迟过高怎么优化？ (batches): many products on one stream, one wait for all.
#include <cstdio>
#include <vector>

#include "article_a/snippets/support.h"

namespace {

constexpr int kSize = 16;
constexpr std::size_t kCount = kSize * kSize;

struct Batch {
  std::vector<float> a;
  std::vector<float> b;
  void* device_a;
  void* device_b;
  void* device_c;
};

Batch make_batch(std::size_t salt) {
  Batch batch = {article_a::numbers(kCount, salt), article_a::numbers(kCount, salt + 1), nullptr, nullptr,
                 nullptr};
  batch.device_a = article_a::to_device(batch.a);
  batch.device_b = article_a::to_device(batch.b);
  batch.device_c = article_a::to_device(std::vector<float>(kCount, -1.0F));
  return batch;
}

}  // namespace

// The elision of the article, filled in.
#define PARAMS_FOR_BATCH(i)                                                                                \
  ACLblasRowMajor, ACLblasNoTrans, ACLblasNoTrans, kSize, kSize, kSize, 1.0F, batches[i].device_a,         \
      ACLblasFp16, kSize, batches[i].device_b, ACLblasFp16, kSize, 0.0F, batches[i].device_c, ACLblasFp16, \
      kSize, ACLblasFp16Compute

int main() {
  const article_a::Session session;
  article_a::must(aclrtSetDevice(0), "aclrtSetDevice");
  std::vector<Batch> batches;
  batches.reserve(16);
  for (std::size_t i = 0; i < 16; ++i) batches.push_back(make_batch(i));

  // clang-format off: as printed
  // 批量提交任务的示例
  // 将多个矩阵乘法打包成一个 Batch
  int batch_size = 16;
  aclrtStream stream;
  aclrtCreateStream(&stream);

  for (int i = 0; i < batch_size; i++) {
      // 提交第 i 个矩阵乘法到同一个 Stream
      aclblasGemmEx(/* params for batch i */ PARAMS_FOR_BATCH(i), stream);
  }

  // 一次同步，等待整个 Batch 完成
  aclrtSynchronizeStream(stream);
  // clang-format on

  std::size_t right = 0;
  for (const Batch& batch : batches) {
    const auto wanted = article_a::product(batch.a, batch.b, kSize, kSize, kSize);
    right += article_a::from_device(batch.device_c, kCount) == wanted ? 1 : 0;
  }
  std::printf("%zu of %d products are right\n", right, batch_size);
  return right == batches.size() ? 0 : 1;
}
