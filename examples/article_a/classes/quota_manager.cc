// The article's QuotaManager: tenants with quotas, and tasks that are given NPUs within them or are told why
// not.
//
// The article counts in its own process, so a second manager knows nothing of the first. Here the daemon
// counts: check and allocation are one step, NPUs of a manager that dies come back, and a task gives back
// exactly its own NPUs (the article takes the first ones of the tenant).
#include <tangram/client.h>

#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace tg = tangram::api;

namespace {

constexpr std::int64_t kGib = std::int64_t{1} << 30;

struct Task {
  std::string task_id;
  std::string tenant_id;
  tg::Priority priority = tg::Priority::kNormal;
  std::int64_t required_npus = 1;
  std::int64_t required_memory = 0;     // GiB, on each NPU
  std::int64_t estimated_duration = 0;  // seconds
};

class QuotaManager {
 public:
  explicit QuotaManager(const tg::Client& client) : client_(client) {}

  void register_tenant(const std::string& tenant_id, const tg::Quota& quota) const {
    client_.put_tenant({.name = tenant_id, .quota = quota}).value();
    std::printf("[配额管理] 租户 %s 注册成功，配额: %lld NPUs, %lldGB/卡\n", tenant_id.c_str(),
                static_cast<long long>(quota.npus.value_or(-1)),
                static_cast<long long>(quota.memory_per_npu_bytes.value_or(-1) / kGib));
  }

  // The primary device; none when the task does not get what it needs now.
  std::optional<std::uint32_t> check_and_allocate(const Task& task) {
    tg::LeaseRequest request;
    request.tenant = task.tenant_id;
    request.name = task.task_id;
    request.npus = task.required_npus;
    request.memory_per_npu_bytes = task.required_memory * kGib;
    request.priority = task.priority;
    request.time_limit = std::chrono::seconds(task.estimated_duration);
    request.no_wait = true;
    auto lease = client_.allocate(request);
    if (!lease) {
      // What may come free later is a wait, everything else a refusal.
      const bool later = lease.error().code == tg::ErrorCode::kNotNow;
      std::printf("[%s] 任务 %s: %s: %s\n", later ? "等待" : "拒绝", task.task_id.c_str(),
                  lease.error().reason.c_str(), lease.error().message.c_str());
      return std::nullopt;
    }
    const std::uint32_t primary = lease->npus().front();
    std::printf("[分配] 任务 %s 获得 NPU [%s]，租户 %s 当前使用 %s\n", task.task_id.c_str(),
                lease->visible_devices().c_str(), task.tenant_id.c_str(), usage(task.tenant_id).c_str());
    allocations_.insert_or_assign(task.task_id, std::move(*lease));
    return primary;
  }

  void release_resources(const Task& task) {
    const auto found = allocations_.find(task.task_id);
    if (found == allocations_.end()) return;
    const std::string devices = found->second.visible_devices();
    found->second.release().value();
    allocations_.erase(found);
    std::printf("[释放] 任务 %s 释放 NPU [%s]，租户 %s 当前使用 %s\n", task.task_id.c_str(), devices.c_str(),
                task.tenant_id.c_str(), usage(task.tenant_id).c_str());
  }

 private:
  // "2/4"
  std::string usage(const std::string& tenant_id) const {
    const tg::TenantStatus status = client_.tenant(tenant_id).value();
    return std::to_string(status.used.npus) + "/" + std::to_string(status.tenant.quota.npus.value_or(-1));
  }

  const tg::Client& client_;
  std::map<std::string, tg::Lease> allocations_;
};

void run() {
  const tg::Client client = tg::Client::connect().value();
  QuotaManager manager(client);
  using tg::Priority;

  tg::Quota team_a;
  team_a.npus = 4;
  team_a.memory_per_npu_bytes = 32 * kGib;
  team_a.running_jobs = 4;
  manager.register_tenant("team-a", team_a);

  tg::Quota team_b;
  team_b.npus = 2;
  team_b.memory_per_npu_bytes = 16 * kGib;
  team_b.running_jobs = 2;
  team_b.priorities = {Priority::kNormal, Priority::kLow};  // team-b may not use the high priority
  manager.register_tenant("team-b", team_b);

  const Task task1{"train-001", "team-a", Priority::kHigh, 2, 16, 3600};
  const Task task2{"infer-001", "team-b", Priority::kNormal, 1, 8, 600};
  manager.check_and_allocate(task1);
  manager.check_and_allocate(task2);

  // What the article only names: each of the four checks, and a release that is exact.
  manager.check_and_allocate({"urgent-001", "team-b", Priority::kHigh, 1, 8, 600});
  manager.check_and_allocate({"wide-001", "team-a", Priority::kNormal, 3, 16, 600});
  manager.check_and_allocate({"large-001", "team-b", Priority::kNormal, 1, 32, 600});
  manager.check_and_allocate({"nobody-001", "team-z", Priority::kNormal, 1, 8, 600});
  manager.check_and_allocate({"train-002", "team-a", Priority::kNormal, 2, 16, 3600});
  manager.release_resources(task1);
  manager.check_and_allocate({"wide-002", "team-a", Priority::kNormal, 2, 16, 600});
}

}  // namespace

int main() {
  try {
    run();
  } catch (const tg::Failure& failure) {
    std::fprintf(stderr, "%s: %s\n", failure.error().reason.c_str(), failure.what());
    return 1;
  }
  return 0;
}
