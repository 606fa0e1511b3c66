// What those who ask for slices are told: in answers, in the history of a job, and where nothing can be cut.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "service/sliced.h"
#include "wire/event.h"

namespace tangram::service::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Without this, a slice would come and go without a word in the history of its job.
TEST(SliceWords, TheHistoryOfAJobTellsItsSlice) {
  Sliced machine;
  machine.start();
  machine.tenant("team-a", 4);
  const std::string job = machine.slice("4GiB");
  ASSERT_TRUE(machine.reaches(job, JobState::kRunning));
  machine.finish(job);
  ASSERT_TRUE(machine.is_clean());
  EventQuery query;
  query.job = job;
  const auto types = [&] {
    std::vector<std::string> all;
    const auto history = machine.service->history(kOperator, query, {});
    if (!history) return all;
    for (const std::string& body : history->events) all.push_back(wire::read_event_view(body)->type);
    return all;
  };
  EXPECT_TRUE(eventually([&] { return !types().empty() && types().back() == "slice.returned"; }));
  EXPECT_THAT(types(), ElementsAre("job.submitted", "job.starting", "slice.made", "job.running", "job.ended",
                                   "slice.returned"));
}

// Without this, a job's owner would learn inside of it that a program finds less memory than was asked for.
TEST(SliceWords, TheAnswerToASubmissionSaysWhatIsGranted) {
  Sliced machine(2);
  machine.start();
  machine.tenant("team-a", 4);
  const Answer answer =
      machine.submit(R"({"tenant":"team-a","command":["/bin/true"],"slice":{"memory":"6GiB"}})");
  const auto cut = wire::read_job_view(answer.body);
  ASSERT_TRUE(cut) << answer.body;
  EXPECT_EQ(
      cut->granted,
      "vir02: 2 AI cores, 6GiB nominal, 5381MiB for the program; just what is asked for, though a program "
      "finds less than the 6GiB that are asked for");
  EXPECT_EQ(machine.view(cut->id).granted, cut->granted);
  const auto lease = machine.lease("team-a", 1);
  ASSERT_TRUE(lease);
  const auto held = machine.service->lease_view(*lease);
  ASSERT_TRUE(held);
  EXPECT_THAT(held->job.granted, HasSubstr("the whole NPU: 310P3"));
  const std::string waiting = machine.slice("13000MiB");
  EXPECT_THAT(machine.view(waiting).granted, HasSubstr("a whole NPU of 310P3")) << "it would get that";
  ASSERT_TRUE(machine.reaches(cut->id, JobState::kRunning));
  machine.finish(cut->id);
  ASSERT_TRUE(machine.reaches(cut->id, JobState::kEnded));
  EXPECT_EQ(machine.view(cut->id).granted, "");
}

// Without this, `fit` would say that nothing can be cut and not why, though one command would change it.
TEST(SliceWords, FitAndWhySayWhyNothingIsCut) {
  Sliced machine;
  machine.start();
  machine.tenant("team-a", 4);
  ASSERT_FALSE(machine.job("team-a", 1).empty());
  const std::string waiting = machine.slice("1GiB");
  machine.devices.set_for_containers(false);
  wire::LeaseRequest request;
  request.tenant = "team-a";
  request.slice = wire::SliceRequest{Bytes::gib(1), 0};
  ASSERT_TRUE(eventually([&] {
    const auto fit = machine.service->fit(kOperator, request);
    return fit && fit->answer == wire::FitAnswer::kNever;
  }));
  const auto fit = machine.service->fit(kOperator, request);
  EXPECT_THAT(fit->verdict, HasSubstr("virtual machines"));
  EXPECT_THAT(fit->verdict, HasSubstr("npu-smi set -t vnpu-mode -d 0"));
  ASSERT_FALSE(fit->blockers.empty());
  EXPECT_THAT(fit->blockers[0].message, HasSubstr("virtual machines"));
  ASSERT_TRUE(machine.waits_for(waiting, "request.slice.unsupported"));
  const auto why = machine.service->why(kOperator, waiting);
  ASSERT_TRUE(why);
  EXPECT_THAT(why->verdict, HasSubstr("virtual machines"));
}

}  // namespace
}  // namespace tangram::service::testing
