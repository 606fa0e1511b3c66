// The jobs, and those of them that wait, gathered into *groups*: queued jobs of one tenant, class, request
// and bandwidth, of which one fits exactly when another does. A group lies in one *bucket*: that of its
// demand class (what it needs of the hardware: it waits for capacity, or is not judged yet) or that of
// the limit which blocks it (tenant and dimension). So an event looks only at the buckets it can open, and
// never at each job. Not thread-safe; copied as a whole. The rank of a job is: waited past the bound, then
// class, then id.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "base/units.h"
#include "model/ids.h"
#include "model/job.h"
#include "model/reason.h"
#include "model/request.h"
#include "queue/flat_index.h"
#include "quota/amounts.h"

namespace tangram {

using Handle = std::uint32_t;  // of a job or a group: an index, used again after the end
inline constexpr Handle kNoHandle = std::numeric_limits<Handle>::max();

// Smaller is served earlier. Bit 63: has not waited past the bound; bits 61 and 62: class; the rest: id.
using Rank = std::uint64_t;
inline constexpr std::uint64_t kJobIdMax = (std::uint64_t{1} << 61) - 1;
inline constexpr Rank kNotOverdue = Rank{1} << 63;

struct JobRecord {
  JobSpec spec;
  // kReady here means queued: whether it waits is its group's to know. kWaiting: admitted, and without a
  // place.
  JobState state = JobState::kReady;
  bool cancel_requested = false;
  bool over_limit = false;  // booked because it existed, when a limit was used up
  std::int32_t attempt = 0;
  std::int32_t restarts = 0;
  std::int32_t failures = 0;  // restarts after a failure of the program itself
  TimeMs submitted_at;
  TimeMs queued_at;
  TimeMs started_at;
  Amounts charge{};         // while active: what was charged, whatever the NPU has become since
  NpuIndex first_npu;       // while active
  Handle held = kNoHandle;  // while active: what the parts of a job of several hold
  Handle group = kNoHandle;
  Handle previous = kNoHandle;  // in its group's list
  Handle next = kNoHandle;

  bool is_queued() const { return state == JobState::kReady; }
  bool is_unplaced() const { return state == JobState::kWaiting; }
  // A job that was started before waits in a list of its own: its place and its waiting time no longer agree.
  bool is_requeued() const { return attempt > 0; }
};

struct GroupKey {
  TenantId tenant;
  Priority priority = Priority::kNormal;
  Request request;
  std::int64_t bandwidth_bps = 0;

  friend bool operator==(const GroupKey&, const GroupKey&) = default;
};

// Where a group waits.
enum class Slot : std::uint8_t {
  kNpus,  // the first five: a limit, in the order of Countable
  kMemoryTotal,
  kAiCores,
  kRunningJobs,
  kBandwidth,
  kKept,      // the quota of the tenant is kept for an older job
  kNever,     // until somebody changes a limit
  kCapacity,  // the demand class; `tenant` is invalid
};
inline constexpr std::size_t kQuotaSlotCount = 7;

struct Parking {
  TenantId tenant;
  Slot slot = Slot::kCapacity;

  friend bool operator==(const Parking&, const Parking&) = default;
};

struct Entry {
  std::uint64_t key = 0;  // class and id
  std::int64_t demand = 0;
  TimeMs queued_at;
  Handle job = kNoHandle;
  Handle group = kNoHandle;
  bool requeued = false;
};

// Entries ascending by key. Within a class, entries that are not requeued are also ascending by queued_at.
struct Bucket {
  std::vector<Entry> entries;
  std::int64_t demand_min = std::numeric_limits<std::int64_t>::max();
};

// Groups that need the same of the hardware.
struct DemandClass {
  Need need;
  std::int64_t groups = 0;  // wherever they are parked
  std::int64_t jobs = 0;    // of those groups
  Bucket bucket;
  // Entries of the bucket by the reason of their group.
  std::array<std::int32_t, static_cast<std::size_t>(kReasonLast) + 1> reasons{};
};

struct Group {
  GroupKey key;
  Amounts demand{};  // the least a job of it would charge
  Need need;
  Handle fresh_first = kNoHandle, fresh_last = kNoHandle;        // ascending by id and by queued_at
  Handle requeued_first = kNoHandle, requeued_last = kNoHandle;  // ascending by queued_at
  std::int64_t jobs = 0;
  std::int64_t no_wait_jobs = 0;
  std::uint32_t demand_class = 0;
  ReasonCode reason = ReasonCode::kNone;
  Parking parking;
  Handle next_alike = kNoHandle;  // the next group with the same hash
  bool exists = false;
};

// What a group's demand comes to on the hardware at hand: filled in by the owner of both.
struct Demand {
  Need need;
  Amounts least{};
};

class WaitQueue {
 public:
  // ---- jobs
  Handle add_job(const JobRecord& record);
  void remove_job(Handle job);  // must not be queued
  std::optional<Handle> find_job(JobId id) const;
  Handle known_job(JobId id) const;  // must exist
  JobRecord& job(Handle handle) { return jobs_[handle]; }
  const JobRecord& job(Handle handle) const { return jobs_[handle]; }
  std::vector<Handle> jobs() const;  // ascending by id
  std::size_t job_slots() const { return jobs_.size(); }
  std::size_t job_count() const { return jobs_.size() - free_jobs_.size(); }

