// The article's PriorityScheduler: tasks of three priorities wait for a busy machine, and are given its NPUs
// in the order of their priorities.
//
// The article keeps queues of its own and looks for a free device. Here the queue is Tangram's: it knows how
// many NPUs each task needs, whom they belong to, and survives the scheduler. What the article calls a task
// is a job.
#include <tangram/client.h>

#include <condition_variable>
#include <cstdio>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tg = tangram::api;

namespace {

struct Task {
  std::string id;
  std::string tenant;
  std::string priority = "normal";
  tg::Labels about;  // the article's further fields: model, data
};

tg::Priority priority_of(const std::string& word) {
  if (word == "high") return tg::Priority::kHigh;
  return word == "low" ? tg::Priority::kLow : tg::Priority::kNormal;
}

class PriorityScheduler {
 public:
  PriorityScheduler(const tg::Client& client, std::vector<std::string> program)
      : client_(client), program_(std::move(program)) {
    const auto note = [this](const tg::Event& event) {
      const std::lock_guard lock(mutex_);
      given_.push_back(event);
      changed_.notify_one();
    };
    decisions_ = client.subscribe({.types = {"job.starting"}}, note).value();
  }

  void submit_task(const Task& task) {
    tg::JobRequest job;
    job.tenant = task.tenant;
    job.name = task.id;
    job.priority = priority_of(task.priority);
    job.labels = task.about;
    job.command = program_;
    names_[client_.submit(job).value().id] = task.id;
    std::printf("[调度] 任务 %s 进入 %s 队列\n", task.id.c_str(), task.priority.c_str());
  }

  // The queue as it will be served, and why its first one waits.
  void show() const {
    const auto waiting = client_.jobs({.state = tg::JobState::kWaiting}).value();
    for (const tg::Job& job : waiting) std::printf("[等待] %s\n", job.name.c_str());
    if (!waiting.empty()) std::printf("[原因] %s\n", client_.why(waiting.front().id).value().verdict.c_str());
  }

  // Tells which device each task is given, in the order of the decisions. Returns when every task has run.
  void schedule() {
    std::unique_lock lock(mutex_);
    for (std::size_t told = 0; told < names_.size();) {
      changed_.wait(lock, [&] { return !given_.empty(); });
      const tg::Event decision = given_.front();
      given_.pop_front();
      const auto task = names_.find(decision.job);
      if (task == names_.end()) continue;  // of somebody else
      std::printf("[调度] 任务 %s → NPU %u\n", task->second.c_str(), decision.npus.front());
      ++told;
    }
    lock.unlock();
    for (const auto& [job, name] : names_) client_.wait(job).value();
  }

 private:
  const tg::Client& client_;
  std::vector<std::string> program_;
  std::map<std::string, std::string> names_;  // of the tasks, by the ids of their jobs
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<tg::Event> given_;  // NPUs, and not told yet
  std::optional<tg::Subscription> decisions_;
};

void run(const std::vector<std::string>& program) {
  const tg::Client client = tg::Client::connect().value();
  for (const char* tenant : {"inference", "training", "preprocessing", "maintenance"}) {
    client.put_tenant({.name = tenant}).value();
  }
  // The machine is busy: somebody holds all of it.
  const auto npus = static_cast<std::int64_t>(client.status().value().npus.size());
  tg::Lease everything = client.allocate({.tenant = "maintenance", .npus = npus}).value();
  std::printf("[占用] %s 持有 NPU %s\n", everything.id().c_str(), everything.visible_devices().c_str());

  PriorityScheduler scheduler(client, program);
  scheduler.submit_task({"preproc-001", "preprocessing", "low", {{"data", "imagenet"}}});
  scheduler.submit_task({"train-001", "training", "normal", {{"model", "bert-base"}}});
  scheduler.submit_task({"infer-001", "inference", "high", {{"model", "resnet50"}}});
  scheduler.show();
  everything.release().value();
  scheduler.schedule();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s PROGRAM [ARGUMENT...]   what each task runs\n", argv[0]);
    return 2;
  }
  try {
    run({argv + 1, argv + argc});
  } catch (const tg::Failure& failure) {
    std::fprintf(stderr, "%s: %s\n", failure.error().reason.c_str(), failure.what());
    return 1;
  }
  return 0;
}
