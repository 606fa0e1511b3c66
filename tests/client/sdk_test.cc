// The C++ client as a program uses it, against a service on stand-ins behind a real socket.
#include "tangram/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <mutex>
#include <set>

#include "server/harness.h"

namespace tangram::client {
namespace {

using service::testing::eventually;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SdkTest : public ::testing::Test {
 protected:
  SdkTest() : client(api::Client::connect({.endpoint = daemon.socket()}).value()) {}

  api::JobRequest job(const std::string& tenant, std::int64_t npus = 1) {
    return {.tenant = tenant, .npus = npus, .command = {"/bin/true"}};
  }
  void finish(const std::string& id) { daemon.machine.world.finish({id, 1}, Outcome::kSucceeded, 0); }

  server::testing::Api daemon;
  api::Client client;
};

// Without this, a program could not tell a daemon that is away from one that says no, or would guess why.
TEST(SdkConnect, SaysWhyItCannot) {
  const auto away = api::Client::connect({.endpoint = "/nonexistent/tangram.sock"});
  ASSERT_FALSE(away);
  EXPECT_EQ(away.error().code, api::ErrorCode::kUnavailable);
  EXPECT_EQ(away.error().reason, "client.unreachable");
  EXPECT_THAT(away.error().hint,
              HasSubstr("start tangramd, or name its socket with ConnectOptions::endpoint"));
  const auto elsewhere = api::Client::connect({.endpoint = "https://127.0.0.1:1"});
  ASSERT_FALSE(elsewhere);
  EXPECT_THAT(elsewhere.error().hint, HasSubstr("check ConnectOptions::endpoint, and"));
  EXPECT_THROW(
      try {
        (void)api::Client::connect({.endpoint = "/nonexistent"}).value();
      } catch (const api::Failure& failure) {
        EXPECT_EQ(failure.error().reason, "client.unreachable");
        throw;
      },
      api::Failure);
}

// Without this, a program that names a daemon elsewhere wrongly would not learn what is wrong with the name.
TEST(SdkConnect, RefusesAnAddressThatIsNone) {
  const auto wrong = api::Client::connect({.endpoint = "ftp://box.example"});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, api::ErrorCode::kInvalidArgument);
  EXPECT_EQ(wrong.error().reason, "client.server.invalid");
  EXPECT_THAT(wrong.error().message, HasSubstr("ConnectOptions::endpoint 'ftp://box.example'"));
  const auto exposed =
      api::Client::connect({.endpoint = "https://localhost:1", .token_file = "/etc/hostname"});
  ASSERT_FALSE(exposed);
  EXPECT_EQ(exposed.error().reason, "client.token_file.exposed");
}

// Without this, a tenant would be registered with other limits than those that the program named.
TEST_F(SdkTest, TenantsComeBackAsTheyWereRegistered) {
  api::Tenant tenant{.name = "team-z", .parent = "team-a", .members = {4711}};
  tenant.quota.npus = 3;
  tenant.quota.memory_per_npu_bytes = std::int64_t{16} << 30;
  tenant.quota.run_time = std::chrono::hours(24);
  tenant.quota.priorities = {api::Priority::kNormal, api::Priority::kLow};
  tenant.job_defaults.cpu_milli = 2'500;
  ASSERT_TRUE(client.put_tenant(tenant));
  const auto back = client.tenant("team-z");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->tenant.parent, "team-a");
  EXPECT_THAT(back->tenant.members, ElementsAre(4711U));
  EXPECT_EQ(back->tenant.quota.npus, 3);
  EXPECT_EQ(back->tenant.quota.memory_per_npu_bytes, std::int64_t{16} << 30);
  EXPECT_EQ(back->tenant.quota.run_time, milliseconds(86'400'000));
  EXPECT_EQ(back->tenant.quota.priorities, tenant.quota.priorities);
  EXPECT_FALSE(back->tenant.quota.ai_cores) << "absent is unlimited";
  EXPECT_EQ(back->tenant.job_defaults.cpu_milli, 2'500);
  EXPECT_EQ(client.tenants()->size(), 4U);
  ASSERT_TRUE(client.delete_tenant("team-z"));
  const auto gone = client.tenant("team-z");
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, api::ErrorCode::kNotFound);
  EXPECT_EQ(client.put_tenant({.name = "No Name"}).error().code, api::ErrorCode::kInvalidArgument);
  EXPECT_EQ(client.put_tenant({.name = "x", .quota = {.npus = -1}}).error().reason,
            "client.value.out_of_range");
}

