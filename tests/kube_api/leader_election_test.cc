#include "kube/api/leader_election.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/json/serialize.hpp>
#include <mutex>
#include <thread>

#include "kube_api/api_server.h"
#include "kube_api/fake_timing.h"
#include "net/support.h"

namespace tangram::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;

// Keeps one Lease as the API server does: each write is a new resource version, and one with another than the
// current is a conflict.
class LeaseStore {
 public:
  void handle(const SeenRequest& request, Conversation& conversation) {
    const std::lock_guard lock(mutex_);
    if (broken_) return conversation.cut();
    const json::object body = parse_object(request.body).value_or(json::object{});
    if (request.method == "GET") {
      if (!lease_) return conversation.answer(404, status_body(404, "NotFound", "no lease"));
    } else if (request.method == "POST") {
      if (lease_) return conversation.answer(409, status_body(409, "AlreadyExists", "there is one"));
      write(body);
    } else {
      if (!lease_) return conversation.answer(404, status_body(404, "NotFound", "no lease"));
      if (text_at(body, {"metadata", "resourceVersion"}) != meta_of(*lease_).resource_version)
        return conversation.answer(409, status_body(409, "Conflict", "it was modified"));
      write(body);
    }
    if (cut_answers_) return conversation.cut();
    conversation.answer(200, json::serialize(*lease_));
  }

  std::optional<LeaseRecord> record() {
    const std::lock_guard lock(mutex_);
    return lease_ ? std::optional(lease_record(*lease_)) : std::nullopt;
  }
  // What somebody does with kubectl.
  void edit(const json::object& spec) {
    const std::lock_guard lock(mutex_);
    write(json::object{{"spec", spec}});
  }
  void remove() {
    const std::lock_guard lock(mutex_);
    lease_.reset();
  }
  void set_broken(bool broken) {
    const std::lock_guard lock(mutex_);
    broken_ = broken;
  }
  // Writes are carried out, and nobody hears of it.
  void set_cut_answers(bool cut) {
    const std::lock_guard lock(mutex_);
    cut_answers_ = cut;
  }

 private:
  void write(const json::object& body) {
    json::object spec = lease_ ? lease_->at("spec").as_object() : json::object{};
    for (const auto& [name, value] : body.at("spec").as_object()) spec[name] = value;
    lease_ = json::object{
        {"metadata", json::object{{"name", "manager"}, {"resourceVersion", std::to_string(++version_)}}},
        {"spec", spec}};
  }

  std::mutex mutex_;
  std::optional<json::object> lease_;
  int version_ = 100;
  bool broken_ = false;
  bool cut_answers_ = false;
};

// One process with a clock of its own.
struct Candidate {
  Candidate(const ApiServer& server, const std::string& name) {
    ClientSettings settings;
    settings.tries_max = 1;
    client = std::move(*ApiClient::open(server.config(), settings, timing));
    options.space = "tangram-system";
    options.name = "manager";
    options.identity = name;
    options.on_lead = [this](std::int64_t term) { told.push_back("lead " + std::to_string(term)); };
    options.on_lose = [this] { told.push_back("lose"); };
    options.on_leader = [this](const std::string& leader) { told.push_back("see " + leader); };
    options.on_trouble = [this](const Error&) { ++troubles; };
    election.emplace(*client, options);
  }
  milliseconds step() { return election->step(stop); }
  bool leads() const { return election->leads(); }

  std::shared_ptr<FakeTiming> timing = std::make_shared<FakeTiming>();
  std::unique_ptr<ApiClient> client;
  ElectionOptions options;
  std::vector<std::string> told;
  int troubles = 0;
  net::Interrupt stop;
  std::optional<LeaderElection> election;
};

class ElectionTest : public ::testing::Test {
 protected:
  ElectionTest()
      : server([this](const SeenRequest& request, Conversation& conversation) {
          store.handle(request, conversation);
        }),
        a(server, "pod-a"),
        b(server, "pod-b") {}

  void pass(milliseconds time) {
    a.timing->advance(time);
    b.timing->advance(time);
  }

  LeaseStore store;
  ApiServer server;
  Candidate a;
  Candidate b;
};

