#include "kube/api/reflector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "kube/api/object_cache.h"
#include "kube_api/api_server.h"
#include "kube_api/fake_timing.h"
#include "net/support.h"

namespace tangram::kube {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;

struct Placed {
  std::string node;
  friend bool operator==(const Placed&, const Placed&) = default;
};

// A reflector against a server that plays one answer after the other, and then holds every request.
class ReflectorTest : public ::testing::Test {
 protected:
  using Turn = std::function<void(Conversation&)>;

  ReflectorTest() { options.selection.resource = resources::pods(); }
  ~ReflectorTest() override { stop(); }

  void run(std::vector<Turn> turns, ClientSettings settings = {}) {
    server = std::make_unique<ApiServer>(
        [this, turns = std::move(turns)](const SeenRequest&, Conversation& conversation) {
          const std::size_t turn = turn_++;
          if (turn < turns.size()) return turns[turn](conversation);
          conversation.wait_gone();
        });
    settings.tries_max = 1;
    auto opened = ApiClient::open(server->config(), settings, timing);
    if (!opened) std::abort();
    client = std::move(*opened);
    options.on_trouble = [this](const Error& error) { tell("!" + error.reason); };
    cache = std::make_unique<ObjectCache<Placed>>(
        [](const json::object& object) -> std::optional<Placed> {
          return Placed{std::string(text_at(object, {"spec", "nodeName"}))};
        },
        ObjectCache<Placed>::Handlers{
            [this](const std::string& key, const Placed& now) { tell("+" + key + "@" + now.node); },
            [this](const std::string& key, const Placed&, const Placed& now) {
              tell("~" + key + "@" + now.node);
            },
            [this](const std::string& key, const Placed&) { tell("-" + key); }, [this] { tell("synced"); }},
        objects_max);
    reflector = std::make_unique<Reflector>(*client, options, *cache);
    thread = std::thread([this] { reflector->run(interrupt); });
  }
  void stop() {
    interrupt.raise();
    if (thread.joinable()) thread.join();
  }
  void tell(std::string what) {
    const std::lock_guard lock(mutex_);
    told_.push_back(std::move(what));
  }
  std::vector<std::string> told() {
    const std::lock_guard lock(mutex_);
    return told_;
  }
  // Waits until so much was told, and stops.
  std::vector<std::string> told_after(std::size_t count) {
    EXPECT_TRUE(net::eventually([&] { return told().size() >= count; }));
    stop();
    return told();
  }
  // Waits until the server got so many requests.
  std::vector<SeenRequest> requests(std::size_t count) const {
    EXPECT_TRUE(net::eventually([&] { return server->requests().size() >= count; }));
    return server->requests();
  }

  static Turn answer(int status, std::string body) {
    return [=](Conversation& conversation) { conversation.answer(status, body); };
  }
  static Turn stream(std::vector<std::string> lines, std::function<void(Conversation&)> then = hold()) {
    return [=](Conversation& conversation) {
      conversation.begin_stream();
      for (const std::string& line : lines) conversation.line(line);
      then(conversation);
    };
  }
  static std::function<void(Conversation&)> hold() {
    return [](Conversation& conversation) { conversation.wait_gone(); };
  }
  static std::function<void(Conversation&)> end() {
    return [](Conversation& conversation) { conversation.end_stream(); };
  }
  static std::function<void(Conversation&)> cut() {
    return [](Conversation& conversation) { conversation.cut(); };
  }
  static std::string added(std::string_view name, std::string_view version, std::string_view node = "n1") {
    return event_line("ADDED", pod(name, version, node));
  }
  static std::string modified(std::string_view name, std::string_view version, std::string_view node) {
    return event_line("MODIFIED", pod(name, version, node));
  }
  static std::string deleted(std::string_view name, std::string_view version) {
    return event_line("DELETED", pod(name, version));
  }
  static std::string error(int code, std::string_view reason) {
    return event_line("ERROR", status_body(code, reason, "because"));
  }

  std::shared_ptr<FakeTiming> timing = std::make_shared<FakeTiming>();
  ReflectorOptions options;
  std::size_t objects_max = 1'000;
  std::unique_ptr<ApiServer> server;
  std::unique_ptr<ApiClient> client;
  std::unique_ptr<ObjectCache<Placed>> cache;
  std::unique_ptr<Reflector> reflector;
  net::Interrupt interrupt;
  std::thread thread;