// Without this, changing limits would take effect late, or drop what else the tenant is.
TEST_F(SdkTest, AQuotaTakesEffectAtOnce) {
  ASSERT_TRUE(
      client.put_tenant({.name = "team-z", .quota = {.npus = 1, .running_jobs = 5}, .members = {4711}}));
  const auto first = client.submit(job("team-z"));
  const auto second = client.submit(job("team-z"));
  ASSERT_TRUE(first && second);
  ASSERT_TRUE(eventually([&] { return client.job(second->id)->state == api::JobState::kWaiting; }));
  const auto changed = client.set_quota("team-z", {.npus = 2});
  ASSERT_TRUE(changed) << changed.error().message;
  EXPECT_EQ(changed->tenant.quota.npus, 2);
  EXPECT_FALSE(changed->tenant.quota.running_jobs);
  EXPECT_THAT(changed->tenant.members, ElementsAre(4711U));
  EXPECT_TRUE(eventually([&] { return client.job(second->id)->state == api::JobState::kRunning; }));
}

// Without this, a program could ask for a slice and be given a whole NPU, or not learn what it was given.
TEST_F(SdkTest, ASliceIsAskedForAndShown) {
  api::JobRequest request = job("team-a");
  request.slice = api::SliceRequest{.memory_bytes = std::int64_t{4} << 30, .ai_cores = 2};
  const auto refused = client.submit(request);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "request.slice.unsupported") << "nothing here can be cut";
  EXPECT_EQ(client.allocate({.tenant = "team-a", .slice = request.slice}).error().reason,
            "request.slice.unsupported");

  daemon.machine.devices.set_npu(service::testing::npu_310p3(0));
  std::string id;
  ASSERT_TRUE(eventually([&] {
    const auto submitted = client.submit(request);
    if (submitted) id = submitted->id;
    return submitted.has_value();
  }));
  ASSERT_TRUE(eventually([&] { return client.job(id)->state == api::JobState::kRunning; }));
  const auto shown = client.job(id);
  ASSERT_TRUE(shown && shown->slice_requested && shown->slice);
  EXPECT_EQ(shown->slice_requested->memory_bytes, std::int64_t{4} << 30);
  EXPECT_EQ(shown->slice_requested->ai_cores, 2);
  EXPECT_EQ(shown->slice->template_name, "vir02");
  EXPECT_EQ(shown->slice->memory_bytes, std::int64_t{6} << 30);
  EXPECT_EQ(shown->slice->usable_memory_bytes, std::int64_t{5381} << 20);
  EXPECT_EQ(shown->slice->ai_cores, 2);
  const auto lease = client.allocate({.tenant = "team-a", .slice = request.slice});
  ASSERT_TRUE(lease) << lease.error().message;
}

