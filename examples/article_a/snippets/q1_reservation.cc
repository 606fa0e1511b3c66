// Article A, Q1：如何避免训练任务饿死在线推理任务？ (reservation): NPUs that training never gets.
//
// Prints the tenants that keep this reservation in Tangram, for `tangram apply -f -`.
#include <cstdio>

// clang-format off: as printed
// 预留配置
typedef struct {
    int total_npus;           // 总 NPU 数量
    int reserved_for_infer;   // 为推理预留的数量
    int available_for_train;  // 训练可用的数量
} NpuReservation;

NpuReservation reservation = {
    .total_npus = 8,
    .reserved_for_infer = 3,   // 预留 3 张给推理
    .available_for_train = 5   // 训练最多用 5 张
};
// clang-format on

namespace {

void print_tenant(const char* name, int npus, const char* priorities) {
  std::printf("---\napiVersion: tangram.dev/v1\nkind: Tenant\nmetadata: {name: %s}\n", name);
  std::printf("spec: {quota: {npus: %d, priorities: [%s]}}\n", npus, priorities);
}

}  // namespace

int main() {
  if (reservation.reserved_for_infer + reservation.available_for_train != reservation.total_npus) return 1;
  print_tenant("training", reservation.available_for_train, "normal, low");
  print_tenant("inference", reservation.total_npus, "high");
  return 0;
}
