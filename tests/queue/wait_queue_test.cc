#include "queue/wait_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tangram {
namespace {

using ::testing::ElementsAre;

class Queue : public ::testing::Test {
 protected:
  Handle add(std::uint64_t id, Priority priority = Priority::kNormal, std::int32_t npus = 1,
             std::int32_t attempt = 0, std::int64_t queued_at = -1) {
    JobRecord record;
    record.spec.id = JobId(id);
    record.spec.tenant = TenantId(0);
    record.spec.priority = priority;
    record.spec.request.npus = npus;
    record.attempt = attempt;
    record.queued_at = TimeMs(queued_at < 0 ? static_cast<std::int64_t>(id) : queued_at);
    const Handle job = queue.add_job(record);
    Demand demand;
    demand.least = {npus, 0, 0, 1, 0};
    queue.enqueue(job, queue.ensure_group({TenantId(0), priority, record.spec.request, 0}, demand));
    return job;
  }

  static std::vector<std::uint64_t> ids(const WaitQueue& queue, const Bucket& bucket) {
    std::vector<std::uint64_t> ids;
    ids.reserve(bucket.entries.size());
    for (const Entry& entry : bucket.entries) ids.push_back(queue.job(entry.job).spec.id.value);
    return ids;
  }

  WaitQueue queue;
};

// Without this, each queued job would cost something at every event, not each group.
TEST_F(Queue, AGroupShowsItsHeadOnly) {
  add(1), add(2), add(3);
  add(4, Priority::kHigh);
  ASSERT_EQ(queue.demand_classes().size(), 1U);
  EXPECT_THAT(ids(queue, queue.demand_classes()[0].bucket), ElementsAre(4U, 1U)) << "class first, then id";
  EXPECT_EQ(queue.queued_count(), 4U);
}

// Without this, undoing a start would leave the queue other than it was.
TEST_F(Queue, UndoPutsAJobBackWhereItWas) {
  const Handle first = add(1);
  const Handle second = add(2);
  add(3);
  const Handle group = queue.job(first).group;
  queue.dequeue(first);
  queue.dequeue(second);
  EXPECT_THAT(ids(queue, queue.demand_classes()[0].bucket), ElementsAre(3U));
  queue.undo_dequeue(second, group);
  EXPECT_THAT(ids(queue, queue.demand_classes()[0].bucket), ElementsAre(2U));
  queue.undo_dequeue(first, group);
  EXPECT_THAT(ids(queue, queue.demand_classes()[0].bucket), ElementsAre(1U));
  EXPECT_EQ(queue.group(group).jobs, 3);
  queue.dequeue(second);
  EXPECT_EQ(queue.job(first).next, queue.job(second).next);
}

// Without this, a job cancelled in the middle of its group would tear the list.
TEST_F(Queue, AJobInTheMiddleLeavesWithoutATrace) {
  const Handle first = add(1);
  const Handle second = add(2);
  const Handle third = add(3);
  queue.dequeue(second);
  queue.remove_job(second);
  EXPECT_EQ(queue.job(first).next, third);
  EXPECT_EQ(queue.job(third).previous, first);
  EXPECT_FALSE(queue.find_job(JobId(2)));
  queue.dequeue(first);
  EXPECT_THAT(ids(queue, queue.demand_classes()[0].bucket), ElementsAre(3U));
}

// Without this, a restarted job could go before one that waited past the bound.
TEST_F(Queue, TheBestOfAGroupIsTheOneThatWaitedPastTheBound) {
  const Handle restarted = add(1, Priority::kNormal, 1, 1, 900);
  const Handle old = add(2, Priority::kNormal, 1, 0, 100);
  const Handle group = queue.job(old).group;
  EXPECT_EQ(queue.job(restarted).group, group);
  EXPECT_EQ(queue.best_job(group, TimeMs(1000), 5000), restarted) << "before the bound: the older submission";
  EXPECT_EQ(queue.best_job(group, TimeMs(1000), 500), old);
  EXPECT_EQ(queue.best_job(group, TimeMs(2000), 500), restarted) << "both past the bound";
}

// Without this, an event would look into buckets that it cannot open.
TEST_F(Queue, AParkedGroupMovesToTheBucketOfItsLimit) {
  const Handle small = add(1, Priority::kNormal, 2);
  const Handle large = add(2, Priority::kNormal, 4);
  queue.park(queue.job(small).group, ReasonCode::kQuotaNpus, {TenantId(3), Slot::kNpus});
  queue.park(queue.job(large).group, ReasonCode::kQuotaNpus, {TenantId(3), Slot::kNpus});
  EXPECT_EQ(queue.parked_slots(TenantId(3)), 1U << static_cast<unsigned>(Slot::kNpus));
  EXPECT_EQ(queue.bucket(TenantId(3), Slot::kNpus).demand_min, 2);
  queue.park(queue.job(small).group, ReasonCode::kNpusBusy, {});
  EXPECT_EQ(queue.bucket(TenantId(3), Slot::kNpus).demand_min, 4);
  queue.park(queue.job(large).group, ReasonCode::kNpusBusy, {});
  EXPECT_EQ(queue.parked_slots(TenantId(3)), 0U);
  std::int64_t busy = 0;
  for (const DemandClass& demand : queue.demand_classes()) {
    busy += demand.reasons[static_cast<std::size_t>(ReasonCode::kNpusBusy)];
  }
  EXPECT_EQ(busy, 2);
}

// Without this, a group's handle would never be free again.
TEST_F(Queue, AnEmptyGroupIsDroppedAndItsHandleUsedAgain) {
  const Handle job = add(1);
  const Handle group = queue.job(job).group;
  queue.dequeue(job);
  queue.drop_if_empty(group);
  EXPECT_TRUE(queue.groups().empty());
  EXPECT_EQ(queue.job(add(2, Priority::kLow)).group, group);
}

}  // namespace
}  // namespace tangram