// Without this, a program would not find the job that it submitted, or not learn how it ended.
TEST_F(SdkTest, AJobFromItsSubmissionToItsEnd) {
  api::JobRequest request = job("team-a", 2);
  request.name = "train-001";
  request.labels = {{"model", "bert"}};
  request.priority = api::Priority::kHigh;
  request.time_limit = std::chrono::minutes(5);
  const auto submitted = client.submit(request);
  ASSERT_TRUE(submitted) << submitted.error().message;
  const std::string id = submitted->id;
  ASSERT_TRUE(eventually([&] { return client.job(id)->state == api::JobState::kRunning; }));
  const api::Job running = client.job("team-a/train-001").value();
  EXPECT_THAT(running.npus, ElementsAre(0U, 1U));
  EXPECT_EQ(running.priority, api::Priority::kHigh);
  EXPECT_EQ(running.time_limit, milliseconds(300'000));
  EXPECT_FALSE(running.is_lease);
  EXPECT_EQ(client.wait(id, milliseconds(10))->state, api::JobState::kRunning) << "the time is over";
  EXPECT_EQ(client.jobs({.labels = {{"model", "bert"}}})->size(), 1U);
  EXPECT_THAT(client.jobs({.labels = {{"model", "other"}}}).value(), IsEmpty());

  const api::Job waiting = client.submit(job("team-a")).value();
  const api::Explanation why = client.why(waiting.id).value();
  EXPECT_THAT(why.verdict, HasSubstr("team-a"));
  ASSERT_FALSE(why.blockers.empty());
  EXPECT_EQ(why.blockers.front().code, "quota.npus.exceeded");
  EXPECT_EQ(client.cancel(waiting.id)->outcome, api::Outcome::kCancelled);

  finish(id);
  const auto ended = client.wait(id);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->outcome, api::Outcome::kSucceeded);
  EXPECT_EQ(ended->exit_status, 0);
  EXPECT_GE(*ended->ended_at, ended->submitted_at);
  EXPECT_THAT(client.jobs().value(), IsEmpty());
  EXPECT_EQ(client.jobs({.ended_too = true})->size(), 2U);
}

// Without this, a program that waits for its job would take it for failed when its tenant asks too much for a
// moment.
TEST(SdkWait, GoesOnThroughRefusalsThatPass) {
  std::string folder = "/tmp/tg-sdk-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  std::atomic<int> calls = 0;
  const auto answer = [&](const net::Request& request) -> net::Response {
    if (request.path == "/v1/version") return {200, {}, wire::write(wire::VersionView{"0.1.0", "v1"})};
    wire::JobView view;
    view.id = "j-1";
    view.tenant = "team-a";
    view.state = calls < 3 ? JobState::kRunning : JobState::kEnded;
    const Error refusal =
        ++calls % 2 == 1 ? Error{Code::kResourceExhausted, "rate.exceeded", "too fast", "", {}, nullptr}
                         : Error{Code::kUnavailable, "http.connections.exceeded", "full", "", {}, nullptr};
    if (calls != 2 && calls < 5) return {wire::http_status(refusal), {}, wire::write_problem(refusal)};
    return {200, {}, wire::write(view)};
  };
  net::ServerOptions options;
  options.endpoints = {net::UnixEndpoint{folder + "/s", 0600, std::nullopt, std::nullopt}};
  auto server = net::HttpServer::start(options, [&](const net::Request& request, net::Responder responder) {
    responder.send(answer(request));
  });
  ASSERT_TRUE(server) << server.error().to_string();
  const auto client = api::Client::connect({.endpoint = folder + "/s"});
  ASSERT_TRUE(client) << client.error().message;
  const auto ended = client->wait("j-1");
  ASSERT_TRUE(ended) << ended.error().message;
  EXPECT_EQ(ended->state, api::JobState::kEnded);
  EXPECT_EQ(calls, 5) << "refused, running, refused twice, ended";
  calls = 2;
  const auto late = client->wait("j-1", milliseconds(100));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().reason, "http.connections.exceeded") << "what it was told when its time was over";
  std::filesystem::remove_all(folder);
}

// Without this, a lost answer to a submission would be a second job.
TEST_F(SdkTest, TheSameKeyIsTheSameJob) {
  api::JobRequest request = job("team-a");
  request.idempotency_key = "once";
  const auto first = client.submit(request);
  EXPECT_EQ(client.submit(request)->id, first->id);
  request.idempotency_key.clear();
  EXPECT_NE(client.submit(request)->id, first->id);
}

// Without this, a program could not see which NPUs there are.
TEST_F(SdkTest, StatusTellsTheNpus) {
  const auto status = client.status();
  ASSERT_TRUE(status);
  ASSERT_EQ(status->npus.size(), 4U);
  EXPECT_EQ(status->npus[3].id, 3U);
  EXPECT_EQ(status->npus[3].health, api::Health::kOk);
  EXPECT_EQ(status->npus_free, 4);
  EXPECT_EQ(client.version().value(), status->version);
}

// Without this, a program could not hold NPUs, or would not give them back.
TEST_F(SdkTest, ALeaseIsHeldUntilItIsReleased) {
  auto lease = client.allocate({.tenant = "team-a", .name = "notebook", .npus = 2});
  ASSERT_TRUE(lease) << lease.error().message;
  EXPECT_EQ(lease->visible_devices(), "0,1");
  EXPECT_EQ(lease->news().state, api::LeaseState::kHeld);
  EXPECT_TRUE(client.job(lease->id())->is_lease);
  EXPECT_EQ(client.tenant("team-a")->used.npus, 2);
  EXPECT_EQ(client.status()->npus[0].job, lease->id());
  ASSERT_TRUE(lease->release());
  EXPECT_EQ(client.tenant("team-a")->used.npus, 0) << "free when release() returns";
  EXPECT_EQ(lease->news().state, api::LeaseState::kEnded);
  EXPECT_EQ(lease->news().job.outcome, api::Outcome::kSucceeded);
  EXPECT_TRUE(lease->release()) << "twice is no error";
}

