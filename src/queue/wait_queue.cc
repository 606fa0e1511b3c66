#include "queue/wait_queue.h"

#include <algorithm>

#include "base/invariant.h"

namespace tangram {
namespace {

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15U + (hash << 6) + (hash >> 2);
  return hash * 0xff51afd7ed558ccdU;
}

std::uint64_t hash_of(const GroupKey& key) {
  std::uint64_t hash = mix(key.tenant.value, static_cast<std::uint64_t>(key.priority));
  hash = mix(hash, static_cast<std::uint64_t>(key.request.kind));
  hash = mix(hash, static_cast<std::uint64_t>(key.request.npus));
  hash = mix(hash, static_cast<std::uint64_t>(key.request.memory_per_npu.count));
  hash = mix(hash, static_cast<std::uint64_t>(key.request.ai_cores));
  hash = mix(hash, static_cast<std::uint64_t>(key.request.core_percent));
  if (key.request.has_parts()) hash = mix(hash, key.request.parts);
  return mix(hash, static_cast<std::uint64_t>(key.bandwidth_bps));
}

bool entry_before(const Entry& entry, std::uint64_t key) {
  return entry.key < key;
}

}  // namespace

Handle WaitQueue::add_job(const JobRecord& record) {
  TG_ASSERT(record.spec.id.valid() && record.spec.id.value <= kJobIdMax,
            "a job's id leaves room for its rank");
  Handle handle = static_cast<Handle>(jobs_.size());
  if (free_jobs_.empty()) {
    jobs_.push_back(record);
  } else {
    handle = free_jobs_.back();
    free_jobs_.pop_back();
    jobs_[handle] = record;
  }
  jobs_by_id_.insert(record.spec.id.value, handle);
  return handle;
}

void WaitQueue::remove_job(Handle job) {
  TG_ASSERT(jobs_[job].spec.id.valid(), "the job exists");
  TG_ASSERT(jobs_[job].group == kNoHandle, "a queued job is dequeued first");
  jobs_by_id_.erase(jobs_[job].spec.id.value);
  jobs_[job] = JobRecord{};
  free_jobs_.push_back(job);
}

std::optional<Handle> WaitQueue::find_job(JobId id) const {
  return jobs_by_id_.find(id.value);
}

Handle WaitQueue::known_job(JobId id) const {
  const std::optional<Handle> job = find_job(id);
  TG_ASSERT(job.has_value(), "the job exists");
  return job.value_or(kNoHandle);
}

std::vector<Handle> WaitQueue::jobs() const {
  std::vector<Handle> all;
  all.reserve(jobs_.size() - free_jobs_.size());
  for (Handle handle = 0; handle < jobs_.size(); ++handle) {
    if (jobs_[handle].spec.id.valid()) all.push_back(handle);
  }
  std::sort(all.begin(), all.end(),
            [this](Handle a, Handle b) { return jobs_[a].spec.id < jobs_[b].spec.id; });
  return all;
}

std::optional<Handle> WaitQueue::find_group(const GroupKey& key) const {
  for (Handle at = groups_by_hash_.find(hash_of(key)).value_or(kNoHandle); at != kNoHandle;
       at = groups_[at].next_alike) {
    if (groups_[at].key == key) return at;
  }
  return std::nullopt;
}

Handle WaitQueue::ensure_group(const GroupKey& key, const Demand& demand) {
  if (const std::optional<Handle> found = find_group(key)) return *found;
  Handle handle = static_cast<Handle>(groups_.size());
  if (free_groups_.empty()) {
    groups_.emplace_back();
  } else {
    handle = free_groups_.back();
    free_groups_.pop_back();
    groups_[handle] = Group{};
  }
  Group& group = groups_[handle];
  group.key = key;
  group.exists = true;
  group.need = demand.need;
  group.demand = demand.least;
  group.demand_class = class_for(demand.need);
  ++demand_classes_[group.demand_class].groups;
  const std::uint64_t hash = hash_of(key);
  if (const std::optional<std::uint32_t> alike = groups_by_hash_.find(hash)) {
    group.next_alike = *alike;
    groups_by_hash_.replace(hash, handle);
  } else {
    groups_by_hash_.insert(hash, handle);
  }
  return handle;
}

