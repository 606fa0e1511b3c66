// Events over the API: the form of the stream, where it begins, who is cut off, the pages of the past.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <future>
#include <mutex>
#include <thread>

#include "server/harness.h"
#include "wire/event.h"
#include "wire/tokens.h"

namespace tangram::server::testing {
namespace {

using service::testing::eventually;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// One reader, on a thread of its own.
class Reader {
 public:
  Reader(Api& api, const std::string& path, std::uint32_t uid = 0, const std::string& last_id = "")
      : Reader(api, ask(api, path, uid, "Last-Event-ID", last_id)) {}
  // As the bearer of a token; the uid would say stranger.
  Reader(Api& api, const std::string& path, const wire::TokenView& token)
      : Reader(api, ask(api, path, kStranger, "Authorization", "Bearer " + token.secret)) {}
  Reader(Api& api, net::ClientRequest request) : request_(std::move(request)) {
    thread_ = std::thread([this, &api] {
      auto done = api.client->stream(request_, std::chrono::seconds(20), std::chrono::seconds(20),
                                     [this](std::string_view chunk) {
                                       const std::lock_guard lock(mutex_);
                                       text_ += chunk;
                                       return !stop_;
                                     });
      const std::lock_guard lock(mutex_);
      if (done) response_ = *done;
      ended_ = true;
    });
  }
  ~Reader() {
    if (thread_.joinable()) thread_.join();
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  std::string text() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }
  bool has(const std::string& part) const {
    return eventually([&] { return text().find(part) != std::string::npos; });
  }
  bool is_over() const {
    const std::lock_guard lock(mutex_);
    return ended_;
  }
  bool ends() const {
    return eventually([&] { return is_over(); });
  }
  // At the next piece.
  void stop() {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  net::Response response() {
    thread_.join();
    return response_;
  }
  // The types of the events so far.
  std::vector<std::string> types() const {
    std::vector<std::string> types;
    for (const wire::EventView& view : events()) types.push_back(view.type);
    return types;
  }
  std::vector<wire::EventView> events() const { return events_in(text()); }
  static std::vector<wire::EventView> events_in(const std::string& all) {
    std::vector<wire::EventView> views;
    for (std::size_t at = all.find("data: {"); at != std::string::npos; at = all.find("data: {", at + 1)) {
      const std::size_t end = all.find('\n', at);
      if (end == std::string::npos) break;
      if (auto view = wire::read_event_view(std::string_view(all).substr(at + 6, end - at - 6))) {
        views.push_back(std::move(*view));
      }
    }
    return views;
  }

 private:
  static net::ClientRequest ask(Api& api, const std::string& path, std::uint32_t uid,
                                const std::string& header, const std::string& value) {
    net::ClientRequest request = api.request(net::Method::kGet, path, "", uid);
    if (!value.empty()) request.headers.set(header, value);
    return request;
  }

  net::ClientRequest request_;
  mutable std::mutex mutex_;
  std::string text_;
  bool stop_ = false;
  bool ended_ = false;
  net::Response response_;
  std::thread thread_;
};

constexpr std::int64_t kSilenceMs = 50;

class EventsApiTest : public ::testing::Test {
 protected:
  void run_job(const std::string& body = kJobOfTeamA) {
    const auto job = wire::read_job_view(api.post("/v1/jobs", body).body);
    ASSERT_TRUE(job);
    ASSERT_TRUE(api.machine.reaches(job->id, JobState::kRunning));
    api.machine.world.finish({job->id, 1}, Outcome::kSucceeded, 0);
    ASSERT_TRUE(api.machine.reaches(job->id, JobState::kEnded));
  }

  wire::TokenView token(const std::string& body) {
    const auto made = wire::read_token_view(api.post("/v1/tokens", body).body);
    EXPECT_TRUE(made);
    return made ? *made : wire::TokenView{};
  }

