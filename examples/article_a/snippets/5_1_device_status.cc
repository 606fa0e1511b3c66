// Article A, 5.1 设备状态监控 (device status): what a device is, or that it is not well.
//
//   5_1_device_status [DEVICE]
#include <cstdio>
#include <cstdlib>

#include "article_a/snippets/support.h"

namespace {

int failovers = 0;

void trigger_failover(int device_id) {
  ++failovers;
  std::printf("failover of device %d\n", device_id);
}

}  // namespace

int main(int argc, char** argv) {
  const article_a::Session session;
  const int device_id = argc > 1 ? std::atoi(argv[1]) : 0;

  // clang-format off: as printed
  // 检查设备是否正常
  aclrtDeviceInfo device_info;
  aclError ret = aclrtGetDeviceInfo(device_id, &device_info);
  if (ret != ACL_SUCCESS) {
      printf("[故障] 设备 %d 状态异常，错误码: %d\n", device_id, ret);
      // 触发故障转移
      trigger_failover(device_id);
  } else {
      printf("[正常] 设备 %d: %s, AI Core 数: %d, 显存: %zu MB\n",
             device_id,
             device_info.name,
             device_info.aiCoreNum,
             device_info.memSize / (1024*1024));
  }
  // clang-format on
  return failovers;
}
