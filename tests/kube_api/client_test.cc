#include "kube/api/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "kube_api/api_server.h"
#include "kube_api/fake_timing.h"

namespace tangram::kube {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;

const ObjectName kTrain{resources::pods(), "team-a", "train-0"};

class ClientTest : public ::testing::Test {
 protected:
  ApiClient& against(ApiServer::Handler handler, ClientSettings settings = {}) {
    server = std::make_unique<ApiServer>(std::move(handler));
    ClusterConfig config = server->config();
    config.path_prefix = prefix;
    auto opened = ApiClient::open(config, std::move(settings), timing);
    if (!opened) std::abort();
    client = std::move(*opened);
    return *client;
  }
  // Answers in this order, and the last one again and again.
  ApiClient& answering(std::vector<std::pair<int, std::string>> answers, ClientSettings settings = {}) {
    auto turn = std::make_shared<std::atomic<std::size_t>>(0);
    return against(
        [answers = std::move(answers), turn](const SeenRequest&, Conversation& conversation) {
          const auto& [status, body] = answers[std::min((*turn)++, answers.size() - 1)];
          conversation.answer(status, body);
        },
        std::move(settings));
  }
  SeenRequest only_request() const {
    const auto seen = server->requests();
    return seen.size() == 1 ? seen.front() : SeenRequest{};
  }
  json::object sent() const { return parse_object(only_request().body).value_or(json::object{}); }

  std::string prefix;
  std::shared_ptr<FakeTiming> timing = std::make_shared<FakeTiming>();
  std::unique_ptr<ApiServer> server;
  std::unique_ptr<ApiClient> client;
};

// Without this, behind a proxy with a path of its own every request would go astray.
TEST_F(ClientTest, ReadsAnObject) {
  prefix = "/k8s/c1";
  const auto text = answering({{200, pod("train-0", "5")}}).get(kTrain);
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, pod("train-0", "5"));
  EXPECT_EQ(only_request().method, "GET");
  EXPECT_EQ(only_request().path, "/k8s/c1/api/v1/namespaces/team-a/pods/train-0");
  EXPECT_EQ(only_request().header("Accept"), "application/json");
  EXPECT_EQ(only_request().header("User-Agent"), "tangram");
}

// Without this, the verbs of writing would not be the ones that the API server knows.
TEST_F(ClientTest, AppliesAndCreates) {
  const std::string body = R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"train-0"}})";
  ASSERT_TRUE(answering({{200, body}}).apply(kTrain, body));
  EXPECT_EQ(only_request().method, "PATCH");
  EXPECT_EQ(only_request().header("Content-Type"), "application/apply-patch+yaml");
  EXPECT_EQ(only_request().parameter("fieldManager"), "tangram");
  EXPECT_EQ(only_request().parameter("force"), "true");
  EXPECT_EQ(only_request().body, body);

  ObjectName status = kTrain;
  status.subresource = "status";
  ASSERT_TRUE(answering({{200, body}}).apply(status, body, false));
  EXPECT_EQ(only_request().path, "/api/v1/namespaces/team-a/pods/train-0/status");
  EXPECT_EQ(only_request().parameter("force"), "");

  ASSERT_TRUE(answering({{201, body}}).create(resources::pods(), "team-a", body));
  EXPECT_EQ(only_request().method, "POST");
  EXPECT_EQ(only_request().path, "/api/v1/namespaces/team-a/pods");
  EXPECT_EQ(only_request().header("Content-Type"), "application/json");
}

// Without this, two writers would overwrite each other's changes.
TEST_F(ClientTest, PatchesCompareAndSwap) {
  ASSERT_TRUE(answering({{200, "{}"}})
                  .merge_patch(kTrain,
                               json::object{{"metadata", json::object{{"labels", json::object{{"a", "b"}}}}}},
                               "41"));
  EXPECT_EQ(only_request().header("Content-Type"), "application/merge-patch+json");
  EXPECT_EQ(only_request().body, R"({"metadata":{"labels":{"a":"b"},"resourceVersion":"41"}})");

  ASSERT_TRUE(answering({{200, "{}"}}).merge_patch(kTrain, json::object{{"spec", json::object{}}}));
  EXPECT_EQ(only_request().body, R"({"spec":{}})");

  const json::array open_gate{
      json::object{{"op", "test"}, {"path", "/spec/schedulingGates/0/name"}, {"value", "tangram.dev/quota"}},
      json::object{{"op", "remove"}, {"path", "/spec/schedulingGates/0"}}};
  const auto conflict = answering({{409, status_body(409, "Conflict", "the object has been modified")}})
                            .json_patch(kTrain, open_gate, "41");
  ASSERT_FALSE(conflict);
  EXPECT_EQ(failure_of(conflict.error()), Failure::kConflict);
  EXPECT_EQ(only_request().header("Content-Type"), "application/json-patch+json");
  EXPECT_EQ(only_request().body,
            R"([{"op":"replace","path":"/metadata/resourceVersion","value":"41"},)"
            R"({"op":"test","path":"/spec/schedulingGates/0/name","value":"tangram.dev/quota"},)"
            R"({"op":"remove","path":"/spec/schedulingGates/0"}])");
}

