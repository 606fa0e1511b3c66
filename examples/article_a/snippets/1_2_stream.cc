// Article A, 1.2 Stream：任务执行的逻辑通道 (streams): a matrix product on a stream, and waiting for it.
#include <cassert>
#include <cstdio>
#include <vector>

#include "article_a/snippets/support.h"

int main() {
  const article_a::Session session;
  aclError ret = aclrtSetDevice(0);
  assert(ret == ACL_SUCCESS);
  const int M = 2;
  const int N = 3;
  const int K = 4;
  const std::vector<float> a = {1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<float> b = {1, 0, 2, 0, 1, 2, 1, 0, 2, 0, 1, 2};
  void* inputA = article_a::to_device(a);
  void* inputB = article_a::to_device(b);
  void* outputC = article_a::to_device({-1, -1, -1, -1, -1, -1});

  // clang-format off: as printed
  // 创建一个 Stream 用于异步任务执行
  aclrtStream stream;
  ret = aclrtCreateStream(&stream);
  assert(ret == ACL_SUCCESS);

  // 在 Stream 上提交一个矩阵乘法任务
  // 矩阵乘法是 CANN 中最常见的计算密集型操作
  ret = aclblasGemmEx(
      ACLblasRowMajor,      // 行优先存储
      ACLblasNoTrans,       // A 矩阵不转置
      ACLblasNoTrans,       // B 矩阵不转置
      M, N, K,              // 矩阵维度
      1.0f,                 // alpha 系数
      inputA,               // A 矩阵数据指针
      ACLblasFp16,          // A 矩阵数据类型
      K,                    // A 矩阵 leading dimension
      inputB,               // B 矩阵数据指针
      ACLblasFp16,          // B 矩阵数据类型
      N,                    // B 矩阵 leading dimension
      0.0f,                 // beta 系数
      outputC,              // C 矩阵输出指针
      ACLblasFp16,          // C 矩阵数据类型
      N,                    // C 矩阵 leading dimension
      ACLblasFp16Compute,   // 计算精度
      stream                // 指定 Stream
  );
  assert(ret == ACL_SUCCESS);

  // 同步等待该 Stream 上所有任务完成
  ret = aclrtSynchronizeStream(stream);
  assert(ret == ACL_SUCCESS);
  // clang-format on

  const std::vector<float> c = article_a::from_device(outputC, M * N);
  for (std::size_t row = 0; row < M; ++row) {
    for (std::size_t column = 0; column < N; ++column) {
      std::printf("%s%g", column == 0 ? "" : " ", static_cast<double>(c[row * N + column]));
    }
    std::printf("\n");
  }
  return c == article_a::product(a, b, M, N, K) ? 0 : 1;
}
