#include "kube/manager/teller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "kube/protocol/names.h"
#include "kube_manager/fake_cluster.h"
#include "kube_manager/support.h"

namespace tangram::kube::manager {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

class TellerTest : public ::testing::Test {
 protected:
  void begin(std::string_view quota, int npus = 1) {
    tenant = tenant_with("team-a", quota);
    cluster.put(tenant);
    bench.put(tenant);
    bench.put(node_with("n1", npus));
    bench.book.complete();
  }

  json::object create(const PodShape& shape) {
    json::object pod = gated_pod(shape);
    cluster.put(pod);
    bench.put(pod);
    return pod;
  }

  json::object condition_of(std::string_view name) const {
    const auto pod = cluster.get(pod_path(name));
    const json::array* const conditions = pod ? array_at(*pod, {"status", "conditions"}) : nullptr;
    return conditions != nullptr && !conditions->empty() ? conditions->front().as_object() : json::object();
  }

  std::size_t wakes() const {
    std::size_t woken = 0;
    for (const char* const name : {"p", "q", "r"}) {
      const auto pod = cluster.get(pod_path(name));
      if (pod && !text_at(*pod, {"metadata", "annotations", names::kWoken}).empty()) ++woken;
    }
    return woken;
  }

  FakeCluster cluster;
  Bench bench;
  bool leads = true;
  net::Interrupt stop;
  json::object tenant;
  std::shared_ptr<Timing> timing{&bench.timing, [](Timing*) {}};
  std::unique_ptr<ApiClient> client = cluster.client(timing);
  Teller teller{*client, bench.book, [this] { return leads; }, TellOptions{}, nullptr};
};

// Without this, `kubectl describe` would not say why a Pod waits, or Pods that wait for a moment would cost a
// call each.
TEST_F(TellerTest, WhoWaitsIsToldOnce) {
  begin(R"({"npus":1})");
  create({"p"});
  create({"q"});
  ASSERT_EQ(bench.admit_all().size(), 1U);
  teller.step(stop);
  EXPECT_EQ(cluster.writes("/pods/q/status"), 0U) << "it may be admitted at once";
  bench.timing.advance(seconds(3));
  teller.step(stop);
  bench.timing.advance(seconds(3));
  teller.step(stop);
  const json::object condition = condition_of("q");
  EXPECT_EQ(text_at(condition, {"type"}), "tangram.dev/QuotaAdmitted");
  EXPECT_EQ(text_at(condition, {"status"}), "False");
  EXPECT_EQ(text_at(condition, {"reason"}), "QuotaNpusExceeded");
  EXPECT_THAT(std::string(text_at(condition, {"message"})), HasSubstr("team-a"));
  EXPECT_EQ(cluster.writes("/pods/q/status"), 1U);
  EXPECT_EQ(cluster.writes("/pods/p/status"), 0U) << "admitted at once: no call at all";

  bench.book.remove_pod({"team-a", "p", "uid-p"});
  ASSERT_EQ(bench.admit_all().size(), 1U);
  bench.timing.advance(seconds(10));
  teller.step(stop);
  EXPECT_EQ(text_at(condition_of("q"), {"status"}), "True");
  EXPECT_EQ(cluster.writes("/pods/q/status"), 2U);
}

// Without this, a manager that was restarted would write again what stands there.
TEST_F(TellerTest, WhatStandsThereIsNotWrittenAgain) {
  begin(R"({"npus":0})");
  create({"p"});
  bench.timing.advance(seconds(3));
  teller.step(stop);
  ASSERT_EQ(cluster.writes("/pods/p/status"), 1U);
  Bench next;
  next.put(tenant);
  next.put(*cluster.get(pod_path("p")));
  next.book.complete();
  next.timing.advance(seconds(3));
  Teller second(*client, next.book, [] { return true; }, TellOptions{}, nullptr);
  second.step(stop);
  EXPECT_EQ(cluster.writes("/pods/p/status"), 1U);
}

// Without this, an API that is away for a moment would leave people without a word.
TEST_F(TellerTest, WhatCouldNotBeWrittenIsWrittenLater) {
  begin(R"({"npus":0})");
  create({"p"});
  cluster.set_refuse([](const SeenRequest& request) -> std::optional<std::pair<int, std::string>> {
    if (request.method == "GET") return std::nullopt;
    return std::pair(500, status_body(500, "InternalError", "not now"));
  });
  bench.timing.advance(seconds(3));
  teller.step(stop);
  EXPECT_TRUE(condition_of("p").empty());
  EXPECT_GT(teller.counters().failed, 0U);
  cluster.set_refuse(nullptr);
  bench.timing.advance(seconds(10));
  teller.step(stop);
  EXPECT_FALSE(condition_of("p").empty());
}

// Without this, freed capacity would wait for the scheduler's next look, or a storm of wake-ups hurt it.
TEST_F(TellerTest, WhoFoundNoRoomIsTouched) {
  begin("{}");
  json::object p = create({.name = "p", .grants = {whole_grant("main")}});
  const json::object q = create({.name = "q", .grants = {whole_grant("main")}});
  const json::object r = create({.name = "r", .grants = {whole_grant("main")}});
  ASSERT_EQ(bench.admit_all().size(), 3U);
  bench.place(p, "n1");
  EXPECT_FALSE(bench.fit(q, "n1").fits);
  EXPECT_FALSE(bench.fit(r, "n1").fits);
  teller.step(stop);
  EXPECT_EQ(wakes(), 0U);
  bench.book.remove_pod(ref_of(p));
  TellOptions few;
  few.wakes_burst = 1;
  few.wake_every = milliseconds(1'000);
  Teller slow(*client, bench.book, [] { return true; }, few, nullptr);
  slow.step(stop);
  EXPECT_EQ(wakes(), 1U) << "no more than the rate allows";
  bench.timing.advance(seconds(1));
  slow.step(stop);
  EXPECT_EQ(wakes(), 2U);
  slow.step(stop);
  EXPECT_EQ(slow.counters().woken, 2U);
}

// Without this, a Pod made anew under a name would be touched for the one before, or one that is gone for
// ever.
TEST_F(TellerTest, AnotherPodIsNotTouched) {
  begin("{}");
  json::object p = create({.name = "p", .grants = {whole_grant("main")}});
  const json::object q = create({.name = "q", .grants = {whole_grant("main")}});
  ASSERT_EQ(bench.admit_all().size(), 2U);
  bench.place(p, "n1");
  EXPECT_FALSE(bench.fit(q, "n1").fits);
  cluster.put(gated_pod({.name = "q", .uid = "another"}));
  bench.book.remove_pod(ref_of(p));
  teller.step(stop);
  EXPECT_EQ(wakes(), 0U);
  EXPECT_EQ(teller.counters().failed, 1U);
  teller.step(stop);
  EXPECT_EQ(teller.counters().failed, 1U) << "once";
}

// Without this, `kubectl get tenants` would show what was, or each change would be a call.
TEST_F(TellerTest, TheUseOfATenantIsWrittenWhenItChanged) {
  begin(R"({"npus":2,"memoryTotal":"8GiB"})");
  bench.book.put_namespace("team-a", {{"team", "team-a"}});
  bench.book.put_namespace("other", {{"team", "b"}});
  for (int i = 0; i < 3; ++i) create({"p-" + std::to_string(i)});
  ASSERT_EQ(bench.admit_all().size(), 2U);
  teller.step(stop);
  const std::string path = "/apis/tangram.dev/v1/tenants/team-a";
  const auto status = [&] { return *object_at(*cluster.get(path), {"status"}); };
  EXPECT_EQ(number_at(status(), {"used", "npus"}), 2);
  EXPECT_EQ(text_at(status(), {"used", "memoryTotal"}), "6GiB");
  EXPECT_EQ(number_at(status(), {"used", "runningJobs"}), 2);
  EXPECT_EQ(number_at(status(), {"effective", "npus"}), 2);
  EXPECT_EQ(number_at(status(), {"queued"}), 1);
  EXPECT_EQ(number_at(status(), {"namespaces"}), 1);
  bench.timing.advance(seconds(2));
  teller.step(stop);
  EXPECT_EQ(cluster.writes("/tenants/team-a/status"), 1U);
  bench.book.remove_pod({"team-a", "p-0", "uid-p-0"});
  bench.timing.advance(seconds(2));
  teller.step(stop);
  EXPECT_EQ(cluster.writes("/tenants/team-a/status"), 2U);
  EXPECT_EQ(number_at(status(), {"used", "npus"}), 1);
}

// Without this, a leader that is none any more would write beside the one that is.
TEST_F(TellerTest, WhoDoesNotLeadWritesNothing) {
  begin(R"({"npus":0})");
  create({"p"});
  bench.timing.advance(seconds(3));
  leads = false;
  teller.step(stop);
  EXPECT_EQ(cluster.writes(), 0U);
}

// Without this, the schema of the resource would refuse a status, and all of them be missing.
TEST(TenantStatus, SaysWhyNothingIsAdmitted) {
  TenantUse use;
  use.name = "child";
  use.closed = "Tenant child has the parent \"x\", which is not there";
  const json::object status = tenant_status(use);
  const json::array& conditions = *array_at(status, {"conditions"});
  ASSERT_EQ(conditions.size(), 1U);
  EXPECT_EQ(text_at(conditions[0].as_object(), {"message"}), use.closed);
  EXPECT_EQ(number_at(status, {"used", "npus"}), 0);
  EXPECT_TRUE(object_at(status, {"effective"})->empty()) << "unlimited dimensions are left out";
}

}  // namespace
}  // namespace tangram::kube::manager
