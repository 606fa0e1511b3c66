// A binding step by step: what the API server is asked, and what becomes of the place when it does not work.
#include "kube/extender/binder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "kube_extender/support.h"

namespace tangram::kube::extender {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class BinderTest : public ::testing::Test {
 protected:
  BinderTest() {
    placer.reservation = slice_reservation();
    options.leads = [this] { return leads.load(); };
    options.call = std::chrono::milliseconds(2'000);
    notes.put("u-1", {{"side", "main"}, granted_slice()});
  }

  Result<void> bind(const std::string& node = "n1") {
    Binder binder(placer, server.client(), notes, options);
    return binder.bind(train(), node);
  }
  std::string reason(const std::string& node = "n1") {
    const Result<void> bound = bind(node);
    return bound ? "bound" : bound.error().reason;
  }

  std::atomic<bool> leads = true;
  FakePlacer placer;
  PodServer server;
  PodNotes notes;
  BinderOptions options;
};

// Without this, a Pod would cost more calls than two, or be bound before it says what it has.
TEST_F(BinderTest, ReservesAnnotatesBinds) {
  EXPECT_EQ(reason(), "bound");
  EXPECT_THAT(placer.calls(), ElementsAre("reserve train n1"));
  EXPECT_THAT(server.calls(), ElementsAre("PATCH", "POST binding"));
  EXPECT_EQ(server.bound_to(), "n1");
  EXPECT_THAT(server.allocation(), HasSubstr("AA-BB"));
  EXPECT_THAT(server.bodies("POST").front(), HasSubstr(R"("uid":"u-1")"));
}

// Without this, a call that is repeated because its answer was lost would fail, or be written over what the
// node agent has said since.
TEST_F(BinderTest, TheSameAgainIsDoneAlready) {
  ASSERT_EQ(reason(), "bound");
  EXPECT_EQ(reason(), "bound");
  EXPECT_THAT(server.calls(), ElementsAre("PATCH", "POST binding", "GET"));
  EXPECT_THAT(placer.calls(), ElementsAre("reserve train n1"));
  EXPECT_EQ(reason("n2"), "kube.bind.elsewhere");
  EXPECT_EQ(server.bound_to(), "n1");
}

// Without this, a process that leads since a moment ago could not bind what the one before was asked about.
TEST_F(BinderTest, APodThatNobodyAskedAboutIsReadFirst) {
  notes.forget("u-1");
  EXPECT_EQ(reason(), "bound");
  EXPECT_THAT(server.calls(), ElementsAre("GET", "PATCH", "POST binding"));
  EXPECT_THAT(server.bodies("PATCH").front(), HasSubstr(";AA-BB,Ascend310P,6144,0:;"));
}

// Without this, a Pod that does not fit any longer would be bound all the same.
TEST_F(BinderTest, WhatTheBookRefusesIsNotWritten) {
  placer.refuse(book_error(Code::kNotNow, "capacity.memory.busy", "no room on n1"));
  EXPECT_EQ(reason(), "capacity.memory.busy");
  EXPECT_THAT(server.calls(), IsEmpty());
  EXPECT_THAT(placer.calls(), ElementsAre("reserve train n1"));
}

// Without this, a place would be lost for each Pod whose marks could not be written.
TEST_F(BinderTest, AFailedPatchGivesThePlaceBack) {
  for (const auto& [status, wanted] : {std::pair(422, "kube.invalid"), std::pair(403, "kube.forbidden"),
                                       std::pair(404, "kube.pod.unknown"), std::pair(409, "kube.conflict")}) {
    SCOPED_TRACE(status);
    notes.put("u-1", {{"side", "main"}, granted_slice()});
    server.spoil("PATCH", status);
    EXPECT_EQ(reason(), wanted);
  }
  EXPECT_THAT(server.calls(), ElementsAre("PATCH", "PATCH", "PATCH", "PATCH"));
  EXPECT_THAT(placer.calls(),
              ElementsAre("reserve train n1", "drop train", "reserve train n1", "drop train",
                          "reserve train n1", "drop train", "reserve train n1", "drop train"));
  EXPECT_EQ(server.bound_to(), "");
}

// Without this, a Pod that was deleted and made anew under its name would be given its forerunner's NPUs.
TEST_F(BinderTest, AnotherPodOfTheNameIsNotTouched) {
  server.set_uid("u-2");
  EXPECT_EQ(reason(), "kube.invalid");
  EXPECT_EQ(server.allocation(), "");
  notes.forget("u-1");
  EXPECT_EQ(reason(), "kube.pod.unknown");
  EXPECT_EQ(server.bound_to(), "");
}

// Without this, a Pod that could not be bound would hold its place, and whoever leads next would find it
// there.
TEST_F(BinderTest, ARefusedBindingIsTakenBack) {
  server.spoil("POST", 409);
  const Result<void> bound = bind();
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().reason, "kube.conflict");
  EXPECT_THAT(bound.error().to_string(), HasSubstr("cannot bind Pod team-a/train to node n1"));
  EXPECT_THAT(server.calls(), ElementsAre("PATCH", "POST binding", "GET", "PATCH"));
  EXPECT_EQ(server.allocation(), "");
  EXPECT_THAT(placer.calls(), ElementsAre("reserve train n1", "drop train"));
}

// Without this, a binding that was carried out, and whose answer was lost, would be taken back: the Pod would
// run on an NPU that the book gives to the next.
TEST_F(BinderTest, ABindingWithoutAnAnswerIsLookedFor) {
  server.spoil("POST", 0, true);
  EXPECT_EQ(reason(), "bound");
  EXPECT_THAT(placer.calls(), ElementsAre("reserve train n1"));
  EXPECT_THAT(server.allocation(), HasSubstr("AA-BB"));
}

// Without this, a place would stay taken for a Pod whose binding never arrived; and what may still arrive
// would find no allocation.
TEST_F(BinderTest, ABindingThatNeverArrivedGivesThePlaceBack) {
  server.spoil("POST", 0);
  EXPECT_EQ(reason(), "kube.connection");
  EXPECT_THAT(placer.calls(), ElementsAre("reserve train n1", "drop train"));
  EXPECT_THAT(server.allocation(), HasSubstr("AA-BB"));
}

// Without this, a place would be given to the next while the Pod that has it may be bound.
TEST_F(BinderTest, AnUnknownEndKeepsThePlace) {
  server.spoil("POST", 0, true);
  for (int i = 0; i < 20; ++i) server.spoil("GET", 500);
  const Result<void> bound = bind();
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().reason, "kube.bind.unsettled");
  EXPECT_THAT(placer.calls(), ElementsAre("reserve train n1"));
}

