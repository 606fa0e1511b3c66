#include "kube/manager/gate_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/protocol/names.h"
#include "kube_manager/fake_cluster.h"
#include "kube_manager/support.h"

namespace tangram::kube::manager {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class GateKeeperTest : public ::testing::Test {
 protected:
  void begin(std::string_view quota) {
    bench.put(tenant_with("team-a", quota));
    bench.book.complete();
  }

  // In the API, and known to the book as a watch would have told it.
  json::object create(const PodShape& shape) {
    json::object pod = gated_pod(shape);
    cluster.put(pod);
    bench.put(pod);
    return pod;
  }

  bool is_open(std::string_view name) const {
    const auto pod = cluster.get(pod_path(name));
    return pod && read_pod_facts(*pod)->open();
  }

  int open_gates(int pods) const {
    int open = 0;
    for (int i = 0; i < pods; ++i) open += is_open("p-" + std::to_string(100 + i)) ? 1 : 0;
    return open;
  }

  FakeCluster cluster;
  Bench bench;
  std::atomic<bool> leads = true;
  net::Interrupt stop;
  // The book and the client share the test's clock.
  std::shared_ptr<Timing> timing{&bench.timing, [](Timing*) {}};
  std::unique_ptr<ApiClient> client = cluster.client(timing);
  GateKeeper keeper{*client, bench.book, [this] { return leads.load(); }, GateOptions{}, nullptr};
};

// Without this, a race of creations would end with more Pods than the quota has room for.
TEST_F(GateKeeperTest, OfFiftyGatesTwoAreOpened) {
  begin(R"({"npus":2})");
  for (int i = 0; i < 50; ++i) create({"p-" + std::to_string(100 + i)});
  keeper.step(stop);
  keeper.step(stop);
  EXPECT_EQ(open_gates(50), 2);
  EXPECT_TRUE(is_open("p-100") && is_open("p-101"));
  EXPECT_EQ(cluster.writes(), 2U) << "one call each";
  EXPECT_EQ(keeper.counters().opened, 2U);
  const auto pod = cluster.get(pod_path("p-100"));
  EXPECT_TRUE(array_at(*pod, {"spec", "schedulingGates"})->empty());
  EXPECT_FALSE(text_at(*pod, {"metadata", "annotations", names::kAdmitted}).empty());
}

// Without this, the gate of another Pod would be opened, which nothing was charged for.
TEST_F(GateKeeperTest, APodMadeAnewUnderItsNameStaysClosed) {
  begin(R"({"npus":1})");
  create({.name = "p", .uid = "one"});
  cluster.put(gated_pod({.name = "p", .uid = "two"}));
  keeper.step(stop);
  EXPECT_FALSE(is_open("p"));
  EXPECT_EQ(bench.used_npus("team-a"), 0) << "the first is gone";
  EXPECT_EQ(keeper.counters().conflicts, 1U);
  bench.put(*cluster.get(pod_path("p")));
  keeper.step(stop);
  EXPECT_TRUE(is_open("p")) << "the watch has brought the second";
}

// Without this, a gate that somebody else has put before ours would be taken away in its place.
TEST_F(GateKeeperTest, OnlyOurGateIsTakenAway) {
  begin(R"({"npus":1})");
  create({"p"});
  cluster.edit(pod_path("p"), [](json::object& pod) {
    json::array gates;
    gates.push_back(json::object{{"name", "example.com/other"}});
    gates.push_back(json::object{{"name", names::kGate}});
    pod["spec"].as_object()["schedulingGates"] = std::move(gates);
  });
  keeper.step(stop);
  const auto pod = cluster.get(pod_path("p"));
  const json::array& gates = *array_at(*pod, {"spec", "schedulingGates"});
  ASSERT_EQ(gates.size(), 1U);
  EXPECT_EQ(text_at(gates[0].as_object(), {"name"}), "example.com/other");
  EXPECT_TRUE(is_open("p"));
  EXPECT_EQ(bench.used_npus("team-a"), 1);
}

// Without this, somebody who edits the grant of a Pod would get more than was charged.
TEST_F(GateKeeperTest, WhatWasNotChargedIsNotOpened) {
  begin(R"({"npus":1})");
  create({"p"});
  cluster.put(gated_pod({.name = "p", .grants = {whole_grant("main", 2)}}));
  keeper.step(stop);
  EXPECT_FALSE(is_open("p"));
  EXPECT_EQ(bench.used_npus("team-a"), 0) << "two are more than there may be";
}

// Without this, an answer that is lost would count a Pod twice, or never.
TEST_F(GateKeeperTest, ALostAnswerIsCountedOnce) {
  begin(R"({"npus":2})");
  create({"p"});
  cluster.set_lose([](const SeenRequest& request) { return request.method == "PATCH"; });
  keeper.step(stop);
  EXPECT_TRUE(is_open("p")) << "it was carried out";
  EXPECT_EQ(bench.used_npus("team-a"), 1);
  cluster.set_lose(nullptr);
  bench.timing.advance(seconds(1));
  keeper.step(stop);
  EXPECT_EQ(bench.used_npus("team-a"), 1);
  EXPECT_EQ(cluster.writes(), 1U) << "it is looked at before it is tried again";
  EXPECT_EQ(to_string(bench.book.why({"team-a", "p", ""}, wire::Language::kEnglish)->stage), "admitted");
}

// Without this, a Pod whose patch never arrived would be charged and closed for ever.
TEST_F(GateKeeperTest, WhatDidNotArriveIsTriedAgain) {
  begin(R"({"npus":1})");
  create({"p"});
  create({"q"});
  cluster.set_refuse([](const SeenRequest& request) -> std::optional<std::pair<int, std::string>> {
    if (request.method == "GET") return std::nullopt;
    return std::pair(500, status_body(500, "InternalError", "not now"));
  });
  const milliseconds rest = keeper.step(stop);
  EXPECT_LE(rest, milliseconds(250));
  EXPECT_EQ(bench.used_npus("team-a"), 1) << "charged while it is not known";
  EXPECT_FALSE(is_open("q"));
  cluster.set_refuse(nullptr);
  bench.timing.advance(seconds(1));
  keeper.step(stop);
  EXPECT_TRUE(is_open("p"));
  EXPECT_FALSE(is_open("q"));
  EXPECT_EQ(bench.used_npus("team-a"), 1);
}

// Without this, one Pod that the API refuses would keep its tenant's quota from all others.
TEST_F(GateKeeperTest, ARefusalForGoodFreesTheQuota) {
  begin(R"({"npus":1})");
  create({"p"});
  create({"q"});
  cluster.set_refuse([](const SeenRequest& request) -> std::optional<std::pair<int, std::string>> {
    if (request.method == "GET" || !request.path.ends_with("/p")) return std::nullopt;
    return std::pair(403, status_body(403, "Forbidden", "a webhook says no"));
  });
  keeper.step(stop);
  keeper.step(stop);
  EXPECT_TRUE(is_open("q"));
  EXPECT_EQ(bench.used_npus("team-a"), 1);
  bench.book.remove_pod({"team-a", "q", "uid-q"});
  cluster.set_refuse(nullptr);
  keeper.step(stop);
  EXPECT_FALSE(is_open("p")) << "it rests";
  bench.timing.advance(seconds(1));
  keeper.step(stop);
  EXPECT_TRUE(is_open("p"));
}

// Without this, somebody who answers "invalid" to each patch would keep the quota for a Pod that never runs.
TEST_F(GateKeeperTest, APodThatIsNeverAsItWasReadIsGivenUpForAWhile) {
  begin(R"({"npus":1})");
  create({"p"});
  cluster.set_refuse([](const SeenRequest& request) -> std::optional<std::pair<int, std::string>> {
    if (request.method == "GET") return std::nullopt;
    return std::pair(422, status_body(422, "Invalid", "no"));
  });
  for (int i = 0; i < 10; ++i) {
    keeper.step(stop);
    bench.timing.advance(seconds(30));
  }
  cluster.set_refuse(nullptr);
  create({"q"});
  EXPECT_LE(bench.used_npus("team-a"), 1);
  EXPECT_GE(keeper.counters().failed + keeper.counters().conflicts, 8U);
}

// Without this, a leader that was stopped for a while would open gates beside the one that leads by now.
TEST_F(GateKeeperTest, WhoLostTheLeaseOpensNothing) {
  begin(R"({"npus":4})");
  for (int i = 0; i < 4; ++i) create({"p-" + std::to_string(100 + i)});
  // The lease runs out while the first gate is opened.
  cluster.set_before([this](const SeenRequest& request) {
    if (request.method == "PATCH") leads = false;
  });
  keeper.step(stop);
  keeper.step(stop);
  EXPECT_EQ(open_gates(4), 1);
  EXPECT_EQ(cluster.writes(), 1U);
  // It was renewed in time after all: nobody is forgotten.
  cluster.set_before(nullptr);
  leads = true;
  bench.timing.advance(seconds(1));
  keeper.step(stop);
  EXPECT_EQ(open_gates(4), 4);
}

// Without this, a manager that dies between a patch and what it notes would leave a Pod counted twice or not
// at all.
TEST_F(GateKeeperTest, TheNextManagerCountsWhatTheLastHasOpened) {
  begin(R"({"npus":2})");
  for (int i = 0; i < 3; ++i) create({"p-" + std::to_string(100 + i)});
  cluster.set_lose([](const SeenRequest& request) { return request.method == "PATCH"; });
  keeper.step(stop);
  cluster.set_lose(nullptr);
  ASSERT_EQ(open_gates(3), 2);

  Bench next;
  next.put(tenant_with("team-a", R"({"npus":2})"));
  for (int i = 0; i < 3; ++i) next.put(*cluster.get(pod_path("p-" + std::to_string(100 + i))));
  next.book.complete();
  GateKeeper second(*client, next.book, [] { return true; }, GateOptions{}, nullptr);
  second.step(stop);
  EXPECT_EQ(open_gates(3), 2);
  EXPECT_EQ(next.used_npus("team-a"), 2);
  EXPECT_EQ(second.counters().opened, 0U);
}

// Without this, a Pod that is deleted while its gate is opened would hold quota for ever.
TEST_F(GateKeeperTest, APodThatIsGoneHoldsNothing) {
  begin(R"({"npus":1})");
  create({"p"});
  create({"q"});
  cluster.remove(pod_path("p"));
  keeper.step(stop);
  EXPECT_TRUE(is_open("q"));
  EXPECT_EQ(bench.used_npus("team-a"), 1);
}

}  // namespace
}  // namespace tangram::kube::manager
