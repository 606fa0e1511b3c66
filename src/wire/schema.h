// JSON and YAML <-> the documents of types.h, by one table per document (documents() shows them).
//
// Reading what clients send is strict: an unknown field, a duplicate key, a wrong type, a value out of range,
// too long or too many is an error that names the path as the client wrote it (`items[3].env`,
// `spec.quota.npus`), the value (never that of an environment variable or argument) and what would be right;
// with line and column. Reading what the service answers is tolerant of unknown fields. Writing is
// deterministic: order of the table, then keys ascending. Invalid UTF-8 is refused when read, and written as
// U+FFFD.
//
// Errors: kInvalidArgument with reason input.syntax, input.unknown_field, input.missing_field,
// input.wrong_type, input.out_of_range, input.bad_value, input.too_long, input.too_many, input.duplicate_key,
// input.too_deep, input.reserved; kResourceExhausted with input.too_large. Thread-safe: pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "wire/types.h"

namespace tangram::wire {

// Sizes that a stranger controls.
inline constexpr std::size_t kBodyBytesMax = 1U << 20;      // one submission, one apply
inline constexpr std::size_t kBatchBytesMax = 8U << 20;     // {"items":[…]} of submissions
inline constexpr std::size_t kAnswerBytesMax = 256U << 20;  // what a client reads from the service
inline constexpr std::size_t kDocumentsMax = 1'000;
inline constexpr std::size_t kBatchItemsMax = 1'000;
inline constexpr std::size_t kNameLengthMax = 63;
inline constexpr std::size_t kLabelsMax = 32;
inline constexpr std::size_t kArgumentsMax = 1'024;
inline constexpr std::size_t kEnvironmentMax = 1'024;
inline constexpr std::size_t kProgramBytesMax = 128U << 10;  // arguments in all; and environment in all
inline constexpr std::size_t kPathLengthMax = 4'095;
inline constexpr std::size_t kMembersMax = 1'024;
inline constexpr std::size_t kTokenLengthMax = 128;

enum class Format { kJson, kYaml };

// ---- what clients send

// One document of an `apply`: kind Tenant or Job.
struct Document {
  std::variant<TenantDoc, JobSubmission> value;
  std::string where;  // "document 2 (line 14)" for messages about the document as a whole

  friend bool operator==(const Document&, const Document&) = default;
};

// YAML stream, or JSON: one document or {"items":[…]}. All or nothing; at least one document.
Result<std::vector<Document>> read_documents(std::string_view text, Format format);

Result<JobSubmission> read_job_submission(std::string_view json);

// A single submission, or {"items":[…]}: then each item is right or wrong by itself.
struct Submissions {
  bool batch = false;
  std::vector<Result<JobSubmission>> items;
};
Result<Submissions> read_submissions(std::string_view json);

// A lease: what a submission says of its request, and nothing of a program.
Result<LeaseRequest> read_lease_request(std::string_view json);
Result<LeaseToken> read_lease_token(std::string_view json);
// The limits alone, as they stand in a tenant's spec.
Result<Quota> read_quota(std::string_view json);

std::string write(const JobSubmission& submission);
std::string write_lease_request(const LeaseRequest& request);
std::string write(const LeaseToken& token);
std::string write(const Quota& quota);
std::string write_batch(std::span<const JobSubmission> submissions);
std::string write(const TenantDoc& tenant);  // the whole document: apiVersion, kind, metadata, spec
std::string write(const Document& document);

// The rules of a name and of labels, also for the command line and path segments. `field` is named in the
// error.
Result<void> check_name(std::string_view name, std::string_view field);
Result<void> check_label(std::string_view key, std::string_view value, std::string_view field);

// "never", "on-lost", "on-failure:3".
struct Restart {
  RestartPolicy policy = RestartPolicy::kNever;
  std::int32_t restarts_max = 0;
};
Result<Restart> parse_restart(std::string_view text, std::string_view field);
std::string format_restart(RestartPolicy policy, std::int32_t restarts_max);
std::string_view spell_job_kind(JobKind kind);  // "program", "lease"
Result<Priority> parse_priority(std::string_view text, std::string_view field);
Result<JobState> parse_job_state(std::string_view text, std::string_view field);
Result<std::int64_t> parse_cpus(std::string_view text, std::string_view field);  // "0.5" -> 500
std::string format_cpus(std::int64_t cpu_milli);

// RFC 3339 in UTC with milliseconds: "2026-11-29T15:07:00.000Z". From 1970 to 9999.
std::string format_time(TimeMs time);
Result<TimeMs> parse_time(std::string_view text, std::string_view field);

// ---- what the service answers

struct JobList {
  std::vector<JobView> items;
  std::string next;  // id to go on after; empty: that was all

  friend bool operator==(const JobList&, const JobList&) = default;
};

struct QuotaList {
  std::vector<QuotaView> items;

  friend bool operator==(const QuotaList&, const QuotaList&) = default;
};

struct ApplyAnswer {
  std::vector<ApplyItem> items;

  friend bool operator==(const ApplyAnswer&, const ApplyAnswer&) = default;
};

// Answer to a batch, in the order asked.
struct SubmitAnswer {
  std::vector<Result<JobView>> items;
};

std::string write(const JobView& view);
std::string write(const LeaseView& view);
std::string write(const JobList& list);
std::string write(const StatusView& view);
std::string write(const QuotaView& view);
std::string write(const QuotaList& list);
std::string write(const WhyView& view);
std::string write(const VersionView& view);
std::string write(const ApplyAnswer& answer);
std::string write(const SubmitAnswer& answer);

Result<JobView> read_job_view(std::string_view json);
Result<LeaseView> read_lease_view(std::string_view json);
Result<JobList> read_job_list(std::string_view json);
Result<StatusView> read_status_view(std::string_view json);
Result<QuotaView> read_quota_view(std::string_view json);
Result<QuotaList> read_quota_list(std::string_view json);
Result<WhyView> read_why_view(std::string_view json);
Result<VersionView> read_version_view(std::string_view json);
Result<ApplyAnswer> read_apply_answer(std::string_view json);
Result<SubmitAnswer> read_submit_answer(std::string_view json);

// For `-o yaml` and `-o json`: any JSON text as YAML, or indented. Values that YAML would misread are quoted.
Result<std::string> to_yaml(std::string_view json);
Result<std::string> to_pretty_json(std::string_view json);

// ---- the tables, for documentation and generators

struct FieldInfo {
  std::string name;  // JSON and YAML
  std::string type;  // "integer 1..4096", "bytes", "Quota", "list of string", …
  bool required = false;
  std::string doc;          // one line
  std::string schema = {};  // JSON Schema
};

struct DocumentInfo {
  std::string name;  // "JobSubmission"
  std::string doc;
  std::vector<FieldInfo> fields;
  std::string rule = {};  // an object of JSON Schema that holds beside those of the fields; empty: none
};

// Every document and every object inside one, outermost first.
std::vector<DocumentInfo> documents();

}  // namespace tangram::wire
