// Matrix products and half floats.
#include <limits>

#include "acl/acl.h"
#include "acl/ops/acl_cblas.h"
#include "ascendsim/acl/float16.h"
#include "ascendsim/acl/gemm.h"
#include "ascendsim/acl/runtime.h"

namespace ascendsim {
namespace {

// One operand as the program gave it.
struct Operand {
  const char* name;
  const void* data;
  aclDataType type;
  int leading;  // -1: dense
  bool transposed;
  int rows;  // of the multiplied matrix, before transposition
  int columns;
};

aclError element_of(aclDataType type, Element* element) {
  if (type == ACL_FLOAT16 || type == ACL_FLOAT) {
    *element = type == ACL_FLOAT16 ? Element::kHalf : Element::kFloat;
    return ACL_SUCCESS;
  }
  return fail(ACL_ERROR_UNSUPPORTED_DATA_TYPE, "data type " + std::to_string(static_cast<int>(type)) +
                                                   ": only float16 and float are multiplied");
}

// Checks the operand against the memory it lies in, and keeps that memory.
aclError resolve(const Runtime& runtime, const Operand& operand, MatrixView* view,
                 std::vector<std::shared_ptr<Block>>* blocks) {
  if (const aclError error = element_of(operand.type, &view->element); error != ACL_SUCCESS) return error;
  const int stored_rows = operand.transposed ? operand.columns : operand.rows;
  const int stored_columns = operand.transposed ? operand.rows : operand.columns;
  const int leading = operand.leading == -1 ? stored_columns : operand.leading;
  const std::string name = operand.name;
  if (leading < stored_columns) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "leading dimension " + std::to_string(leading) + " of " + name +
                                                " is less than its row of " + std::to_string(stored_columns));
  }
  const std::size_t elements = static_cast<std::size_t>(leading) * static_cast<std::size_t>(stored_rows - 1) +
                               static_cast<std::size_t>(stored_columns);
  const auto block = runtime.blocks.around(operand.data);
  const bool inside = block != nullptr && block->device != nullptr &&
                      contains(*block, operand.data, elements * aclDataTypeSize(operand.type));
  if (!inside) return fail(ACL_ERROR_RT_PARAM_INVALID, name + " does not lie inside device memory");
  view->data = operand.data;
  view->leading = static_cast<std::size_t>(leading);
  view->transposed = operand.transposed;
  blocks->push_back(block);
  return ACL_SUCCESS;
}

struct GemmCall {
  Operand a;
  Operand b;
  Operand c;
  Operand alpha;
  Operand beta;
  int k;
};

aclError launch(const GemmCall& call, aclrtStream handle) {
  Runtime& runtime = Runtime::get();
  Runtime::Lock lock(runtime.mutex);
  std::shared_ptr<Stream> stream;
  if (const aclError error = resolve_stream(lock, handle, &stream); error != ACL_SUCCESS) return error;
  Gemm gemm;
  MatrixView alpha;
  MatrixView beta;
  MatrixView c;
  std::vector<std::shared_ptr<Block>> blocks;
  const std::pair<const Operand*, MatrixView*> operands[] = {
      {&call.a, &gemm.a}, {&call.b, &gemm.b}, {&call.c, &c}, {&call.alpha, &alpha}, {&call.beta, &beta}};
  for (const auto& [operand, view] : operands) {
    if (const aclError error = resolve(runtime, *operand, view, &blocks); error != ACL_SUCCESS) return error;
  }
  gemm.m = static_cast<std::size_t>(call.c.rows);
  gemm.n = static_cast<std::size_t>(call.c.columns);
  gemm.k = static_cast<std::size_t>(call.k);
  gemm.alpha = alpha.data;
  gemm.beta = beta.data;
  gemm.c = const_cast<void*>(c.data);
  gemm.c_leading = c.leading;
  gemm.c_element = c.element;
  auto task = std::make_shared<Task>();
  task->kind = TaskKind::kMatrix;
  task->heavy = true;
  task->compute = [gemm, blocks, mode = runtime.compute_mode] { compute_gemm(gemm, mode); };
  const auto element_bytes = static_cast<std::uint32_t>(aclDataTypeSize(call.a.type));
  return runtime.submit(lock, stream, task, {gemm.m, gemm.n, gemm.k}, element_bytes);
}

