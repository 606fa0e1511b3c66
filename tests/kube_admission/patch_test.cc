#include "kube/admission/patch.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "kube_admission/support.h"

namespace tangram::kube::admission {
namespace {

PodView view_of(const json::object& object) {
  auto view = read_pod(object);
  EXPECT_TRUE(view) << view.error().message;
  return *view;
}

PodChanges some_changes(const PodView& view) {
  PodChanges changes;
  changes.containers.push_back(
      {&view.containers.front(), {{"huawei.com/Ascend310P", 1}, {"huawei.com/Ascend310P-memory", 3072}}});
  changes.labels = {{"tangram.dev/managed", "true"}};
  changes.annotations = {{"tangram.dev/granted", "[]"}};
  changes.gate = "tangram.dev/quota";
  changes.active_deadline_seconds = 60;
  return changes;
}

// Without this, the API server would refuse the patch where a list or an object is absent, or a slash in a
// name would lead elsewhere.
TEST(Patch, MakesWhatIsAbsent) {
  json::object bare = pod({container("main")});
  bare.at("spec").as_object().at("containers").as_array()[0].as_object()["resources"] =
      json::object{{"requests", json::object{{"cpu", "1"}, {"huawei.com/Ascend310P-memory", "1k"}}}};
  const PodView view = view_of(bare);
  const json::array patch = make_patch(view, some_changes(view));
  EXPECT_EQ(
      json::serialize(patch),
      R"([{"op":"add","path":"/spec/containers/0/resources/limits","value":{"huawei.com/Ascend310P":"1",)"
      R"("huawei.com/Ascend310P-memory":"3072"}},)"
      R"({"op":"add","path":"/spec/containers/0/resources/requests/huawei.com~1Ascend310P","value":"1"},)"
      R"({"op":"add","path":"/spec/containers/0/resources/requests/huawei.com~1Ascend310P-memory",)"
      R"("value":"3072"},)"
      R"({"op":"add","path":"/metadata/labels","value":{"tangram.dev/managed":"true"}},)"
      R"({"op":"add","path":"/metadata/annotations","value":{"tangram.dev/granted":"[]"}},)"
      R"({"op":"add","path":"/spec/schedulingGates","value":[{"name":"tangram.dev/quota"}]},)"
      R"({"op":"add","path":"/spec/activeDeadlineSeconds","value":60}])");
  const json::object after = patched(bare, patch);
  EXPECT_TRUE(make_patch(view_of(after), some_changes(view_of(after))).empty()) << "asked again";
}

// Without this, labels, gates and amounts of others would be lost.
TEST(Patch, LeavesWhatIsThere) {
  json::object full = pod({container(
      "main", {{"huawei.com/Ascend310P", "1"}, {"huawei.com/Ascend310P-memory", "4k"}, {"cpu", "2"}})});
  full.at("metadata").as_object()["labels"] = json::object{{"app", "train"}};
  full.at("metadata").as_object()["annotations"] = json::object{{"a.example/b", "c"}};
  json::array gates;
  gates.push_back(json::object{{"name", "other.example/gate"}});
  full.at("spec").as_object()["schedulingGates"] = gates;
  const PodView view = view_of(full);
  const json::object after = patched(full, make_patch(view, some_changes(view)));
  EXPECT_EQ(text_at(after, {"metadata", "labels", "app"}), "train");
  EXPECT_EQ(text_at(after, {"metadata", "labels", "tangram.dev/managed"}), "true");
  EXPECT_EQ(text_at(after, {"metadata", "annotations", "a.example/b"}), "c");
  const PodView now = view_of(after);
  EXPECT_EQ(now.gates, (std::vector<std::string>{"other.example/gate", "tangram.dev/quota"}));
  EXPECT_EQ(now.containers.front().limits.at("huawei.com/Ascend310P-memory"), "3072");
  EXPECT_NE(json::serialize(after).find(R"("cpu":"2")"), std::string::npos);
}

// Without this, the API server's own form of an amount would be rewritten with each question.
TEST(Patch, TheSameAmountInAnotherFormIsTheSame) {
  const json::object one =
      pod({container("main", {{"huawei.com/Ascend310P", "1"}, {"huawei.com/Ascend310P-memory", "3k"}})});
  const PodView view = view_of(one);
  PodChanges changes;
  changes.containers.push_back({&view.containers.front(), {{"huawei.com/Ascend310P-memory", 3000}}});
  EXPECT_TRUE(make_patch(view, changes).empty());
}

// Without this, a key with a slash or a tilde would lead to another member.
TEST(Patch, EscapesKeys) {
  EXPECT_EQ(pointer_segment("huawei.com/Ascend310P"), "huawei.com~1Ascend310P");
  EXPECT_EQ(pointer_segment("a~b/c~1"), "a~0b~1c~01");
}

}  // namespace
}  // namespace tangram::kube::admission