  Api api{net::ServerLimits(), [](service::Options& options) {
            options.event_silence_ms = kSilenceMs;
            options.event_streams_max = 6;
            options.event_streams_per_tenant_max = 2;
          }};
};

// Without this, a browser or a script could not read the stream, or not say where it was.
TEST_F(EventsApiTest, AreServerSentEventsFromNowOn) {
  Reader reader(api, "/v1/events?type=job.*");
  ASSERT_TRUE(reader.has("id: "));
  EXPECT_THAT(reader.text(), StartsWith("retry: 1000\nid: "));
  run_job();
  ASSERT_TRUE(reader.has("job.ended"));
  EXPECT_THAT(reader.types(), ElementsAre("job.submitted", "job.starting", "job.running", "job.ended"));
  for (const wire::EventView& view : reader.events()) {
    EXPECT_THAT(reader.text(),
                HasSubstr("\nid: " + view.cursor + "\ndata: {\"cursor\":\"" + view.cursor + "\""));
  }
  reader.stop();
  EXPECT_EQ(reader.response().headers.get("Content-Type"), "text/event-stream");
}

// Without this, a reader that comes back would miss events or get them twice.
TEST_F(EventsApiTest, BeginBehindACursor) {
  run_job();
  const auto past = wire::read_event_list(api.get("/v1/history?type=job.*").body);
  ASSERT_TRUE(past);
  ASSERT_EQ(past->items.size(), 4U);
  const auto types_from = [&](const std::string& query, const std::string& last_id = "") {
    Reader reader(api, "/v1/events?type=job.*" + query, 0, last_id);
    EXPECT_TRUE(reader.has(": keep-alive"));
    reader.stop();
    return reader.types();
  };
  EXPECT_THAT(types_from("&after=oldest"),
              ElementsAre("job.submitted", "job.starting", "job.running", "job.ended"));
  EXPECT_THAT(types_from("&after=" + past->items[1].cursor), ElementsAre("job.running", "job.ended"));
  EXPECT_THAT(types_from("&after=oldest", past->items[2].cursor), ElementsAre("job.ended"));
  EXPECT_THAT(types_from(""), IsEmpty());
}

// Without this, a cursor would stand still while others' events go by, and be gone one day without need.
TEST_F(EventsApiTest, ASignOfLifeMovesTheCursorOn) {
  Reader reader(api, "/v1/events?type=tenant.deleted");
  ASSERT_TRUE(reader.has("id: "));
  run_job();
  const auto newest = wire::read_event_list(api.get("/v1/history?newest=true&limit=1").body);
  ASSERT_TRUE(newest);
  const std::string sequence = newest->items[0].cursor.substr(0, newest->items[0].cursor.find('.'));
  EXPECT_TRUE(reader.has(": keep-alive\nid: " + sequence + "\n\n"));
  EXPECT_THAT(reader.types(), IsEmpty());
  reader.stop();
}

// Without this, a client would go on with a gap that it does not know of.
TEST_F(EventsApiTest, SayWhenTheCursorIsTooOldOrNotOurs) {
  run_job();
  api.restart();
  api.machine.store.lose_events(3);
  const auto gone = api.get("/v1/events?after=1.0");
  EXPECT_EQ(gone.status, 410);
  EXPECT_EQ(Api::reason(gone), "events.cursor.gone");
  EXPECT_THAT(gone.body, HasSubstr("\"oldest\":\"3\""));
  EXPECT_EQ(api.get("/v1/history?after=1.0").status, 410);
  const auto foreign = api.get("/v1/events?after=99999");
  EXPECT_EQ(foreign.status, 409);
  EXPECT_EQ(Api::reason(foreign), "events.cursor.ahead");
  const auto page = api.get("/v1/history?after=99999");
  EXPECT_EQ(page.status, 409);
  EXPECT_EQ(Api::reason(page), "events.cursor.ahead");
  Reader reader(api, "/v1/events?after=3");
  EXPECT_TRUE(reader.has("job.ended"));
  reader.stop();
}

// Without this, bad input would open a stream that says nothing.
TEST_F(EventsApiTest, RefuseBadInput) {
  for (const std::string query : {"after=x", "after=1.", "after=1.2.3", "after=-1", "limit=5", "npu=x",
                                  "type=job", "type=", "tenant=a&tenant=b", "colour=red"}) {
    const auto answer = api.get("/v1/events?" + query);
    EXPECT_EQ(answer.status, 400) << query << answer.body;
  }
  EXPECT_EQ(Api::reason(api.get("/v1/events?npu=77")), "npu.unknown");
  for (const std::string query :
       {"after=x", "before=1.x", "limit=0", "limit=1001", "newest=maybe", "follow=true"}) {
    EXPECT_EQ(api.get("/v1/history?" + query).status, 400) << query;
  }
  auto request = api.request(net::Method::kGet, "/v1/events");
  request.headers.set("Last-Event-ID", "yesterday");
  EXPECT_EQ(api.send(request).status, 400);
}

// Without this, one tenant could hold all streams, or streams that were closed would count for ever.
TEST_F(EventsApiTest, AreLimitedPerTenantAndInAll) {
  std::vector<std::unique_ptr<Reader>> readers;
  for (int i = 0; i < 2; ++i) {
    readers.push_back(std::make_unique<Reader>(api, "/v1/events", kTeamA));
    ASSERT_TRUE(readers.back()->has("id: "));
  }
  const auto refused = api.get("/v1/events", kTeamA);
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(Api::reason(refused), "events.streams.too_many");
  Reader other(api, "/v1/events", kTeamB);
  EXPECT_TRUE(other.has("id: "));
  readers[0]->stop();
  ASSERT_TRUE(readers[0]->ends());
  readers[0].reset();
  std::unique_ptr<Reader> again;
  EXPECT_TRUE(eventually([&] {
    again = std::make_unique<Reader>(api, "/v1/events", kTeamA);
    const bool answered = eventually([&] { return !again->text().empty() || again->is_over(); });
    return answered && !again->text().empty();
  }));
  again->stop();
  readers[1]->stop();
  other.stop();
}

// Without this, a tenant would read the names and times of others' jobs.
TEST_F(EventsApiTest, ShowATenantItsOwn) {
  Reader of_a(api, "/v1/events?after=oldest", kTeamA);
  Reader of_b(api, "/v1/events?after=oldest", kTeamB);
  run_job();
  run_job(R"({"tenant":"team-a-child","npus":1,"name":"of-child","command":["/bin/true"]})");
  run_job(R"({"tenant":"team-b","npus":1,"name":"of-b","command":["/bin/true"]})");
  ASSERT_TRUE(of_b.has("\"jobName\":\"of-b\""));
  ASSERT_TRUE(of_a.has("of-child"));
  ASSERT_TRUE(of_a.has(": keep-alive"));
  EXPECT_THAT(of_a.text(), Not(HasSubstr("team-b")));
  EXPECT_THAT(of_a.text(), Not(HasSubstr("of-b")));
  EXPECT_THAT(of_b.text(), Not(HasSubstr("team-a")));
  EXPECT_THAT(of_a.text(), HasSubstr("npu.appeared"));
  EXPECT_THAT(of_b.text(), HasSubstr("daemon.started"));
  of_a.stop();
  of_b.stop();
}

// Without this, somebody who is no longer of the tenant would read on for as long as the connection lasts.
TEST_F(EventsApiTest, EndWhenTheCallerIsNoLongerKnown) {
  constexpr std::uint32_t kMember = 1'234;
  api.machine.tenant("team-b", 2, ", members: [1234]");
  const Reader reader(api, "/v1/events", kMember);
  ASSERT_TRUE(reader.has(": keep-alive"));
  api.machine.tenant("team-b", 2);
  EXPECT_TRUE(reader.ends());
  EXPECT_THAT(reader.text(), HasSubstr("event: problem\ndata: {"));
  EXPECT_THAT(reader.text(), HasSubstr("caller.unknown"));
}

// Without this, a reader of another language would be cut off as somebody else, or not be told why.
TEST_F(EventsApiTest, SpeakTheReadersLanguage) {
  constexpr std::uint32_t kMember = 1'234;
  api.machine.tenant("team-b", 2, ", members: [1234]");
  net::ClientRequest request = api.request(net::Method::kGet, "/v1/events", "", kMember);
  request.headers.set("Accept-Language", "zh");
  const Reader reader(api, request);
  ASSERT_TRUE(reader.has(": keep-alive"));
  api.machine.tenant("team-b", 2);
  EXPECT_TRUE(reader.ends());
  EXPECT_THAT(reader.text(), HasSubstr("既不是管理员，也未列入任何租户"));
  net::ClientRequest past = api.request(net::Method::kGet, "/v1/history?after=soon");
  past.headers.set("Accept-Language", "zh");
  EXPECT_THAT(api.send(past).body, HasSubstr("不是事件的游标"));
}

// Without this, a token that got into the wrong hands would still read on after it was revoked or rotated.
TEST_F(EventsApiTest, EndWhenTheTokenIsNoLongerGood) {
  const auto revoked = token(R"({"name":"a","role":"viewer"})");
  const auto rotated = token(R"({"name":"b","role":"tenant","tenant":"team-a"})");
  const auto kept = token(R"({"name":"c","role":"tenant","tenant":"team-a"})");
  Reader first(api, "/v1/events", revoked);
  Reader second(api, "/v1/events", rotated);
  Reader third(api, "/v1/events", kept);
  for (const Reader* reader : {&first, &second, &third}) ASSERT_TRUE(reader->has(": keep-alive"));
  ASSERT_EQ(api.post("/v1/tokens/a/revoke").status, 200);
  ASSERT_EQ(api.post("/v1/tokens/b/rotate", "{}").status, 200);
  EXPECT_TRUE(first.ends());
  EXPECT_THAT(first.text(), HasSubstr("token.revoked"));
  EXPECT_TRUE(second.ends());
  EXPECT_THAT(second.text(), HasSubstr("token.invalid"));
  EXPECT_FALSE(third.is_over());
  third.stop();
}

// Without this, a token that got into the wrong hands would still learn, up to a minute after it was revoked
// or rotated, how a job ended.
TEST_F(EventsApiTest, AWaitEndsWhenTheTokenIsNoLongerGood) {
  const auto job = wire::read_job_view(api.post("/v1/jobs", kJobOfTeamA).body);
  ASSERT_TRUE(job);
  ASSERT_TRUE(api.machine.reaches(job->id, JobState::kRunning));
  const auto revoked = token(R"({"name":"a","role":"viewer"})");
  const auto rotated = token(R"({"name":"b","role":"tenant","tenant":"team-a"})");
  const auto kept = token(R"({"name":"c","role":"tenant","tenant":"team-a"})");
  const auto wait = [&](const wire::TokenView& as, const std::string& timeout) {
    return std::async(std::launch::async,
                      [this, as, path = "/v1/jobs/" + job->id + "/wait?timeout=" + timeout] {
                        auto request = api.request(net::Method::kGet, path, "", kStranger);
                        request.headers.set("Authorization", "Bearer " + as.secret);
                        return api.send(request);
                      });
  };
  auto first = wait(revoked, "25s");
  auto second = wait(rotated, "25s");
  auto third = wait(kept, "25s");
  std::this_thread::sleep_for(std::chrono::milliseconds(3 * kSilenceMs));
  ASSERT_EQ(api.post("/v1/tokens/a/revoke").status, 200);
  ASSERT_EQ(api.post("/v1/tokens/b/rotate", "{}").status, 200);
  for (auto* const waiting : {&first, &second}) {
    ASSERT_EQ(waiting->wait_for(std::chrono::seconds(10)), std::future_status::ready);
    const auto answer = waiting->get();
    EXPECT_EQ(answer.status, 401) << answer.body;
    EXPECT_THAT(answer.body, Not(HasSubstr(job->id)));
  }
  EXPECT_EQ(third.wait_for(std::chrono::milliseconds(3 * kSilenceMs)), std::future_status::timeout);
  api.machine.world.finish({job->id, 1}, Outcome::kSucceeded, 0);
  EXPECT_EQ(third.get().status, 200);
}

// Without this, the token of a tenant would read what others do, or that of a dashboard not all of it.
TEST_F(EventsApiTest, ShowABearerWhatItsRoleMaySee) {
  const auto viewer = token(R"({"name":"a","role":"viewer"})");
  const auto tenant = token(R"({"name":"b","role":"tenant","tenant":"team-b"})");
  Reader of_viewer(api, "/v1/events?after=oldest", viewer);
  Reader of_tenant(api, "/v1/events?after=oldest", tenant);
  run_job();
  run_job(R"({"tenant":"team-b","npus":1,"name":"of-b","command":["/bin/true"]})");
  for (const Reader* reader : {&of_viewer, &of_tenant}) {
    ASSERT_TRUE(reader->has("\"jobName\":\"of-b\""));
    ASSERT_TRUE(reader->has(": keep-alive"));
  }
  EXPECT_THAT(of_viewer.text(), HasSubstr("\"tenant\":\"team-a\""));
  EXPECT_THAT(of_tenant.text(), Not(HasSubstr("team-a")));
  // A dashboard's streams count by themselves.
  Reader another(api, "/v1/events", viewer);
  ASSERT_TRUE(another.has("id: "));
  Reader refused(api, "/v1/events", viewer);
  ASSERT_TRUE(refused.ends());
  const net::Response answer = refused.response();
  EXPECT_EQ(answer.status, 429);
  for (Reader* reader : {&of_viewer, &of_tenant, &another}) reader->stop();
}

// Without this, stopping the daemon would take as long as somebody reads.
TEST_F(EventsApiTest, EndWhenTheServerStops) {
  const Reader reader(api, "/v1/events");
  ASSERT_TRUE(reader.has("id: "));
  const auto begun = std::chrono::steady_clock::now();
  api.http->stop(std::chrono::seconds(10));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5));
  EXPECT_TRUE(reader.ends());
}

// A connection that asks and then does nothing.
int connect_and_ask(const std::string& socket_path, const std::string& path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket_path.copy(static_cast<char*>(address.sun_path), sizeof address.sun_path - 1);
  EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const std::string text = "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n";
  EXPECT_EQ(write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  return fd;
}

std::vector<wire::EventView> stored_events(Api& api) {
  std::vector<wire::EventView> events;
  std::string after;
  do {
    auto page = wire::read_event_list(api.get("/v1/history" + (after.empty() ? "" : "?after=" + after)).body);
    if (!page) break;
    for (wire::EventView& event : page->items) events.push_back(std::move(event));
    after = page->next;
  } while (!after.empty());
  return events;
}

// What is left on a connection that was cut, without the frame of its chunks.
std::string rest_of(int fd) {
  std::string raw;
  std::array<char, 65'536> piece{};
  for (ssize_t count = 0; (count = read(fd, piece.data(), piece.size())) > 0;)
    raw.append(piece.data(), static_cast<std::size_t>(count));
  std::string text;
  std::size_t at = raw.find("\r\n\r\n") + 4;
  while (at < raw.size()) {
    const std::size_t begin = raw.find("\r\n", at) + 2;
    const std::size_t length = std::stoul(raw.substr(at), nullptr, 16);
    text += raw.substr(begin, length);
    at = begin + length + 2;
  }
  return text;
}

// Without this, a client that never reads would hold memory, a place and a connection for ever, or slow down
// others.
TEST(SlowReader, IsCutOffAndDisturbsNobody) {
  net::ServerLimits limits;
  limits.stall_time = std::chrono::milliseconds(500);
  Api api(limits, [](service::Options& options) { options.event_streams_max = 2; });
  const int idle = connect_and_ask(api.socket(), "/v1/events?after=oldest");
  Reader reader(api, "/v1/events");
  ASSERT_TRUE(reader.has("id: "));
  // More than sockets and buffers hold.
  std::string batch = R"({"items":[)";
  for (int i = 0; i < 1'000; ++i) {
    batch += (i > 0 ? "," : "") + (R"({"tenant":"team-a","npus":1,"name":"a-rather-long-name-of-a-job-)" +
                                   std::to_string(i) + R"(","command":["/bin/true"]})");
  }
  batch += "]}";
  ASSERT_EQ(api.post("/v1/jobs", batch).status, 200);
  std::size_t cancelled = 0;
  const auto jobs = api.machine.service->jobs(service::testing::kOperator, {});
  ASSERT_TRUE(jobs);
  for (const wire::JobView& view : jobs->items) {
    if (view.state != JobState::kWaiting && view.state != JobState::kReady) continue;
    if (api.machine.cancel(view.id)) ++cancelled;
  }
  EXPECT_GT(cancelled, 900U);
  ASSERT_TRUE(eventually([&] { return reader.events().size() > 1'900; }));
  // The one that does not read is gone: its place is free again.
  EXPECT_TRUE(eventually([&] {
    const auto taken = api.machine.service->follow_events(service::testing::kOperator, {}, {});
    return taken.has_value();
  }));
  // It goes on behind what it can still read, and misses nothing.
  std::string seen = rest_of(idle);
  close(idle);
  seen.resize(seen.rfind("\n\n") + 2);  // half an event is none
  const std::size_t id = seen.rfind("id: ") + 4;
  Reader again(api, "/v1/events", 0, seen.substr(id, seen.find('\n', id) - id));
  const auto whole = [&] {
    std::vector<wire::EventView> events = Reader::events_in(seen);
    for (wire::EventView& event : again.events()) events.push_back(std::move(event));
    return events;
  };
  const std::vector<wire::EventView> stored = stored_events(api);
  EXPECT_GT(stored.size(), 1'900U);
  EXPECT_GT(Reader::events_in(seen).size(), 0U);
  EXPECT_LT(Reader::events_in(seen).size(), stored.size());
  EXPECT_TRUE(eventually([&] { return whole().size() >= stored.size(); }));
  EXPECT_EQ(whole(), stored);
  again.stop();
  reader.stop();
  (void)api.machine.cancel("j-1");
}

// Without this, a stream would lose its first page where the head of the answer is still on its way to a slow
// reader.
TEST(FirstPage, WaitsForTheHeadOfTheAnswer) {
  net::ServerLimits limits;
  limits.stream_buffer_bytes_max = 1;  // so that a page finds room only when all before it has gone
  Api api(limits, [](service::Options& options) { options.event_silence_ms = 50; });
  const auto stored = wire::read_event_list(api.get("/v1/history").body);
  ASSERT_TRUE(stored);
  ASSERT_FALSE(stored->items.empty());
  for (int i = 0; i < 50; ++i) {
    Reader reader(api, "/v1/events?after=oldest");
    EXPECT_TRUE(reader.has("keep-alive")) << i;
    EXPECT_EQ(reader.events(), stored->items) << i;
    reader.stop();
  }
}

// Without this, the past could be seen only by following it from its beginning.
TEST_F(EventsApiTest, HistoryComesInPages) {
  run_job();
  run_job();
  const auto all = wire::read_event_list(api.get("/v1/history").body);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->next, "");
  const auto job = wire::read_event_list(api.get("/v1/history?job=j-2").body);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->items.size(), 4U);
  const auto npu = wire::read_event_list(api.get("/v1/history?npu=0").body);
  ASSERT_TRUE(npu);
  EXPECT_EQ(npu->items.size(), 5U);
  std::vector<wire::EventView> paged;
  std::string after;
  do {
    const auto page =
        wire::read_event_list(api.get("/v1/history?limit=5" + (after.empty() ? "" : "&after=" + after)).body);
    ASSERT_TRUE(page);
    EXPECT_LE(page->items.size(), 5U);
    paged.insert(paged.end(), page->items.begin(), page->items.end());
    after = page->next;
  } while (!after.empty());
  EXPECT_EQ(paged, all->items);
  const auto last = wire::read_event_list(api.get("/v1/history?newest=true&limit=1").body);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->items[0], all->items.back());
}

}  // namespace
}  // namespace tangram::server::testing
