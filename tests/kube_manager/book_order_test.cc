// The book comes from the API alone: the same objects give the same book, in whatever order they come, and a
// book that has followed all that happened is the one that a fresh list gives.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>

#include "kube/protocol/allocation.h"
#include "kube_manager/support.h"

namespace tangram::kube::manager {
namespace {

// A cluster as a map of objects, of which a random world makes changes, and a book that follows them.
class World {
 public:
  World() {
    set("tenant", tenant_with("top", R"({"npus":6,"runningJobs":8})"));
    set("tenant-a", tenant_with("team-a", R"({"npus":4})", "top"));
    set("tenant-b", tenant_with("team-b", R"({"npus":3})", "top"));
    set("node-n1", node_with("n1", 1));
    set("node-n2", node_with("n2", 2));
    live.book.complete();
  }

  void step() {
    switch (*rc::gen::inRange(0, 10)) {
      case 0:
      case 1:
      case 2:
        return create();
      case 3:
      case 4:
        return admit();
      case 5:
      case 6:
        return place();
      case 7:
        return end();
      case 8:
        return change_quota();
      default:
        return move_node();
    }
  }

  // Everything that is there, one after the other.
  std::string fresh(const std::vector<std::string>& order) const {
    Bench bench;
    for (const std::string& key : order) bench.put(objects.at(key));
    bench.book.complete();
    return bench.book.describe();
  }

  std::vector<std::string> keys() const {
    std::vector<std::string> all;
    for (const auto& [key, object] : objects) all.push_back(key);
    return all;
  }

  Bench live;
  std::map<std::string, json::object> objects;

 private:
  void set(const std::string& key, json::object object) {
    live.put(object);
    objects.insert_or_assign(key, std::move(object));
  }

  std::string any_pod() const {
    std::vector<std::string> pods;
    for (const auto& [key, object] : objects) {
      if (key.starts_with("pod-")) pods.push_back(key);
    }
    return pods.empty() ? std::string() : *rc::gen::elementOf(pods);
  }

  void create() {
    const int number = ++made_;
    static const std::vector<std::vector<ContainerGrant>> kShapes = {
        {vir01()},
        {slice_grant("main", "vir02", 6144)},
        {slice_grant("main", "vir04", 12'288)},
        {vir01(), slice_grant("side", "vir02", 6144)}};
    PodShape shape;
    // Ages in the order in which they are made: some alike, as the API server's clock has whole seconds.
    shape.name = "p-" + std::to_string(1'000 + number);
    shape.age = 500 - number / 2;
    shape.tenant = *rc::gen::element<std::string>("team-a", "team-b");
    shape.grants = *rc::gen::elementOf(kShapes);
    shape.priority = *rc::gen::element<std::string>("", "high", "low");
    set("pod-" + shape.name, gated_pod(shape));
  }

  void admit() {
    for (const Opening& opening : live.book.admit(*rc::gen::inRange<std::size_t>(1, 4))) {
      json::object& pod = objects.at("pod-" + opening.pod.name);
      open_gate(pod);
      // Sometimes the watch is first, sometimes the answer.
      if (*rc::gen::arbitrary<bool>()) live.book.opened(opening.pod);
      live.put(pod);
    }
  }

  void place() {
    const std::string key = any_pod();
    if (key.empty()) return;
    json::object& pod = objects.at(key);
    const std::string node = *rc::gen::element<std::string>("n1", "n2");
    const auto reserved = live.book.reserve(ref_of(pod), node);
    if (!reserved || pod["spec"].as_object().contains("nodeName")) return;
    if (*rc::gen::inRange(0, 4) == 0) return live.book.drop(ref_of(pod));
    allocate(pod, reserved->allocation);
    bind_to(pod, node);
    live.put(pod);
  }

  void end() {
    const std::string key = any_pod();
    if (key.empty()) return;
    json::object pod = objects.at(key);
    objects.erase(key);
    if (*rc::gen::arbitrary<bool>()) return live.book.remove_pod(ref_of(pod));
    end_with(pod, "Failed");
    live.put(pod);
  }

  void change_quota() {
    const std::string npus = std::to_string(*rc::gen::inRange(0, 6));
    set("tenant-a", tenant_with("team-a", R"({"npus":)" + npus + "}", "top"));
  }

  void move_node() {
    const bool there = objects.contains("node-n2");
    if (!there) return set("node-n2", node_with("n2", 2));
    objects.erase("node-n2");
    live.remove_node("n2");
  }

  int made_ = 0;
};

// Without this, a manager that is restarted could count otherwise than the one before, by the order in which
// a list happens to come.
RC_GTEST_PROP(ClusterBooks, TheSameObjectsGiveTheSameBook, ()) {
  World world;
  const int steps = *rc::gen::inRange(1, 60);
  for (int i = 0; i < steps; ++i) world.step();
  std::vector<std::string> order = world.keys();
  const std::string first = world.fresh(order);
  for (int i = 0; i < 3; ++i) {
    // A shuffle of rapidcheck's, so that a failure can be repeated.
    for (std::size_t at = order.size(); at > 1; --at) {
      std::swap(order[at - 1], order[*rc::gen::inRange<std::size_t>(0, at)]);
    }
    RC_ASSERT(world.fresh(order) == first);
  }
}

// Without this, what is followed step by step would drift away from what is so.
RC_GTEST_PROP(ClusterBooks, WhatWasFollowedIsWhatAFreshListGives, ()) {
  World world;
  const int steps = *rc::gen::inRange(1, 80);
  for (int i = 0; i < steps; ++i) {
    world.step();
    RC_ASSERT(world.live.book.describe() == world.fresh(world.keys()));
  }
}

}  // namespace
}  // namespace tangram::kube::manager
