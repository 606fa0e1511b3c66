// Pages of jobs are made in short steps, between which the state may change; and questions that only count
// jobs cost the same whatever the queue.
#include "service/job_listing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "service/cut_node.h"

namespace tangram::service::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class JobListingTest : public ::testing::Test {
 protected:
  // Whole NPUs: the first runs, the others wait.
  void submit(int count, Priority priority = Priority::kNormal) {
    for (int i = 0; i < count; ++i) {
      wire::JobSubmittedRecord record;
      record.input.spec.id = node.state.next_job_id();
      record.input.spec.tenant = node.tenant("team");
      record.input.spec.request.npus = 1;
      record.input.spec.priority = priority;
      record.program.name = "work-" + std::to_string(record.input.spec.id.value);
      node.apply(record);
    }
    node.decide();
  }
  void cancel(std::uint64_t job) {
    wire::JobCancelledRecord record;
    record.input.job = JobId(job);
    node.apply(record);
  }
  void end(std::uint64_t job) { node.end(JobId(job)); }

  int look(JobListing& listing) const {
    int steps = 1;
    while (listing.look(node.state)) ++steps;
    listing.arrange();
    return steps;
  }
  int show(JobListing& listing) const {
    int steps = 1;
    while (listing.show(node.state)) ++steps;
    return steps;
  }
  static std::vector<std::string> ids(const wire::JobList& list) {
    std::vector<std::string> ids;
    for (const wire::JobView& view : list.items) ids.push_back(view.id);
    return ids;
  }

  CutNode node;
};

// Without it a listing would keep the writer waiting as long as the queue is.
TEST_F(JobListingTest, LooksAtFewJobsAtOnce) {
  submit(1'000);
  JobFilter filter;
  filter.limit = 100;
  JobListing listing(kOperator, filter);
  EXPECT_GE(look(listing), static_cast<int>(1'000 / JobListing::kLookedAtOnce));
  EXPECT_GE(show(listing), static_cast<int>(100 / JobListing::kShownAtOnce));
  const wire::JobList list = std::move(listing).take();
  ASSERT_EQ(list.items.size(), 100U);
  EXPECT_EQ(list.next, "j-100");
  EXPECT_FALSE(list.items[0].position) << "it runs";
  for (std::size_t i = 1; i < list.items.size(); ++i)
    EXPECT_EQ(list.items[i].position, static_cast<std::int64_t>(i));
}

// Without it a job's place in the queue would be another than the one in which it is served.
TEST_F(JobListingTest, PlacesAreThoseOfTheQueue) {
  for (int i = 0; i < 400; ++i)
    submit(1, i % 3 == 0 ? Priority::kHigh : i % 3 == 1 ? Priority::kLow : Priority::kNormal);
  const std::vector<JobId> queue = node.state.core().queue();
  ASSERT_GT(queue.size(), 300U);
  JobListing listing(kOperator, JobFilter{});
  look(listing);
  show(listing);
  const wire::JobList list = std::move(listing).take();
  ASSERT_EQ(list.items.size(), queue.size() + node.state.core().active_count());
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const wire::JobView& view = list.items[i + node.state.core().active_count()];
    EXPECT_EQ(view.id, wire::format_job_id(queue[i]));
    EXPECT_EQ(view.position, static_cast<std::int64_t>(i + 1));
    QueuePlace place(node.state.core().rank(queue[i]).value());
    while (place.look(node.state)) {
    }
    EXPECT_EQ(place.position(), static_cast<std::int64_t>(i + 1));
  }
  EXPECT_FALSE(node.state.core().rank(node.state.core().active().front()));
}

// Without it a page would show jobs that are over as waiting, or places in the queue of those that run.
TEST_F(JobListingTest, ShowsEachJobAsItIsThen) {
  submit(5);
  JobListing listing(kOperator, JobFilter{});
  look(listing);
  cancel(3);
  end(1);
  node.decide();
  show(listing);
  const wire::JobList list = std::move(listing).take();
  EXPECT_THAT(ids(list), ElementsAre("j-2", "j-4", "j-5"));
  EXPECT_EQ(list.items[0].state, JobState::kStarting);
  EXPECT_FALSE(list.items[0].position);
  EXPECT_EQ(list.items[1].position, 3) << "as it was when it was counted";
}

// Without it a page by state would show jobs of another.
TEST_F(JobListingTest, LeavesOutWhatNoLongerPasses) {
  submit(3);
  JobFilter filter;
  filter.states = {JobState::kWaiting};
  JobListing listing(kOperator, filter);
  look(listing);
  end(1);
  node.decide();
  show(listing);
  EXPECT_THAT(ids(std::move(listing).take()), ElementsAre("j-3"));
}

// Without it a job that ends at the wrong moment would stand twice on the page, or not at all.
TEST_F(JobListingTest, OneThatEndsMeanwhileStandsOnce) {
  submit(3);
  JobFilter filter;
  filter.all = true;
  JobListing listing(kOperator, filter);
  ASSERT_TRUE(listing.look(node.state)) << "ended ones are to come";
  cancel(2);
  look(listing);
  show(listing);
  const wire::JobList list = std::move(listing).take();
  EXPECT_THAT(ids(list), ElementsAre("j-1", "j-2", "j-3"));
  EXPECT_EQ(list.items[1].state, JobState::kEnded);
}

// Without it whoever turns the pages would miss ended jobs, or never come to an end.
TEST_F(JobListingTest, PagesGoOverEndedJobsById) {
  submit(600);
  for (std::uint64_t job = 2; job <= 600; job += 2) cancel(job);
  std::vector<std::string> all;
  JobFilter filter;
  filter.all = true;
  filter.limit = 70;
  for (int page = 0; page < 9; ++page) {
    JobListing listing(kOperator, filter);
    look(listing);
    show(listing);
    const wire::JobList list = std::move(listing).take();
    for (const std::string& id : ids(list)) all.push_back(id);
    if (list.next.empty()) break;
    filter.after = parse_job_id(list.next).value();
  }
  ASSERT_EQ(all.size(), 600U);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], "j-" + std::to_string(i + 1));
}

