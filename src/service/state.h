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
#include <tuple>
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
  std::optional<std::uint32_t> slice;            // of the present attempt, once it is ordered
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

// What a job takes of the daemon's memory from its submission until it is forgotten, with room for what the
// core and the indexes hold of it.
std::int64_t bytes_of(const wire::JobProgram& program);

// A bearer token. The secret itself is nowhere: only its hash.
struct Token {
  std::uint64_t id = 0;
  std::string name;
  wire::Role role = wire::Role::kTenant;
  std::optional<TenantId> tenant;  // of role tenant
  std::string tenant_name;         // as it was called; the tenant itself may be gone
  std::string secret_hash;
  std::string old_secret_hash;             // of the secret before a rotation with grace; empty: none
  std::optional<TimeMs> old_secret_until;  // exclusive
  wire::Lifetime lifetime;
  std::optional<TimeMs> expires_at;  // exclusive; absent: never
  std::optional<TimeMs> revoked_at;
  TimeMs created_at;
  std::optional<TimeMs> rotated_at;
  std::string created_by;

  wire::TokenState state(TimeMs now) const;
  // Since when it is not accepted any more; never() while it is.
  TimeMs ended_at(TimeMs now) const;
};

// A slice that was ordered and has not been returned. The core counts it by its job while its attempt lives,
// and as a residual one from then on.
struct SliceEntry {
  JobId job;
  std::int32_t attempt = 0;
  NpuIndex npu;
  std::uint32_t physical_id = 0;  // of that NPU
  std::string template_name;
  std::int32_t vgroup = kNoVgroup;
  bool made = false;    // the hardware has shown it
  bool ended = false;   // its attempt has: it is to be returned
  bool failed = false;  // it could not be made, and ended its attempt by that

  friend bool operator==(const SliceEntry&, const SliceEntry&) = default;
};

class State {
 public:
  explicit State(std::shared_ptr<const Catalog> catalog = Catalog::builtin()) : core_(std::move(catalog)) {}

  // The record must be one that the service made from this state, or have passed check().
  void apply(const wire::JournalRecord& record, TimeMs at);
  // Whether a record that was read back can follow upon this state at all. Error: "record.impossible"
  // (kDataLoss).
  Result<void> check(const wire::JournalRecord& record, TimeMs at) const;

  const Scheduler& core() const { return core_; }
  TimeMs last_time() const { return last_time_; }
  std::uint64_t version() const { return version_; }  // grows with every record, also of snapshots

  JobId next_job_id() const { return JobId(next_job_); }
  const LiveJob* live(JobId job) const;
  const std::map<JobId, LiveJob>& live_jobs() const { return live_; }
  const std::map<JobId, std::shared_ptr<const EndedJob>>& ended_jobs() const { return ended_; }
  std::shared_ptr<const EndedJob> ended(JobId job) const;
  std::int64_t live_count(TenantId tenant) const;
  // bytes_of() all jobs of each tenant, unfinished and ended ones. No entry: none.
  const std::map<TenantId, std::int64_t>& bytes_by_tenant() const { return bytes_; }
  wire::JobKind kind(JobId job) const;  // of an unfinished job; kProgram for any other

  // The unfinished job of that name, else the one that ended last.
  std::optional<JobId> find_job(TenantId tenant, std::string_view name) const;
  // The unfinished jobs of that name, one of a tenant; else of each tenant the one that ended last.
  std::vector<std::pair<JobId, TenantId>> jobs_named(std::string_view name, bool unfinished) const;

