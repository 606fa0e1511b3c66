// The journal's records: every input and decision of the core (model/record.h), what the service keeps beside
// them, and records of its own. A record is a kind (a stable snake_case token) and a body (JSON).
//
// Reading is tolerant of unknown fields (a newer minor version wrote them) and strict on missing ones: what
// the journal does not say must never be guessed. Thread-safe: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "model/record.h"
#include "ports/executor.h"
#include "wire/tokens.h"
#include "wire/types.h"

namespace tangram::wire {

// What a job runs, and on whose behalf. The core never sees it.
struct JobProgram {
  JobKind kind = JobKind::kProgram;
  std::string name;  // as submitted, or the id
  std::map<std::string, std::string> labels;
  std::vector<std::string> command;
  std::map<std::string, std::string> env;
  std::string workdir;  // empty: the job's own directory
  HostLimits host;      // resolved: the job's, else the tenant's, else the daemon's
  std::uint32_t submitter_uid = 0;
  std::string idempotency_key;        // empty: none was sent
  std::string request_hash;           // of the request that carried the key
  std::string token_hash;             // kLease: of what its holder proves itself by
  std::uint64_t submitter_token = 0;  // not 0: sent with this token, and submitter_uid says nothing

  friend bool operator==(const JobProgram&, const JobProgram&) = default;
};

// What a Tenant document says beyond the core's TenantSpec.
struct TenantExtras {
  std::optional<std::uint32_t> uid;            // as the document says; absent: allocated
  std::optional<std::uint32_t> allocated_uid;  // from the daemon's range, kept for the life of the tenant
  std::vector<std::uint32_t> members;
  HostLimitsDoc job_defaults;

  friend bool operator==(const TenantExtras&, const TenantExtras&) = default;
};

struct TenantPutRecord {
  TenantPut input;
  TenantExtras extras;

  friend bool operator==(const TenantPutRecord&, const TenantPutRecord&) = default;
};

struct JobSubmittedRecord {
  JobSubmitted input;
  JobProgram program;

  friend bool operator==(const JobSubmittedRecord&, const JobSubmittedRecord&) = default;
};

struct JobCancelledRecord {
  JobCancelled input;
  std::optional<std::uint32_t> by_uid;  // absent: the daemon itself, or a token
  std::string message;                  // why, one sentence; empty: it was asked for
  std::uint64_t by_token = 0;           // 0: none

  friend bool operator==(const JobCancelledRecord&, const JobCancelledRecord&) = default;
};

struct AttemptEndedRecord {
  AttemptEnded input;
  std::optional<std::int64_t> exit_status;
  std::optional<std::int64_t> signal;
  std::string message;  // one sentence for the user
  bool out_of_memory = false;

  friend bool operator==(const AttemptEndedRecord&, const AttemptEndedRecord&) = default;
};

// ---- the service's own: the core is not told

// The supervisor of the attempt exists and waits for its `go`.
struct AttemptPrepared {
  JobId job;
  std::int32_t attempt = 0;
  SupervisorIdentity supervisor;

  friend bool operator==(const AttemptPrepared&, const AttemptPrepared&) = default;
};

// A slice is to be cut for the attempt, in the same group of records as its start. From then on its id is
// taken until it is returned.
struct SliceOrdered {
  JobId job;
  std::int32_t attempt = 0;
  std::uint32_t npu = 0;  // physical id
  std::uint32_t slice = 0;
  std::string template_name;
  std::int32_t vgroup = kNoVgroup;

  friend bool operator==(const SliceOrdered&, const SliceOrdered&) = default;
};

// The hardware shows it, and its attempt may begin.
struct SliceMade {
  JobId job;
  std::int32_t attempt = 0;
  std::uint32_t slice = 0;

  friend bool operator==(const SliceMade&, const SliceMade&) = default;
};

// Its attempt has ended before, and the hardware does not show it any more.
struct SliceReturned {
  JobId job;
  std::int32_t attempt = 0;
  std::uint32_t slice = 0;

  friend bool operator==(const SliceReturned&, const SliceReturned&) = default;
};

// The retention time of an ended job is over: logs, work directory and the entry itself are gone.
struct JobForgotten {
  JobId job;

  friend bool operator==(const JobForgotten&, const JobForgotten&) = default;
};

// The answer to a write that carried an Idempotency-Key; a repeat with the same hash gets the same answer.
struct IdempotentAnswer {
  std::uint32_t caller_uid = 0;
  std::string key;
  std::string request_hash;
  std::int32_t status = 0;  // HTTP
  std::string body;
  std::uint64_t caller_token = 0;  // not 0: sent with this token, and caller_uid says nothing

  friend bool operator==(const IdempotentAnswer&, const IdempotentAnswer&) = default;
};

// A bearer token exists. Only the hash of its secret is ever written down.
struct TokenCreated {
  std::uint64_t id = 0;  // from 1, never given twice
  std::string name;
  Role role = Role::kTenant;
  std::optional<TenantId> tenant;  // of role tenant
  std::string tenant_name;         // as it is called now
  std::string secret_hash;         // SHA-256 in hexadecimal
  Lifetime lifetime;
  std::optional<TimeMs> expires_at;  // absent: never
  std::string by;                    // "uid 0", "token t-1"

  friend bool operator==(const TokenCreated&, const TokenCreated&) = default;
};

// The token has another secret from now on.
struct TokenRotated {
  std::uint64_t id = 0;
  std::string secret_hash;
  Lifetime lifetime;
  std::optional<TimeMs> expires_at;
  std::optional<TimeMs> old_secret_until;  // absent: the old secret ended at once
  std::string by;

  friend bool operator==(const TokenRotated&, const TokenRotated&) = default;
};

struct TokenRevoked {
  std::uint64_t id = 0;
  std::string by;

  friend bool operator==(const TokenRevoked&, const TokenRevoked&) = default;
};

// A daemon took the journal over.
struct DaemonStarted {
  std::string version;
  std::string boot_id;

  friend bool operator==(const DaemonStarted&, const DaemonStarted&) = default;
};

using JournalRecord =
    std::variant<SettingsChanged, NodeReported, TenantPutRecord, TenantDeleted, JobSubmittedRecord,
                 JobCancelledRecord, AttemptRunning, AttemptEndedRecord, AllocationObserved, JobStarted,
                 JobWaits, JobRefused, AttemptPrepared, JobForgotten, IdempotentAnswer, DaemonStarted,
                 TokenCreated, TokenRotated, TokenRevoked, SliceOrdered, SliceMade, SliceReturned>;

// "settings_changed", "job_submitted", …: never changes once released.
std::string_view record_kind(const JournalRecord& record);

// The body: one line of JSON, the same bytes for equal records. Invalid UTF-8 is replaced by U+FFFD.
std::string encode_record(const JournalRecord& record);

// kDataLoss: "record.unknown_kind" (a newer version's), or the input.* reason of the field at fault.
Result<JournalRecord> decode_record(std::string_view kind, std::string_view body);

// What the core must be told of the record, if anything.
std::optional<Input> core_input(const JournalRecord& record);
std::optional<Decision> core_decision(const JournalRecord& record);

// The parts alone, for snapshots. One line of JSON.
std::string encode_program(const JobProgram& program);
std::string encode_slice(const SlicePlacement& slice);
std::string encode_extras(const TenantExtras& extras);
Result<JobProgram> decode_program(std::string_view json);
Result<SlicePlacement> decode_slice(std::string_view json);
Result<TenantExtras> decode_extras(std::string_view json);

}  // namespace tangram::wire
