// The protocol byte by byte, and whatever else may come.
#include "kube/extender/messages.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <boost/json/serialize.hpp>

#include "kube_extender/support.h"

namespace tangram::kube::extender {
namespace {

using Names = std::vector<std::string>;

std::string args(const json::object& pod, std::string_view rest) {
  return R"({"Pod":)" + json::serialize(pod) + "," + std::string(rest) + "}";
}

json::object plain_pod(std::string_view resources = "{}") {
  return *parse_object(
      R"({"metadata":{"name":"a","namespace":"b","uid":"c"},"spec":{"containers":[{"name":"x",)"
      R"("resources":)" +
      std::string(resources) + "}]}}");
}

// Without this, what kube-scheduler sends would be misread: its keys have no tags, so they begin with
// capitals.
TEST(Messages, ReadsTheSchedulersQuestion) {
  const auto question = read_question(args(train_pod(), R"("Nodes":null,"NodeNames":["n1","n2"])"));
  ASSERT_TRUE(question) << question.error().message;
  EXPECT_EQ(question->pod, train());
  EXPECT_EQ(question->nodes, (Names{"n1", "n2"}));
  EXPECT_TRUE(question->asks_for_npus);
  EXPECT_TRUE(question->node_list.is_null());
  EXPECT_EQ(question->note.containers, (Names{"side", "main"}));
  EXPECT_EQ(question->note.granted, granted_slice());
  // Not told that names are enough.
  const auto whole = read_question(
      args(train_pod(), R"("Nodes":{"items":[{"metadata":{"name":"n1"},"spec":{}}]},"NodeNames":null)"));
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->nodes, Names{"n1"});
  EXPECT_FALSE(whole->node_list.is_null());
}

// Without this, a Pod without NPUs would need Tangram to be placed, or one with them pass unseen.
TEST(Messages, KnowsWhoAsksForNpus) {
  const auto asks = [](std::string_view resources) {
    const auto question = read_question(args(plain_pod(resources), R"("NodeNames":["n"])"));
    return question && question->asks_for_npus;
  };
  EXPECT_FALSE(asks("{}"));
  EXPECT_FALSE(asks(R"({"limits":{"cpu":"1","nvidia.com/gpu":"1","huawei.com/other":"1"}})"));
  EXPECT_FALSE(asks(R"({"limits":{"huawei.com/Ascend310P":"0"}})"));
  EXPECT_FALSE(asks(R"({"limits":{"huawei.com/Ascend310P":0}})"));
  EXPECT_TRUE(asks(R"({"limits":{"huawei.com/Ascend310P":"1"}})"));
  EXPECT_TRUE(asks(R"({"requests":{"huawei.com/Ascend910B4-1-memory":"16384"}})"));
  json::object marked = plain_pod();
  marked["metadata"].as_object()["labels"] = json::object{{"tangram.dev/managed", "true"}};
  EXPECT_TRUE(read_question(args(marked, R"("NodeNames":["n"])"))->asks_for_npus);
  json::object init = plain_pod();
  init["spec"].as_object()["initContainers"] =
      *parse_array(R"([{"name":"i","resources":{"limits":{"huawei.com/Ascend310P":"1"}}}])");
  EXPECT_TRUE(read_question(args(init, R"("NodeNames":["n"])"))->asks_for_npus);
}

// Without this, the scheduler would not understand the answers.
TEST(Messages, WritesWhatTheSchedulerReads) {
  const FilterAnswer answer{{"n1", "n4"}, {{"n2", "CardInsufficientMemory"}}, {{"n3", "never"}}};
  EXPECT_EQ(write_filter(answer),
            R"({"Nodes":null,"NodeNames":["n1","n4"],"FailedNodes":{"n2":"CardInsufficientMemory"},)"
            R"("FailedAndUnresolvableNodes":{"n3":"never"},"Error":""})");
  // No node: an empty list, because without a list the scheduler looks for whole nodes.
  EXPECT_EQ(write_filter({}),
            R"({"Nodes":null,"NodeNames":[],"FailedNodes":{},"FailedAndUnresolvableNodes":{},"Error":""})");
  EXPECT_EQ(write_filter_error(book_error(Code::kUnavailable, "kube.book.not_ready", "it is being read")),
            R"({"Nodes":null,"NodeNames":null,"FailedNodes":{},"FailedAndUnresolvableNodes":{},)"
            R"("Error":"it is being read (kube.book.not_ready)"
})");
  EXPECT_EQ(write_scores(Names{"n1", "n2"}, std::vector<std::int64_t>{10, 0}),
            R"([{"Host":"n1","Score":10},{"Host":"n2","Score":0}])");
EXPECT_EQ(write_scores({}, {}), "[]");
EXPECT_EQ(write_bound(), R"({"Error":""})");
  EXPECT_EQ(write_bind_error(book_error(Code::kNotNow, "capacity.memory.busy", "no room")),
            R"({"Error":"no room (capacity.memory.busy)"
  })");
  }

  // Without this, a Pod that is none of ours would come back changed, or with another kind of list than it
  // came with.
  TEST(Messages, WhatPassesComesBackAsItCame) {
    const auto names = read_question(args(plain_pod(), R"("Nodes":null,"NodeNames":["n1","n2"])"));
    EXPECT_EQ(write_all_pass(*names),
              R"({"Nodes":null,"NodeNames":["n1","n2"],"FailedNodes":{},"FailedAndUnresolvableNodes":{},)"
              R"("Error":""})");
    const std::string list = R"({"metadata":{},"items":[{"metadata":{"name":"n1"},"new":{"a":[1]}}]})";
    const auto whole = read_question(args(plain_pod(), R"("NodeNames":null,"Nodes":)" + list));
    EXPECT_EQ(write_all_pass(*whole), R"({"Nodes":)" + list +
                                          R"(,"NodeNames":null,"FailedNodes":{},)"
                                          R"("FailedAndUnresolvableNodes":{},"Error":""})");
  }

  // Without this, a binding would be of another Pod than was meant.
  TEST(Messages, ReadsABinding) {
    const auto call = read_bind(R"({"PodName":"train","PodNamespace":"team-a","PodUID":"u-1","Node":"n1"})");
    ASSERT_TRUE(call);
    EXPECT_EQ(call->pod, train());
    EXPECT_EQ(call->node, "n1");
  }

  // Without this, something that no scheduler sends could end the process or be taken for a question.
  TEST(Messages, WhatIsNoCallIsRefused) {
    const std::string long_name(254, 'n');
    for (const std::string& body :
         {std::string(), std::string("{"), std::string("[]"), std::string("{}"), std::string("null"),
          std::string(R"({"Pod":7})"), std::string(R"({"Pod":{"metadata":{}},"NodeNames":[]})"),
          args(plain_pod(), R"("NodeNames":null)"), args(plain_pod(), R"("NodeNames":"n1")"),
          args(plain_pod(), R"("NodeNames":[1])"), args(plain_pod(), R"("NodeNames":[""])"),
          args(plain_pod(), R"("NodeNames":[")" + long_name + "\"]"),
          args(plain_pod(), R"("Nodes":{"items":[7]})"), args(plain_pod(), R"("Nodes":{"items":[{}]})"),
          std::string(R"({"pod":{},"nodeNames":["n1"]})"), std::string(100'000, '['),
          std::string(kBodyBytesMax + 1, ' ')}) {
      const auto question = read_question(body);
      ASSERT_FALSE(question) << body.substr(0, 100);
      EXPECT_EQ(question.error().reason, "kube.extender.invalid");
    }
    for (const char* body : {"", "{}", R"({"PodName":"a","PodNamespace":"b","PodUID":"c"})",
                             R"({"PodName":"a","PodNamespace":"b","PodUID":"c","Node":""})",
                             R"({"PodName":"a","PodNamespace":"b","PodUID":7,"Node":"n"})"}) {
      EXPECT_FALSE(read_bind(body)) << body;
    }
  }

  // Without this, texts of strangers in a Pod could break the answer, which is JSON.
  RC_GTEST_PROP(Messages, AnyNameComesBack, (const std::string& why)) {
    FilterAnswer answer;
    answer.refused.push_back({"n1", why});
    const auto parsed = parse_object(write_filter(answer));
    // What is no UTF-8 is nothing that a Fit says.
    if (parsed) RC_ASSERT(text_at(*parsed, {"FailedNodes", "n1"}) == why);
  }

  // Without this, one wrong byte could end the process that a whole cluster waits for.
  RC_GTEST_PROP(Messages, AnyBytesAreAnswered, ()) {
    std::string body = args(train_pod(), R"("Nodes":null,"NodeNames":["n1","n2"])");
    const auto changes = *rc::gen::container<std::vector<std::pair<std::size_t, char>>>(
        rc::gen::pair(rc::gen::inRange<std::size_t>(0, body.size()), rc::gen::arbitrary<char>()));
    for (const auto& [place, byte] : changes) body[place] = byte;
    const auto question = read_question(body);
    if (question) {
      RC_ASSERT(!question->pod.uid.empty());
      RC_ASSERT(parse_object(write_all_pass(*question)).has_value());
    } else {
      RC_ASSERT(question.error().reason == "kube.extender.invalid");
    }
    RC_ASSERT(!read_bind(body));
  }

  }  // namespace
  }  // namespace tangram::kube::extender
