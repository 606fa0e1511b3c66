#include "kube/admission/feed.h"

#include <gtest/gtest.h>

#include "kube_api/api_server.h"
#include "net/support.h"

namespace tangram::kube::admission {
namespace {

wire::NpuResource chip(std::string word, std::string name) {
  wire::NpuResource made;
  made.word = std::move(word);
  made.chip = std::move(name);
  made.whole_mib = 1000;
  return made;
}

std::string chip_under(const SettingsBook& book, std::string_view word) {
  for (const wire::NpuResource& resource : book.current()->resources) {
    if (resource.word == word) return resource.chip;
  }
  return "";
}

// Without this, a chip that an operator describes could not be asked for, or would stay when it is gone.
TEST(SettingsBook, OperatorsChipsWin) {
  SettingsBook book{Settings{}};
  const std::size_t built_in = book.current()->resources.size();
  const auto before = book.current();
  book.put_chip("b", chip("Ascend310P", "second"));
  book.put_chip("a", chip("Ascend310P", "first"));
  book.put_chip("c", chip("AscendNew", "new"));
  EXPECT_EQ(chip_under(book, "Ascend310P"), "first");
  EXPECT_EQ(chip_under(book, "AscendNew"), "new");
  EXPECT_EQ(book.current()->resources.size(), built_in + 1);
  EXPECT_EQ(before->resources.size(), built_in) << "who asks meanwhile is not disturbed";
  book.remove_chip("a");
  EXPECT_EQ(chip_under(book, "Ascend310P"), "second");
  book.remove_chip("b");
  EXPECT_EQ(chip_under(book, "Ascend310P"), "310P (24 GiB)");
}

// Without this, ended Pods would use a quota for ever, or init containers be counted beside the others.
TEST(QuotaUse, IsWhatAPodHoldsAtOnce) {
  const auto use = [](std::string_view phase, std::string_view grants) {
    json::object pod{{"status", json::object{{"phase", phase}}}};
    pod["metadata"] = json::object{{"annotations", json::object{{"tangram.dev/granted", grants}}}};
    return quota_use_of(pod);
  };
  const std::string grants =
      R"([{"container":"i","init":true,"resource":"huawei.com/Ascend310P","memoryMiB":12288,"kind":"slice","template":"vir04"},)"
      R"({"container":"m","resource":"huawei.com/Ascend310P","memoryMiB":3072,"kind":"slice","template":"vir01"},)"
      R"({"container":"n","resource":"huawei.com/Ascend910B4","count":2,"memoryMiB":32768,"kind":"whole"}])";
  const QuotaLimits wanted{{"limits.huawei.com/Ascend310P-memory", 12'288},
                           {"limits.huawei.com/Ascend910B4-memory", 65'536}};
  EXPECT_EQ(use("Pending", grants), wanted);
  EXPECT_EQ(use("Running", grants), wanted);
  EXPECT_TRUE(use("Succeeded", grants).empty());
  EXPECT_TRUE(use("Failed", grants).empty());
  EXPECT_TRUE(use("Running", "spoilt").empty());
  EXPECT_TRUE(quota_use_of({}).empty());
}

// An API server that has these objects, by the last word of the path, and nothing new.
class FeedTest : public ::testing::Test {
 protected:
  // With what stands in `objects` then.
  std::unique_ptr<ApiClient> start() {
    server =
        std::make_unique<ApiServer>([all = objects](const SeenRequest& request, Conversation& conversation) {
          if (!request.parameter("watch").empty()) {
            conversation.begin_stream();
            return conversation.wait_gone();
          }
          const auto at = all.find(request.path.substr(request.path.rfind('/') + 1));
          if (at == all.end()) {
            return conversation.answer(404, status_body(404, "NotFound", "no such kind"));
          }
          conversation.answer(200, R"({"metadata":{"resourceVersion":"5"},"items":[)" + at->second + "]}");
        });
    return ApiClient::open(server->config()).value();
  }

  std::map<std::string, std::string> objects{
      {"tenants",
       R"({"metadata":{"name":"team-a","uid":"1","resourceVersion":"1"},"spec":{"namespaceSelector":{"matchLabels":{"team":"a"}}}},)"
       R"({"metadata":{"name":"spoilt","uid":"2","resourceVersion":"1"},"spec":{"quota":{"npus":"many"}}})"},
      {"namespaces",
       R"({"metadata":{"name":"space-a","uid":"3","resourceVersion":"1","labels":{"team":"a"}}})"},
      {"resourcequotas",
       R"({"metadata":{"name":"npus","namespace":"space-a","uid":"4","resourceVersion":"1"},)"
       R"("spec":{"hard":{"cpu":"1","limits.huawei.com/Ascend310P-memory":"10k","limits.huawei.com/Ascend910A-memory":"?"}}})"},
      {"pods",
       R"({"metadata":{"name":"p","namespace":"space-a","uid":"5","resourceVersion":"1","annotations":{"tangram.dev/granted":)"
       R"("[{\"container\":\"m\",\"resource\":\"huawei.com/Ascend310P\",\"memoryMiB\":3072,\"kind\":\"slice\",\"template\":\"vir01\"}]"}}})"},
      {"chipmodels",
       R"({"metadata":{"name":"x","uid":"6","resourceVersion":"1"},"spec":{"resource":"AscendX","chip":{"name":"X",)"
       R"("match":{"chips":["X"]},"aiCores":4,"templates":[{"name":"vir01","aiCores":1,"memory":"3GiB"}]}}})"}};
  std::unique_ptr<ApiServer> server;
};

// Without this, admission would know nothing of the cluster, or let Pods in before it does.
TEST_F(FeedTest, WhatTheApiHasIsKnown) {
  const auto client = start();
  const auto directory = std::make_shared<Directory>();
  const auto settings = std::make_shared<SettingsBook>(Settings{});
  Feed::Options options;
  options.watch_list = false;
  const Feed feed(*client, directory, settings, options);
  ASSERT_TRUE(net::eventually([&] { return directory->tenant_of("space-a").has_value(); }));
  EXPECT_EQ(directory->tenant_of("space-a")->front().name, "team-a");
  EXPECT_EQ(directory->quotas_of("space-a"),
            (std::vector<NamespaceQuota>{{"npus", "limits.huawei.com/Ascend310P-memory", 10'000, 3'072},
                                         {"npus", "limits.huawei.com/Ascend910A-memory", 0, 0}}));
  EXPECT_EQ(chip_under(*settings, "AscendX"), "X");
}

// Without this, a cluster that lacks one of the kinds would let Pods in by what is half known.
TEST_F(FeedTest, WithoutOneKindNobodyIsLetIn) {
  objects.erase("chipmodels");
  const auto client = start();
  const auto directory = std::make_shared<Directory>();
  const Feed feed(*client, directory, std::make_shared<SettingsBook>(Settings{}), {.watch_list = false});
  ASSERT_TRUE(net::eventually([&] { return !directory->quotas_of("space-a").empty(); }));
  EXPECT_EQ(directory->tenant_of("space-a").error().reason, "admission.not_ready");
}

}  // namespace
}  // namespace tangram::kube::admission
