// Who is admitted, and what the API shows whatever anybody decided.
#include "kube/manager/book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube_manager/support.h"

namespace tangram::kube::manager {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string stage_of(const Bench& bench, const json::object& pod) {
  const auto why = bench.book.why(ref_of(pod), wire::Language::kEnglish);
  return why ? std::string(to_string(why->stage)) : why.error().reason;
}

// Without this, fifty Pods that are made at once could share a quota of two.
TEST(Admission, OfFiftyTwoAreAdmitted) {
  Bench bench;
  bench.put(tenant_with("team-a", R"({"npus":2})"));
  bench.put(node_with("n1", 8));
  bench.book.complete();
  std::vector<json::object> pods;
  for (int i = 0; i < 50; ++i) {
    pods.push_back(gated_pod({"p-" + std::to_string(100 + i)}));
    bench.put(pods.back());
  }
  EXPECT_THAT(bench.admit_all(), ElementsAre("p-100", "p-101"));
  EXPECT_THAT(bench.admit_all(), IsEmpty());
  EXPECT_EQ(bench.used_npus("team-a"), 2);

  open_gate(pods[0]);
  end_with(pods[0], "Succeeded");
  bench.put(pods[0]);
  EXPECT_THAT(bench.admit_all(), ElementsAre("p-102")) << "in order, as soon as there is quota";
  bench.book.remove_pod(ref_of(pods[1]));
  EXPECT_THAT(bench.admit_all(), ElementsAre("p-103"));
  EXPECT_EQ(bench.used_npus("team-a"), 2);
}

// Without this, age would count before priority, or the order of arrival before both.
TEST(Admission, GoesByPriorityThenAge) {
  Bench bench;
  bench.put(tenant_with("team-a", R"({"npus":2})"));
  bench.put(gated_pod({.name = "young"}));
  bench.put(gated_pod({.name = "old", .age = 100}));
  bench.put(gated_pod({.name = "low", .age = 500, .priority = "low"}));
  bench.put(gated_pod({.name = "high", .priority = "high"}));
  bench.book.complete();
  EXPECT_THAT(bench.admit_all(), ElementsAre("high", "old"));
}

// Without this, a manager that starts would admit again what runs, or refuse to count it.
TEST(Admission, WhatTheApiShowsIsCountedAboveAnyLimit) {
  Bench bench;
  bench.put(tenant_with("team-a", R"({"npus":1})"));
  bench.put(node_with("n1", 2));
  json::object bound = gated_pod({"bound"});
  open_gate(bound);
  allocate(bound, {"n1", "", {{"main", GrantKind::kSlice, "vir01", {{"n1-npu-0", 0}}, 0}}});
  bind_to(bound, "n1");
  bench.put(bound);
  json::object admitted = gated_pod({"admitted"});
  open_gate(admitted);
  bench.put(admitted);
  bench.put(gated_pod({"waiting"}));
  bench.book.complete();
  EXPECT_EQ(bench.used_npus("team-a"), 2) << "above the limit, and counted";
  EXPECT_THAT(bench.admit_all(), IsEmpty());
  EXPECT_EQ(stage_of(bench, bound), "bound");
  EXPECT_EQ(stage_of(bench, admitted), "admitted");
  EXPECT_THAT(bench.book.describe(), HasSubstr("npu n1 0 sliced team-a/bound=vir01@0"));

  bench.book.remove_pod(ref_of(bound));
  EXPECT_THAT(bench.admit_all(), IsEmpty());
  bench.book.remove_pod(ref_of(admitted));
  EXPECT_THAT(bench.admit_all(), ElementsAre("waiting"));
}

// Without this, a binding that went past the manager would look like free quota.
TEST(Admission, APodThatSomebodyElseBoundIsCharged) {
  Bench bench;
  bench.put(tenant_with("team-a", R"({"npus":1})"));
  bench.book.complete();
  json::object pod = gated_pod({"p"});
  bench.put(pod);
  bind_to(pod, "elsewhere");
  bench.put(pod);
  EXPECT_EQ(bench.used_npus("team-a"), 1);
  bench.put(gated_pod({"next"}));
  EXPECT_THAT(bench.admit_all(), IsEmpty());
}

// Without this, what a watch tells late would take an admission or a binding back.
TEST(Admission, OldNewsTakesNothingBack) {
  Bench bench;
  bench.put(tenant_with("team-a", R"({"npus":1})"));
  bench.put(node_with("n1", 1));
  bench.book.complete();
  const json::object before = gated_pod({"p"});
  json::object pod = before;
  bench.put(pod);
  ASSERT_THAT(bench.admit_all(), SizeIs(1));
  bench.put(before);
  EXPECT_EQ(stage_of(bench, pod), "admitted");
  bench.place(pod, "n1");
  bench.put(before);
  EXPECT_EQ(stage_of(bench, pod), "bound");
  EXPECT_EQ(bench.used_npus("team-a"), 1);
}

// Without this, a Pod made anew under its name would have what the one before had.
TEST(Admission, TheSameNameIsNotTheSamePod) {
  Bench bench;
  bench.put(tenant_with("team-a", R"({"npus":1})"));
  bench.put(node_with("n1", 1));
  bench.book.complete();
  json::object first = gated_pod({.name = "p", .uid = "one"});
  bench.put(first);
  ASSERT_THAT(bench.admit_all(), SizeIs(1));
  bench.place(first, "n1");
  const json::object second = gated_pod({.name = "p", .uid = "two"});
  bench.put(second);
  EXPECT_EQ(stage_of(bench, second), "queued");
  EXPECT_EQ(bench.used_npus("team-a"), 0);
  bench.book.remove_pod(ref_of(first));
  EXPECT_EQ(stage_of(bench, second), "queued") << "the end of the first is not its";
  bench.book.opened(ref_of(first));
  EXPECT_EQ(stage_of(bench, second), "queued");
  EXPECT_THAT(bench.admit_all(), ElementsAre("p"));
}

// Without this, a Pod that is deleted while it waits would be let in, or hold quota for ever.
TEST(Admission, WhoGoesBeforeItIsBoundHoldsNothing) {
  Bench bench;
  bench.put(tenant_with("team-a", R"({"npus":1})"));
  bench.book.complete();
  json::object pod = gated_pod({"p"});
  bench.put(pod);
  ASSERT_THAT(bench.admit_all(), SizeIs(1));
  pod["metadata"].as_object()["deletionTimestamp"] = "2026-03-01T12:00:00Z";
  bench.put(pod);
  EXPECT_EQ(bench.used_npus("team-a"), 0);
  EXPECT_EQ(stage_of(bench, pod), "kube.pod.unknown");
}

// Without this, an admission that the API refuses would block the quota, or be forgotten.
TEST(Admission, WhatIsTakenBackIsFreeForOthersAndComesBackToItsPlace) {
  Bench bench;
  bench.put(tenant_with("team-a", R"({"npus":1})"));
  bench.book.complete();
  const json::object first = gated_pod({.name = "first", .age = 50});
  bench.put(first);
  const std::vector<Opening> openings = bench.book.admit(10);
  ASSERT_THAT(openings, SizeIs(1));
  Error error;
  error.reason = "kube.forbidden";
  error.message = "not allowed";
  bench.book.take_back(openings[0].pod, error, seconds(10));
  EXPECT_EQ(bench.used_npus("team-a"), 0);
  EXPECT_THAT(bench.admit_all(), IsEmpty()) << "it rests";
  EXPECT_THAT(bench.book.why(ref_of(first), wire::Language::kEnglish)->verdict, HasSubstr("not allowed"));

  bench.put(gated_pod({"second"}));
  bench.put(gated_pod({"third"}));
  EXPECT_THAT(bench.admit_all(), ElementsAre("second"));
  bench.timing.advance(seconds(10));
  bench.book.expire();
  bench.book.remove_pod({"team-a", "second", "uid-second"});
  EXPECT_THAT(bench.admit_all(), ElementsAre("first")) << "before the younger one";
}

// Without this, a Pod of a Tenant that is gone would run for nobody, or be lost when the Tenant comes back.
TEST(Admission, AClosedTenantGetsNothingAndIsToldWhy) {
  Bench bench;
  bench.put(tenant_with("child", R"({"npus":4})", "parent"));
  bench.put(gated_pod({.name = "p", .tenant = "child"}));
  json::object running = gated_pod({.name = "running", .tenant = "nobody"});
  open_gate(running);
  bind_to(running, "n1");
  bench.put(running);
  bench.book.complete();
  EXPECT_THAT(bench.admit_all(), IsEmpty());
  auto why = bench.book.why({"team-a", "p", ""}, wire::Language::kEnglish);
  EXPECT_EQ(why->reason, "kube.tenant.closed");
  EXPECT_THAT(why->verdict, HasSubstr("\"parent\", which is not there"));
  EXPECT_EQ(stage_of(bench, running), "bound");

  bench.put(tenant_with("parent", R"({"npus":1})"));
  EXPECT_THAT(bench.admit_all(), ElementsAre("p"));
  EXPECT_EQ(bench.used_npus("parent"), 1);
  bench.book.remove_tenant("parent");
  EXPECT_EQ(bench.used_npus("child"), 1) << "what is admitted stays";
}

// Without this, a Pod that asks for more than its tenant may ever have would wait without a word.
TEST(Admission, WhoCanNeverRunIsToldWhy) {
  Bench bench;
  bench.put(tenant_with("team-a", R"({"npus":1})"));
  bench.book.complete();
  const json::object pod = gated_pod({.name = "p", .grants = {whole_grant("main", 2)}});
  bench.put(pod);
  EXPECT_THAT(bench.admit_all(), IsEmpty());
  EXPECT_EQ(bench.book.why(ref_of(pod), wire::Language::kEnglish)->reason, "quota.npus.above_limit");
  bench.put(tenant_with("team-a", R"({"npus":2})"));
  EXPECT_THAT(bench.admit_all(), ElementsAre("p"));
}

// Without this, the conditions of Pods would be written when nothing changed, or say what is not so any more.
TEST(Notes, AreWrittenWhenTheyChange) {
  Bench bench;
  bench.put(tenant_with("team-a", R"({"npus":1})"));
  bench.book.complete();
  bench.put(gated_pod({"first"}));
  const json::object second = gated_pod({"second"});
  bench.put(second);
  ASSERT_THAT(bench.admit_all(), ElementsAre("first"));
  EXPECT_THAT(bench.book.notes(milliseconds(2'000), 10), IsEmpty()) << "it may be admitted at once";
  bench.timing.advance(milliseconds(2'000));
  const std::vector<PodNote> notes = bench.book.notes(milliseconds(2'000), 10);
  ASSERT_THAT(notes, SizeIs(1));
  EXPECT_EQ(notes[0].pod, ref_of(second));
  EXPECT_EQ(notes[0].reason, "QuotaNpusExceeded");
  EXPECT_THAT(notes[0].message, HasSubstr("team-a"));
  EXPECT_FALSE(notes[0].admitted);
  EXPECT_THAT(bench.book.notes(milliseconds(2'000), 10), IsEmpty());
  bench.timing.advance(seconds(120));
  EXPECT_THAT(bench.book.notes(milliseconds(2'000), 10), IsEmpty()) << "nothing new";
  bench.book.not_told(notes[0].pod, false);
  EXPECT_THAT(bench.book.notes(milliseconds(2'000), 10), SizeIs(1)) << "it was not written";

  bench.book.remove_pod({"team-a", "first", "uid-first"});
  ASSERT_THAT(bench.admit_all(), ElementsAre("second"));
  bench.timing.advance(seconds(10));
  const std::vector<PodNote> after = bench.book.notes(milliseconds(2'000), 10);
  ASSERT_THAT(after, SizeIs(1));
  EXPECT_TRUE(after[0].admitted);
}

// Without this, somebody who asks why would get no reason, or nothing that helps.
TEST(Why, NamesTheLimitAndWhatHelps) {
  Bench bench;
  bench.put(tenant_with("team-a", R"({"npus":1})"));
  bench.put(node_with("n1", 1));
  bench.book.complete();
  json::object first = gated_pod({"first"});
  bench.put(first);
  bench.put(gated_pod({"second"}));
  ASSERT_THAT(bench.admit_all(), SizeIs(1));
  bench.place(first, "n1");
  const auto why = bench.book.why({"team-a", "second", ""}, wire::Language::kEnglish);
  ASSERT_TRUE(why) << why.error().to_string();
  EXPECT_EQ(why->reason, "quota.npus.exceeded");
  EXPECT_THAT(why->verdict, HasSubstr("team-a/second"));
  EXPECT_EQ(why->position, 1);
  EXPECT_THAT(why->remedies, ::testing::Contains(HasSubstr("team-a/first")));
  EXPECT_EQ(bench.book.why(ref_of(first), wire::Language::kEnglish)->node, "n1");
  EXPECT_EQ(bench.book.why({"team-a", "none", ""}, wire::Language::kEnglish).error().reason,
            "kube.pod.unknown");
}

// Without this, a process that does not lead (any more) would answer from what it remembers.
TEST(Readiness, NothingIsAnsweredBeforeAndAfter) {
  Bench bench;
  bench.put(tenant_with("team-a", R"({"npus":1})"));
  const json::object pod = gated_pod({"p"});
  bench.put(pod);
  const std::vector<std::string> nodes{"n1"};
  EXPECT_FALSE(bench.book.ready());
  EXPECT_THAT(bench.book.admit(10), IsEmpty());
  EXPECT_EQ(bench.book.filter(ref_of(pod), nodes).error().reason, "kube.book.not_ready");
  EXPECT_TRUE(bench.book.concerns({"team-a", "unheard-of", "u"})) << "it asks on, and hears that";
  bench.book.complete();
  EXPECT_TRUE(bench.book.ready());
  EXPECT_FALSE(bench.book.concerns({"team-a", "unheard-of", "u"}));
  bench.book.close();
  EXPECT_THAT(bench.book.admit(10), IsEmpty());
  EXPECT_EQ(bench.book.reserve(ref_of(pod), "n1").error().reason, "kube.book.not_ready");
}

}  // namespace
}  // namespace tangram::kube::manager
