#include "wire/record.h"

#include <tuple>
#include <type_traits>
#include <utility>

#include "wire/record_tables.h"

namespace tangram::wire {
namespace {

constexpr std::size_t kRecordBytesMax = 64U << 20;

// How one alternative of JournalRecord is called, written and read.
template <class T>
struct RecordKind {
  std::string_view token;
  Table<T> table;
};

template <class T>
RecordKind<T> record_of(std::string_view token, std::vector<Field<T>> fields) {
  return {token, Table<T>{std::string(token), "", std::move(fields), nullptr}};
}

template <class T>
Field<T> job_field() {
  return required("job", &T::job, id_number<JobTag, std::uint64_t>(), "number of the job");
}

template <class T>
Field<T> attempt_field() {
  return required("attempt", &T::attempt, any_int32(), "which try of the job");
}

template <class T>
Field<T> tenant_field() {
  return required("tenant", &T::id, id_number<TenantTag, std::uint32_t>(), "number of the tenant");
}

template <class T>
Field<T> npus_field() {
  return required("npus", &T::npus, list(id_number<NpuTag, std::uint32_t>(), kAnyCount), "handles of NPUs");
}

template <class T>
Field<T> slice_field() {
  return optional("slice", &T::slice, object(slice_record_table()), "of its one NPU; left out: whole NPUs");
}

template <class T>
Field<T> reason_field() {
  return required("reason", &T::reason, reason_token(), "why");
}

Codec<Lifetime> lifetime_number() {
  return {"integer",
          [](Reader& reader, const Node& node, Lifetime& into) { any_int64().read(reader, node, into.ms); },
          [](const Lifetime& from) { return Node::of(from.ms); }};
}

template <class T>
Field<T> spec_field() {
  return required("spec", &T::spec, object(job_spec_record_table()), "the job as the core knows it");
}

// What the core is told, inside of a record that says more.
template <class T, class M>
Field<T> input_field(const Table<M>& table) {
  return required("input", &T::input, object(table), "what the core is told");
}

const Table<TenantPut>& tenant_put_table() {
  static const Table<TenantPut> table{
      "TenantPut",
      "",
      {tenant_field<TenantPut>(),
       required("spec", &TenantPut::spec, object(tenant_spec_record_table()), "name, parent and limits")},
      nullptr};
  return table;
}

const Table<JobSubmitted>& job_submitted_table() {
  static const Table<JobSubmitted> table{"JobSubmitted", "", {spec_field<JobSubmitted>()}, nullptr};
  return table;
}

const Table<JobCancelled>& job_cancelled_table() {
  static const Table<JobCancelled> table{"JobCancelled", "", {job_field<JobCancelled>()}, nullptr};
  return table;
}

const Table<AttemptEnded>& attempt_ended_table() {
  static const Table<AttemptEnded> table{
      "AttemptEnded",
      "",
      {job_field<AttemptEnded>(), attempt_field<AttemptEnded>(),
       required("outcome", &AttemptEnded::outcome, outcome_word(), "how it ended"),
       required("requeue", &AttemptEnded::requeue, boolean(), "whether the job goes back into the queue")},
      nullptr};
  return table;
}

auto core_records() {
  return std::make_tuple(
      record_of<SettingsChanged>("settings_changed",
                                 {required("keepAfterMs", &SettingsChanged::keep_after_ms, any_int64(),
                                           "the bound after which NPUs are kept"),
                                  optional("sliceVariants", &SettingsChanged::slice_variants, boolean(),
                                           "left out: chosen by what is scarce"),
                                  optional("sliceCountsAs", &SettingsChanged::slice_count, slice_count_word(),
                                           "left out: one NPU")}),
      record_of<NodeReported>("node_reported",
                              {required("node", &NodeReported::node, text(), "name of the node"),
                               required("npus", &NodeReported::npus,
                                        list(object(npu_report_record_table()), kAnyCount), "its NPUs")}),
      record_of<TenantPutRecord>("tenant_put", {input_field<TenantPutRecord>(tenant_put_table()),
                                                required("extras", &TenantPutRecord::extras,
                                                         object(extras_record_table()), "beside the core")}),
      record_of<TenantDeleted>("tenant_deleted", {tenant_field<TenantDeleted>()}),
      record_of<JobSubmittedRecord>(
          "job_submitted", {input_field<JobSubmittedRecord>(job_submitted_table()),
                            required("program", &JobSubmittedRecord::program, object(program_record_table()),
                                     "what it runs")}),
      record_of<JobCancelledRecord>(
          "job_cancelled",
          {input_field<JobCancelledRecord>(job_cancelled_table()),
           optional("byUid", &JobCancelledRecord::by_uid, any_uint32(), "left out: the daemon, or a token"),
           optional("message", &JobCancelledRecord::message, text(), "left out: it was asked for"),
           optional("byToken", &JobCancelledRecord::by_token, uint64_number(), "left out: no token")}),
      record_of<AttemptRunning>("attempt_running",
                                {job_field<AttemptRunning>(), attempt_field<AttemptRunning>()}),
      record_of<AttemptEndedRecord>(
          "attempt_ended",
          {input_field<AttemptEndedRecord>(attempt_ended_table()),
           optional("exitStatus", &AttemptEndedRecord::exit_status, any_int64(), "of the program"),
           optional("signal", &AttemptEndedRecord::signal, any_int64(), "that ended it"),
           required("message", &AttemptEndedRecord::message, text(), "one sentence"),
           required("outOfMemory", &AttemptEndedRecord::out_of_memory, boolean(),
                    "killed at its host memory limit")}),
      record_of<AllocationObserved>("allocation_observed",
                                    {spec_field<AllocationObserved>(), attempt_field<AllocationObserved>(),
                                     npus_field<AllocationObserved>(), slice_field<AllocationObserved>()}),
      record_of<JobStarted>("job_started", {job_field<JobStarted>(), attempt_field<JobStarted>(),
                                            npus_field<JobStarted>(), slice_field<JobStarted>()}),
      record_of<JobWaits>("job_waits", {job_field<JobWaits>(), reason_field<JobWaits>()}),
      record_of<JobRefused>("job_refused", {job_field<JobRefused>(), reason_field<JobRefused>()}));
}

auto service_records() {
  return std::make_tuple(
      record_of<AttemptPrepared>("attempt_prepared",
                                 {job_field<AttemptPrepared>(), attempt_field<AttemptPrepared>(),
                                  required("supervisor", &AttemptPrepared::supervisor,
                                           object(supervisor_record_table()), "who waits")}),
      record_of<JobForgotten>("job_forgotten", {job_field<JobForgotten>()}),
      record_of<IdempotentAnswer>(
          "idempotency",
          {required("callerUid", &IdempotentAnswer::caller_uid, any_uint32(), "who sent it"),
           required("key", &IdempotentAnswer::key, text(), "of the request"),
           required("requestHash", &IdempotentAnswer::request_hash, text(), "of the request"),
           required("status", &IdempotentAnswer::status, any_int32(), "HTTP status of the answer"),
           required("body", &IdempotentAnswer::body, text(), "of the answer"),
           optional("callerToken", &IdempotentAnswer::caller_token, uint64_number(), "left out: no token")}),
      record_of<DaemonStarted>("daemon_started",
                               {required("version", &DaemonStarted::version, text(), "of the daemon"),
                                required("bootId", &DaemonStarted::boot_id, text(), "of the kernel")}));
}

template <class T>
Field<T> token_field() {
  return required("token", &T::id, uint64_number(), "number of the token");
}

template <class T>
Field<T> hash_field() {
  return secret(required("secretHash", &T::secret_hash, text(), "SHA-256, hexadecimal"));
}

template <class T>
Field<T> lifetime_field() {
  return required("lifetimeMs", &T::lifetime, lifetime_number(), "counted from the record's time");
}

template <class T>
Field<T> expiry_field() {
  return optional("expiresAtMs", &T::expires_at, time_number(), "left out: never");
}

template <class T>
Field<T> by_field() {
  return required("by", &T::by, text(), "who did it");
}

auto token_records() {
  return std::make_tuple(
      record_of<TokenCreated>(
          "token_created",
          {token_field<TokenCreated>(), required("name", &TokenCreated::name, text(), "name"),
           required("role", &TokenCreated::role, role_word(), "role"),
           optional("tenant", &TokenCreated::tenant, id_number<TenantTag, std::uint32_t>(), "its tenant"),
           optional("tenantName", &TokenCreated::tenant_name, text(), "as it was called"),
           hash_field<TokenCreated>(), lifetime_field<TokenCreated>(), expiry_field<TokenCreated>(),
           by_field<TokenCreated>()}),
      record_of<TokenRotated>("token_rotated", {token_field<TokenRotated>(), hash_field<TokenRotated>(),
                                                lifetime_field<TokenRotated>(), expiry_field<TokenRotated>(),
                                                optional("oldSecretUntilMs", &TokenRotated::old_secret_until,
                                                         time_number(), "of the grace"),
                                                by_field<TokenRotated>()}),
      record_of<TokenRevoked>("token_revoked", {token_field<TokenRevoked>(), by_field<TokenRevoked>()}));
}

template <class T>
Field<T> slice_id_field() {
  return required("slice", &T::slice, any_uint32(), "vNPU id of the driver");
}

auto slice_records() {
  return std::make_tuple(
      record_of<SliceOrdered>(
          "slice_ordered",
          {job_field<SliceOrdered>(), attempt_field<SliceOrdered>(),
           required("npu", &SliceOrdered::npu, any_uint32(), "physical id"), slice_id_field<SliceOrdered>(),
           required("template", &SliceOrdered::template_name, text(), "name of the driver"),
           optional("vgroup", &SliceOrdered::vgroup, any_int32(), "left out: the chip has none")}),
      record_of<SliceMade>("slice_made",
                           {job_field<SliceMade>(), attempt_field<SliceMade>(), slice_id_field<SliceMade>()}),
      record_of<SliceReturned>("slice_returned", {job_field<SliceReturned>(), attempt_field<SliceReturned>(),
                                                  slice_id_field<SliceReturned>()}));
}

using RecordKinds =
    decltype(std::tuple_cat(core_records(), service_records(), token_records(), slice_records()));

const RecordKinds& record_kinds() {
  static const RecordKinds kinds =
      std::tuple_cat(core_records(), service_records(), token_records(), slice_records());
  return kinds;
}

template <class T>
const RecordKind<T>& kind_of() {
  return std::get<RecordKind<T>>(record_kinds());
}

// Wherever a journal is read, a bad byte is the journal's fault and not the reader's.
Error damaged(std::string_view kind, Error error) {
  Error outer = wrap("a " + std::string(kind) + " record cannot be read", std::move(error));
  outer.code = Code::kDataLoss;
  return outer;
}

template <class T>
Result<T> decode_as(const Table<T>& table, std::string_view body) {
  Result<Node> node = parse_json(body, kRecordBytesMax);
  Result<T> value = node ? read_whole(table, *node, Reading::kTolerant) : Result<T>(fail(node.error()));
  if (!value) return fail(damaged(table.name, value.error()));
  return value;
}

}  // namespace

std::string_view record_kind(const JournalRecord& record) {
  return std::visit([]<class T>(const T&) { return kind_of<T>().token; }, record);
}

std::string encode_record(const JournalRecord& record) {
  return std::visit([]<class T>(const T& value) { return to_json(write_fields(kind_of<T>().table, value)); },
                    record);
}

Result<JournalRecord> decode_record(std::string_view kind, std::string_view body) {
  Result<JournalRecord> result = fail(Code::kDataLoss, "record.unknown_kind",
                                      "the journal holds a record of the unknown kind " + quoted(kind),
                                      "a newer version wrote it; start that version again");
  const auto try_kind = [&]<class T>(const RecordKind<T>& row) {
    if (row.token != kind) return false;
    result = decode_as(row.table, body).map([](T value) { return JournalRecord(std::move(value)); });
    return true;
  };
  std::apply([&](const auto&... rows) { return (try_kind(rows) || ...); }, record_kinds());
  return result;
}

std::optional<Input> core_input(const JournalRecord& record) {
  return std::visit(
      []<class T>(const T& value) -> std::optional<Input> {
        if constexpr (requires { value.input; }) {
          return Input(value.input);
        } else if constexpr (std::is_constructible_v<Input, T>) {
          return Input(value);
        } else {
          return std::nullopt;
        }
      },
      record);
}

std::optional<Decision> core_decision(const JournalRecord& record) {
  return std::visit(
      []<class T>(const T& value) -> std::optional<Decision> {
        if constexpr (std::is_constructible_v<Decision, T>) {
          return Decision(value);
        } else {
          return std::nullopt;
        }
      },
      record);
}

std::string encode_program(const JobProgram& program) {
  return to_json(write_fields(program_record_table(), program));
}
std::string encode_slice(const SlicePlacement& slice) {
  return to_json(write_fields(slice_record_table(), slice));
}
std::string encode_extras(const TenantExtras& extras) {
  return to_json(write_fields(extras_record_table(), extras));
}
Result<JobProgram> decode_program(std::string_view json) {
  return decode_as(program_record_table(), json);
}
Result<SlicePlacement> decode_slice(std::string_view json) {
  return decode_as(slice_record_table(), json);
}
Result<TenantExtras> decode_extras(std::string_view json) {
  return decode_as(extras_record_table(), json);
}

}  // namespace tangram::wire
