// The whole of it against an API server: election, reading, gates, places, and the next leader.
#include "kube/manager/manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/protocol/allocation.h"
#include "kube_manager/fake_cluster.h"
#include "kube_manager/support.h"
#include "net/support.h"

namespace tangram::kube::manager {
namespace {

using std::chrono::milliseconds;

ManagerOptions options_of(const std::string& identity) {
  ManagerOptions options;
  options.lease.identity = identity;
  options.lease.duration = std::chrono::seconds(2);
  options.lease.renew_deadline = milliseconds(1'500);
  options.lease.retry_period = milliseconds(100);
  options.tell.note_after = milliseconds(50);
  options.watch_list = false;
  return options;
}

// One process.
struct Process {
  Process(const FakeCluster& cluster, const std::string& identity)
      : client(cluster.client()), manager(*client, options_of(identity)) {
    manager.start();
  }

  std::unique_ptr<ApiClient> client;
  Manager manager;
};

class ManagerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    cluster.put(tenant_with("team-a", R"({"npus":2})"));
    cluster.put(node_with("n1", 1));
  }

  bool is_open(std::string_view name) const {
    const auto pod = cluster.get(pod_path(name));
    return pod && read_pod_facts(*pod)->open();
  }

  // As the extender does it.
  bool bind(Manager& manager, const json::object& pod) {
    const auto reserved = manager.reserve(ref_of(pod), "n1");
    if (!reserved) return false;
    cluster.edit(pod_path(ref_of(pod).name), [&](json::object& object) {
      allocate(object, reserved->allocation);
      bind_to(object, "n1");
    });
    return true;
  }

  FakeCluster cluster;
};

// Without this, a Pod's way from its gate to its node would be tested in pieces alone.
TEST_F(ManagerTest, APodGoesFromItsGateToItsNode) {
  Process process(cluster, "a");
  Manager& manager = process.manager;
  ASSERT_TRUE(net::eventually([&] { return manager.ready(); }));
  const json::object pod = gated_pod({"p"});
  cluster.put(pod);
  ASSERT_TRUE(net::eventually([&] { return is_open("p"); }));
  const std::vector<std::string> nodes{"n1", "n2"};
  ASSERT_TRUE(net::eventually([&] { return manager.filter(ref_of(pod), nodes).has_value(); }));
  const auto fits = manager.filter(ref_of(pod), nodes);
  EXPECT_TRUE((*fits)[0].fits);
  EXPECT_FALSE((*fits)[1].fits);
  ASSERT_TRUE(bind(manager, pod));
  ASSERT_TRUE(
      net::eventually([&] { return manager.why(ref_of(pod), wire::Language::kEnglish)->node == "n1"; }));
  EXPECT_EQ(manager.status().pods_placed, 1);
  EXPECT_EQ(manager.status().npus, 1);
  EXPECT_EQ(manager.status().gates_opened, 1U);
  EXPECT_EQ(cluster.writes(pod_path("p")), 1U) << "one call; the extender makes two";
  EXPECT_EQ(cluster.writes("/pods/p/status"), 0U);
  EXPECT_TRUE(net::eventually([&] {
    const auto tenant = cluster.get("/apis/tangram.dev/v1/tenants/team-a");
    return number_at(*tenant, {"status", "used", "npus"}) == 1;
  }));
}

// Without this, a Pod that waits would not hear that there is room, or not within the second.
TEST_F(ManagerTest, FreedCapacityWakesWhoWaits) {
  Process process(cluster, "a");
  Manager& manager = process.manager;
  const json::object first = gated_pod({.name = "p", .grants = {whole_grant("main")}});
  const json::object second = gated_pod({.name = "q", .grants = {whole_grant("main")}});
  cluster.put(first);
  ASSERT_TRUE(net::eventually([&] { return is_open("p") && bind(manager, first); }));
  cluster.put(second);
  const std::vector<std::string> nodes{"n1"};
  ASSERT_TRUE(net::eventually([&] {
    const auto fits = manager.filter(ref_of(second), nodes);
    return fits && !fits->front().fits;
  }));
  const auto begun = std::chrono::steady_clock::now();
  cluster.remove(pod_path("p"));
  ASSERT_TRUE(net::eventually([&] { return manager.status().pods_woken == 1; }));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(1));
}

// Without this, two processes would each have a book, or the second begin with what the first had decided
// unknown to it.
TEST_F(ManagerTest, TheNextLeaderGoesOnWhereTheLastStopped) {
  auto first = std::make_unique<Process>(cluster, "a");
  ASSERT_TRUE(net::eventually([&] { return first->manager.ready(); }));
  Process second(cluster, "b");
  for (int i = 0; i < 5; ++i) cluster.put(gated_pod({"p-" + std::to_string(i)}));
  const auto open = [&] {
    int gates = 0;
    for (int i = 0; i < 5; ++i) gates += is_open("p-" + std::to_string(i)) ? 1 : 0;
    return gates;
  };
  ASSERT_TRUE(net::eventually([&] { return open() == 2; }));
  EXPECT_FALSE(second.manager.ready());
  const std::vector<std::string> nodes{"n1"};
  EXPECT_EQ(second.manager.filter({"team-a", "p-0", "uid-p-0"}, nodes).error().reason, "kube.book.not_ready");
  EXPECT_TRUE(second.manager.concerns({"team-a", "p-0", "uid-p-0"}));
  first->manager.stop();
  EXPECT_FALSE(first->manager.ready());
  ASSERT_TRUE(net::eventually([&] { return second.manager.ready(); }));
  ASSERT_TRUE(net::eventually([&] { return second.manager.status().pods_waiting == 2; }));
  EXPECT_EQ(open(), 2);
  EXPECT_EQ(second.manager.status().gates_opened, 0U);
  cluster.remove(pod_path("p-0"));
  ASSERT_TRUE(net::eventually([&] { return is_open("p-2"); }));
  EXPECT_EQ(open(), 2);
}

// Without this, a manager that cannot reach the API would go on deciding beside the next one.
TEST_F(ManagerTest, WhoCannotRenewTheLeaseStops) {
  Process process(cluster, "a");
  ASSERT_TRUE(net::eventually([&] { return process.manager.ready(); }));
  cluster.set_refuse([](const SeenRequest& request) -> std::optional<std::pair<int, std::string>> {
    if (request.path.find("/leases") == std::string::npos) return std::nullopt;
    return std::pair(500, status_body(500, "InternalError", "not now"));
  });
  ASSERT_TRUE(net::eventually([&] { return !process.manager.ready(); }));
  cluster.put(gated_pod({"p"}));
  std::this_thread::sleep_for(milliseconds(200));
  EXPECT_FALSE(is_open("p"));
  cluster.set_refuse(nullptr);
  ASSERT_TRUE(net::eventually([&] { return is_open("p"); })) << "it leads again, with a new book";
}

}  // namespace
}  // namespace tangram::kube::manager
