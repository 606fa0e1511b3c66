// The arithmetic behind aclblasGemmEx, on the host's CPU.
#pragma once

#include <cstddef>

#include "ascendsim/protocol/messages.h"

namespace ascendsim {

enum class Element { kHalf, kFloat };

struct MatrixView {
  const void* data = nullptr;
  std::size_t leading = 0;  // elements from one stored row to the next
  bool transposed = false;  // the stored matrix is the transpose of the one that is multiplied
  Element element = Element::kFloat;
};

// C (m x n) = alpha * A (m x k) * B (k x n) + beta * C, row-major. Sums are kept in fp32. alpha and beta
// point to one value of C's type.
struct Gemm {
  std::size_t m = 0;
  std::size_t n = 0;
  std::size_t k = 0;
  MatrixView a;
  MatrixView b;
  const void* alpha = nullptr;
  const void* beta = nullptr;
  void* c = nullptr;
  std::size_t c_leading = 0;
  Element c_element = Element::kFloat;
};

// kSample computes every 16th block of rows and leaves the others as they are; kNone does nothing.
void compute_gemm(const Gemm& gemm, ComputeMode mode);

}  // namespace ascendsim
