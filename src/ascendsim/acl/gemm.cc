#include "ascendsim/acl/gemm.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ascendsim/acl/float16.h"

namespace ascendsim {
namespace {

// A panel of B (kDepth x kColumns floats) fits into a first-level cache beside the rows that meet it.
constexpr std::size_t kRows = 32;
constexpr std::size_t kColumns = 64;
constexpr std::size_t kDepth = 128;
constexpr std::size_t kSampleStride = 16;

float load(const void* data, std::size_t index, Element element) {
  if (element == Element::kFloat) return static_cast<const float*>(data)[index];
  return half_to_float(static_cast<const std::uint16_t*>(data)[index]);
}

void store(void* data, std::size_t index, Element element, float value) {
  if (element == Element::kFloat) {
    static_cast<float*>(data)[index] = value;
  } else {
    static_cast<std::uint16_t*>(data)[index] = float_to_half(value);
  }
}

float at(const MatrixView& matrix, std::size_t row, std::size_t column) {
  const std::size_t index = matrix.transposed ? column * matrix.leading + row : row * matrix.leading + column;
  return load(matrix.data, index, matrix.element);
}

// The whole of op(matrix) as dense floats: the conversion is O(n^2), the product O(n^3).
std::vector<float> densify(const MatrixView& matrix, std::size_t rows, std::size_t columns) {
  std::vector<float> dense(rows * columns);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column)
      dense[row * columns + column] = at(matrix, row, column);
  }
  return dense;
}

void multiply_block(const float* a, const float* b, std::size_t k, std::size_t n, std::size_t rows,
                    std::size_t columns, float* sum) {
  for (std::size_t depth = 0; depth < k; depth += kDepth) {
    const std::size_t depth_end = std::min(k, depth + kDepth);
    for (std::size_t row = 0; row < rows; ++row) {
      float* out = sum + row * kColumns;
      for (std::size_t p = depth; p < depth_end; ++p) {
        const float factor = a[row * k + p];
        const float* line = b + p * n;
        for (std::size_t column = 0; column < columns; ++column) out[column] += factor * line[column];
      }
    }
  }
}

}  // namespace

void compute_gemm(const Gemm& gemm, ComputeMode mode) {
  if (mode == ComputeMode::kNone) return;
  const float alpha = load(gemm.alpha, 0, gemm.c_element);
  const float beta = load(gemm.beta, 0, gemm.c_element);
  const std::vector<float> a = densify(gemm.a, gemm.m, gemm.k);
  const std::vector<float> b = densify(gemm.b, gemm.k, gemm.n);
  const std::size_t stride = mode == ComputeMode::kSample ? kRows * kSampleStride : kRows;
  std::vector<float> sum(kRows * kColumns);
  for (std::size_t row = 0; row < gemm.m; row += stride) {
    const std::size_t rows = std::min(kRows, gemm.m - row);
    for (std::size_t column = 0; column < gemm.n; column += kColumns) {
      const std::size_t columns = std::min(kColumns, gemm.n - column);
      std::fill(sum.begin(), sum.end(), 0.0F);
      multiply_block(a.data() + row * gemm.k, b.data() + column, gemm.k, gemm.n, rows, columns, sum.data());
      for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < columns; ++j) {
          const std::size_t index = (row + i) * gemm.c_leading + column + j;
          // With beta 0 the old value is not read: it may be a NaN.
          const float old = beta == 0.0F ? 0.0F : beta * load(gemm.c, index, gemm.c_element);
          store(gemm.c, index, gemm.c_element, alpha * sum[i * kColumns + j] + old);
        }
      }
    }
  }
}

}  // namespace ascendsim
