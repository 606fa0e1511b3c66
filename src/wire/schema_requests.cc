// Tables of what clients send: submissions and the documents of an apply.
#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>

#include "wire/codecs.h"
#include "wire/schema.h"
#include "wire/tables.h"

namespace tangram::wire {
namespace {

constexpr std::int64_t kNpusMax = 1'000'000;
constexpr std::int64_t kCountMax = 1'000'000'000;
constexpr std::uint32_t kUidMax = 4'294'967'294;  // the one above is "no uid" to the kernel

Result<void> check_environment_entry(std::string_view key, std::string_view) {
  constexpr std::array<std::string_view, 4> kOfTheDaemon = {
      "ASCEND_RT_VISIBLE_DEVICES", "ASCEND_VISIBLE_DEVICES", "ASCEND_DEVICE_ID", "ASCEND_VNPU_SPECS"};
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const bool good =
      !key.empty() && is_letter(key.front()) &&
      std::all_of(key.begin(), key.end(), [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
  if (!good) {
    return fail(Code::kInvalidArgument, "input.bad_value",
                "is no name of an environment variable: letters, digits and '_', not starting with a digit");
  }
  if (key.starts_with("TANGRAM_") ||
      std::find(kOfTheDaemon.begin(), kOfTheDaemon.end(), key) != kOfTheDaemon.end()) {
    return fail(Code::kInvalidArgument, "input.reserved",
                "is set by the daemon to what the job was given; a submission cannot choose it",
                "remove it from env; ask for devices with npus");
  }
  return {};
}

Result<void> check_label_entry(std::string_view key, std::string_view value) {
  const Result<void> checked = check_label(key, value, "label");
  if (checked) return {};
  return fail(Code::kInvalidArgument, "input.bad_value",
              "must have a key of 1 to 63 and a value of at most 63 characters of A-Z a-z 0-9 . _ - /");
}

void check_size(Reader& reader, const Node& node, std::string_view field, std::size_t bytes) {
  if (bytes <= kProgramBytesMax) return;
  const Node* at = node.find(field);
  const PathScope scope(reader, field);
  reader.problem(at != nullptr ? *at : node, "input.too_long",
                 "has " + std::to_string(bytes) + " bytes in all; at most " +
                     std::to_string(kProgramBytesMax) + " are allowed",
                 "pass large values in a file");
}

void check_program(Reader& reader, const Node& node, const JobSubmission& job) {
  std::size_t bytes = 0;
  for (const std::string& argument : job.command) bytes += argument.size() + 1;
  check_size(reader, node, "command", bytes);
  bytes = 0;
  for (const auto& [key, value] : job.env) bytes += key.size() + value.size() + 2;
  check_size(reader, node, "env", bytes);
  const Node* command = node.find("command");
  if (command == nullptr || command->kind != Node::Kind::kList) return;
  const bool no_program = command->items.empty() || (command->items.front().kind == Node::Kind::kText &&
                                                     command->items.front().text.empty());
  if (no_program) {
    const PathScope scope(reader, "command");
    reader.problem(*command, "input.bad_value", "must name a program as its first element",
                   "for example [\"python3\", \"train.py\"]");
  }
}

// "j-17" means the job with that id everywhere, so no name may look like one.
void check_job_name(Reader& reader, const Node& node, const JobSubmission& job) {
  const bool like_id =
      job.name.size() > 2 && job.name.starts_with("j-") &&
      std::all_of(job.name.begin() + 2, job.name.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!like_id) return;
  const PathScope scope(reader, "name");
  const Node* at = node.find("name");
  reader.problem(at != nullptr ? *at : node, "input.reserved",
                 quoted(job.name) + " looks like the id of a job and would be taken for one",
                 "choose another name");
}

constexpr std::string_view kSliceRule = R"({"not":{"required":["slice"],"anyOf":[{"required":["memory"]},)"
                                        R"({"required":["share"]},)"
                                        R"({"required":["npus"],"properties":{"npus":{"minimum":2}}}]}})";
constexpr std::string_view kSliceSizeRule = R"({"anyOf":[{"required":["memory"]},{"required":["aiCores"]}]})";

// A slice is of one NPU, and says itself how much it needs.
void check_slice(Reader& reader, const Node& node, const JobSubmission& job) {
  if (!job.slice) return;
  const auto refuse = [&](const char* field) {
    const PathScope scope(reader, field);
    const Node* at = node.find(field);
    reader.problem(at != nullptr ? *at : node, "input.bad_value", "cannot stand beside slice",
                   "ask for a slice of one NPU, or for whole NPUs");
  };
  if (job.npus != 1) refuse("npus");
  if (job.memory) refuse("memory");
  if (job.share) refuse("share");
  if (job.slice->memory || job.slice->ai_cores > 0) return;
  const PathScope scope(reader, "slice");
  const Node* at = node.find("slice");
  reader.problem(at != nullptr ? *at : node, "input.bad_value", "must name memory or aiCores",
                 "for example {\"memory\": \"4GiB\"}");
}

// The codec with the schema of what else is checked of the value.
template <class M>
Codec<M> refined(Codec<M> codec, std::string schema) {
  codec.schema = std::move(schema);
  return codec;
}

// See check_job_name().
Codec<std::string> job_name_text() {
  return refined(name_text(), R"({"type":"string","pattern":")" + std::string(kNamePattern) +
                                  R"(","not":{"pattern":"^j-[0-9]+$"}})");
}

// The core knows no NPU with more: see check_values().
Codec<Bytes> job_memory_text() {
  return refined(bytes_text(1), pattern_schema(bytes_pattern(1, {14, 11, 8, 5, 2}), "32GiB"));
}

// As the core bounds it: see check_values().
Codec<std::int64_t> job_rate_text() {
  return refined(rate_text(), pattern_schema(rate_pattern({15, 12, 9, 6}), "10Gbps"));
}

// See check_program().
Codec<std::vector<std::string>> command_list() {
  const Codec<std::vector<std::string>> codec = list(text(), kArgumentsMax);
  return refined(
      codec,
      codec.schema.substr(0, codec.schema.size() - 1) +
          R"(,"minItems":1,"prefixItems":[{"type":"string","minLength":1,"pattern":"^[^\\u0000]+$"}]})");
}

Codec<std::map<std::string, std::string>> label_map() {
  return text_map(kLabelsMax, "labels", check_label_entry,
                  R"("propertyNames":{"pattern":")" + std::string(kLabelKeyPattern) +
                      R"("},"additionalProperties":{"type":"string","pattern":")" +
                      std::string(kLabelValuePattern) + R"("})");
}

