// A job's output over the API.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>

#include "server/harness.h"

namespace tangram::server::testing {
namespace {

class LogsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    job = wire::read_job_view(api.post("/v1/jobs", kJobOfTeamA).body)->id;
    ASSERT_TRUE(api.machine.reaches(job, JobState::kRunning));
    path = api.machine.executor->log_path({job, 1});
  }
  void write(const std::string& text) { std::ofstream(path, std::ios::app) << text << std::flush; }
  void finish() { api.machine.world.finish({job, 1}, Outcome::kSucceeded, 0); }

  Api api;
  std::string job;
  std::string path;
};

// Without this, output could not be read, or be read again from the start only.
TEST_F(LogsTest, GivesWhatIsThereFromAnOffset) {
  EXPECT_EQ(api.get("/v1/jobs/" + job + "/logs").body, "");
  write("hello world\n");
  const auto all = api.get("/v1/jobs/" + job + "/logs");
  EXPECT_EQ(all.body, "hello world\n");
  EXPECT_EQ(all.headers.get("Tangram-Log-Offset"), "0");
  const auto rest = api.get("/v1/jobs/" + job + "/logs?offset=6");
  EXPECT_EQ(rest.body, "world\n");
  EXPECT_EQ(rest.headers.get("Tangram-Log-Offset"), "6");
  EXPECT_EQ(api.get("/v1/jobs/" + job + "/logs?offset=1000").body, "");
  EXPECT_EQ(api.get("/v1/jobs/" + job + "/logs?attempt=2").status, 404);
}

// Without this, `logs -f` would miss the last lines or never return.
TEST_F(LogsTest, FollowsUntilTheAttemptEnds) {
  std::string seen;
  std::mutex mutex;
  auto request = api.request(net::Method::kGet, "/v1/jobs/" + job + "/logs?follow=true");
  std::thread reader([&] {
    const auto done = api.client->stream(request, std::chrono::seconds(20), std::chrono::seconds(20),
                                         [&](std::string_view chunk) {
                                           const std::lock_guard lock(mutex);
                                           seen += chunk;
                                           return true;
                                         });
    EXPECT_TRUE(done) << done.error().to_string();
  });
  const auto has = [&](const std::string& text) {
    return service::testing::eventually([&] {
      const std::lock_guard lock(mutex);
      return seen.find(text) != std::string::npos;
    });
  };
  write("first\n");
  EXPECT_TRUE(has("first\n"));
  write("second\n");
  EXPECT_TRUE(has("second\n"));
  write("last words\n");
  finish();
  reader.join();
  EXPECT_EQ(seen, "first\nsecond\nlast words\n");
}

// Without this, a reader that is slower than the job would make the daemon keep the whole log in memory or
// lose it.
TEST_F(LogsTest, LargeOutputArrivesWhole) {
  std::string text;
  for (int i = 0; text.size() < (4U << 20); ++i) text += std::to_string(i) + "\n";
  write(text);
  finish();
  ASSERT_TRUE(api.machine.reaches(job, JobState::kEnded));
  std::string seen;
  const auto request = api.request(net::Method::kGet, "/v1/jobs/" + job + "/logs?follow=true");
  const auto done = api.client->stream(request, std::chrono::seconds(20), std::chrono::seconds(20),
                                       [&](std::string_view chunk) {
                                         seen += chunk;
                                         return true;
                                       });
  ASSERT_TRUE(done);
  EXPECT_EQ(seen, text);
}

// Without this, a tenant could point its log at a file of the daemon and read it.
TEST_F(LogsTest, DoesNotFollowLinks) {
  std::filesystem::create_symlink("/etc/passwd", path);
  EXPECT_EQ(api.get("/v1/jobs/" + job + "/logs").body, "");
}

// Without this, following a job that waits would end at once or fail.
TEST_F(LogsTest, FollowsAJobThatHasNotStarted) {
  const auto second = wire::read_job_view(
      api.post("/v1/jobs", R"({"tenant":"team-a","npus":2,"command":["/bin/true"]})").body);
  ASSERT_TRUE(api.machine.reaches(second->id, JobState::kWaiting));
  EXPECT_EQ(api.get("/v1/jobs/" + second->id + "/logs").body, "");
  std::string body;
  std::thread reader([&] { body = api.get("/v1/jobs/" + second->id + "/logs?follow=true").body; });
  finish();
  ASSERT_TRUE(api.machine.reaches(second->id, JobState::kRunning));
  std::ofstream(api.machine.executor->log_path({second->id, 1})) << "started\n";
  api.machine.world.finish({second->id, 1}, Outcome::kSucceeded, 0);
  reader.join();
  EXPECT_EQ(body, "started\n");
}

// Without this, a disk that stands still would hold up whoever has a deadline: waits, leases, retries.
TEST_F(LogsTest, AStalledDiskHoldsNoDeadlines) {
  std::string body;
  std::thread reader([&] { body = api.get("/v1/jobs/" + job + "/logs?follow=true").body; });
  auto& executor = *api.machine.executor;
  executor.hold_logs = true;
  EXPECT_TRUE(service::testing::eventually([&] { return executor.held_logs > 0; }));
  const auto begun = std::chrono::steady_clock::now();
  const auto waited = api.get("/v1/jobs/" + job + "/wait?timeout=100ms");
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(15));
  EXPECT_EQ(waited.status, 200);
  write("late\n");
  finish();
  executor.hold_logs = false;
  reader.join();
  EXPECT_EQ(body, "late\n");
}

// Without this, whoever reads a log as fast as it grows would keep a thread of its share for ever.
TEST(LogsOfASlowDisk, LetOthersOfTheShareInBetween) {
  // One thread for each share.
  Api api(net::ServerLimits(), [](service::Options&) {}, {100'000, 100'000}, 2);
  const std::string job = wire::read_job_view(api.post("/v1/jobs", kJobOfTeamA).body)->id;
  ASSERT_TRUE(api.machine.reaches(job, JobState::kRunning));
  constexpr std::size_t kBytes = 32U << 20;  // ten seconds of them
  std::ofstream(api.machine.executor->log_path({job, 1})) << std::string(kBytes, 'x');
  api.machine.executor->log_delay_ms = 20;
  std::atomic<std::size_t> seen = 0;
  std::atomic<bool> stop = false;
  std::thread reader([&] {
    const auto request = api.request(net::Method::kGet, "/v1/jobs/" + job + "/logs?follow=true");
    (void)api.client->stream(request, std::chrono::seconds(60), std::chrono::seconds(60),
                             [&](std::string_view chunk) {
                               seen += chunk.size();
                               return !stop;
                             });
  });
  EXPECT_TRUE(service::testing::eventually([&] { return seen > 0; }));
  EXPECT_EQ(api.get("/v1/version").status, 200);
  EXPECT_LT(seen, kBytes / 2);
  stop = true;
  reader.join();
}

}  // namespace
}  // namespace tangram::server::testing
