#include "service/meters.h"

#include <variant>

#include "wire/metric_table.h"

namespace tangram::service {
namespace {

prometheus::Histogram::BucketBoundaries buckets(wire::Metric metric) {
  const auto bounds = wire::info(metric).buckets;
  return {bounds.begin(), bounds.end()};
}

}  // namespace

Meters::Meters()
    : job_wait(buckets(wire::Metric::kJobWait)),
      decision(buckets(wire::Metric::kDecisionDuration)),
      command(buckets(wire::Metric::kCommandDuration)),
      append(buckets(wire::Metric::kJournalAppendDuration)),
      sync(buckets(wire::Metric::kJournalSyncDuration)) {}

void Meters::count(std::span<const wire::JournalRecord> durable) {
  records += durable.size();
  for (const wire::JournalRecord& record : durable) {
    if (std::holds_alternative<wire::JobSubmittedRecord>(record)) ++jobs_submitted;
    if (std::holds_alternative<JobStarted>(record)) ++attempts_started;
  }
}

}  // namespace tangram::service