// Without it a tenant would see others' jobs, or its places in the queue as if it were alone.
TEST_F(JobListingTest, OthersJobsHavePlacesOnly) {
  submit(3);
  wire::JobSubmittedRecord record;
  record.input.spec.id = node.state.next_job_id();
  record.input.spec.tenant = node.tenant("other");
  record.input.spec.request.npus = 1;
  record.program.name = "own";
  node.apply(record);
  const Caller other = node.as("other");
  JobListing listing(other, JobFilter{});
  look(listing);
  show(listing);
  const wire::JobList list = std::move(listing).take();
  EXPECT_THAT(ids(list), ElementsAre("j-4"));
  EXPECT_EQ(list.items[0].position, 3);
  EXPECT_THAT(list.next, IsEmpty());
}

std::int64_t thread_nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

// Without it one tenant that asks for the status again and again would have every job copied each time, under
// the lock that the writer needs.
TEST(LongQueue, IsNotCopiedByThoseWhoOnlyCount) {
  Machine machine;
  machine.start();
  machine.tenant("team-a", 2);
  // What it costs on its thread, in a state that nobody has asked about yet: the median.
  const auto cost_of = [&](const std::function<void()>& question) {
    std::vector<std::int64_t> costs;
    for (int i = 0; i < 11; ++i) {
      machine.job("team-a", 2);
      const std::int64_t begun = thread_nanoseconds();
      question();
      costs.push_back(thread_nanoseconds() - begun);
    }
    std::nth_element(costs.begin(), costs.begin() + 5, costs.end());
    return costs[5];
  };
  const std::vector<std::function<void()>> questions{
      [&] { (void)machine.service->status(kOperator); },
      [&] { (void)machine.service->slices(kOperator, {}); },
      [&] { (void)machine.service->tenants(kOperator); },
      [&] { (void)machine.service->diagnose(kOperator); },
  };
  std::vector<std::int64_t> before;
  for (const auto& question : questions) before.push_back(cost_of(question));
  for (int batch = 0; batch < 10; ++batch) {
    std::string body = R"({"items":[)";
    for (int i = 0; i < 500; ++i) {
      body += (i > 0 ? "," : "") + (R"({"tenant":"team-a","npus":2,"command":["/bin/true"],"name":"long-)" +
                                    std::to_string(batch * 500 + i) + "\"}");
    }
    ASSERT_EQ(machine.submit(body + "]}").status, 200);
  }
  ASSERT_GT(machine.service->status(kOperator).jobs_queued, 5'000);
  for (std::size_t i = 0; i < questions.size(); ++i)
    EXPECT_LT(cost_of(questions[i]), 4 * before[i] + 100'000) << "question " << i << ": " << before[i];
}

}  // namespace
}  // namespace tangram::service::testing