  // ---- the queue
  std::optional<Handle> find_group(const GroupKey& key) const;
  // The group is created when it is missing: then `demand` is its demand.
  Handle ensure_group(const GroupKey& key, const Demand& demand);
  void enqueue(Handle job, Handle group);
  // Takes the job out and leaves its neighbours' links in it, so that undo_dequeue can put it back where it
  // was.
  void dequeue(Handle job);
  void undo_dequeue(Handle job, Handle group);
  void drop_if_empty(Handle group);
  void park(Handle group, ReasonCode reason, Parking parking);
  void set_demand(Handle group, const Demand& demand);

  const Group& group(Handle handle) const { return groups_[handle]; }
  std::size_t group_slots() const { return groups_.size(); }
  std::vector<Handle> groups() const;
  // The job of the group that is served first at `now`.
  Handle best_job(Handle group, TimeMs now, std::int64_t keep_after_ms) const;
  std::size_t queued_count() const { return queued_count_; }

  const std::vector<DemandClass>& demand_classes() const { return demand_classes_; }
  // By tenant, as far as one was ever parked; a bit per Slot: which of its buckets hold something.
  const std::vector<std::uint8_t>& parked_slots() const { return parked_slots_; }
  std::uint8_t parked_slots(TenantId tenant) const {
    return tenant.value < parked_slots_.size() ? parked_slots_[tenant.value] : std::uint8_t{0};
  }
  const Bucket& bucket(TenantId tenant, Slot slot) const {
    return parked_[tenant.value * kQuotaSlotCount + static_cast<std::size_t>(slot)];
  }
  const std::vector<Handle>& no_wait_jobs() const {
    return no_wait_;
  }  // queued ones of a first attempt, by id

 private:
  Bucket& bucket_of(const Group& group);
  void attach(Handle group);
  void detach(Handle group);
  Entry entry_of(Handle group, Handle job) const;
  void insert_entry(Handle group, Handle job);
  void erase_entry(Handle group, Handle job);
  // The same as erasing one and inserting the other, but moves only the entries between them.
  void replace_entry(Handle group, Handle job, Handle by);
  void link_last(Group& group, Handle job);
  void count(Group& group, Handle job, std::int64_t sign);
  std::uint32_t class_for(const Need& need);

  std::vector<JobRecord> jobs_;
  std::vector<Handle> free_jobs_;
  FlatIndex jobs_by_id_;
  std::vector<Group> groups_;
  std::vector<Handle> free_groups_;
  FlatIndex groups_by_hash_;
  std::vector<DemandClass> demand_classes_;
  std::vector<Bucket> parked_;              // by tenant and slot
  std::vector<std::uint8_t> parked_slots_;  // by tenant
  std::vector<Handle> no_wait_;
  std::size_t queued_count_ = 0;
};

constexpr std::uint64_t rank_key(Priority priority, JobId id) {
  return (static_cast<std::uint64_t>(priority) << 61) | id.value;
}

// Above all keys of the class.
constexpr std::uint64_t end_of_class(Priority priority) {
  return (static_cast<std::uint64_t>(priority) + 1) << 61;
}

constexpr bool is_overdue(TimeMs queued_at, TimeMs now, std::int64_t keep_after_ms) {
  return queued_at.value + keep_after_ms <= now.value;
}

constexpr Rank rank_of(std::uint64_t key, TimeMs queued_at, TimeMs now, std::int64_t keep_after_ms) {
  return is_overdue(queued_at, now, keep_after_ms) ? key : (key | kNotOverdue);
}

}  // namespace tangram