// See check_environment_entry().
Codec<std::map<std::string, std::string>> environment_map() {
  return text_map(
      kEnvironmentMax, "map of string", check_environment_entry,
      R"("propertyNames":{"pattern":"^[A-Za-z_][A-Za-z0-9_]*$","not":{"pattern":)"
      R"("^(TANGRAM_.*|ASCEND_RT_VISIBLE_DEVICES|ASCEND_VISIBLE_DEVICES|ASCEND_DEVICE_ID|ASCEND_VNPU_SPECS)$"}},)"
      R"("additionalProperties":)" +
          text().schema);
}

std::vector<Field<JobSubmission>> job_identity_fields() {
  return {
      optional("name", &JobSubmission::name, job_name_text(),
               "unique among the tenant's unfinished jobs; left out: the job's id"),
      optional("labels", &JobSubmission::labels, label_map(),
               "free labels, shown and filterable; at most 32"),
  };
}

// What a job and a lease have in common.
std::vector<Field<JobSubmission>> request_fields(std::string time_limit) {
  return {
      optional("tenant", &JobSubmission::tenant, name_text(),
               "whose job it is; left out: the caller's own tenant"),
      shown("npus", &JobSubmission::npus, int64_range(1, kNpusPerJobMax),
            "whole NPUs, on one node; left out: 1"),
      optional("memory", &JobSubmission::memory, job_memory_text(),
               "need per NPU; left out: the smaller of the NPU's memory and the tenant's limit per NPU"),
      optional("slice", &JobSubmission::slice, object(slice_request_table()),
               "a slice of one NPU, instead of npus and memory"),
      optional("share", &JobSubmission::share, text(kNameLengthMax), "a share of one NPU; not supported yet"),
      optional("bandwidth", &JobSubmission::bandwidth_bps, job_rate_text(),
               "booked, not shaped; left out: none"),
      shown("priority", &JobSubmission::priority, priority_word(), "left out: normal"),
      optional("timeLimit", &JobSubmission::time_limit_ms, duration_text(1), std::move(time_limit)),
      optional("noWait", &JobSubmission::no_wait, boolean(), "refuse the job instead of letting it wait"),
  };
}