// Without this, nobody would ever lead, or two at once.
TEST_F(ElectionTest, TheFirstLeadsAndTheOtherWaits) {
  EXPECT_FALSE(a.leads());
  EXPECT_EQ(a.step(), seconds(2));
  EXPECT_TRUE(a.leads());
  b.step();
  EXPECT_FALSE(b.leads());
  EXPECT_THAT(a.told, ElementsAre("lead 1"));
  EXPECT_THAT(b.told, ElementsAre("see pod-a"));
  const auto record = store.record();
  EXPECT_EQ(record->holder, "pod-a");
  EXPECT_EQ(record->duration_seconds, 15);
  EXPECT_EQ(record->transitions, 0);
  EXPECT_EQ(record->renew_time.size(), std::string("2026-03-01T12:00:00.000000Z").size());
  EXPECT_EQ(server.requests()[1].path, "/apis/coordination.k8s.io/v1/namespaces/tangram-system/leases");
}

// Without this, a follower would take over from a leader that is well.
TEST_F(ElectionTest, ALeaderThatRenewsStays) {
  a.step();
  for (int i = 0; i < 60; ++i) {
    pass(seconds(2));
    a.step();
    b.step();
    ASSERT_TRUE(a.leads() && !b.leads()) << i;
  }
  EXPECT_THAT(a.told, ElementsAre("lead 1"));
  EXPECT_EQ(store.record()->acquire_time, "2026-03-01T12:16:40.000000Z") << "not the time of the renewal";
}