// Without this, somebody's binding to another node would be mistaken for ours.
TEST_F(BinderTest, APodThatSomebodyElseBoundIsTheirs) {
  placer.on_reserve([this] { server.bind_to("n7"); });
  EXPECT_EQ(reason(), "kube.bind.elsewhere");
  EXPECT_EQ(server.bound_to(), "n7");
  EXPECT_EQ(server.allocation(), "");
  EXPECT_THAT(placer.calls(), ElementsAre("reserve train n1", "drop train"));
}

// Without this, a process that was stopped for a while would bind what another has given away since.
TEST_F(BinderTest, WhoNoLongerLeadsWritesNothing) {
  placer.on_reserve([this] { leads = false; });
  EXPECT_EQ(reason(), "kube.book.not_ready");
  EXPECT_THAT(server.calls(), IsEmpty());
  EXPECT_THAT(placer.calls(), ElementsAre("reserve train n1", "drop train"));
}

// Without this, two calls for one Pod would write over each other.
TEST_F(BinderTest, OneCallAtATimeOfAPod) {
  Binder binder(placer, server.client(), notes, options);
  std::string second;
  placer.on_reserve([&] {
    placer.on_reserve({});
    const Result<void> other = binder.bind(train(), "n2");
    second = other ? "bound" : other.error().reason;
  });
  EXPECT_TRUE(binder.bind(train(), "n1"));
  EXPECT_EQ(second, "kube.bind.in_progress");
  EXPECT_EQ(server.bound_to(), "n1");
}

}  // namespace
}  // namespace tangram::kube::extender
