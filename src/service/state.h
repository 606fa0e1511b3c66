// Everything the service must not forget: the core's state and what stands beside it. Changed by journal
// records alone, so that a journal of them, or a snapshot and the rest of them, is the state. Not
// thread-safe; a copy is cheap (programs and ended jobs are shared between copies).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "model/job.h"
#include "ports/executor.h"
#include "scheduler/scheduler.h"
#include "wire/record.h"

namespace tangram::service {

// An unfinished job beside the core.
struct LiveJob {
  std::shared_ptr<const wire::JobProgram> program;
  std::optional<SupervisorIdentity> supervisor;  // of the present attempt, once it is prepared
  std::string last_message;                      // how the attempt before ended
};

struct EndedJob {
  JobStatus status;    // as it was just before its end
  std::string tenant;  // name; the tenant itself may be gone
  std::shared_ptr<const wire::JobProgram> program;
  Outcome outcome = Outcome::kSucceeded;
  std::optional<std::int64_t> exit_status;
  std::optional<std::int64_t> signal;
  std::string message;
  ReasonCode refusal = ReasonCode::kNone;  // kRefused only
  std::vector<std::uint32_t> npus;         // physical ids held last
  TimeMs ended_at;
};

class State {
 public:
  // The record must be one that the service made from this state, or that recovery reads in its order.
  void apply(const wire::JournalRecord& record, TimeMs at);

  const Scheduler& core() const { return core_; }
  TimeMs last_time() const { return last_time_; }
  std::uint64_t version() const { return version_; }  // grows with every record, also of snapshots

  JobId next_job_id() const { return JobId(next_job_); }
  const LiveJob* live(JobId job) const;
  const std::map<JobId, LiveJob>& live_jobs() const { return live_; }
  const std::map<JobId, std::shared_ptr<const EndedJob>>& ended_jobs() const { return ended_; }
  std::shared_ptr<const EndedJob> ended(JobId job) const;
  std::int64_t live_count(TenantId tenant) const;
  wire::JobKind kind(JobId job) const;  // of an unfinished job; kProgram for any other

  // The unfinished job of that name, else the one that ended last.
  std::optional<JobId> find_job(TenantId tenant, std::string_view name) const;

  const wire::TenantExtras* extras(TenantId tenant) const;
  std::optional<TenantId> tenant_of_uid(std::uint32_t uid) const;  // as uid, allocated uid or member
  std::optional<std::uint32_t> uid_of(TenantId tenant) const;      // under which its jobs run
  // The lowest number not below `first` that was never given and that no tenant uses; those given once come
  // again only when the range is used up. None: all are in use.
  std::optional<std::uint32_t> next_uid(std::uint32_t first, std::uint32_t count) const;
  // Whether `tenant` is `ancestor` or below it.
  bool is_within(TenantId tenant, TenantId ancestor) const;

  const wire::IdempotentAnswer* answer(std::uint32_t caller_uid, const std::string& key) const;

  // Equal states give equal bytes.
  std::string to_snapshot() const;
  static Result<State> from_snapshot(std::string_view text);

  // Answers to writes with an Idempotency-Key are kept so long, at most so many, and so many bytes.
  static constexpr std::int64_t kAnswerKeepMs = 24LL * 3'600'000;
  static constexpr std::size_t kAnswersMax = 10'000;
  static constexpr std::size_t kAnswersBytesMax = 64U << 20;

 private:
  using NameKey = std::pair<TenantId, std::string>;
  struct KeptAnswer {
    TimeMs at;
    std::shared_ptr<const wire::IdempotentAnswer> answer;
  };

  void put_tenant(const wire::TenantPutRecord& record, TimeMs at);
  void submit(const wire::JobSubmittedRecord& record, TimeMs at);
  void cancel(const wire::JobCancelledRecord& record, TimeMs at);
  void end_attempt(const wire::AttemptEndedRecord& record, TimeMs at);
  void refuse(const JobRefused& record, TimeMs at);
  void drop_answer(const std::pair<std::uint32_t, std::string>& key);
  void keep_answer(const wire::IdempotentAnswer& answer, TimeMs at);
  void forget(JobId job);
  // Moves the job from the unfinished to the ended ones.
  void finish(EndedJob ended);
  EndedJob ending(JobId job, Outcome outcome, TimeMs at) const;
  void index_tenant(TenantId id);
  void unindex_tenant(TenantId id);

  Scheduler core_;
  TimeMs last_time_;
  std::uint64_t version_ = 0;
  std::uint64_t next_job_ = 1;
  std::uint32_t uid_mark_ = 0;  // above every uid ever allocated; 0: none was
  std::map<JobId, LiveJob> live_;
  std::map<JobId, std::shared_ptr<const EndedJob>> ended_;
  std::map<NameKey, JobId> live_names_;
  std::map<NameKey, JobId> ended_names_;  // the latest of each name
  std::map<TenantId, std::int64_t> live_counts_;
  std::map<TenantId, wire::TenantExtras> extras_;
  std::map<std::uint32_t, TenantId> uids_;
  std::map<std::pair<std::uint32_t, std::string>, KeptAnswer> answers_;
  std::set<std::pair<TimeMs, std::pair<std::uint32_t, std::string>>> answers_by_time_;
  std::size_t answers_bytes_ = 0;

  friend struct SnapshotCodec;
};

}  // namespace tangram::service