void WaitQueue::enqueue(Handle job, Handle handle) {
  JobRecord& record = jobs_[job];
  TG_ASSERT(record.group == kNoHandle && record.is_queued(), "a job is queued once");
  Group& group = groups_[handle];
  TG_ASSERT(group.exists && group.key.tenant == record.spec.tenant, "a job joins its own group");
  const bool is_head = record.is_requeued() || group.fresh_first == kNoHandle;
  link_last(group, job);
  record.group = handle;
  count(group, job, +1);
  if (is_head) insert_entry(handle, job);
}

void WaitQueue::dequeue(Handle job) {
  JobRecord& record = jobs_[job];
  TG_ASSERT(record.group != kNoHandle, "only a queued job is dequeued");
  const Handle handle = record.group;
  Group& group = groups_[handle];
  const bool is_head = record.is_requeued() || group.fresh_first == job;
  const bool has_heir = is_head && !record.is_requeued() && record.next != kNoHandle;
  if (has_heir) {
    replace_entry(handle, job, record.next);
  } else if (is_head) {
    erase_entry(handle, job);
  }
  Handle& first = record.is_requeued() ? group.requeued_first : group.fresh_first;
  Handle& last = record.is_requeued() ? group.requeued_last : group.fresh_last;
  (record.previous == kNoHandle ? first : jobs_[record.previous].next) = record.next;
  (record.next == kNoHandle ? last : jobs_[record.next].previous) = record.previous;
  count(group, job, -1);
  record.group = kNoHandle;
}

void WaitQueue::undo_dequeue(Handle job, Handle handle) {
  JobRecord& record = jobs_[job];
  TG_ASSERT(record.group == kNoHandle && record.is_queued(), "only a dequeued job is put back");
  Group& group = groups_[handle];
  Handle& first = record.is_requeued() ? group.requeued_first : group.fresh_first;
  Handle& last = record.is_requeued() ? group.requeued_last : group.fresh_last;
  const bool is_head = record.is_requeued() || record.previous == kNoHandle;
  const bool has_heir = is_head && !record.is_requeued() && record.next != kNoHandle;
  (record.previous == kNoHandle ? first : jobs_[record.previous].next) = job;
  (record.next == kNoHandle ? last : jobs_[record.next].previous) = job;
  record.group = handle;
  count(group, job, +1);
  if (has_heir) {
    replace_entry(handle, record.next, job);
  } else if (is_head) {
    insert_entry(handle, job);
  }
}

void WaitQueue::drop_if_empty(Handle handle) {
  Group& group = groups_[handle];
  TG_ASSERT(group.exists && group.jobs >= 0, "the group exists");
  if (group.jobs > 0) return;
  --demand_classes_[group.demand_class].groups;
  const std::uint64_t hash = hash_of(group.key);
  const Handle first = groups_by_hash_.find(hash).value_or(kNoHandle);
  TG_ASSERT(first != kNoHandle, "a group is found by its hash");
  if (first != handle) {
    Handle before = first;
    while (groups_[before].next_alike != handle) before = groups_[before].next_alike;
    groups_[before].next_alike = group.next_alike;
  } else if (group.next_alike != kNoHandle) {
    groups_by_hash_.replace(hash, group.next_alike);
  } else {
    groups_by_hash_.erase(hash);
  }
  group = Group{};
  free_groups_.push_back(handle);
}

void WaitQueue::park(Handle handle, ReasonCode reason, Parking parking) {
  TG_ASSERT(groups_[handle].exists, "the group exists");
  TG_ASSERT((parking.slot == Slot::kCapacity) == !parking.tenant.valid(),
            "a quota's bucket belongs to a tenant");
  detach(handle);
  groups_[handle].reason = reason;
  groups_[handle].parking = parking;
  attach(handle);
}

