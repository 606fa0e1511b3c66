// What a holder makes of the stream that it holds its lease by, of one that breaks, and of a daemon that
// goes.
#include "client/lease_keeper.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "net/server.h"
#include "wire/errors.h"

namespace tangram::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kPatience{20};

wire::LeaseView lease(JobState state, const std::string& token = "") {
  wire::LeaseView view;
  view.job.id = "j-7";
  view.job.kind = wire::JobKind::kLease;
  view.job.tenant = "team-a";
  view.job.state = state;
  if (state == JobState::kRunning) view.job.npus = {2, 3};
  view.token = token;
  view.grace_ms = 10'000;
  return view;
}

std::string event(const wire::LeaseView& view) {
  return "event: lease\ndata: " + wire::write(view) + "\n\n";
}

// A daemon that answers as the test says, and can be away.
class LeaseKeeperTest : public testing::Test {
 protected:
  using Handler = std::function<void(const net::Request&, net::Responder)>;

  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "tg-lease-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    come();
    ApiClientOptions to_socket;
    to_socket.socket_path = folder_ + "/s";
    to_socket.timeout = milliseconds(5'000);
    api = std::make_unique<ApiClient>(to_socket);
  }
  void TearDown() override {
    go();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  void come() {
    net::ServerOptions options;
    options.endpoints = {net::UnixEndpoint{folder_ + "/s", 0600, std::nullopt, std::nullopt}};
    auto server =
        net::HttpServer::start(options, [this](const net::Request& request, net::Responder responder) {
          Handler handler;
          {
            const std::lock_guard lock(mutex_);
            bodies_[request.path] = request.body;
            handler = handlers_[request.path];
          }
          if (handler) return handler(request, std::move(responder));
          responder.send(
              {404, {}, wire::write_problem({Code::kNotFound, "job.unknown", "no job", "", {}, nullptr})});
        });
    ASSERT_TRUE(server) << server.error().to_string();
    server_ = std::move(*server);
  }
  // The daemon dies: streams break without a last word.
  void go() {
    if (server_) server_->stop(milliseconds(0));
    server_.reset();
  }

  // The call is answered with a stream that begins so and stays open until the test writes more.
  Handler stream(std::string first) {
    return [this, first = std::move(first)](const net::Request&, net::Responder responder) {
      // Before the first byte is out: the test may write as soon as it is read.
      const std::lock_guard lock(mutex_);
      net::StreamWriter writer = responder.stream({200, {}, first});
      writer.on_cancel([writer]() mutable { writer.finish(); });
      writer_ = writer;
    };
  }
  static Handler answer(int status, std::string body) {
    return [status, body = std::move(body)](const net::Request&, net::Responder responder) {
      responder.send({status, {}, body});
    };
  }
  void write(const std::string& text) {
    const std::lock_guard lock(mutex_);
    ASSERT_TRUE(writer_);
    writer_->write(text);
  }
  void end_stream() {
    const std::lock_guard lock(mutex_);
    writer_->finish();
  }
  std::string body(const std::string& path) {
    const std::lock_guard lock(mutex_);
    return bodies_[path];
  }
  void set(const std::string& path, Handler handler) {
    const std::lock_guard lock(mutex_);
    handlers_[path] = std::move(handler);
  }
  Result<std::unique_ptr<LeaseKeeper>> ask() {
    wire::LeaseRequest request;
    request.tenant = "team-a";
    request.npus = 2;
    return LeaseKeeper::ask(*api, request, [this](const LeaseNews&) { ++told; });
  }
  static bool eventually(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(milliseconds(2));
    }
    return true;
  }

  std::unique_ptr<ApiClient> api;
  std::atomic<int> told = 0;

 private:
  std::string folder_;
  std::mutex mutex_;
  std::map<std::string, Handler> handlers_;
  std::map<std::string, std::string> bodies_;
  std::optional<net::StreamWriter> writer_;
  std::unique_ptr<net::HttpServer> server_;
};

// Without this, a caller would not learn which NPUs it was given, or that it waits.
TEST_F(LeaseKeeperTest, TellsTheWaitAndTheGrant) {
  set("/v1/leases", stream(event(lease(JobState::kWaiting, "tgl_secret"))));
  const auto keeper = ask();
  ASSERT_TRUE(keeper) << keeper.error().to_string();
  EXPECT_EQ((*keeper)->news().view.job.state, JobState::kWaiting);
  EXPECT_EQ((*keeper)->wait_given(milliseconds(20)).view.job.state, JobState::kWaiting) << "the time is over";
  write(event(lease(JobState::kRunning)));
  const LeaseNews news = (*keeper)->wait_given(kPatience);
  EXPECT_EQ(news.view.job.npus, (std::vector<std::uint32_t>{2, 3}));
  EXPECT_TRUE(news.connected);
  EXPECT_TRUE(news.view.token.empty()) << "the token is nobody else's business";
  EXPECT_TRUE(eventually([&] { return told >= 2; }));
}

