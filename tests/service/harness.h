// A service on fakes, and the few calls that every test makes.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "service/fakes.h"
#include "service/service.h"
#include "wire/texts.h"

namespace tangram::service::testing {

inline constexpr std::chrono::seconds kPatience{20};

inline Caller caller_of(Caller::Kind kind, std::uint32_t uid = 0, TenantId tenant = TenantId()) {
  Caller caller;
  caller.kind = kind;
  caller.uid = uid;
  caller.tenant = tenant;
  return caller;
}

inline const Caller kOperator = caller_of(Caller::Kind::kOperator);

// Waits until the condition holds; false when it never did.
inline bool eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

// Things that outlive the daemon, and the daemon.
class Machine {
 public:
  explicit Machine(int npus = 4) : devices(npus) {
    options.node = "node-1";
    options.scan_interval_ms = 20;
    options.lost_after_ms = 0;
    options.failure_scan_wait_ms = 5'000;
    options.sweep_interval_ms = 20;
    options.effect_threads = 2;
  }
  ~Machine() { stop(); }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  void start() {
    executor = std::make_unique<FakeExecutor>(world);
    executor->log_directory = log_directory;
    service = std::make_unique<Service>(options, store, *executor, devices, clock);
    const auto started = service->start();
    ASSERT_TRUE(started) << started.error().to_string();
  }
  void stop() {
    service.reset();
    executor.reset();
  }
  // The daemon dies, as far as its processes can tell.
  void crash() {
    stop();
    world.daemon_died();
  }

  template <class T>
  Result<T> call(const std::function<void(Done<T>)>& start) {
    std::promise<Result<T>> answer;
    auto future = answer.get_future();
    start([&answer](Result<T> result) { answer.set_value(std::move(result)); });
    if (future.wait_for(kPatience) != std::future_status::ready) {
      ADD_FAILURE() << "the service did not answer";
      std::abort();
    }
    return future.get();
  }

  Result<wire::ApplyAnswer> apply(const std::string& yaml, const Caller& caller = kOperator) {
    auto documents = wire::read_documents(yaml, wire::Format::kYaml);
    if (!documents) return fail(documents.error());
    return call<wire::ApplyAnswer>([&](auto done) { service->apply(caller, *documents, done); });
  }
  // A tenant with a quota of so many NPUs.
  void tenant(const std::string& name, int npus, const std::string& more = "") {
    const auto done = apply("apiVersion: tangram.dev/v1\nkind: Tenant\nmetadata: {name: " + name +
                            "}\nspec: {quota: {npus: " + std::to_string(npus) + "}" + more + "}\n");
    ASSERT_TRUE(done) << done.error().to_string();
  }
  Answer submit(const std::string& json, const std::string& key = "", const Caller& caller = kOperator) {
    SubmitRequest request;
    auto read = wire::read_submissions(json);
    if (!read) {
      ADD_FAILURE() << read.error().to_string();
      return {};
    }
    request.submissions = std::move(*read);
    request.idempotency_key = key;
    request.request_hash = json;
    std::promise<Answer> answer;
    service->submit(caller, std::move(request), [&answer](Answer a) { answer.set_value(std::move(a)); });
    return answer.get_future().get();
  }
  // Submits one job that must be taken; its id.
  std::string job(const std::string& tenant, int npus, const std::string& more = "") {
    const Answer answer = submit(R"({"tenant":")" + tenant + R"(","npus":)" + std::to_string(npus) +
                                 R"(,"command":["/bin/true"])" + more + "}");
    EXPECT_EQ(answer.status, 201) << answer.body;
    const auto view = wire::read_job_view(answer.body);
    EXPECT_TRUE(view) << answer.body;
    return view ? view->id : std::string();
  }
  wire::JobView view(const std::string& job) {
    const auto found = service->job(kOperator, job);
    if (found) return *found;
    ADD_FAILURE() << found.error().to_string();
    return {};
  }
  Result<wire::JobView> cancel(const std::string& job, const Caller& caller = kOperator) {
    return call<wire::JobView>([&](auto done) { service->cancel(caller, job, done); });
  }
  Result<wire::JobView> wait(const std::string& job, std::chrono::milliseconds timeout = kPatience) {
    return call<wire::JobView>([&](auto done) { service->wait(kOperator, job, timeout, done); });
  }
  // Asks for a lease in the name of a connection that is never told anything.
  Result<HeldLease> lease(const std::string& tenant, int npus, const std::string& more = "",
                          LeaseHolder holder = {nullptr, true}, const Caller& caller = kOperator) {
    auto request = wire::read_lease_request(R"({"tenant":")" + tenant + R"(","npus":)" +
                                            std::to_string(npus) + more + "}");
    if (!request) return fail(request.error());
    return call<HeldLease>([&](auto done) { service->lease(caller, *request, holder, done); });
  }
  Result<wire::JobView> release(const HeldLease& lease, const std::string& token) {
    return call<wire::JobView>(
        [&](auto done) { service->release(kOperator, wire::format_job_id(lease.job), token, done); });
  }
  bool reaches(const std::string& job, JobState state) {
    return eventually([&] { return view(job).state == state; });
  }
  // The present attempt of a job that runs.
  AttemptKey key(const std::string& job) { return {job, view(job).attempt}; }

  Options options;
  FakeStore store;
  FakeWorld world;
  FakeDevices devices;
  ManualClock clock;
  std::string log_directory;
  std::unique_ptr<FakeExecutor> executor;
  std::unique_ptr<Service> service;
};

}  // namespace tangram::service::testing
