// The extender over real HTTP, as kube-scheduler calls it.
#include "kube/extender/extender.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "kube_extender/support.h"
#include "net/client.h"
#include "net/server.h"
#include "net/support.h"

namespace tangram::kube::extender {
namespace {

using metrics::CallOutcome;
using metrics::Verb;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ExtenderTest : public ::testing::Test {
 protected:
  ExtenderTest() {
    placer.reservation = slice_reservation();
    net::ServerOptions options;
    options.endpoints = {net::TcpEndpoint{}};
    options.limits.body_bytes_max = kBodyBytesMax;
    server = net::HttpServer::start(std::move(options), [this](const net::Request& request,
                                                               net::Responder responder) {
               extender.handle(request, std::move(responder));
             }).value();
    net::ClientOptions calling;
    calling.host = "127.0.0.1";
    calling.port = server->ports().front();
    calling.tls = false;
    client = std::make_unique<net::HttpClient>(calling);
  }
  ~ExtenderTest() override { extender.finish(); }

  net::Response ask(std::string path, std::string body, std::string type = "application/json",
                    net::Method method = net::Method::kPost) {
    net::ClientRequest request;
    request.method = method;
    request.path = std::move(path);
    request.headers.set("Content-Type", std::move(type));
    request.body = std::move(body);
    auto answer = client->request(request, std::chrono::milliseconds(20'000));
    EXPECT_TRUE(answer) << answer.error().to_string();
    return answer ? *answer : net::Response{};
  }
  // What kube-scheduler sends where it is told that names are enough.
  static std::string about(const json::object& pod, const std::vector<std::string>& nodes) {
    json::object args;
    args["Pod"] = pod;
    args["Nodes"] = nullptr;
    json::array names;
    for (const std::string& node : nodes) names.emplace_back(node);
    args["NodeNames"] = std::move(names);
    return json::serialize(args);
  }
  std::string filter(const json::object& pod, const std::vector<std::string>& nodes) {
    return ask("/filter", about(pod, nodes)).body;
  }
  std::string bind(std::string_view node = "n1") {
    return ask("/bind", R"({"PodName":"train","PodNamespace":"team-a","PodUID":"u-1","Node":")" +
                            std::string(node) + "\"}")
        .body;
  }

  FakePlacer placer;
  PodServer api;
  Extender extender{placer, api.client()};
  std::unique_ptr<net::HttpServer> server;
  std::unique_ptr<net::HttpClient> client;
};

// Without this, `kubectl describe` would not show HAMi's word of why a Pod waits, or a node that can never
// help be preempted on.
TEST_F(ExtenderTest, SaysWhichNodesFitAndWhyOthersDoNot) {
  placer.answer("n2", refusing("CardTimeSlicingExhausted"));
  placer.answer("n3", refusing("NodeInsufficientDevice", true));
  const net::Response answer = ask("/filter", about(train_pod(), {"n1", "n2", "n3", "n4"}));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.get("Content-Type"), "application/json");
  EXPECT_EQ(answer.body,
            R"({"Nodes":null,"NodeNames":["n1","n4"],"FailedNodes":{"n2":"CardTimeSlicingExhausted"},)"
            R"("FailedAndUnresolvableNodes":{"n3":"NodeInsufficientDevice"},"Error":""})");
  EXPECT_THAT(placer.calls(), ElementsAre("filter 4"));
  EXPECT_EQ(extender.meters().calls(Verb::kFilter, CallOutcome::kOk), 1U);
}

// Without this, a Pod that asks for no NPUs would wait for Tangram, or be hurt while Tangram is not well.
TEST_F(ExtenderTest, PodsWithoutNpusPassUntouched) {
  placer.refuse(book_error(Code::kUnavailable, "kube.book.not_ready", "not yet"));
  json::object pod = train_pod();
  pod["metadata"].as_object().erase("labels");
  pod["metadata"].as_object().erase("annotations");
  pod["spec"].as_object()["containers"] = *parse_array(R"([{"name":"a"}])");
  EXPECT_THAT(filter(pod, {"n1", "n2"}), HasSubstr(R"("NodeNames":["n1","n2"],"FailedNodes":{})"));
  EXPECT_EQ(ask("/prioritize", about(pod, {"n1"})).body, R"([{"Host":"n1","Score":0}])");
  EXPECT_THAT(placer.calls(), IsEmpty());
}

// Without this, a Pod would be placed on a node that nobody has looked at.
TEST_F(ExtenderTest, WithoutABookNothingFits) {
  placer.refuse(book_error(Code::kUnavailable, "kube.book.not_ready", "the cluster is being read"));
  EXPECT_EQ(filter(train_pod(), {"n1"}),
            R"({"Nodes":null,"NodeNames":null,"FailedNodes":{},"FailedAndUnresolvableNodes":{},)"
            R"("Error":"the cluster is being read (kube.book.not_ready)"
})");
  EXPECT_EQ(ask("/prioritize", about(train_pod(), {"n1"})).status, 503);
EXPECT_THAT(bind(), HasSubstr("kube.book.not_ready"));
placer.refuse(book_error(Code::kNotFound, "kube.pod.unknown", "Pod team-a/train is not known"));
EXPECT_THAT(filter(train_pod(), {"n1"}), HasSubstr(R"("Error":"Pod team-a/train is not known)"));
EXPECT_EQ(extender.meters().calls(Verb::kFilter, CallOutcome::kFailed), 2U);
}

// Without this, a Pod that came past admission would be tried again and again, or be placed.
TEST_F(ExtenderTest, APodThatWasNeverAdmittedFitsNowhere) {
  placer.refuse(book_error(Code::kFailedPrecondition, "kube.pod.not_admitted", "it was never admitted"));
  EXPECT_EQ(filter(train_pod(), {"n1", "n2"}),
            R"({"Nodes":null,"NodeNames":[],"FailedNodes":{},)"
            R"("FailedAndUnresolvableNodes":{"n1":"it was never admitted","n2":"it was never admitted"},)"
            R"("Error":""})");
}

// Without this, the best node would not be preferred: an extender's scores end at 10.
TEST_F(ExtenderTest, ScoresAreTheProtocols) {
  for (const auto& [node, score] : {std::pair("a", 0), std::pair("b", 100), std::pair("c", 54),
                                    std::pair("d", 55), std::pair("e", 900), std::pair("f", -7)}) {
    placer.answer(node, fitting(score));
  }
  placer.answer("g", refusing("x"));
  EXPECT_EQ(ask("/prioritize", about(train_pod(), {"a", "b", "c", "d", "e", "f", "g"})).body,
            R"([{"Host":"a","Score":0},{"Host":"b","Score":10},{"Host":"c","Score":5},)"
            R"({"Host":"d","Score":6},{"Host":"e","Score":10},{"Host":"f","Score":0},)"
            R"({"Host":"g","Score":0}])");
}

// Without this, a large cluster would be told that its question is too long, as HAMi tells it.
TEST_F(ExtenderTest, FiveThousandNodesFitIntoAQuestion) {
  std::vector<std::string> nodes;
  for (int i = 0; i < 5'000; ++i) nodes.push_back("node-" + std::to_string(i) + "." + std::string(240, 'x'));
  for (int i = 0; i < 5'000; i += 2)
    placer.answer(nodes[static_cast<std::size_t>(i)], refusing("CardNotHealth"));
  const json::object answer = *parse_object(filter(train_pod(), nodes));
  EXPECT_EQ(array_at(answer, {"NodeNames"})->size(), 2'500U);
  EXPECT_EQ(object_at(answer, {"FailedNodes"})->size(), 2'500U);
  EXPECT_THAT(placer.calls(), ElementsAre("filter 5000"));
}

// Without this, a scheduler that sends whole nodes would be misunderstood, and nobody be told what to change.
TEST_F(ExtenderTest, WholeNodesAreNotWanted) {
  json::object args;
  args["Pod"] = train_pod();
  args["Nodes"] = *parse_object(R"({"items":[{"metadata":{"name":"n1"}}]})");
  EXPECT_THAT(ask("/filter", json::serialize(args)).body, HasSubstr("kube.extender.whole_nodes"));
  EXPECT_THAT(placer.calls(), IsEmpty());
}

// Without this, the scheduler could not bind: where an extender binds, nobody else does.
TEST_F(ExtenderTest, BindsWithTwoCalls) {
  filter(train_pod(), {"n1"});
  EXPECT_EQ(bind(), R"({"Error":""})");
  EXPECT_EQ(api.bound_to(), "n1");
  EXPECT_THAT(api.calls(), ElementsAre("PATCH", "POST binding"));
  // Containers without NPUs were told by the question alone.
  EXPECT_THAT(api.bodies("PATCH").front(), HasSubstr(";AA-BB,Ascend310P,6144,0:;"));
  EXPECT_EQ(extender.meters().calls(Verb::kBind, CallOutcome::kOk), 1U);
}

// Without this, the scheduler would not be told why, and would take the Pod for bound.
TEST_F(ExtenderTest, ABindingThatFailsSaysWhy) {
  placer.refuse(book_error(Code::kNotNow, "capacity.slots.busy", "n1 has no slot free"));
  EXPECT_EQ(bind(), R"({"Error":"n1 has no slot free (capacity.slots.busy)"
})");
  EXPECT_EQ(extender.meters().calls(Verb::kBind, CallOutcome::kRefused), 1U);
placer.accept();
api.spoil("POST", 403);
EXPECT_THAT(bind(), HasSubstr("kube.forbidden"));
EXPECT_EQ(extender.meters().calls(Verb::kBind, CallOutcome::kFailed), 1U);
}

// Without this, whatever a stranger sends could be taken for a question, or end the process.
TEST_F(ExtenderTest, WhatIsNoCallIsToldSo) {
  for (const char* path : {"/filter", "/prioritize", "/bind"}) {
    EXPECT_EQ(ask(path, "{").status, 400) << path;
    EXPECT_EQ(ask(path, "[]").status, 400) << path;
    EXPECT_EQ(ask(path, std::string(50'000, '[')).status, 400) << path;
    EXPECT_EQ(ask(path, "\xff\xfe{}").status, 400) << path;
    EXPECT_EQ(ask(path, "{}", "text/plain").status, 415) << path;
    EXPECT_EQ(ask(path, "", "application/json", net::Method::kGet).status, 405) << path;
    EXPECT_EQ(ask(path, std::string(kBodyBytesMax + 1, ' ')).status, 413) << path;
  }
  EXPECT_EQ(ask("/preempt", "{}").status, 404);
  EXPECT_THAT(placer.calls(), IsEmpty());
  EXPECT_THAT(api.calls(), IsEmpty());
}

// Without this, the scheduler's next question would wait for an API server that is slow to bind.
TEST_F(ExtenderTest, ABindingHoldsNobodyUp) {
  net::Mailbox<int> inside;
  net::Mailbox<int> go_on;
  placer.on_reserve([&] {
    inside.put(1);
    go_on.take();
  });
  for (int i = 0; i < 8; ++i) {
    json::object pod = train_pod();
    pod["metadata"].as_object()["uid"] = "u-" + std::to_string(i + 10);
    filter(pod, {"n1"});
  }
  std::vector<std::thread> binding;
  for (int i = 0; i < 8; ++i) {
    binding.emplace_back([this, i] {
      net::ClientOptions calling;
      calling.host = "127.0.0.1";
      calling.port = server->ports().front();
      calling.tls = false;
      net::ClientRequest request;
      request.method = net::Method::kPost;
      request.path = "/bind";
      request.headers.set("Content-Type", "application/json");
      request.body = R"({"PodName":"p","PodNamespace":"team-a","PodUID":"u-)" + std::to_string(i + 10) +
                     R"(","Node":"n1"})";
      const auto answer = net::HttpClient(calling).request(request, std::chrono::milliseconds(20'000));
      EXPECT_TRUE(answer && answer->status == 200);
    });
  }
  for (int i = 0; i < 8; ++i) inside.take();
  EXPECT_THAT(filter(train_pod(), {"n1"}), HasSubstr(R"("NodeNames":["n1"])"));
  for (int i = 0; i < 8; ++i) go_on.put(1);
  for (std::thread& thread : binding) thread.join();
}

}  // namespace
}  // namespace tangram::kube::extender
