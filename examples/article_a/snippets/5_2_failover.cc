// Article A, 5.2 故障转移流程 (failover): work that a lost device did not finish is done on a healthy one.
//
// Prints "ready", then waits for a line on standard input: the moment for the test to take device 0 away.
#include <cstdio>
#include <ctime>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "article_a/snippets/support.h"

namespace {

constexpr int kSize = 16;
constexpr std::size_t kCount = kSize * kSize;

template <class T>
using List = std::vector<T>;

// One product. Its input stays on the host: device memory of a lost device cannot be read.
struct Task {
  std::vector<float> a;
  std::vector<float> b;
  void* c = nullptr;
  aclrtEvent done = nullptr;
  int device = -1;
};

struct Registered {
  int device;
  std::deque<Task> tasks;
};

std::map<aclrtContext, Registered> contexts_known;
std::set<int> devices_out;

void submit(Task& task, int device) {
  void* a = article_a::to_device(task.a);
  void* b = article_a::to_device(task.b);
  task.c = article_a::to_device(std::vector<float>(kCount, -1.0F));
  task.device = device;
  article_a::must(aclblasGemmEx(ACLblasRowMajor, ACLblasNoTrans, ACLblasNoTrans, kSize, kSize, kSize, 1.0F, a,
                                ACLblasFp16, kSize, b, ACLblasFp16, kSize, 0.0F, task.c, ACLblasFp16, kSize,
                                ACLblasFp16Compute, nullptr),
                  "aclblasGemmEx");
  article_a::must(aclrtCreateEvent(&task.done), "aclrtCreateEvent");
  article_a::must(aclrtRecordEvent(task.done, nullptr), "aclrtRecordEvent");
}

bool finished(const Task& task) {
  aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
  article_a::must(aclrtQueryEventStatus(task.done, &status), "aclrtQueryEventStatus");
  return status == ACL_EVENT_RECORDED_STATUS_COMPLETE;
}

List<aclrtContext> get_contexts_on_device(int device) {
  List<aclrtContext> found;
  for (const auto& [context, registered] : contexts_known) {
    if (registered.device == device) found.push_back(context);
  }
  return found;
}

int find_healthy_device() {
  std::uint32_t count = 0;
  article_a::must(aclrtGetDeviceCount(&count), "aclrtGetDeviceCount");
  for (int device = 0; device < static_cast<int>(count); ++device) {
    aclrtDeviceInfo info;
    if (devices_out.count(device) == 0 && aclrtGetDeviceInfo(device, &info) == ACL_SUCCESS) return device;
  }
  return -1;
}

void resubmit_pending_tasks(aclrtContext from, aclrtContext to) {
  int device = -1;
  article_a::must(aclrtSetCurrentContext(to), "aclrtSetCurrentContext");
  article_a::must(aclrtGetDevice(&device), "aclrtGetDevice");
  Registered& taken_over = contexts_known[to];
  taken_over.device = device;
  std::size_t again = 0;
  for (Task& task : contexts_known[from].tasks) {
    if (finished(task)) continue;
    submit(task, device);
    taken_over.tasks.push_back(task);
    ++again;
  }
  std::printf("%zu of %zu tasks submitted again, on device %d\n", again, contexts_known[from].tasks.size(),
              device);
  contexts_known.erase(from);
}

void remove_device_from_scheduler(int device) {
  devices_out.insert(device);
  std::printf("device %d gets no more work\n", device);
}

void log_failure(int device, time_t at) {
  std::printf("failure of device %d logged%s\n", device, at > 0 ? "" : " without a time");
}

void send_alert(const char* text, int device) {
  std::printf("alert: %s, device %d\n", text, device);
}

}  // namespace

// clang-format off: as printed
// 故障转移的伪代码流程
void handle_device_failure(int failed_device) {
    printf("[故障处理] 设备 %d 发生故障，开始转移\n", failed_device);
    
    // 1. 同步设备，确保所有任务完成
    aclrtSynchronizeDevice(failed_device);
    
    // 2. 获取该设备上的所有 Context
    // （实际实现需要维护 Context 注册表）
    List<aclrtContext> contexts = get_contexts_on_device(failed_device);
    
    for (aclrtContext ctx : contexts) {
        // 3. 将 Context 迁移到健康设备
        int healthy_device = find_healthy_device();
        if (healthy_device >= 0) {
            aclrtContext new_ctx;
            aclrtCreateContext(&new_ctx, healthy_device);
            
            // 重新提交未完成的任务到新 Context
            resubmit_pending_tasks(ctx, new_ctx);
            
            // 清理旧 Context
            aclrtDestroyContext(ctx);
        }
    }
    
    // 4. 从调度器中移除故障设备
    remove_device_from_scheduler(failed_device);
    
    // 5. 记录故障日志
    log_failure(failed_device, time(NULL));
    
    // 6. 如果配置了告警，发送通知
    send_alert("设备故障", failed_device);
}
// clang-format on

namespace {

// A context on device 0 with `finished_tasks` products that end, and as many again behind a gate that stays
// closed.
void open_context(article_a::Gate*& gate, std::size_t finished_tasks, std::size_t held_tasks) {
  aclrtContext context = nullptr;
  article_a::must(aclrtCreateContext(&context, 0), "aclrtCreateContext");
  Registered& registered = contexts_known[context];
  registered.device = 0;
  for (std::size_t i = 0; i < finished_tasks + held_tasks; ++i) {
    registered.tasks.push_back(
        {article_a::numbers(kCount, i), article_a::numbers(kCount, i + 1), nullptr, nullptr, -1});
  }
  for (std::size_t i = 0; i < finished_tasks; ++i) submit(registered.tasks[i], 0);
  article_a::must(aclrtSynchronizeStream(nullptr), "aclrtSynchronizeStream");
  gate = new article_a::Gate;
  gate->hold(nullptr);
  for (std::size_t i = finished_tasks; i < registered.tasks.size(); ++i) submit(registered.tasks[i], 0);
}

// The taken-over products are right; returns how many there are.
std::size_t check_results() {
  std::size_t right = 0;
  for (const auto& [context, registered] : contexts_known) {
    article_a::must(aclrtSetCurrentContext(context), "aclrtSetCurrentContext");
    article_a::must(aclrtSynchronizeDevice(), "aclrtSynchronizeDevice");
    for (const Task& task : registered.tasks) {
      const auto wanted = article_a::product(task.a, task.b, kSize, kSize, kSize);
      right += article_a::from_device(task.c, kCount) == wanted ? 1 : 0;
    }
  }
  return right;
}

}  // namespace

int main() {
  article_a::line_by_line();
  const article_a::Session session;
  article_a::Gate* gates[2] = {};
  open_context(gates[0], 1, 2);
  open_context(gates[1], 0, 1);
  std::printf("ready\n");
  if (std::getchar() == EOF) return 1;
  handle_device_failure(0);
  std::printf("%zu products are right\n", check_results());
  // The host functions of the lost device may still wait.
  for (article_a::Gate* gate : gates) gate->open();
  return 0;
}