std::vector<Field<JobSubmission>> program_fields() {
  return {
      restart_field<JobSubmission>("what happens when an attempt is lost or fails; left out: never"),
      secret(required("command", &JobSubmission::command, command_list(),
                      "the program and its arguments; at most 1024 elements, 128 KiB in all")),
      secret(optional("env", &JobSubmission::env, environment_map(),
                      "further environment variables; at most 1024, 128 KiB in all")),
      optional("workdir", &JobSubmission::workdir, absolute_path(),
               "where the program starts; left out: a directory of the job's own"),
      optional("host", &JobSubmission::host, object(host_limits_table()), "limits on the host"),
  };
}

template <class T>
std::vector<Field<T>> joined(std::vector<Field<T>> first, std::vector<Field<T>> second) {
  std::move(second.begin(), second.end(), std::back_inserter(first));
  return first;
}

std::vector<Field<JobSubmission>> job_request_fields() {
  return joined(
      request_fields("per attempt; then SIGTERM, after a grace SIGKILL; left out: the tenant's maximum"),
      program_fields());
}

std::vector<Field<TenantDoc>> tenant_body_fields() {
  return {
      optional("parent", &TenantDoc::parent, name_text(), "the tenant above; left out: at the top"),
      optional("quota", &TenantDoc::quota, object(quota_table()), "left out: unlimited"),
      optional("uid", &TenantDoc::uid, uint32_range(1, kUidMax),
               "jobs run as this user; left out: one is allocated from the daemon's range"),
      optional("members", &TenantDoc::members, list(uint32_range(1, kUidMax), kMembersMax),
               "further uids that may act for this tenant"),
      optional("jobDefaults", &TenantDoc::job_defaults, object(host_limits_table()),
               "for jobs that do not say; also the most a job may ask for"),
  };
}

}  // namespace

const Table<HostLimitsDoc>& host_limits_table() {
  static const Table<HostLimitsDoc> table{
      "HostLimits",
      "Host resources of one job.",
      {
          optional("cpus", &HostLimitsDoc::cpu_milli, cpus_number(), "cores; a fraction is allowed"),
          optional("memory", &HostLimitsDoc::memory, bytes_text(1), "host memory, not device memory"),
          optional("processes", &HostLimitsDoc::processes, int64_range(1, 4'194'304),
                   "processes and threads"),
      },
      nullptr};
  return table;
}

const Table<Quota>& quota_table() {
  static const Table<Quota> table{
      "Quota",
      "Limits of one tenant with its subtree. A dimension left out is unlimited.",
      {
          optional("npus", &Quota::npus, int64_range(0, kNpusMax), "NPUs held at once"),
          optional("memoryPerNpu", &Quota::memory_per_npu, bytes_text(0),
                   "device memory per NPU that one job may need"),
          optional("memoryTotal", &Quota::memory_total, bytes_text(0), "device memory held at once"),
          optional("aiCores", &Quota::ai_cores, int64_range(0, kCountMax), "AI cores held at once"),
          optional("runningJobs", &Quota::running_jobs, int64_range(0, kCountMax), "jobs running at once"),
          optional("runTime", &Quota::run_time_ms, duration_text(1), "longest time limit of one job"),
          optional("priorities", &Quota::priorities, priority_list(),
                   "priorities that may be used; left out: all"),
          optional("bandwidth", &Quota::bandwidth_bps, rate_text(),
                   "booked at once; nothing shapes traffic yet"),
      },
      nullptr};
  return table;
}

const Table<SliceRequest>& slice_request_table() {
  static const Table<SliceRequest> table{
      "SliceRequest",
      "A slice of one NPU: the smallest template with at least this much of both, or the whole NPU.",
      {
          optional("memory", &SliceRequest::memory, job_memory_text(),
                   "nominal; left out: as much as comes with the cores"),
          optional("aiCores", &SliceRequest::ai_cores, int32_range(1, 1'000'000),
                   "left out: as many as come with the memory"),
      },
      nullptr,
      std::string(kSliceSizeRule)};
  return table;
}