// Without this, a leader behind a broken network would go on while another one has begun: the two must never
// lead at the same moment, and the follower must take over at all.
TEST_F(ElectionTest, ALeaderThatCannotRenewStopsBeforeAnotherBegins) {
  a.step();
  b.step();
  store.set_broken(true);
  pass(milliseconds(5'000));
  a.step();
  EXPECT_EQ(a.troubles, 1);
  pass(milliseconds(4'999));
  EXPECT_TRUE(a.leads());
  pass(milliseconds(1));
  EXPECT_FALSE(a.leads()) << "ten seconds after it began its last renewal, before anything else happens";
  a.step();
  EXPECT_THAT(a.told, ElementsAre("lead 1", "lose"));
  store.set_broken(false);
  pass(milliseconds(4'999));
  b.step();
  EXPECT_FALSE(b.leads()) << "the duration is not over by its clock";
  pass(milliseconds(1));
  b.step();
  EXPECT_TRUE(b.leads());
  EXPECT_EQ(b.election->term(), 2);
  EXPECT_EQ(store.record()->transitions, 1);
  a.step();
  EXPECT_FALSE(a.leads());
  EXPECT_THAT(a.told, ElementsAre("lead 1", "lose", "see pod-b"));
}

// Without this, a process that was stopped past its lease would act once more when it wakes up.
TEST_F(ElectionTest, AProcessThatSleptKnowsThatItMayNotLead) {
  a.step();
  b.step();
  pass(seconds(15));
  EXPECT_FALSE(a.leads());
  b.step();
  EXPECT_TRUE(b.leads());
  EXPECT_FALSE(a.leads());
  a.step();
  EXPECT_THAT(a.told, ElementsAre("lead 1", "lose")) << "its renewal is a conflict";
  a.step();
  EXPECT_THAT(a.told, ElementsAre("lead 1", "lose", "see pod-b"));
  EXPECT_TRUE(b.leads());
}

// Without this, a renewal that took long would count from its end, and the leader think itself safe for
// longer than the followers do.
TEST_F(ElectionTest, ARenewalCountsFromItsBeginning) {
  // The clock goes on while the request is on its way.
  std::atomic<FakeTiming*> clock = nullptr;
  const ApiServer slow([&](const SeenRequest& request, Conversation& conversation) {
    if (request.method == "PATCH") clock.load()->advance(seconds(4));
    store.handle(request, conversation);
  });
  Candidate c(slow, "pod-c");
  clock = c.timing.get();
  c.step();
  c.timing->advance(seconds(2));
  const milliseconds before = c.timing->now();
  c.step();
  EXPECT_EQ(c.timing->now() - before, seconds(4));
  EXPECT_TRUE(c.leads());
  c.timing->advance(milliseconds(5'999));
  EXPECT_TRUE(c.leads());
  c.timing->advance(milliseconds(1));
  EXPECT_FALSE(c.leads());
}

// Without this, a restart of the leader would leave the cluster without one for the whole duration.
TEST_F(ElectionTest, ALeaderThatStopsGivesTheLeaseBack) {
  a.step();
  b.step();
  a.election->release();
  EXPECT_FALSE(a.leads());
  EXPECT_THAT(a.told, ElementsAre("lead 1", "lose"));
  EXPECT_EQ(store.record()->holder, "");
  EXPECT_EQ(store.record()->duration_seconds, 1);
  b.step();
  EXPECT_TRUE(b.leads());
  EXPECT_EQ(b.election->term(), 2);
  a.election->release();
  EXPECT_EQ(store.record()->holder, "pod-b") << "not another one's";
}

// Without this, a container that comes back under its name would wait for itself; it is another term all the
// same.
TEST_F(ElectionTest, WhoHasTheNameOfTheHolderTakesItAtOnce) {
  a.step();
  Candidate again(server, "pod-a");
  again.step();
  EXPECT_TRUE(again.leads());
  EXPECT_EQ(again.election->term(), 2);
}

// Without this, a leader whose write was carried out but not answered would lose its lease to itself.
TEST_F(ElectionTest, AWriteWithoutAnAnswerIsLookedAfter) {
  a.step();
  pass(seconds(2));
  store.set_cut_answers(true);
  a.step();
  store.set_cut_answers(false);
  EXPECT_TRUE(a.leads());
  pass(seconds(2));
  a.step();
  pass(milliseconds(9'999));
  EXPECT_TRUE(a.leads()) << "renewed";
  EXPECT_EQ(a.election->term(), 1);
  EXPECT_EQ(a.told, (std::vector<std::string>{"lead 1"}));
}

// Without this, an operator could not take the lease away, and one that deletes it would set the terms back.
TEST_F(ElectionTest, WhatAnOperatorDoesToTheLeaseIsRespected) {
  a.step();
  store.edit(json::object{{"holderIdentity", "operator"}, {"renewTime", "2026-03-01T13:00:00.000000Z"}});
  pass(seconds(2));
  a.step();  // a conflict
  a.step();
  EXPECT_FALSE(a.leads());
  EXPECT_EQ(store.record()->holder, "operator");
  pass(seconds(16));
  a.step();
  EXPECT_TRUE(a.leads());
  EXPECT_EQ(a.election->term(), 2);
  store.remove();
  pass(seconds(2));
  a.step();
  a.step();
  EXPECT_TRUE(a.leads());
  EXPECT_EQ(a.election->term(), 2);
  EXPECT_EQ(store.record()->transitions, 1);
}

// Without this, a lease that somebody wrote by hand could keep everybody out for ever, or crash us.
TEST_F(ElectionTest, StrangeLeasesAreTakenInTheEnd) {
  store.edit(json::object{{"holderIdentity", "x"}, {"leaseDurationSeconds", 9'000'000'000'000LL}});
  a.step();
  EXPECT_FALSE(a.leads());
  pass(seconds(86'400));
  a.step();
  EXPECT_TRUE(a.leads());
  EXPECT_EQ(lease_record(*parse_object(R"({"spec":{"leaseTransitions":-5,"leaseDurationSeconds":"x"}})")),
            LeaseRecord{});
  EXPECT_EQ(lease_record(*parse_object("{}")), LeaseRecord{});
}

// Without this, labels that a controller writes again and again would keep a dead leader's lease alive.
TEST_F(ElectionTest, OnlyARenewalKeepsALeaseAlive) {
  a.step();
  b.step();
  for (int i = 0; i < 7; ++i) {
    b.timing->advance(seconds(2));
    store.edit({});
    b.step();
    EXPECT_FALSE(b.leads());
  }
  b.timing->advance(seconds(1));
  b.step();
  EXPECT_TRUE(b.leads());
}

// Without this, a manager that is stopped in the middle of taking or renewing the lease would leave it
// behind, and the cluster without a leader for the whole duration.
TEST_F(ElectionTest, AStopInTheMiddleOfAWriteGivesTheLeaseBack) {
  store.set_cut_answers(true);
  a.step();
  store.set_cut_answers(false);
  EXPECT_FALSE(a.leads());
  EXPECT_EQ(store.record()->holder, "pod-a") << "it was carried out";
  a.election->release();
  EXPECT_EQ(store.record()->holder, "");
  b.step();
  ASSERT_TRUE(b.leads());
  store.set_cut_answers(true);
  pass(seconds(2));
  b.step();
  store.set_cut_answers(false);
  b.election->release();
  EXPECT_EQ(store.record()->holder, "");
}

// Without this, the thread of the election would not end, or end with the lease in its hands.
TEST_F(ElectionTest, RunLeadsUntilItIsStopped) {
  std::thread thread([&] { a.election->run(a.stop); });
  EXPECT_TRUE(net::eventually([&] { return a.leads(); }));
  a.stop.raise();
  thread.join();
  EXPECT_EQ(store.record()->holder, "");
  EXPECT_THAT(a.told, ElementsAre("lead 1", "lose"));
}

}  // namespace
}  // namespace tangram::kube
