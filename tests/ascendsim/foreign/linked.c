/* An AscendCL program that was not written for this project's headers: it declares what it calls by itself.
 */
#include <stdint.h>
#include <stdio.h>

extern int aclInit(const char* configPath);
extern int aclFinalize(void);
extern const char* aclGetRecentErrMsg(void);
extern int aclrtSetDevice(int32_t deviceId);
extern int aclrtResetDevice(int32_t deviceId);
extern int aclrtCreateStream(void** stream);
extern int aclrtDestroyStream(void* stream);
extern int aclrtSynchronizeStream(void* stream);
extern int aclrtMalloc(void** devPtr, size_t size, int policy);
extern int aclrtFree(void* devPtr);
extern int aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count, int kind);
extern int aclblasGemmEx(int transA, int transB, int transC, int m, int n, int k, const void* alpha,
                         const void* matrixA, int lda, int dataTypeA, const void* matrixB, int ldb,
                         int dataTypeB, const void* beta, void* matrixC, int ldc, int dataTypeC,
                         int computeType, void* stream);

static int failures = 0;

static void check(int code, const char* call) {
  const char* text;
  if (code == 0) return;
  ++failures;
  text = aclGetRecentErrMsg();
  printf("%s: %d %s\n", call, code, text ? text : "");
}

static void* to_device(const void* data, size_t bytes) {
  void* device = NULL;
  check(aclrtMalloc(&device, bytes, 0), "aclrtMalloc");
  check(aclrtMemcpy(device, bytes, data, bytes, 1), "aclrtMemcpy");
  return device;
}

int main(void) {
  const float a[6] = {1, 2, 3, 4, 5, 6};
  const float b[6] = {7, 8, 9, 10, 11, 12};
  const float one = 1;
  const float zero = 0;
  float c[4] = {0, 0, 0, 0};
  void *device_a, *device_b, *device_c, *alpha, *beta, *stream = NULL;

  check(aclInit(NULL), "aclInit");
  check(aclrtSetDevice(0), "aclrtSetDevice");
  check(aclrtCreateStream(&stream), "aclrtCreateStream");
  device_a = to_device(a, sizeof a);
  device_b = to_device(b, sizeof b);
  device_c = to_device(c, sizeof c);
  alpha = to_device(&one, sizeof one);
  beta = to_device(&zero, sizeof zero);
  check(aclblasGemmEx(0, 0, 0, 2, 2, 3, alpha, device_a, -1, 0, device_b, -1, 0, beta, device_c, -1, 0, 0,
                      stream),
        "aclblasGemmEx");
  check(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
  check(aclrtMemcpy(c, sizeof c, device_c, sizeof c, 2), "aclrtMemcpy");
  check(aclrtFree(device_a), "aclrtFree");
  check(aclrtDestroyStream(stream), "aclrtDestroyStream");
  check(aclrtResetDevice(0), "aclrtResetDevice");
  check(aclFinalize(), "aclFinalize");
  printf("%g %g %g %g\n", c[0], c[1], c[2], c[3]);
  return failures != 0 || c[0] != 58 || c[1] != 64 || c[2] != 139 || c[3] != 154;
}