const Table<JobSubmission>& job_submission_table() {
  static const Table<JobSubmission> table = [] {
    Table<JobSubmission> made{"JobSubmission", "Body of POST /v1/jobs.",
                              joined(job_identity_fields(), job_request_fields()), nullptr,
                              std::string(kSliceRule)};
    made.check = [](Reader& reader, const Node& node, const JobSubmission& job) {
      check_job_name(reader, node, job);
      check_program(reader, node, job);
      check_slice(reader, node, job);
    };
    return made;
  }();
  return table;
}

const Table<LeaseRequest>& lease_request_table() {
  static const Table<LeaseRequest> table{
      "LeaseRequest", "Body of POST /v1/leases.",
      joined(job_identity_fields(),
             request_fields("then the holder is asked to release it, and after a grace it is taken back; "
                            "left out: the tenant's maximum")),
      [](Reader& reader, const Node& node, const JobSubmission& job) {
        check_job_name(reader, node, job);
        check_slice(reader, node, job);
      },
      std::string(kSliceRule)};
  return table;
}

const Table<LeaseToken>& lease_token_table() {
  static const Table<LeaseToken> table{"LeaseToken",
                                       "Body of POST /v1/leases/{job}/hold and …/release.",
                                       {secret(required("token", &LeaseToken::token, text(kTokenLengthMax),
                                                        "as the first event of the lease's stream told it"))},
                                       nullptr};
  return table;
}

const Table<JobSubmission>& job_metadata_table() {
  static const Table<JobSubmission> table{"JobMetadata", "metadata of kind Job.", job_identity_fields(),
                                          check_job_name};
  return table;
}

const Table<JobSubmission>& job_spec_table() {
  static const Table<JobSubmission> table{"JobSpec", "spec of kind Job.", job_request_fields(),
                                          [](Reader& reader, const Node& node, const JobSubmission& job) {
                                            check_program(reader, node, job);
                                            check_slice(reader, node, job);
                                          },
                                          std::string(kSliceRule)};
  return table;
}

const Table<JobSubmission>& job_document_table() {
  static const Table<JobSubmission> table{
      "Job",
      "A job as a document.",
      {
          constant<JobSubmission>("apiVersion", "tangram.dev/v1"),
          constant<JobSubmission>("kind", "Job"),
          part("metadata", job_metadata_table(), false, "name and labels"),
          part("spec", job_spec_table(), true, "what to run and on what"),
      },
      nullptr};
  return table;
}

const Table<TenantDoc>& tenant_metadata_table() {
  static const Table<TenantDoc> table{"TenantMetadata",
                                      "metadata of kind Tenant.",
                                      {required("name", &TenantDoc::name, name_text(),
                                                "lower-case letters, digits and inner '-', at most 63")},
                                      nullptr};
  return table;
}

const Table<TenantDoc>& tenant_spec_table() {
  static const Table<TenantDoc> table{"TenantSpec", "spec of kind Tenant.", tenant_body_fields(), nullptr};
  return table;
}

const Table<TenantDoc>& tenant_document_table() {
  static const Table<TenantDoc> table{"Tenant",
                                      "Who shares the NPUs, and how much each may hold.",
                                      {
                                          constant<TenantDoc>("apiVersion", "tangram.dev/v1"),
                                          constant<TenantDoc>("kind", "Tenant"),
                                          part("metadata", tenant_metadata_table(), true, "the name"),
                                          part("spec", tenant_spec_table(), false, "left out: no limits"),
                                      },
                                      nullptr};
  return table;
}

const Table<TenantDoc>& tenant_table() {
  static const Table<TenantDoc> table = [] {
    std::vector<Field<TenantDoc>> name{required("name", &TenantDoc::name, name_text(), "its name")};
    return Table<TenantDoc>{"TenantView", "A tenant inside of an answer.",
                            joined(std::move(name), tenant_body_fields()), nullptr};
  }();
  return table;
}

}  // namespace tangram::wire