  const wire::TenantExtras* extras(TenantId tenant) const;
  std::optional<TenantId> tenant_of_uid(std::uint32_t uid) const;  // as uid, allocated uid or member
  std::optional<std::uint32_t> uid_of(TenantId tenant) const;      // under which its jobs run
  // The lowest number not below `first` that was never given and that no tenant uses; those given once come
  // again only when the range is used up. None: all are in use.
  std::optional<std::uint32_t> next_uid(std::uint32_t first, std::uint32_t count) const;
  // Whether `tenant` is `ancestor` or below it.
  bool is_within(TenantId tenant, TenantId ancestor) const;
  // The tenant and those above it, the innermost first; empty for one that does not exist.
  std::vector<TenantId> path_of(TenantId tenant) const;

  // By the driver's id.
  const std::map<std::uint32_t, SliceEntry>& slices() const { return slices_; }
  // The one of the job's present attempt. None: it has none, or its attempt has ended.
  std::optional<std::uint32_t> slice_of(JobId job) const;

  // Of the caller with that uid, or with that token (not 0).
  const wire::IdempotentAnswer* answer(std::uint32_t uid, std::uint64_t token, const std::string& key) const;

  std::uint64_t next_token_id() const { return next_token_; }
  const std::map<std::uint64_t, std::shared_ptr<const Token>>& tokens() const { return tokens_; }
  // Every uid that acts for a tenant.
  const std::map<std::uint32_t, TenantId>& uids() const { return uids_; }

  // Equal states give equal bytes.
  std::string to_snapshot() const;
  static Result<State> from_snapshot(std::string_view text,
                                     const std::shared_ptr<const Catalog>& catalog = Catalog::builtin());

  // Answers to writes with an Idempotency-Key are kept so long, at most so many, and so many bytes.
  static constexpr std::int64_t kAnswerKeepMs = 24LL * 3'600'000;
  static constexpr std::size_t kAnswersMax = 10'000;
  static constexpr std::size_t kAnswersBytesMax = 64U << 20;

  // A token that is not accepted any more is shown so long, and at most so many.
  static constexpr std::int64_t kEndedTokenKeepMs = 30LL * 24 * 3'600'000;
  static constexpr std::size_t kEndedTokensMax = 1'000;

 private:
  using NameKey = std::pair<std::string, TenantId>;  // so that one name stands together
  // uid, token (0: none) and key.
  using AnswerKey = std::tuple<std::uint32_t, std::uint64_t, std::string>;
  struct KeptAnswer {
    TimeMs at;
    std::shared_ptr<const wire::IdempotentAnswer> answer;
  };

  void put_tenant(const wire::TenantPutRecord& record, TimeMs at);
  void submit(const wire::JobSubmittedRecord& record, TimeMs at);
  void cancel(const wire::JobCancelledRecord& record, TimeMs at);
  void end_attempt(const wire::AttemptEndedRecord& record, TimeMs at);
  void refuse(const JobRefused& record, TimeMs at);
  void drop_answer(const AnswerKey& key);
  void keep_answer(const wire::IdempotentAnswer& answer, TimeMs at);
  void create_token(const wire::TokenCreated& record, TimeMs at);
  void rotate_token(const wire::TokenRotated& record, TimeMs at);
  void revoke_token(std::uint64_t id, TimeMs at);
  void revoke_tokens_of(TenantId tenant, TimeMs at);
  void forget_ended_tokens(TimeMs at);
  void forget(JobId job);
  void count_bytes(TenantId tenant, std::int64_t difference);
  void order_slice(const wire::SliceOrdered& record);
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
  std::map<TenantId, std::int64_t> bytes_;  // of all jobs, ended ones too
  std::map<TenantId, wire::TenantExtras> extras_;
  std::map<std::uint32_t, TenantId> uids_;
  std::map<AnswerKey, KeptAnswer> answers_;
  std::map<std::uint32_t, SliceEntry> slices_;
  std::set<std::pair<TimeMs, AnswerKey>> answers_by_time_;
  std::size_t answers_bytes_ = 0;
  std::uint64_t next_token_ = 1;
  std::map<std::uint64_t, std::shared_ptr<const Token>> tokens_;

  friend struct SnapshotCodec;
};

}  // namespace tangram::service