// Without this, a refusal would look like a lease that never comes.
TEST_F(LeaseKeeperTest, ARefusalIsTheErrorThatItWas) {
  const Error there{
      Code::kPolicyRefused, "quota.npus.above_limit", "2 asked, 1 allowed", "ask for 1", {}, nullptr};
  set("/v1/leases", answer(422, wire::write_problem(there)));
  const auto keeper = ask();
  ASSERT_FALSE(keeper);
  EXPECT_EQ(keeper.error().reason, there.reason);
  go();
  EXPECT_EQ(ask().error().reason, "client.unreachable");
}

// Without this, a restart of the daemon would cost every holder its lease.
TEST_F(LeaseKeeperTest, TakesTheLeaseUpAgainWhenTheDaemonIsBack) {
  set("/v1/leases", stream(event(lease(JobState::kRunning, "tgl_secret"))));
  const auto keeper = ask();
  ASSERT_TRUE(keeper);
  go();
  ASSERT_TRUE(eventually([&] { return !(*keeper)->news().connected; }));
  EXPECT_FALSE((*keeper)->news().over()) << "nobody has said that it is lost";
  set("/v1/leases/j-7/hold", stream(event(lease(JobState::kRunning))));
  come();
  ASSERT_TRUE(eventually([&] { return (*keeper)->news().connected; }));
  EXPECT_EQ(wire::read_lease_token(body("/v1/leases/j-7/hold"))->token, "tgl_secret");
  // A daemon that stops in order ends the stream without a last word; that is no end of the lease either.
  end_stream();
  EXPECT_TRUE(eventually([&] { return (*keeper)->news().connected && !(*keeper)->news().over(); }));
}

// Without this, a holder would go on with NPUs that are somebody else's by now.
TEST_F(LeaseKeeperTest, LearnsThatItCameTooLate) {
  set("/v1/leases", stream(event(lease(JobState::kRunning, "tgl_secret"))));
  const auto keeper = ask();
  ASSERT_TRUE(keeper);
  go();
  ASSERT_TRUE(eventually([&] { return !(*keeper)->news().connected; }));
  wire::JobView ended = lease(JobState::kEnded).job;
  ended.outcome = Outcome::kLost;
  set("/v1/jobs/j-7", answer(200, wire::write(ended)));
  set("/v1/leases/j-7/hold",
      answer(409, wire::write_problem(
                      {Code::kFailedPrecondition, "job.ended", "job j-7 has ended: lost", "", {}, nullptr})));
  come();
  const LeaseNews news = (*keeper)->wait_over(kPatience);
  EXPECT_EQ(news.view.job.outcome, Outcome::kLost);
}

// Without this, two holders of one token would take the lease from each other for ever.
TEST_F(LeaseKeeperTest, GivesWayToAnotherHolder) {
  set("/v1/leases", stream(event(lease(JobState::kRunning, "tgl_secret"))));
  const auto keeper = ask();
  ASSERT_TRUE(keeper);
  set("/v1/jobs/j-7", answer(200, wire::write(lease(JobState::kRunning).job)));
  write("event: problem\ndata: " +
        wire::write_problem({Code::kAborted, "lease.taken_up", "another has it", "", {}, nullptr}) + "\n\n");
  const LeaseNews news = (*keeper)->wait_over(kPatience);
  ASSERT_TRUE(news.lost);
  EXPECT_EQ(news.lost->reason, "lease.taken_up");
  EXPECT_TRUE(body("/v1/leases/j-7/hold").empty());
}

// Without this, a release would be an accident to the service, or an error when it comes too late.
TEST_F(LeaseKeeperTest, ReleasesWithItsToken) {
  set("/v1/leases", stream(event(lease(JobState::kRunning, "tgl_secret"))));
  const auto keeper = ask();
  ASSERT_TRUE(keeper);
  wire::LeaseView ended = lease(JobState::kEnded);
  ended.job.outcome = Outcome::kSucceeded;
  set("/v1/leases/j-7/release", answer(200, wire::write(ended.job)));
  const auto released = (*keeper)->release();
  ASSERT_TRUE(released) << released.error().to_string();
  EXPECT_EQ(released->outcome, Outcome::kSucceeded);
  EXPECT_EQ(wire::read_lease_token(body("/v1/leases/j-7/release"))->token, "tgl_secret");
  write(event(ended));
  EXPECT_TRUE((*keeper)->wait_over(kPatience).over());
  EXPECT_EQ((*keeper)->release()->outcome, Outcome::kSucceeded) << "twice is no error";
}

// Without this, a program could not end while its lease is held, or while the daemon is away.
TEST_F(LeaseKeeperTest, LetsGoAtOnceWhereverItWaits) {
  set("/v1/leases", stream(event(lease(JobState::kRunning, "tgl_secret"))));
  {
    const auto started = std::chrono::steady_clock::now();
    ASSERT_TRUE(ask());
    EXPECT_LT(std::chrono::steady_clock::now() - started, seconds(4));
  }
  auto keeper = ask();
  ASSERT_TRUE(keeper);
  go();
  ASSERT_TRUE(eventually([&] { return !(*keeper)->news().connected; }));
  const auto started = std::chrono::steady_clock::now();
  keeper->reset();
  EXPECT_LT(std::chrono::steady_clock::now() - started, seconds(4));
}

}  // namespace
}  // namespace tangram::client