// Without this, a lease would outlive the object that holds it, or die with the client or a move.
TEST_F(SdkTest, ALeaseLivesAsLongAsItsObject) {
  std::string id;
  {
    std::optional<api::Client> short_lived = api::Client::connect({.endpoint = daemon.socket()}).value();
    api::Lease lease = short_lived->allocate({.tenant = "team-a"}).value();
    short_lived.reset();
    id = lease.id();
    api::Lease moved = std::move(lease);
    EXPECT_EQ(client.job(id)->state, api::JobState::kRunning);
    moved = client.allocate({.tenant = "team-b"}).value();
    EXPECT_EQ(client.job(id)->outcome, api::Outcome::kSucceeded) << "the old one was given back";
    id = moved.id();
    EXPECT_EQ(client.job(id)->state, api::JobState::kRunning);
  }
  EXPECT_EQ(client.job(id)->outcome, api::Outcome::kSucceeded);
}

// Without this, a program would wait for ever, or take for a refusal what is only a wait.
TEST_F(SdkTest, AllocateSaysWhatALeaseWaitsFor) {
  const api::Lease all = client.allocate({.tenant = "team-a", .npus = 2}).value();
  for (const bool no_wait : {true, false}) {
    const auto late = client.allocate({.tenant = "team-a", .no_wait = no_wait}, milliseconds(50));
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, api::ErrorCode::kNotNow);
    EXPECT_EQ(late.error().reason, "quota.npus.exceeded");
    EXPECT_THAT(late.error().message, HasSubstr("2 of 2"));
  }
  EXPECT_THAT(client.jobs({.state = api::JobState::kWaiting}).value(), IsEmpty()) << "nothing waits on";
  const auto never = client.allocate({.tenant = "team-a", .npus = 3});
  ASSERT_FALSE(never);
  EXPECT_EQ(never.error().code, api::ErrorCode::kPolicyRefused);
}

// Without this, a holder would not learn that it must give its NPUs back.
TEST_F(SdkTest, TheHandlerHearsWhatBecomesOfTheLease) {
  std::mutex mutex;
  std::vector<api::LeaseState> states;
  const api::Lease all = client.allocate({.tenant = "team-a", .npus = 2}).value();
  std::thread later([&] {
    EXPECT_TRUE(eventually([&] {
      const std::lock_guard lock(mutex);
      return !states.empty();
    }));
    EXPECT_TRUE(const_cast<api::Lease&>(all).release());
  });
  const api::Lease lease = client
                               .allocate({.tenant = "team-a"}, std::nullopt,
                                         [&](const api::LeaseNews& news) {
                                           const std::lock_guard lock(mutex);
                                           if (states.empty() || states.back() != news.state)
                                             states.push_back(news.state);
                                         })
                               .value();
  later.join();
  ASSERT_TRUE(client.cancel(lease.id()));
  EXPECT_TRUE(eventually([&] { return lease.news().state == api::LeaseState::kStopping; }));
  const api::LeaseNews news = lease.news();
  EXPECT_EQ(news.stopping, api::Outcome::kCancelled);
  EXPECT_TRUE(news.release_by);
  EXPECT_THAT(news.message, HasSubstr("cancelled"));
  ASSERT_TRUE(const_cast<api::Lease&>(lease).release());
  EXPECT_EQ(lease.wait_ended(seconds(20)).job.outcome, api::Outcome::kCancelled);
  EXPECT_TRUE(eventually([&] {
    const std::lock_guard lock(mutex);
    return states.back() == api::LeaseState::kEnded;
  }));
  const std::lock_guard lock(mutex);
  EXPECT_THAT(states, ElementsAre(api::LeaseState::kWaiting, api::LeaseState::kHeld,
                                  api::LeaseState::kStopping, api::LeaseState::kEnded));
}