void WaitQueue::set_demand(Handle handle, const Demand& demand) {
  TG_ASSERT(groups_[handle].exists, "the group exists");
  detach(handle);
  Group& group = groups_[handle];
  --demand_classes_[group.demand_class].groups;
  demand_classes_[group.demand_class].jobs -= group.jobs;
  group.need = demand.need;
  group.demand = demand.least;
  group.demand_class = class_for(demand.need);
  ++demand_classes_[group.demand_class].groups;
  demand_classes_[group.demand_class].jobs += group.jobs;
  attach(handle);
}

std::vector<Handle> WaitQueue::groups() const {
  std::vector<Handle> all;
  for (Handle handle = 0; handle < groups_.size(); ++handle) {
    if (groups_[handle].exists) all.push_back(handle);
  }
  return all;
}

Handle WaitQueue::best_job(Handle handle, TimeMs now, std::int64_t keep_after_ms) const {
  const Group& group = groups_[handle];
  TG_ASSERT(group.jobs > 0, "the group has a job");
  Handle best = group.fresh_first;
  const auto rank = [&](Handle job) {
    return rank_of(jobs_[job].spec.id.value, jobs_[job].queued_at, now, keep_after_ms);
  };
  for (Handle job = group.requeued_first; job != kNoHandle; job = jobs_[job].next) {
    if (best == kNoHandle || rank(job) < rank(best)) best = job;
  }
  return best;
}

Bucket& WaitQueue::bucket_of(const Group& group) {
  if (group.parking.slot == Slot::kCapacity) return demand_classes_[group.demand_class].bucket;
  const std::size_t needed = group.parking.tenant.value + std::size_t{1};
  if (parked_slots_.size() < needed) {
    parked_slots_.resize(needed);
    parked_.resize(needed * kQuotaSlotCount);
  }
  return parked_[group.parking.tenant.value * kQuotaSlotCount + static_cast<std::size_t>(group.parking.slot)];
}

void WaitQueue::attach(Handle handle) {
  const Group& group = groups_[handle];
  if (group.fresh_first != kNoHandle) insert_entry(handle, group.fresh_first);
  for (Handle job = group.requeued_first; job != kNoHandle; job = jobs_[job].next) insert_entry(handle, job);
}

void WaitQueue::detach(Handle handle) {
  const Group& group = groups_[handle];
  if (group.fresh_first != kNoHandle) erase_entry(handle, group.fresh_first);
  for (Handle job = group.requeued_first; job != kNoHandle; job = jobs_[job].next) erase_entry(handle, job);
}

Entry WaitQueue::entry_of(Handle handle, Handle job) const {
  const Group& group = groups_[handle];
  const JobRecord& record = jobs_[job];
  Entry entry;
  entry.key = rank_key(record.spec.priority, record.spec.id);
  entry.queued_at = record.queued_at;
  entry.job = job;
  entry.group = handle;
  entry.requeued = record.is_requeued();
  const auto slot = static_cast<std::size_t>(group.parking.slot);
  if (slot < kCountableCount) entry.demand = group.demand[slot];
  return entry;
}

void WaitQueue::insert_entry(Handle handle, Handle job) {
  const Group& group = groups_[handle];
  Bucket& bucket = bucket_of(group);
  const Entry entry = entry_of(handle, job);
  if (group.parking.slot == Slot::kCapacity) {
    ++demand_classes_[group.demand_class].reasons[static_cast<std::size_t>(group.reason)];
  } else {
    std::uint8_t& slots = parked_slots_[group.parking.tenant.value];
    slots = static_cast<std::uint8_t>(slots | (1U << static_cast<std::size_t>(group.parking.slot)));
  }
  bucket.demand_min = std::min(bucket.demand_min, entry.demand);
  const auto place = std::lower_bound(bucket.entries.begin(), bucket.entries.end(), entry.key, entry_before);
  TG_ASSERT(place == bucket.entries.end() || place->key != entry.key, "a job has one entry");
  bucket.entries.insert(place, entry);
}

