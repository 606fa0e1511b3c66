// The client against a real listener with canned answers: what goes over the wire, and what comes of each
// answer.
#include "client/api_client.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <deque>
#include <filesystem>
#include <mutex>

#include "net/server.h"
#include "wire/errors.h"

namespace tangram::client {
namespace {

using std::chrono::milliseconds;

std::string job_json(const std::string& id) {
  wire::JobView view;
  view.id = id;
  view.tenant = "team-a";
  return wire::write(view);
}

ApiClientOptions to_socket(const std::string& path, milliseconds timeout) {
  ApiClientOptions options;
  options.socket_path = path;
  options.timeout = timeout;
  return options;
}

class ApiClientTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "tg-client-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    net::ServerOptions options;
    options.endpoints = {net::UnixEndpoint{socket(), 0600, std::nullopt, std::nullopt}};
    auto server =
        net::HttpServer::start(options, [this](const net::Request& request, net::Responder responder) {
          serve(request, std::move(responder));
        });
    ASSERT_TRUE(server) << server.error().to_string();
    server_ = std::move(*server);
  }

  void TearDown() override {
    server_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::string socket() const { return folder_ + "/s"; }

  void answer(int status, std::string body, net::Headers headers = {}) {
    const std::lock_guard lock(mutex_);
    answers_.push_back({status, std::move(headers), std::move(body)});
  }

  net::Request asked(std::size_t index = 0) {
    const std::lock_guard lock(mutex_);
    return index < requests_.size() ? requests_[index] : net::Request{};
  }

  ApiClient client() { return ApiClient(to_socket(socket(), milliseconds(5'000))); }

 private:
  void serve(const net::Request& request, net::Responder responder) {
    net::Response response{500, {}, "no answer is left"};
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
      if (!answers_.empty()) {
        response = answers_.front();
        answers_.pop_front();
      }
    }
    if (request.segments.back() != "logs" || response.status != 200) return responder.send(response);
    net::Response head;
    head.headers.add("Tangram-Log-Offset", "100");
    net::StreamWriter stream = responder.stream(head);
    stream.write(response.body);
    stream.finish();
  }

  std::string folder_;
  std::mutex mutex_;
  std::deque<net::Response> answers_;
  std::vector<net::Request> requests_;
  std::unique_ptr<net::HttpServer> server_;
};

std::string parameter(const net::Request& request, std::string_view name) {
  return std::string(request.query.get(name).value_or("(none)"));
}

// Without it a submission could go to the wrong place, or twice under no key.
TEST_F(ApiClientTest, SubmitPostsTheDocumentWithItsKey) {
  answer(201, job_json("j-1"));
  wire::JobSubmission submission;
  submission.tenant = "team-a";
  submission.command = {"./train"};
  const auto view = client().submit(submission, "key-1");
  ASSERT_TRUE(view) << view.error().to_string();
  EXPECT_EQ(view->id, "j-1");
  const net::Request request = asked();
  EXPECT_EQ(request.method, net::Method::kPost);
  EXPECT_EQ(request.path, "/v1/jobs");
  EXPECT_EQ(request.headers.get("Content-Type"), "application/json");
  EXPECT_EQ(request.headers.get("Idempotency-Key"), "key-1");
  EXPECT_EQ(wire::read_job_submission(request.body), submission);
}

// Without it an error of one item could be taken for one of all.
TEST_F(ApiClientTest, BatchKeepsEachItemsOwnAnswer) {
  wire::SubmitAnswer canned;
  canned.items.push_back(*wire::read_job_view(job_json("j-1")));
  canned.items.push_back(fail(Code::kPolicyRefused, "quota.priority.forbidden", "team-b may not use high"));
  answer(200, wire::write(canned));
  wire::JobSubmission submission;
  submission.command = {"./train"};
  const std::vector<wire::JobSubmission> two = {submission, submission};
  const auto answers = client().submit_all(two, "");
  ASSERT_TRUE(answers) << answers.error().to_string();
  ASSERT_EQ(answers->items.size(), 2U);
  EXPECT_TRUE(answers->items[0]);
  ASSERT_FALSE(answers->items[1]);
  EXPECT_EQ(answers->items[1].error().reason, "quota.priority.forbidden");
  EXPECT_FALSE(asked().headers.get("Idempotency-Key").has_value());
}

// Without it the service's reason and hint would be lost on the way to the terminal.
TEST_F(ApiClientTest, AProblemIsTheErrorThatItWasThere) {
  const Error there{Code::kNotFound, "job.unknown", "there is no job x", "tangram queue --all", {}, nullptr};
  answer(404, wire::write_problem(there));
  const auto view = client().job("x");
  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().code, Code::kNotFound);
  EXPECT_EQ(view.error().reason, there.reason);
  EXPECT_EQ(view.error().message, there.message);
  EXPECT_EQ(view.error().hint, there.hint);
}

std::optional<std::int64_t> retry_after_ms(const Error& error) {
  for (const auto& [name, value] : error.details) {
    if (name == "retryAfterMs") return std::get<std::int64_t>(value);
  }
  return std::nullopt;
}

// Without it nobody would know how long the server, or a proxy before it, wants to be left alone.
TEST_F(ApiClientTest, RetryAfterComesWithTheError) {
  const Error fast{Code::kResourceExhausted, "rate.exceeded", "too fast", "",
                   {{"retryAfterMs", 10}},   nullptr};
  const std::string problem = wire::write_problem(fast);
  answer(429, problem, {{"Retry-After", "2"}});
  EXPECT_EQ(retry_after_ms(client().status().error()), 2'000);
  answer(429, problem);
  EXPECT_EQ(retry_after_ms(client().status().error()), 10);
  answer(502, "<html>", {{"Retry-After", "7"}});
  EXPECT_EQ(retry_after_ms(client().status().error()), 7'000);
  for (const char* text : {"", "-1", "1.5", "2 s", "99999999999 s", "Fri, 31 Dec 1999 23:59:59 GMT"}) {
    answer(502, "", {{"Retry-After", text}});
    EXPECT_EQ(retry_after_ms(client().status().error()), std::nullopt) << text;
  }
  answer(502, "", {{"Retry-After", "99999999999"}});
  EXPECT_GE(retry_after_ms(client().status().error()).value_or(0), INT64_C(3'600'000)) << "not none";
  LogRequest request{std::nullopt, 0, true};
  answer(429, problem, {{"Retry-After", "3"}});
  EXPECT_EQ(retry_after_ms(client().logs("j-1", request, [](auto) { return true; }).error()), 3'000);
  std::string cursor;
  answer(503, problem, {{"Retry-After", "4"}});
  EXPECT_EQ(retry_after_ms(client().follow_events({}, cursor, [](auto) { return true; }).error()), 4'000);
}

// Without it a broken or foreign answer would be a crash or a bug of ours.
TEST_F(ApiClientTest, AnAnswerThatIsNoDocumentIsAnError) {
  answer(200, "<html>");
  EXPECT_FALSE(client().job("x"));
  answer(503, "busy");
  const auto busy = client().status();
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().code, Code::kUnavailable);
}

// Without it a name with a special character would reach another resource.
TEST_F(ApiClientTest, NamesAreEscaped) {
  answer(200, job_json("j-1"));
  ASSERT_TRUE(client().job("team-a/train 1?x=/.."));
  EXPECT_EQ(asked().path, "/v1/jobs/team-a%2Ftrain%201%3Fx%3D%2F..");
  answer(204, "");
  ASSERT_TRUE(client().delete_tenant("a/b"));
  EXPECT_EQ(asked(1).path, "/v1/tenants/a%2Fb");
  EXPECT_EQ(asked(1).method, net::Method::kDelete);
}

// Without it an empty name would ask for the whole list and read it as one job.
TEST_F(ApiClientTest, AnEmptyNameIsRefusedHere) {
  EXPECT_EQ(client().job("").error().code, Code::kInvalidArgument);
  EXPECT_EQ(client().cancel("").error().code, Code::kInvalidArgument);
  EXPECT_EQ(client().delete_tenant("").error().code, Code::kInvalidArgument);
}

// Without it a filter could be dropped and a script would act on the jobs of others.
TEST_F(ApiClientTest, FiltersTravelAsParameters) {
  answer(200, R"({"items":[]})");
  JobFilter filter;
  filter.tenant = "team-a";
  filter.labels = {{"model", "bert"}, {"run", "7"}};
  filter.state = JobState::kRunning;
  filter.all = true;
  filter.limit = 10;
  filter.after = "j-5";
  ASSERT_TRUE(client().jobs(filter));
  const net::Request request = asked();
  EXPECT_EQ(parameter(request, "tenant"), "team-a");
  EXPECT_EQ(request.query.all("label"), (std::vector<std::string_view>{"model=bert", "run=7"}));
  EXPECT_EQ(parameter(request, "state"), "running");
  EXPECT_EQ(parameter(request, "all"), "true");
  EXPECT_EQ(parameter(request, "limit"), "10");
  EXPECT_EQ(parameter(request, "after"), "j-5");
}

// Without it a list longer than a page would be shown as if it were whole.
TEST_F(ApiClientTest, AllJobsReadsEveryPage) {
  answer(200, R"({"items":[)" + job_json("j-1") + R"(],"next":"j-1"})");
  answer(200, R"({"items":[)" + job_json("j-2") + R"(]})");
  const auto jobs = client().all_jobs({});
  ASSERT_TRUE(jobs) << jobs.error().to_string();
  ASSERT_EQ(jobs->items.size(), 2U);
  EXPECT_EQ(jobs->items[1].id, "j-2");
  EXPECT_EQ(parameter(asked(1), "after"), "j-1");
}

// Without it a service whose cursor stands still would keep the client busy for ever.
TEST_F(ApiClientTest, AllJobsEndsWhenTheCursorStandsStill) {
  for (int i = 0; i < 2; ++i) answer(200, R"({"items":[)" + job_json("j-1") + R"(],"next":"j-1"})");
  const auto jobs = client().all_jobs({});
  ASSERT_FALSE(jobs);
  EXPECT_EQ(jobs.error().code, Code::kInternal);
}

// Without it the service would not know how long to hold the call.
TEST_F(ApiClientTest, WaitSaysHowLong) {
  answer(200, job_json("j-1"));
  ASSERT_TRUE(client().wait("j-1", milliseconds(30'000)));
  EXPECT_EQ(asked().path, "/v1/jobs/j-1/wait");
  EXPECT_EQ(parameter(asked(), "timeout"), "30s");
}

// Without it bytes of a log could be lost.
TEST_F(ApiClientTest, LogsComeWhole) {
  answer(200, "line 1\nline 2\n");
  std::string text;
  LogRequest request{2, 7, false};
  const auto done = client().logs("j-1", request, [&](std::string_view chunk) {
    text += chunk;
    return true;
  });
  ASSERT_TRUE(done) << done.error().to_string();
  EXPECT_EQ(text, "line 1\nline 2\n");
  EXPECT_EQ(parameter(asked(), "attempt"), "2");
  EXPECT_EQ(parameter(asked(), "offset"), "7");
}

// Without it a follower that was interrupted could lose bytes or get them twice, also where the log was cut.
TEST_F(ApiClientTest, AFollowedLogGoesOnWhereItBroke) {
  answer(200, ": hello\n\nid: 107\ndata: bGluZSAxCg==\n\nid: 1000\ndata: AAH/\n\nid: 2000\nda");
  std::string text;
  int signs = 0;
  LogRequest request{std::nullopt, 100, true};
  const auto take = [&](std::string_view chunk) {
    if (chunk.empty()) ++signs;
    text += chunk;
    return true;
  };
  const auto broken = client().logs("j-1", request, take);
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().reason, "client.connection_lost");
  EXPECT_EQ(asked().headers.get("Accept"), "text/event-stream");
  EXPECT_EQ(parameter(asked(), "offset"), "100");
  EXPECT_EQ(parameter(asked(), "follow"), "true");
  EXPECT_EQ(text, std::string("line 1\n\0\1\xff", 10));
  EXPECT_EQ(request.offset, 1000);
  EXPECT_GT(signs, 0);
  answer(200, "id: 1001\ndata: eA==\n\nevent: end\ndata:\n\n");
  ASSERT_TRUE(client().logs("j-1", request, take));
  EXPECT_EQ(parameter(asked(1), "offset"), "1000");
  EXPECT_EQ(text.back(), 'x');
  EXPECT_EQ(request.offset, 1001);
}

// Without it a position before what was read would have a follower begin again, without end.
TEST_F(ApiClientTest, AFollowedLogNeverGoesBack) {
  for (const std::string id : {"-9223372036854775807", "-1", "99", "12x", "99999999999999999999"}) {
    answer(200, "id: 107\ndata: bGluZSAxCg==\n\nid: " + id + "\ndata: eA==\n\nevent: end\ndata:\n\n");
    std::string text;
    LogRequest request{std::nullopt, 100, true};
    const auto broken = client().logs("j-1", request, [&](std::string_view chunk) {
      text += chunk;
      return true;
    });
    ASSERT_FALSE(broken) << id;
    EXPECT_EQ(broken.error().reason, "client.answer.invalid") << id;
    EXPECT_EQ(text, "line 1\n") << id;
    EXPECT_EQ(request.offset, 107) << id;
  }
}

// Without it a follower whose token was revoked would be told of a broken stream, and come back for ever.
TEST_F(ApiClientTest, AProblemInALogIsThatError) {
  const Error revoked{
      Code::kUnauthenticated, "token.revoked", "token t-1 was revoked", "ask for another", {}, nullptr};
  answer(200,
         "id: 107\ndata: bGluZSAxCg==\n\nevent: problem\ndata: " + wire::write_problem(revoked) + "\n\n");
  std::string text;
  LogRequest request{std::nullopt, 100, true};
  const auto ended = client().logs("j-1", request, [&](std::string_view chunk) {
    text += chunk;
    return true;
  });
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, Code::kUnauthenticated);
  EXPECT_EQ(ended.error().reason, "token.revoked");
  EXPECT_EQ(ended.error().hint, revoked.hint);
  EXPECT_EQ(text, "line 1\n");
  EXPECT_EQ(request.offset, 107);
  answer(200, "event: problem\ndata: <html>\n\n");
  EXPECT_EQ(client().logs("j-1", request, [](auto) { return true; }).error().code, Code::kUnavailable);
}

// Without it a client that comes back would miss events or get them twice, or take the end of a stream for
// its own.
TEST_F(ApiClientTest, FollowedEventsMoveTheCursor) {
  const std::string event =
      R"({"cursor":"7.1","at":"2026-01-01T00:00:00.000Z","type":"job.running","later":1})";
  answer(200, "id: 6\n\nid: 7.1\ndata: " + event + "\n\n: keep-alive\nid: 9\n\n");
  std::string cursor = "5";
  std::vector<FollowedEvent> seen;
  const EventQuery query{"team-a", "team-a/x", 3, {"job.running", "npu.*"}};
  const auto ended = client().follow_events(query, cursor, [&](std::span<const FollowedEvent> events) {
    seen.insert(seen.end(), events.begin(), events.end());
    return true;
  });
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().reason, "client.connection_lost");
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].view.type, "job.running");
  EXPECT_EQ(seen[0].json, event);
  EXPECT_EQ(cursor, "9");
  EXPECT_EQ(parameter(asked(), "after"), "5");
  EXPECT_EQ(parameter(asked(), "tenant"), "team-a");
  EXPECT_EQ(parameter(asked(), "job"), "team-a/x");
  EXPECT_EQ(parameter(asked(), "npu"), "3");
  EXPECT_EQ(asked().query.all("type").size(), 2U);
}

// Without it a stream that ends because its events are gone would be asked for again and again.
TEST_F(ApiClientTest, AProblemInAStreamIsThatError) {
  const Error gone{Code::kFailedPrecondition, "events.cursor.gone", "gone", "start anew", {}, nullptr};
  answer(200, "event: problem\ndata: " + wire::write_problem(gone) + "\n\n");
  std::string cursor;
  const auto ended = client().follow_events({}, cursor, [](auto) { return true; });
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().reason, "events.cursor.gone");
  EXPECT_EQ(ended.error().code, Code::kFailedPrecondition);
  answer(410, wire::write_problem(gone));
  EXPECT_EQ(client().follow_events({}, cursor, [](auto) { return true; }).error().reason,
            "events.cursor.gone");
}

// Without it the past could be asked for in other words than the service understands.
TEST_F(ApiClientTest, HistoryAsksForAPage) {
  answer(200,
         R"({"items":[{"cursor":"7.1","at":"2026-01-01T00:00:00.000Z","type":"job.running"}],"next":"7.1"})");
  const auto list = client().history({{"", "j-1", {}, {}}, "", "9.0", true, 50});
  ASSERT_TRUE(list) << list.error().to_string();
  EXPECT_EQ(list->next, "7.1");
  ASSERT_EQ(list->items.size(), 1U);
  EXPECT_EQ(asked().path, "/v1/history");
  EXPECT_EQ(parameter(asked(), "job"), "j-1");
  EXPECT_EQ(parameter(asked(), "before"), "9.0");
  EXPECT_EQ(parameter(asked(), "newest"), "true");
  EXPECT_EQ(parameter(asked(), "limit"), "50");
}

// Without it the text of a refusal would be shown as the log.
TEST_F(ApiClientTest, RefusedLogsAreAnErrorAndNoText) {
  bool called = false;
  for (const bool follow : {false, true}) {
    answer(404, wire::write_problem({Code::kNotFound, "job.unknown", "there is no job x", "", {}, nullptr}));
    LogRequest request{std::nullopt, 0, follow};
    const auto done = client().logs("x", request, [&](std::string_view) { return called = true; });
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().reason, "job.unknown");
  }
  EXPECT_FALSE(called);
}

// Without it every document could be sent as JSON and line numbers of YAML would be lost.
TEST_F(ApiClientTest, ApplySaysWhatItSends) {
  answer(200, R"({"items":[{"kind":"Tenant","name":"team-a","result":"created"}]})");
  const auto answers = client().apply("kind: Tenant\n", wire::Format::kYaml);
  ASSERT_TRUE(answers) << answers.error().to_string();
  EXPECT_EQ(answers->items.at(0).name, "team-a");
  EXPECT_EQ(asked().headers.get("Content-Type"), "application/yaml");
  EXPECT_EQ(asked().body, "kind: Tenant\n");
}

// Without it a daemon that is down could not be told from one that says no.
TEST(ApiClientUnreachable, IsUnavailableWithAHint) {
  ApiClient client(to_socket("/nonexistent/tangram.sock", milliseconds(1'000)));
  const auto status = client.status();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kUnavailable);
  EXPECT_NE(status.error().message.find("/nonexistent/tangram.sock"), std::string::npos);
  EXPECT_NE(status.error().hint.find("tangramd"), std::string::npos);
}

}  // namespace
}  // namespace tangram::client