 private:
  std::atomic<std::size_t> turn_ = 0;
  std::mutex mutex_;
  std::vector<std::string> told_;
};

// Without this, a manager would begin to decide before it has seen everything, or miss what changes then.
TEST_F(ReflectorTest, AWatchListGivesAllThatIsThereAndThenWhatChanges) {
  run({stream({added("a", "3"), added("b", "1"), bookmark_line("10", true), modified("a", "11", "n2"),
               deleted("b", "12"), added("c", "13")})});
  EXPECT_THAT(told_after(6), ElementsAre("+team-a/a@n1", "+team-a/b@n1", "synced", "~team-a/a@n2",
                                         "-team-a/b", "+team-a/c@n1"));
  const auto seen = server->requests();
  ASSERT_EQ(seen.size(), 1U) << "one connection for both";
  EXPECT_EQ(seen[0].parameter("sendInitialEvents"), "true");
  EXPECT_EQ(seen[0].parameter("resourceVersion"), "");
  EXPECT_TRUE(reflector->status().synced);
  EXPECT_EQ(reflector->status().events, 6U);
}

// Without this, a stream that the server ends, as it does every few minutes, would mean a new list each time.
TEST_F(ReflectorTest, AStreamThatEndsIsTakenUpWhereItWas) {
  run({stream({added("a", "3"), bookmark_line("10", true), modified("a", "11", "n2")}, end()),
       stream({deleted("a", "12"), bookmark_line("40")}, end()), stream({added("a", "41", "n4")})});
  EXPECT_THAT(told_after(5),
              ElementsAre("+team-a/a@n1", "synced", "~team-a/a@n2", "-team-a/a", "+team-a/a@n4"));
  const auto seen = server->requests();
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_EQ(seen[1].parameter("resourceVersion"), "11");
  EXPECT_EQ(seen[1].parameter("sendInitialEvents"), "");
  EXPECT_EQ(seen[2].parameter("resourceVersion"), "40") << "a bookmark moves the version on";
  EXPECT_TRUE(timing->rests().empty()) << "nothing was wrong";
}

// Without this, a server that cannot do WatchList would never be read: switched off (422), too old an etcd
// (an error in the stream), or one that has never heard of it (400).
TEST_F(ReflectorTest, FallsBackToPagesOfAList) {
  options.page_objects = 2;
  run({answer(422, status_body(422, "Invalid", "sendInitialEvents is forbidden")),
       answer(200, list_body({pod("a", "1", "n1"), pod("b", "2", "n1")}, "10", "more")),
       answer(200, list_body({pod("c", "3", "n1")}, "10")), stream({modified("c", "11", "n2")}, end())});
  EXPECT_THAT(told_after(6), ElementsAre("!kube.invalid", "+team-a/a@n1", "+team-a/b@n1", "+team-a/c@n1",
                                         "synced", "~team-a/c@n2"));
  const auto seen = server->requests();
  EXPECT_EQ(seen[1].parameter("limit"), "2");
  EXPECT_EQ(seen[1].parameter("watch"), "");
  EXPECT_EQ(seen[2].parameter("continue"), "more");
  EXPECT_EQ(seen[3].parameter("resourceVersion"), "10");
  EXPECT_TRUE(timing->rests().empty()) << "at once";
}

// Without this, objects of a WatchList that broke off would stay although the list knows them not.
TEST_F(ReflectorTest, AnErrorAmongTheInitialEventsLeadsToAList) {
  run({stream({added("a", "3"), added("b", "4"), error(500, "InternalError")}),
       answer(200, list_body({pod("b", "4", "n1")}, "10")), stream({}), stream({})});
  EXPECT_THAT(told_after(5),
              ElementsAre("+team-a/a@n1", "+team-a/b@n1", "!kube.unavailable", "-team-a/a", "synced"));
}

// Without this, after a compaction of etcd the manager would know an old state for ever, or be told every
// object anew.
TEST_F(ReflectorTest, AVersionThatIsTooOldMeansANewListAndNoStorm) {
  run({stream({added("a", "3"), added("b", "4"), bookmark_line("10", true)}, end()),
       stream({error(410, "Expired")}),
       stream({added("a", "3"), added("b", "20", "n2"), added("c", "21"), bookmark_line("30", true)}, end()),
       answer(410, status_body(410, "Expired", "too old")),
       stream({added("c", "21"), bookmark_line("50", true)})});
  EXPECT_THAT(told_after(11),
              ElementsAre("+team-a/a@n1", "+team-a/b@n1", "synced", "!kube.gone", "~team-a/b@n2",
                          "+team-a/c@n1", "synced", "!kube.gone", "-team-a/a", "-team-a/b", "synced"));
  const auto seen = server->requests();
  EXPECT_EQ(seen[2].parameter("resourceVersion"), "");
  EXPECT_EQ(seen[2].parameter("sendInitialEvents"), "true");
  EXPECT_EQ(reflector->status().lists, 3U);
}

// Without this, an API server that restarts would be hammered on, or be given up.
TEST_F(ReflectorTest, ALostConnectionIsTakenUpAfterARest) {
  run({stream({added("a", "3"), bookmark_line("10", true), modified("a", "11", "n2")}, cut()),
       [](Conversation& conversation) { conversation.cut(); }, answer(503, ""),
       stream({modified("a", "12", "n3")})});
  EXPECT_THAT(told_after(7), ElementsAre("+team-a/a@n1", "synced", "~team-a/a@n2", "!kube.connection",
                                         "!kube.connection", "!kube.unavailable", "~team-a/a@n3"));
  EXPECT_THAT(timing->rests(), ElementsAre(milliseconds(800), milliseconds(1'600), milliseconds(3'200)));
  for (const SeenRequest& request : server->requests()) {
    EXPECT_TRUE(request.parameter("resourceVersion").empty() || request.parameter("resourceVersion") == "11");
  }
}

// Without this, an event that was cut in its middle would be lost, or half of it be believed.
TEST_F(ReflectorTest, AnEventThatWasCutIsAskedForAgain) {
  const std::string whole = modified("a", "12", "n2");
  run({stream({added("a", "3"), bookmark_line("10", true)},
              [&whole](Conversation& conversation) {
                conversation.chunk(whole.substr(0, whole.size() / 2));
                conversation.cut();
              }),
       stream({whole})});
  EXPECT_THAT(told_after(4), ElementsAre("+team-a/a@n1", "synced", "!kube.connection", "~team-a/a@n2"));
  EXPECT_EQ(server->requests()[1].parameter("resourceVersion"), "10");
}

// Without this, one line of garbage would end the reflector, or be passed over with the event that it was;
// and when it comes again and again, the watch would never get beyond it.
TEST_F(ReflectorTest, GarbageIsAskedForAgainAndThenListed) {
  run({stream({added("a", "3"), bookmark_line("10", true), "}garbage{"}), stream({"}garbage{"}),
       stream({added("a", "3"), added("b", "12"), bookmark_line("13", true)})});
  EXPECT_THAT(told_after(6), ElementsAre("+team-a/a@n1", "synced", "!kube.answer.invalid",
                                         "!kube.answer.invalid", "+team-a/b@n1", "synced"));
  const auto seen = server->requests();
  EXPECT_EQ(seen[1].parameter("resourceVersion"), "10");
  EXPECT_EQ(seen[2].parameter("resourceVersion"), "");
}

// Without this, a connection that is dead without a word would be waited on for ever.
TEST_F(ReflectorTest, AStreamWithoutEvenBookmarksIsStalled) {
  options.silence_max = milliseconds(300);
  run({stream({added("a", "3"), bookmark_line("10", true)}), stream({modified("a", "11", "n2")}, hold())});
  const auto all = told_after(4);
  EXPECT_EQ(all[2], "!kube.timeout");
  EXPECT_EQ(all[3], "~team-a/a@n2");
  EXPECT_EQ(server->requests()[1].parameter("resourceVersion"), "10");
}

// Without this, a quiet kind of object would be taken for a dead connection.
TEST_F(ReflectorTest, BookmarksAloneKeepAStreamAlive) {
  options.silence_max = milliseconds(400);
  run({stream({bookmark_line("10", true)},
              [](Conversation& conversation) {
                for (int i = 11; i < 21; ++i) {
                  std::this_thread::sleep_for(milliseconds(60));
                  conversation.line(bookmark_line(std::to_string(i)));
                }
                conversation.end_stream();
              }),
       hold()});
  const auto seen = requests(2);
  stop();
  EXPECT_THAT(told(), ElementsAre("synced"));
  EXPECT_EQ(seen[1].parameter("resourceVersion"), "20");
}

// Without this, a server that is busy would be asked sooner than it said.
TEST_F(ReflectorTest, ABusyServerIsLeftAloneAsLongAsItAsks) {
  run({[](Conversation& conversation) { conversation.answer(429, "", {{"Retry-After", "17"}}); },
       stream({bookmark_line("10", true)})});
  EXPECT_THAT(told_after(2), ElementsAre("!kube.too_many_requests", "synced"));
  EXPECT_THAT(timing->rests(), ElementsAre(milliseconds(17'000)));
}

// Without this, a watch that ends as soon as it begins would be asked for thousands of times a second.
TEST_F(ReflectorTest, AWatchThatEndsAtOnceIsATrouble) {
  run({stream({bookmark_line("10", true)}, end()), stream({}, end()), stream({}, end()), hold()});
  requests(4);
  stop();
  EXPECT_THAT(told(), ElementsAre("synced", "!kube.connection", "!kube.connection"));
  EXPECT_THAT(timing->rests(), ElementsAre(milliseconds(800), milliseconds(1'600)));
}

// Without this, a server that ignores sendInitialEvents and only sends changes would never be synced with.
TEST_F(ReflectorTest, InitialEventsThatNeverEndLeadToAList) {
  options.initial_events_max = milliseconds(60'000);
  run({[this](Conversation& conversation) {
         conversation.begin_stream();
         conversation.line(added("a", "3"));
         EXPECT_TRUE(net::eventually([&] { return !told().empty(); }));
         timing->advance(milliseconds(60'001));
         conversation.line(modified("a", "4", "n2"));
         conversation.wait_gone();
       },
       answer(200, list_body({pod("a", "4", "n2")}, "10")), hold()});
  EXPECT_THAT(told_after(4), ElementsAre("+team-a/a@n1", "~team-a/a@n2", "!kube.timeout", "synced"));
}

// Without this, an object that is too large would be read into memory all the same, and be passed over.
TEST_F(ReflectorTest, AnOversizedObjectIsATroubleEachTime) {
  ClientSettings settings;
  settings.watch_line_bytes_max = 2'000;
  run({stream({bookmark_line("10", true), added(std::string(3'000, 'x'), "11")}),
       stream({added("a", "12"), bookmark_line("13", true)})},
      settings);
  const auto all = told_after(3);
  EXPECT_THAT(all, ElementsAre("synced", "!kube.answer.invalid", "+team-a/a@n1"));
  EXPECT_EQ(server->requests()[1].parameter("resourceVersion"), "10");
}

// Without this, more objects than may be kept would be lost without a word.
TEST_F(ReflectorTest, ACacheThatIsFullIsTriedAgainFromTheStart) {
  objects_max = 2;
  run({stream({added("a", "1"), added("b", "2"), bookmark_line("10", true), added("c", "11")}),
       stream({added("a", "1"), added("c", "11"), bookmark_line("20", true)}),
       stream({added("a", "1"), bookmark_line("30", true)})});
  const auto seen = requests(2);
  EXPECT_EQ(told_after(4)[3], "!kube.cache.full");
  EXPECT_EQ(seen[1].parameter("resourceVersion"), "") << "an event that was not kept cannot be built on";
}

// Without this, a component that is told to end would wait for the next event.
TEST_F(ReflectorTest, EndsAtOnceWhenItIsStopped) {
  run({stream({bookmark_line("10", true)})});
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_THAT(told_after(1), ElementsAre("synced"));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5));
}

// Without this, tens of thousands of Pods could not be kept in step with.
TEST_F(ReflectorTest, KeepsUpWithManyObjects) {
  objects_max = 100'000;
  constexpr int kPods = 20'000;
  run({[](Conversation& conversation) {
    conversation.begin_stream();
    std::string lines;
    for (int i = 0; i < kPods; ++i) {
      lines += added("pod-" + std::to_string(i), std::to_string(i + 1)) + "\n";
      if (lines.size() < 60'000) continue;
      conversation.chunk(lines);
      lines.clear();
    }
    conversation.chunk(lines + bookmark_line("90000", true) + "\n");
    conversation.wait_gone();
  }});
  EXPECT_TRUE(net::eventually([&] { return reflector->status().synced; }));
  stop();
  EXPECT_EQ(cache->size(), static_cast<std::size_t>(kPods));
  EXPECT_EQ(told().size(), static_cast<std::size_t>(kPods) + 1);
}

}  // namespace
}  // namespace tangram::kube
