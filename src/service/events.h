// What a record means to those who watch: its events (wire/event.h), made from the record and from the state
// before and after it. Pure functions; the writer stores the events with their record, so that they are told
// once and for all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ports/store.h"
#include "service/state.h"
#include "wire/record.h"

namespace tangram::service {

// What the events of a record may need of the state that the record changes.
struct EventSubject {
  std::optional<JobStatus> job;
  std::string job_name;
  std::optional<TenantSpec> tenant;  // of a record about a tenant
  wire::TenantExtras extras;
  std::vector<std::uint32_t> path;  // of that tenant, or of the job's
  std::string tenant_name;
  std::vector<NpuReport> npus;      // of a record about a node: what was known of it
  std::optional<SliceEntry> slice;  // of a record about its return
};

// Before the record is applied.
EventSubject look_before(const State& state, const wire::JournalRecord& record);

// After it was applied. `sequence` is the number that the record gets.
std::vector<NewEvent> make_events(const EventSubject& before, const State& after,
                                  const wire::JournalRecord& record, std::uint64_t sequence, TimeMs at);

// ---- topics: what events are found by

std::string job_topic(JobId job);
std::string npu_topic(std::uint32_t physical_id);
// Of the jobs that wait for the same reason at the same time.
std::string queue_topic(const JobSpec& spec);

}  // namespace tangram::service
