// The article's DeviceHealthChecker: callbacks when a device fails, and when it is well again.
//
// The article allocates memory on each device in a loop. Here the daemon looks at the devices anyway, stops
// giving out one that is not well, and ends jobs whose NPU is lost; the checker only listens. Nothing is to
// be done for the recovery either: an NPU that is well again is given out again.
#include <tangram/client.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tg = tangram::api;

namespace {

class DeviceHealthChecker {
 public:
  using Callback = std::function<void(std::uint32_t device_id, const std::string& what)>;

  explicit DeviceHealthChecker(const tg::Client& client) : client_(client) {}

  void add_callback(Callback callback) { callbacks_.push_back(std::move(callback)); }

  // Callbacks come on a thread of the client, one at a time.
  void start() {
    subscription_ = client_.watch_health([this](const tg::HealthChange& change) { look_at(change); }).value();
  }

 private:
  void look_at(const tg::HealthChange& change) {
    const bool is_healthy = change.now == tg::Health::kOk;
    const auto known = device_status_.find(change.npu);
    const bool was_healthy = known == device_status_.end() || known->second;
    device_status_[change.npu] = is_healthy;
    if (is_healthy == was_healthy) return;
    if (is_healthy) {
      std::printf("[恢复] 设备 %u 恢复健康，重新加入集群\n", change.npu);
    } else {
      std::printf("[故障] 设备 %u 检测到故障: %s\n", change.npu, change.note.c_str());
    }
    std::fflush(stdout);
    for (const Callback& callback : callbacks_) callback(change.npu, is_healthy ? "recovered" : "failed");
  }

  const tg::Client& client_;
  std::map<std::uint32_t, bool> device_status_;
  std::vector<Callback> callbacks_;
  std::optional<tg::Subscription> subscription_;
};

void run(int count) {
  const tg::Client client = tg::Client::connect().value();
  std::mutex mutex;
  std::condition_variable called;
  int calls = 0;
  DeviceHealthChecker checker(client);
  checker.add_callback([&](std::uint32_t device_id, const std::string& what) {
    const std::lock_guard lock(mutex);
    std::printf("callback(%u, '%s')\n", device_id, what.c_str());
    std::fflush(stdout);
    ++calls;
    called.notify_one();
  });
  checker.start();
  std::printf("watching %zu devices\n", client.status().value().npus.size());
  std::fflush(stdout);
  std::unique_lock lock(mutex);
  called.wait(lock, [&] { return calls >= count; });
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc == 2 ? std::atoi(argv[1]) : 0;
  if (count <= 0) {
    std::fprintf(stderr, "usage: %s COUNT   end after so many callbacks\n", argv[0]);
    return 2;
  }
  try {
    run(count);
  } catch (const tg::Failure& failure) {
    std::fprintf(stderr, "%s: %s\n", failure.error().reason.c_str(), failure.what());
    return 1;
  }
  return 0;
}
