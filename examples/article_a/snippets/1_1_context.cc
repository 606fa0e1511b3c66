// Article A, 1.1 Device 与 Context 的关系 (device and context): a context of the process's own on one device.
//
//   1_1_context [DEVICE]
#include <cassert>
#include <cstdio>
#include <cstdlib>

#include "article_a/snippets/support.h"

int main(int argc, char** argv) {
  const article_a::Session session;
  const int device_id = argc > 1 ? std::atoi(argv[1]) : 0;

  // clang-format off: as printed
  // 设置当前进程使用的 NPU 设备
  aclError ret = aclrtSetDevice(device_id);
  assert(ret == ACL_SUCCESS);

  // 创建独立的 Context，隔离本进程的资源
  aclrtContext context;
  ret = aclrtCreateContext(&context, device_id);
  assert(ret == ACL_SUCCESS);

  // 切换到该 Context，后续操作都在此 Context 下执行
  ret = aclrtSetCurrentContext(context);
  assert(ret == ACL_SUCCESS);
  // clang-format on

  aclrtContext current = nullptr;
  int current_device = -1;
  article_a::must(aclrtGetCurrentContext(&current), "aclrtGetCurrentContext");
  article_a::must(aclrtGetDevice(&current_device), "aclrtGetDevice");
  std::printf("the new context is current: %s\n", current == context ? "yes" : "no");
  // Setting the device again brings its default context back.
  article_a::must(aclrtSetDevice(device_id), "aclrtSetDevice");
  aclrtContext of_device = nullptr;
  article_a::must(aclrtGetCurrentContext(&of_device), "aclrtGetCurrentContext");
  std::printf("it is on device %d, and not the device's default context: %s\n", current_device,
              of_device == context ? "no" : "yes");
  return 0;
}