// Without this, an object that came in the place of another would be deleted, evicted or bound.
TEST_F(ClientTest, DeletesEvictsAndBindsOnlyTheOneThatIsMeant) {
  ASSERT_TRUE(answering({{200, "{}"}}).remove(kTrain, {{"uid-1", "41"}, Propagation::kForeground, 0}));
  EXPECT_EQ(only_request().method, "DELETE");
  EXPECT_EQ(text_at(sent(), {"preconditions", "uid"}), "uid-1");
  EXPECT_EQ(text_at(sent(), {"preconditions", "resourceVersion"}), "41");
  EXPECT_EQ(text_at(sent(), {"propagationPolicy"}), "Foreground");
  EXPECT_EQ(number_at(sent(), {"gracePeriodSeconds"}), 0);

  ASSERT_TRUE(answering({{201, "{}"}}).evict("team-a", "train-0", "uid-1", 30));
  EXPECT_EQ(only_request().path, "/api/v1/namespaces/team-a/pods/train-0/eviction");
  EXPECT_EQ(text_at(sent(), {"apiVersion"}), "policy/v1");
  EXPECT_EQ(text_at(sent(), {"deleteOptions", "preconditions", "uid"}), "uid-1");
  EXPECT_EQ(number_at(sent(), {"deleteOptions", "gracePeriodSeconds"}), 30);

  ASSERT_TRUE(answering({{201, "{}"}}).bind("team-a", "train-0", "uid-1", "node-a"));
  EXPECT_EQ(only_request().path, "/api/v1/namespaces/team-a/pods/train-0/binding");
  EXPECT_EQ(text_at(sent(), {"metadata", "uid"}), "uid-1");
  EXPECT_EQ(text_at(sent(), {"target", "kind"}), "Node");
  EXPECT_EQ(text_at(sent(), {"target", "name"}), "node-a");
}

// Without this, a preemption would hammer on a budget, and take it for a server that is busy.
TEST_F(ClientTest, ABudgetIsAnAnswerAndNotTriedAgain) {
  const auto evicted =
      answering({{429, status_body(429, "TooManyRequests", "Cannot evict pod",
                                   R"({"causes":[{"reason":"DisruptionBudget","message":"x"}]})")}})
          .evict("team-a", "train-0", "uid-1");
  ASSERT_FALSE(evicted);
  EXPECT_EQ(failure_of(evicted.error()), Failure::kBudget);
  EXPECT_EQ(server->requests().size(), 1U);
}