void WaitQueue::replace_entry(Handle handle, Handle job, Handle by) {
  std::vector<Entry>& entries = bucket_of(groups_[handle]).entries;
  const std::uint64_t key = rank_key(jobs_[job].spec.priority, jobs_[job].spec.id);
  const Entry entry = entry_of(handle, by);
  auto from = std::lower_bound(entries.begin(), entries.end(), key, entry_before);
  TG_ASSERT(from != entries.end() && from->key == key, "a head of a group has an entry");
  auto to = std::lower_bound(entries.begin(), entries.end(), entry.key, entry_before);
  TG_ASSERT(to == entries.end() || to->key != entry.key, "a job has one entry");
  if (from < to) {
    std::move(from + 1, to, from);
    --to;
  } else {
    std::move_backward(to, from, from + 1);
  }
  *to = entry;
}

void WaitQueue::erase_entry(Handle handle, Handle job) {
  const Group& group = groups_[handle];
  Bucket& bucket = bucket_of(group);
  const std::uint64_t key = rank_key(jobs_[job].spec.priority, jobs_[job].spec.id);
  const auto place = std::lower_bound(bucket.entries.begin(), bucket.entries.end(), key, entry_before);
  TG_ASSERT(place != bucket.entries.end() && place->key == key, "a head of a group has an entry");
  const std::int64_t demand = place->demand;
  bucket.entries.erase(place);
  if (group.parking.slot == Slot::kCapacity) {
    std::int32_t& number =
        demand_classes_[group.demand_class].reasons[static_cast<std::size_t>(group.reason)];
    TG_ASSERT(number > 0, "reasons are counted");
    --number;
    return;
  }
  if (bucket.entries.empty()) {
    std::uint8_t& slots = parked_slots_[group.parking.tenant.value];
    slots = static_cast<std::uint8_t>(slots & ~(1U << static_cast<std::size_t>(group.parking.slot)));
  }
  if (demand > bucket.demand_min) return;
  bucket.demand_min = std::numeric_limits<std::int64_t>::max();
  for (const Entry& entry : bucket.entries) bucket.demand_min = std::min(bucket.demand_min, entry.demand);
}

void WaitQueue::link_last(Group& group, Handle job) {
  JobRecord& record = jobs_[job];
  Handle& first = record.is_requeued() ? group.requeued_first : group.fresh_first;
  Handle& last = record.is_requeued() ? group.requeued_last : group.fresh_last;
  TG_ASSERT(record.is_requeued() || last == kNoHandle || jobs_[last].spec.id < record.spec.id,
            "jobs are submitted in the order of their ids");
  record.previous = last;
  record.next = kNoHandle;
  (last == kNoHandle ? first : jobs_[last].next) = job;
  last = job;
}

void WaitQueue::count(Group& group, Handle job, std::int64_t sign) {
  const JobRecord& record = jobs_[job];
  group.jobs += sign;
  demand_classes_[group.demand_class].jobs += sign;
  queued_count_ = static_cast<std::size_t>(static_cast<std::int64_t>(queued_count_) + sign);
  TG_ASSERT(group.jobs >= 0, "a group's jobs are counted");
  if (!record.spec.no_wait || record.is_requeued()) return;
  group.no_wait_jobs += sign;
  const auto place = std::lower_bound(no_wait_.begin(), no_wait_.end(), job, [this](Handle a, Handle b) {
    return jobs_[a].spec.id < jobs_[b].spec.id;
  });
  if (sign > 0) {
    no_wait_.insert(place, job);
  } else {
    TG_ASSERT(place != no_wait_.end() && *place == job, "a no-wait job is listed");
    no_wait_.erase(place);
  }
}

std::uint32_t WaitQueue::class_for(const Need& need) {
  std::uint32_t unused = std::numeric_limits<std::uint32_t>::max();
  for (std::uint32_t i = 0; i < demand_classes_.size(); ++i) {
    const DemandClass& demand_class = demand_classes_[i];
    if (demand_class.need == need) return i;
    if (demand_class.groups == 0) unused = i;
  }
  if (unused == std::numeric_limits<std::uint32_t>::max()) {
    unused = static_cast<std::uint32_t>(demand_classes_.size());
    demand_classes_.emplace_back();
  }
  DemandClass& demand_class = demand_classes_[unused];
  TG_ASSERT(demand_class.bucket.entries.empty(), "an unused class is empty");
  demand_class.need = need;
  return unused;
}

}  // namespace tangram
