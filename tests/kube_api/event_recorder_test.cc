#include "kube/api/event_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "kube_api/api_server.h"
#include "kube_api/fake_timing.h"
#include "net/support.h"

namespace tangram::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

EventNote note_of(const std::string& pod_name, const std::string& note = "the quota of tenant a is used up",
                  const std::string& reason = "Waiting") {
  return {{"v1", "Pod", "team-a", pod_name, "uid-" + pod_name}, false, reason, "Admit", note};
}

class RecorderTest : public ::testing::Test {
 protected:
  RecorderTest()
      : server([this](const SeenRequest&, Conversation& conversation) {
          const int status = status_;
          conversation.answer(status, status < 300 ? "{}" : status_body(status, "", "no"));
        }) {
    ClientSettings settings;
    settings.tries_max = 1;
    client = std::move(*ApiClient::open(server.config(), settings, timing));
    options.controller = "tangram.dev/manager";
    options.instance = "manager-0";
    start();
  }
  void start() { recorder = std::make_unique<EventRecorder>(*client, options); }
  void write() { recorder->write_due(nullptr); }
  std::vector<SeenRequest> sent(const std::string& method) const {
    std::vector<SeenRequest> some;
    for (SeenRequest& request : server.requests()) {
      if (request.method == method) some.push_back(std::move(request));
    }
    return some;
  }
  static json::object body(const SeenRequest& request) { return *parse_object(request.body); }

  std::atomic<int> status_ = 201;
  std::shared_ptr<FakeTiming> timing = std::make_shared<FakeTiming>();
  ApiServer server;
  std::unique_ptr<ApiClient> client;
  RecorderOptions options;
  std::unique_ptr<EventRecorder> recorder;
};

// Without this, the API server would refuse the events, or kubectl not show them below their object.
TEST_F(RecorderTest, WritesAnEventAsTheApiWantsIt) {
  recorder->record(note_of("train-0"));
  write();
  ASSERT_EQ(sent("POST").size(), 1U);
  EXPECT_EQ(sent("POST")[0].path, "/apis/events.k8s.io/v1/namespaces/team-a/events");
  const json::object event = body(sent("POST")[0]);
  EXPECT_EQ(text_at(event, {"regarding", "uid"}), "uid-train-0");
  EXPECT_EQ(text_at(event, {"regarding", "namespace"}), "team-a");
  EXPECT_EQ(text_at(event, {"type"}), "Normal");
  EXPECT_EQ(text_at(event, {"reason"}), "Waiting");
  EXPECT_EQ(text_at(event, {"action"}), "Admit");
  EXPECT_EQ(text_at(event, {"note"}), "the quota of tenant a is used up");
  EXPECT_EQ(text_at(event, {"reportingController"}), "tangram.dev/manager");
  EXPECT_EQ(text_at(event, {"reportingInstance"}), "manager-0");
  EXPECT_EQ(text_at(event, {"eventTime"}), "2026-03-01T12:16:40.000000Z");
  EXPECT_TRUE(text_at(event, {"metadata", "name"}).starts_with("train-0."));
  EXPECT_EQ(find(event, {"series"}), nullptr);
}

// Without this, a queue that is looked at every second would write an event every second for each of its
// Pods.
TEST_F(RecorderTest, TheSameAgainOnlyCountsUp) {
  for (int i = 0; i < 300; ++i) {
    recorder->record(note_of("train-0"));
    write();
    timing->advance(seconds(1));
  }
  ASSERT_EQ(sent("POST").size(), 1U);
  const auto patches = sent("PATCH");
  ASSERT_EQ(patches.size(), 4U) << "one a minute";
  EXPECT_EQ(number_at(body(patches[0]), {"series", "count"}), 61);
  EXPECT_EQ(number_at(body(patches[3]), {"series", "count"}), 241);
  EXPECT_EQ(patches[0].path,
            sent("POST")[0].path + "/" + std::string(text_at(body(sent("POST")[0]), {"metadata", "name"})));
  EXPECT_EQ(body(patches[0]).size(), 1U) << "all else is immutable";
  EXPECT_EQ(recorder->counters().recorded, 300U);
  EXPECT_EQ(recorder->counters().dropped, 0U);
}

// Without this, an event would go on saying what was true when it began.
TEST_F(RecorderTest, AnotherNoteIsAnotherEventWhenItIsDue) {
  recorder->record(note_of("train-0", "3 NPUs are missing"));
  write();
  recorder->record(note_of("train-0", "2 NPUs are missing"));
  recorder->record(note_of("train-0", "1 NPU is missing"));
  write();
  EXPECT_EQ(sent("POST").size(), 1U) << "not before a minute is over";
  timing->advance(seconds(60));
  write();
  ASSERT_EQ(sent("POST").size(), 2U);
  const json::object second = body(sent("POST")[1]);
  EXPECT_EQ(text_at(second, {"note"}), "1 NPU is missing");
  EXPECT_EQ(number_at(second, {"series", "count"}), 2);
  EXPECT_NE(text_at(second, {"metadata", "name"}), text_at(body(sent("POST")[0]), {"metadata", "name"}));
  EXPECT_EQ(sent("PATCH").size(), 0U);
}