// Without this, a server that is busy would be asked at once again, or a write be lost that it had not begun.
TEST_F(ClientTest, ComesBackWhenABusyServerAsksTo) {
  std::atomic<int> turn = 0;
  ApiClient& api = against([&](const SeenRequest&, Conversation& conversation) {
    switch (turn++) {
      case 0:
        return conversation.answer(429, status_body(429, "TooManyRequests", "slow"), {{"Retry-After", "3"}});
      case 1:
        return conversation.answer(503, status_body(503, "ServiceUnavailable", "x"), {{"Retry-After", "1"}});
      case 2:
        return conversation.answer(429, "");
      default:
        return conversation.answer(201, "{}");
    }
  });
  EXPECT_TRUE(api.create(resources::pods(), "team-a", "{}"));
  EXPECT_THAT(timing->rests(), ElementsAre(milliseconds(3'000), milliseconds(1'000), milliseconds(1'000)));
}

// Without this, a write that may have been carried out would be carried out twice.
TEST_F(ClientTest, AWriteWithoutAnAnswerIsTheCallersToFindOut) {
  const auto cut = [](const SeenRequest&, Conversation& conversation) { conversation.cut(); };
  const auto written = against(cut).create(resources::pods(), "team-a", "{}");
  ASSERT_FALSE(written);
  EXPECT_EQ(failure_of(written.error()), Failure::kConnection);
  EXPECT_EQ(server->requests().size(), 1U);
  EXPECT_EQ(failure_of(answering({{500, ""}}).create(resources::pods(), "team-a", "{}").error()),
            Failure::kUnavailable);
  EXPECT_EQ(server->requests().size(), 1U);
}

// Without this, each restart of the API server would fail calls that only read.
TEST_F(ClientTest, AReadIsTriedAgainAFewTimes) {
  std::atomic<int> turns = 0;
  ApiClient& api = against([&](const SeenRequest&, Conversation& conversation) {
    const int turn = turns++;
    if (turn == 0) return conversation.cut();
    if (turn == 1) return conversation.answer(500, "");
    conversation.answer(200, "{}");
  });
  EXPECT_TRUE(api.get(kTrain));
  EXPECT_THAT(timing->rests(), ElementsAre(milliseconds(250), milliseconds(500)));
  EXPECT_FALSE(answering({{500, ""}}).get(kTrain));
  EXPECT_EQ(server->requests().size(), 5U) << "not for ever";
}

// Without this, a call would outlive its deadline in rests.
TEST_F(ClientTest, ARestBeyondTheDeadlineIsNotBegun) {
  ApiClient& api = against([](const SeenRequest&, Conversation& conversation) {
    conversation.answer(429, "", {{"Retry-After", "20"}});
  });
  CallOptions options;
  options.timeout = milliseconds(10'000);
  const auto answer = api.get(kTrain, options);
  ASSERT_FALSE(answer);
  EXPECT_EQ(retry_after(answer.error()), milliseconds(20'000)) << "the caller is told";
  EXPECT_TRUE(timing->rests().empty());
}

// Without this, a server that holds a request would hold its caller.
TEST_F(ClientTest, EndsAtItsDeadlineAndWhenInterrupted) {
  ApiClient& api = against([](const SeenRequest&, Conversation& conversation) { conversation.wait_gone(); });
  CallOptions options;
  options.timeout = milliseconds(50);
  EXPECT_EQ(failure_of(api.get(kTrain, options).error()), Failure::kTimeout);
  net::Interrupt interrupt;
  options = {&interrupt, milliseconds(10'000)};
  std::thread later([&] { interrupt.raise(); });
  EXPECT_EQ(failure_of(api.get(kTrain, options).error()), Failure::kInterrupted);
  later.join();
}

// Without this, an answer of any size would be read into memory.
TEST_F(ClientTest, BoundsAnAnswer) {
  ClientSettings settings;
  settings.answer_bytes_max = 1'000;
  const auto answer = answering({{200, std::string(2'000, ' ')}}, settings).get(kTrain);
  ASSERT_FALSE(answer);
  EXPECT_EQ(failure_of(answer.error()), Failure::kUnreadable);
  EXPECT_EQ(server->requests().size(), 1U);
}

class ListTest : public ClientTest {
 protected:
  Result<std::string> list(ApiClient& api, ListQuery query = {{resources::pods()}, 2, {}}) {
    return api.list(query, [this](const json::object& object) -> Result<void> {
      names.emplace_back(meta_of(object).name);
      return {};
    });
  }
  std::vector<std::string> names;
};

// Without this, a large cluster would be seen in part.
TEST_F(ListTest, ReadsPageByPage) {
  ApiClient& api = answering({{200, list_body({pod("a", "1"), pod("b", "2")}, "10", "next/1")},
                              {200, list_body({pod("c", "3"), pod("d", "4")}, "10", "next/2")},
                              {200, list_body({pod("e", "5")}, "10")}});
  Selection selection{resources::pods()};
  selection.space = "team-a";
  selection.label_selector = "a=b,c!=d";
  selection.field_selector = "spec.nodeName=node-a";
  const auto version = list(api, {selection, 2, {}});
  ASSERT_TRUE(version);
  EXPECT_EQ(*version, "10");
  EXPECT_THAT(names, ElementsAre("a", "b", "c", "d", "e"));
  const auto seen = server->requests();
  ASSERT_EQ(seen.size(), 3U);
  for (const SeenRequest& request : seen) {
    EXPECT_EQ(request.path, "/api/v1/namespaces/team-a/pods");
    EXPECT_EQ(request.parameter("limit"), "2");
    EXPECT_EQ(request.parameter("labelSelector"), "a=b,c!=d");
    EXPECT_EQ(request.parameter("fieldSelector"), "spec.nodeName=node-a");
  }
  EXPECT_EQ(seen[0].parameter("continue"), "");
  EXPECT_EQ(seen[1].parameter("continue"), "next/1");
  EXPECT_EQ(seen[2].parameter("continue"), "next/2");
}

// Without this, half a list would be taken for the whole when etcd was compacted in between.
TEST_F(ListTest, APageThatIsTooOldEndsTheList) {
  ApiClient& api =
      answering({{200, list_body({pod("a", "1")}, "10", "next")},
                 {410, status_body(410, "Expired", "The provided continue parameter is too old")}});
  const auto version = list(api);
  ASSERT_FALSE(version);
  EXPECT_EQ(failure_of(version.error()), Failure::kGone);
}

// Without this, a server that is no API server would be listed as empty, or for ever.
TEST_F(ListTest, WhatIsNoListIsAnError) {
  for (const std::string& body :
       {std::string("<html>"), std::string("{}"), std::string(R"({"items":[]})"),
        std::string(R"({"metadata":{"resourceVersion":"1"}})"), list_body({"7"}, "1")}) {
    const auto version = list(answering({{200, body}}));
    ASSERT_FALSE(version) << body;
    EXPECT_EQ(failure_of(version.error()), Failure::kUnreadable) << body;
  }
  EXPECT_FALSE(list(answering({{200, list_body({pod("a", "1")}, "10", "same")}}))) << "the same page again";
  EXPECT_TRUE(list(answering({{200, R"({"metadata":{"resourceVersion":"1"},"items":null})"}})));
}

class WatchTest : public ClientTest {
 protected:
  Result<void> watch(ApiClient& api, milliseconds silence = milliseconds(10'000)) {
    const WatchQuery query{{resources::pods()}, "7", true, std::chrono::seconds(301)};
    return api.watch(query, silence, [this](std::string_view line) -> Result<bool> {
      lines.emplace_back(line);
      return line != "enough";
    });
  }
  std::vector<std::string> lines;
};

// Without this, events would be lost or joined where the network cuts them.
TEST_F(WatchTest, GivesLinesHoweverTheyArrive) {
  ApiClient& api = against([](const SeenRequest&, Conversation& conversation) {
    conversation.begin_stream();
    for (const char c : std::string("one\r\n\ntwo\n")) conversation.chunk(std::string(1, c));
    conversation.chunk("three\nfo");
    conversation.chunk("ur\n");
    conversation.end_stream();
  });
  EXPECT_TRUE(watch(api));
  EXPECT_THAT(lines, ElementsAre("one", "two", "three", "four"));
  const SeenRequest seen = only_request();
  EXPECT_EQ(seen.parameter("watch"), "1");
  EXPECT_EQ(seen.parameter("resourceVersion"), "7");
  EXPECT_EQ(seen.parameter("allowWatchBookmarks"), "true");
  EXPECT_EQ(seen.parameter("sendInitialEvents"), "true");
  EXPECT_EQ(seen.parameter("resourceVersionMatch"), "NotOlderThan");
  EXPECT_EQ(seen.parameter("timeoutSeconds"), "301");
}

// Without this, a connection that was cut in the middle of an event would look like the end of a watch.
TEST_F(WatchTest, TellsACutFromAnEnd) {
  ApiClient& api = against([](const SeenRequest&, Conversation& conversation) {
    conversation.begin_stream();
    conversation.chunk("one\n{\"type\":\"ADD");
    conversation.cut();
  });
  const auto cut = watch(api);
  ASSERT_FALSE(cut);
  EXPECT_EQ(failure_of(cut.error()), Failure::kConnection);
  EXPECT_THAT(lines, ElementsAre("one")) << "never half a line";
}

// Without this, a stream that fell silent would look alive for ever.
TEST_F(WatchTest, GivesUpOnSilence) {
  ApiClient& api = against([](const SeenRequest&, Conversation& conversation) {
    conversation.begin_stream();
    conversation.line("one");
    conversation.wait_gone();
  });
  const auto silent = watch(api, milliseconds(50));
  ASSERT_FALSE(silent);
  EXPECT_EQ(failure_of(silent.error()), Failure::kTimeout);
  EXPECT_THAT(lines, ElementsAre("one"));
}

// Without this, one line without an end would fill the memory.
TEST_F(WatchTest, BoundsALine) {
  ClientSettings settings;
  settings.watch_line_bytes_max = 10'000;
  ApiClient& api = against(
      [](const SeenRequest&, Conversation& conversation) {
        conversation.begin_stream();
        conversation.line(std::string(10'000, 'x'));
        while (!conversation.ended()) conversation.chunk(std::string(1'000, 'y'));
      },
      settings);
  const auto endless = watch(api);
  ASSERT_FALSE(endless);
  EXPECT_EQ(failure_of(endless.error()), Failure::kUnreadable);
  EXPECT_EQ(lines.size(), 1U) << "as long as it may be";
}

// Without this, whoever has what it waited for could not leave, and a refusal would be read as events.
TEST_F(WatchTest, EndsWhenTheCallerHasEnoughAndKnowsARefusal) {
  ApiClient& api = against([](const SeenRequest&, Conversation& conversation) {
    conversation.begin_stream();
    conversation.chunk("enough\nmore\n");
    conversation.wait_gone();
  });
  EXPECT_TRUE(watch(api));
  EXPECT_THAT(lines, ElementsAre("enough"));
  const auto gone = watch(answering({{410, status_body(410, "Expired", "too old")}}));
  ASSERT_FALSE(gone);
  EXPECT_EQ(failure_of(gone.error()), Failure::kGone);
}

}  // namespace
}  // namespace tangram::kube
