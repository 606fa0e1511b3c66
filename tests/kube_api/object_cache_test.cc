#include "kube/api/object_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube_api/api_server.h"

namespace tangram::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Placed {
  std::string node;
  friend bool operator==(const Placed&, const Placed&) = default;
};

class ObjectCacheTest : public ::testing::Test {
 protected:
  ObjectCacheTest() : cache(extract(), handlers(), 4) {}

  static ObjectCache<Placed>::Extract extract() {
    return [](const json::object& object) -> std::optional<Placed> {
      const std::string_view node = text_at(object, {"spec", "nodeName"});
      if (node == "ignored") return std::nullopt;
      return Placed{std::string(node)};
    };
  }
  ObjectCache<Placed>::Handlers handlers() {
    return {
        [this](const std::string& key, const Placed& now) { told.push_back("+" + key + "@" + now.node); },
        [this](const std::string& key, const Placed& before, const Placed& now) {
          told.push_back("~" + key + "@" + before.node + ">" + now.node);
        },
        [this](const std::string& key, const Placed& last) { told.push_back("-" + key + "@" + last.node); },
        [this] { told.push_back("synced"); }};
  }

  Result<void> put(std::string_view name, std::string_view version, std::string_view node,
                   std::string_view uid = "") {
    const auto object = parse_object(pod(name, version, node, uid));
    return cache.put(meta_of(*object), *object);
  }
  void remove(std::string_view name, std::string_view uid = "") {
    const auto object = parse_object(pod(name, "99", "", uid));
    cache.remove(meta_of(*object), *object);
  }
  std::vector<std::string> take() { return std::exchange(told, {}); }

  std::vector<std::string> told;
  ObjectCache<Placed> cache;
};

// Without this, a manager would see changes that are none, or miss those that are.
TEST_F(ObjectCacheTest, TellsEachChangeOnce) {
  EXPECT_TRUE(put("a", "1", "n1"));
  EXPECT_TRUE(put("a", "1", "n1"));
  EXPECT_TRUE(put("a", "2", "n1"));
  EXPECT_THAT(take(), ElementsAre("+team-a/a@n1")) << "what is extracted did not change";
  EXPECT_TRUE(put("a", "3", "n2"));
  EXPECT_THAT(take(), ElementsAre("~team-a/a@n1>n2"));
  ASSERT_NE(cache.find("team-a/a"), nullptr);
  EXPECT_EQ(cache.find("team-a/a")->node, "n2");
  remove("a");
  remove("a");
  EXPECT_THAT(take(), ElementsAre("-team-a/a@n2"));
  EXPECT_EQ(cache.find("team-a/a"), nullptr);
}

// Without this, what went while nobody watched would stay for ever, and a new list would tell everything
// again.
TEST_F(ObjectCacheTest, AReplaceTellsOnlyTheDifference) {
  cache.begin_replace();
  EXPECT_TRUE(put("a", "1", "n1") && put("b", "2", "n1") && put("c", "3", "n1"));
  cache.end_replace();
  EXPECT_THAT(take(), ElementsAre("+team-a/a@n1", "+team-a/b@n1", "+team-a/c@n1", "synced"));
  cache.begin_replace();
  EXPECT_TRUE(put("b", "2", "n1"));
  cache.begin_replace();  // the first one broke off
  EXPECT_TRUE(put("c", "3", "n1") && put("a", "7", "n2"));
  cache.end_replace();
  EXPECT_THAT(take(), ElementsAre("~team-a/a@n1>n2", "-team-a/b@n1", "synced"));
}

// Without this, the allocation of a Pod that is gone would pass to another of the same name.
TEST_F(ObjectCacheTest, AnotherObjectOfTheSameNameIsAnotherObject) {
  EXPECT_TRUE(put("a", "1", "n1", "uid-1"));
  EXPECT_TRUE(put("a", "5", "n1", "uid-2"));
  remove("a", "uid-1");
  EXPECT_THAT(take(), ElementsAre("+team-a/a@n1", "-team-a/a@n1", "+team-a/a@n1"));
  EXPECT_EQ(cache.size(), 1U);
}

// Without this, an object that stopped being of interest would stay in the book.
TEST_F(ObjectCacheTest, WhatIsOfNoInterestIsNotThere) {
  EXPECT_TRUE(put("a", "1", "ignored"));
  EXPECT_THAT(take(), IsEmpty());
  EXPECT_TRUE(put("a", "2", "n1") && put("a", "3", "ignored") && put("a", "4", "n2"));
  EXPECT_THAT(take(), ElementsAre("+team-a/a@n1", "-team-a/a@n1", "+team-a/a@n2"));
}

// Without this, whoever may create objects could fill the memory of the manager.
TEST_F(ObjectCacheTest, KeepsABoundedNumber) {
  for (const char* name : {"a", "b", "c", "d"}) EXPECT_TRUE(put(name, "1", "n1"));
  const auto full = put("e", "1", "n1");
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().reason, "kube.cache.full");
  remove("a");
  EXPECT_TRUE(put("e", "1", "n1"));
}

}  // namespace
}  // namespace tangram::kube