// Without this, ten thousand Pods that wait at once would take the API server from everybody else.
TEST_F(RecorderTest, WritesABurstAndThenAtARate) {
  for (int i = 0; i < 200; ++i) recorder->record(note_of("train-" + std::to_string(i)));
  write();
  EXPECT_EQ(sent("POST").size(), 50U);
  timing->advance(seconds(2));
  write();
  EXPECT_EQ(sent("POST").size(), 60U);
  timing->advance(seconds(60));
  write();
  timing->advance(seconds(60));
  write();
  timing->advance(seconds(60));
  write();
  EXPECT_EQ(sent("POST").size(), 200U) << "late, but all of them";
  EXPECT_EQ(recorder->counters().dropped, 0U);
}

// Without this, events that nobody can write would fill the memory.
TEST_F(RecorderTest, KeepsABoundedNumber) {
  options.kept_max = 10;
  options.burst = 5;
  start();
  for (int i = 0; i < 12; ++i) recorder->record(note_of("train-" + std::to_string(i)));
  EXPECT_EQ(recorder->kept(), 10U);
  EXPECT_EQ(recorder->counters().dropped, 2U);
  write();  // five are quiet now
  for (int i = 20; i < 26; ++i) recorder->record(note_of("train-" + std::to_string(i)));
  EXPECT_EQ(recorder->kept(), 10U);
  EXPECT_EQ(recorder->counters().dropped, 3U) << "the quiet ones made room for five";
  for (int i = 0; i < 5; ++i) {
    timing->advance(seconds(60));
    write();
  }
  timing->advance(seconds(360));
  write();
  EXPECT_EQ(recorder->kept(), 0U) << "what is long over is forgotten";
}

// Without this, an event that the server has forgotten would be counted up in vain for as long as it goes on.
TEST_F(RecorderTest, AnEventThatIsGoneIsMadeAnew) {
  recorder->record(note_of("train-0"));
  write();
  timing->advance(seconds(60));
  status_ = 404;
  recorder->record(note_of("train-0"));
  write();
  EXPECT_EQ(sent("PATCH").size(), 1U);
  status_ = 201;
  timing->advance(seconds(5));
  write();
  ASSERT_EQ(sent("POST").size(), 2U);
  EXPECT_EQ(find(body(sent("POST")[1]), {"series"}), nullptr) << "it happened once since";
  EXPECT_EQ(recorder->counters().dropped, 0U);
}

// Without this, a server that is away would hold the recorder up, or lose every event; and one that refuses
// would be asked again and again.
TEST_F(RecorderTest, TriesAgainOnlyWhereThatHelps) {
  status_ = 503;
  recorder->record(note_of("train-0"));
  for (int i = 0; i < 10; ++i) {
    write();
    timing->advance(seconds(5));
  }
  EXPECT_EQ(sent("POST").size(), 3U);
  EXPECT_EQ(recorder->counters().dropped, 1U);
  status_ = 403;
  recorder->record(note_of("train-1"));
  for (int i = 0; i < 3; ++i) {
    write();
    timing->advance(seconds(5));
  }
  EXPECT_EQ(sent("POST").size(), 4U);
  EXPECT_EQ(recorder->counters().dropped, 2U);
}

// Without this, text that a tenant chose could make an event that is refused, or more than one line of it.
TEST_F(RecorderTest, CutsWhatIsTooLong) {
  EventNote event = note_of(std::string(240, 'a') + "---------", std::string(5'000, 'x') + "\n\x01\xff");
  event.reason = std::string(300, 'R');
  event.action = "";
  event.regarding.space = "";
  recorder->record(event);
  write();
  ASSERT_EQ(sent("POST").size(), 1U);
  const json::object sent_event = body(sent("POST")[0]);
  EXPECT_LE(text_at(sent_event, {"note"}).size(), 1'024U);
  EXPECT_EQ(text_at(sent_event, {"reason"}).size(), 128U);
  EXPECT_EQ(text_at(sent_event, {"action"}).size(), 128U);
  EXPECT_LE(text_at(sent_event, {"metadata", "name"}).size(), 253U);
  EXPECT_EQ(text_at(sent_event, {"metadata", "namespace"}), "default") << "where events of nodes stand";
}

// Without this, recording from many threads could lose counts, or the thread that writes not end.
TEST_F(RecorderTest, ManyRecordWhileOneWrites) {
  options.forget_after = std::chrono::hours(10'000);  // the clock runs fast here
  start();
  net::Interrupt stop;
  std::thread writer([&] { recorder->run(stop); });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) recorder->record(note_of("train-" + std::to_string((i + t) % 20)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(net::eventually([&] { return sent("POST").size() >= 20; }));
  stop.raise();
  writer.join();
  EXPECT_EQ(recorder->counters().recorded, 2'000U);
  EXPECT_EQ(recorder->kept(), 20U);
  EXPECT_EQ(sent("POST").size(), 20U);
}

}  // namespace
}  // namespace tangram::kube