// Without this, a program would miss events, or get those that it did not ask for.
TEST_F(SdkTest, EventsComeInTheirOrderAndCanBeTakenUpAgain) {
  std::mutex mutex;
  std::vector<std::string> types;
  const auto keep = [&](const api::Event& event) {
    const std::lock_guard lock(mutex);
    types.push_back(event.type + " " + event.job);
    EXPECT_THAT(event.json, HasSubstr(event.cursor));
  };
  const auto count = [&] {
    const std::lock_guard lock(mutex);
    return types.size();
  };
  std::string cursor;
  std::string id;
  {
    const api::Subscription events =
        client.subscribe({.tenant = "team-a", .types = {"job.submitted", "job.running"}}, keep).value();
    ASSERT_TRUE(client.submit(job("team-b")));
    id = client.submit(job("team-a"))->id;
    ASSERT_TRUE(eventually([&] { return count() == 2; }));
    cursor = events.cursor();
    EXPECT_FALSE(events.ended());
  }
  finish(id);
  ASSERT_EQ(client.wait(id)->outcome, api::Outcome::kSucceeded);
  const api::Subscription again =
      client.subscribe({.job = id, .types = {"job.*"}, .after = cursor}, keep).value();
  ASSERT_TRUE(eventually([&] { return count() == 3; }));
  const std::lock_guard lock(mutex);
  EXPECT_THAT(types, ElementsAre("job.submitted " + id, "job.running " + id, "job.ended " + id));
}

// Without this, a program would have to begin anew with every restart of the daemon, and not know what it
// missed.
TEST_F(SdkTest, EventsGoOnOverARestartOfTheDaemon) {
  std::mutex mutex;
  std::vector<std::string> cursors;
  const api::Subscription events = client
                                       .subscribe({.types = {"job.submitted", "daemon.started"}},
                                                  [&](const api::Event& event) {
                                                    const std::lock_guard lock(mutex);
                                                    cursors.push_back(event.cursor);
                                                  })
                                       .value();
  const auto count = [&] {
    const std::lock_guard lock(mutex);
    return cursors.size();
  };
  ASSERT_TRUE(client.submit(job("team-a")));
  ASSERT_TRUE(eventually([&] { return count() == 1; }));
  daemon.restart();
  ASSERT_TRUE(client.submit(job("team-a")));
  ASSERT_TRUE(eventually([&] { return count() == 3; }));
  EXPECT_FALSE(events.ended());
  const std::lock_guard lock(mutex);
  EXPECT_EQ(std::set<std::string>(cursors.begin(), cursors.end()).size(), 3U) << "none comes twice";
}

// Without this, a mistake in a question would look like a silence.
TEST_F(SdkTest, AQuestionForNoEventsIsRefused) {
  const auto bad = client.subscribe({.types = {"job.unheard"}}, [](const api::Event&) {});
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, api::ErrorCode::kInvalidArgument);
  EXPECT_FALSE(client.subscribe({.after = "yesterday"}, [](const api::Event&) {}));
}

// Without this, a program would hear of a broken NPU late, twice or never.
TEST_F(SdkTest, HealthIsToldOnceForEachChange) {
  std::mutex mutex;
  std::vector<api::HealthChange> changes;
  const api::Subscription health = client
                                       .watch_health([&](const api::HealthChange& change) {
                                         const std::lock_guard lock(mutex);
                                         changes.push_back(change);
                                       })
                                       .value();
  const auto count = [&] {
    const std::lock_guard lock(mutex);
    return changes.size();
  };
  ASSERT_EQ(count(), 4U) << "each NPU once before it returns";
  daemon.machine.devices.set_health(2, Health::kAlarm);
  ASSERT_TRUE(eventually([&] { return count() == 5; }));
  daemon.machine.devices.set_health(2, Health::kOk);
  ASSERT_TRUE(eventually([&] { return count() == 6; }));
  daemon.machine.devices.remove_npu(1);
  ASSERT_TRUE(eventually([&] { return count() == 7; }));
  const std::lock_guard lock(mutex);
  EXPECT_FALSE(changes[0].before);
  EXPECT_EQ(changes[4].npu, 2U);
  EXPECT_EQ(changes[4].before, api::Health::kOk);
  EXPECT_EQ(changes[4].now, api::Health::kAlarm);
  EXPECT_EQ(changes[5].now, api::Health::kOk);
  EXPECT_EQ(changes[6].npu, 1U);
  EXPECT_EQ(changes[6].now, api::Health::kAbsent);
}

}  // namespace
}  // namespace tangram::client
