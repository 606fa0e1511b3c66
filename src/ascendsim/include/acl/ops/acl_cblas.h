/* AscendCL: matrix products. C = alpha * op(A) * op(B) + beta * C, row-major; a leading dimension of -1 means
 * dense; alpha and beta are device pointers to one value of C's type. C99 and C++. */
#ifndef ASCENDSIM_ACL_CBLAS_H
#define ASCENDSIM_ACL_CBLAS_H

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { ACL_TRANS_N = 0, ACL_TRANS_T = 1, ACL_TRANS_NZ = 2, ACL_TRANS_NZ_T = 3 } aclTransType;
typedef enum { ACL_COMPUTE_HIGH_PRECISION = 0, ACL_COMPUTE_LOW_PRECISION = 1 } aclComputeType;

/* fp16 x fp16 into fp16 or fp32, and fp32 x fp32 into fp32; other types: ACL_ERROR_UNSUPPORTED_DATA_TYPE. */
aclError aclblasGemmEx(aclTransType transA, aclTransType transB, aclTransType transC, int m, int n, int k,
                       const void* alpha, const void* matrixA, int lda, aclDataType dataTypeA,
                       const void* matrixB, int ldb, aclDataType dataTypeB, const void* beta, void* matrixC,
                       int ldc, aclDataType dataTypeC, aclComputeType type, aclrtStream stream);
aclError aclblasHgemm(aclTransType transA, aclTransType transB, aclTransType transC, int m, int n, int k,
                      const aclFloat16* alpha, const aclFloat16* matrixA, int lda, const aclFloat16* matrixB,
                      int ldb, const aclFloat16* beta, aclFloat16* matrixC, int ldc, aclComputeType type,
                      aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
