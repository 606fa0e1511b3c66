/* A tenant's program for whole-system tests: hold_npus MARK MILLISECONDS [STATUS]
 *
 * Creates the file MARK, which must not exist (so a second run of the same job is found out), takes 64 MiB on
 * every NPU that it can see, holds them for that long, gives them back and exits with STATUS (0 when left
 * out). The functions are declared here, as a program would that was never written for this project. */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

extern int aclInit(const char* config_path);
extern int aclFinalize(void);
extern int aclrtGetDeviceCount(uint32_t* count);
extern int aclrtSetDevice(int32_t device);
extern int aclrtMalloc(void** pointer, size_t size, int policy);
extern int aclrtFree(void* pointer);

enum { kNpusMax = 16 };

static int failed(const char* what, int code) {
  fprintf(stderr, "hold_npus: %s failed: %d\n", what, code);
  return 1;
}

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) return failed("usage: hold_npus MARK MILLISECONDS [STATUS]", argc);
  const int mark = open(argv[1], O_CREAT | O_EXCL | O_WRONLY, 0644);
  if (mark < 0) return failed("creating the mark", mark);
  close(mark);

  void* held[kNpusMax];
  uint32_t count = 0;
  int code = aclInit(NULL);
  if (code != 0) return failed("aclInit", code);
  code = aclrtGetDeviceCount(&count);
  if (code != 0 || count == 0 || count > kNpusMax) return failed("aclrtGetDeviceCount", code);
  for (uint32_t npu = 0; npu < count; ++npu) {
    code = aclrtSetDevice((int32_t)npu);
    if (code != 0) return failed("aclrtSetDevice", code);
    code = aclrtMalloc(&held[npu], (size_t)64 << 20, 0);
    if (code != 0) return failed("aclrtMalloc", code);
  }
  printf("holding %u NPUs\n", count);
  const long ms = strtol(argv[2], NULL, 10);
  const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&pause, NULL);
  for (uint32_t npu = 0; npu < count; ++npu) {
    aclrtSetDevice((int32_t)npu);
    aclrtFree(held[npu]);
  }
  code = aclFinalize();
  if (code != 0) return failed("aclFinalize", code);
  return argc > 3 ? atoi(argv[3]) : 0;
}