aclError check_gemm(aclTransType a, aclTransType b, aclTransType c, int m, int n, int k,
                    aclComputeType compute) {
  const bool transposes = (a == ACL_TRANS_N || a == ACL_TRANS_T) && (b == ACL_TRANS_N || b == ACL_TRANS_T);
  if (!transposes || c != ACL_TRANS_N) {
    return fail(ACL_ERROR_INVALID_PARAM, "transA and transB must be N or T, transC N");
  }
  if (m <= 0 || n <= 0 || k <= 0) return fail(ACL_ERROR_INVALID_PARAM, "m, n and k must be above 0");
  if (compute != ACL_COMPUTE_HIGH_PRECISION && compute != ACL_COMPUTE_LOW_PRECISION) {
    return fail(ACL_ERROR_INVALID_PARAM, "compute type is not known");
  }
  return ACL_SUCCESS;
}

}  // namespace
}  // namespace ascendsim

using ascendsim::fail;
using ascendsim::guarded;

extern "C" {

aclError aclblasGemmEx(aclTransType transA, aclTransType transB, aclTransType transC, int m, int n, int k,
                       const void* alpha, const void* matrixA, int lda, aclDataType dataTypeA,
                       const void* matrixB, int ldb, aclDataType dataTypeB, const void* beta, void* matrixC,
                       int ldc, aclDataType dataTypeC, aclComputeType type, aclrtStream stream) {
  return guarded([&] {
    const bool all_given =
        alpha != nullptr && matrixA != nullptr && matrixB != nullptr && beta != nullptr && matrixC != nullptr;
    if (!all_given) return fail(ACL_ERROR_INVALID_PARAM, "alpha, beta or a matrix is NULL");
    const aclError error = ascendsim::check_gemm(transA, transB, transC, m, n, k, type);
    if (error != ACL_SUCCESS) return error;
    if (dataTypeA != dataTypeB || (dataTypeA == ACL_FLOAT && dataTypeC != ACL_FLOAT)) {
      return fail(ACL_ERROR_UNSUPPORTED_DATA_TYPE, "A and B must be of one type, and C not of a smaller one");
    }
    const ascendsim::GemmCall call{{"A", matrixA, dataTypeA, lda, transA == ACL_TRANS_T, m, k},
                                   {"B", matrixB, dataTypeB, ldb, transB == ACL_TRANS_T, k, n},
                                   {"C", matrixC, dataTypeC, ldc, false, m, n},
                                   {"alpha", alpha, dataTypeC, -1, false, 1, 1},
                                   {"beta", beta, dataTypeC, -1, false, 1, 1},
                                   k};
    return ascendsim::launch(call, stream);
  });
}

aclError aclblasHgemm(aclTransType transA, aclTransType transB, aclTransType transC, int m, int n, int k,
                      const aclFloat16* alpha, const aclFloat16* matrixA, int lda, const aclFloat16* matrixB,
                      int ldb, const aclFloat16* beta, aclFloat16* matrixC, int ldc, aclComputeType type,
                      aclrtStream stream) {
  return aclblasGemmEx(transA, transB, transC, m, n, k, alpha, matrixA, lda, ACL_FLOAT16, matrixB, ldb,
                       ACL_FLOAT16, beta, matrixC, ldc, ACL_FLOAT16, type, stream);
}

float aclFloat16ToFloat(aclFloat16 value) {
  return ascendsim::half_to_float(value);
}

aclFloat16 aclFloatToFloat16(float value) {
  return ascendsim::float_to_half(value);
}

size_t aclDataTypeSize(aclDataType dataType) {
  switch (dataType) {
    case ACL_INT8:
    case ACL_UINT8:
    case ACL_BOOL:
      return 1;
    case ACL_FLOAT16:
    case ACL_BF16:
    case ACL_INT16:
    case ACL_UINT16:
      return 2;
    case ACL_FLOAT:
    case ACL_INT32:
    case ACL_UINT32:
    case ACL_COMPLEX32:
      return 4;
    case ACL_INT64:
    case ACL_UINT64:
    case ACL_DOUBLE:
    case ACL_COMPLEX64:
      return 8;
    case ACL_COMPLEX128:
      return 16;
    case ACL_DT_UNDEFINED:
    case ACL_STRING:
    case ACL_INT4:
    case ACL_UINT1:
      return 0;
  }
  return 0;
}

}  // extern "C"
