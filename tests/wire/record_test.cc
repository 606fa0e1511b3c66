#include "wire/record.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <set>
#include <string>

#include "wire/generators.h"

namespace tangram::wire {
namespace {

constexpr std::size_t kAlternatives = std::variant_size_v<JournalRecord>;

// Without it a record could come back from the journal as something else than what was acknowledged.
RC_GTEST_PROP(Record, EveryKindRoundTrips, ()) {
  const std::size_t alternative = *rc::gen::inRange<std::size_t>(0, kAlternatives);
  const JournalRecord record = test::record(alternative);
  RC_ASSERT(record.index() == alternative);
  const std::string body = encode_record(record);
  const Result<JournalRecord> back = decode_record(record_kind(record), body);
  if (!back) RC_FAIL(back.error().to_string() + " in " + body);
  RC_ASSERT(*back == record);
  RC_ASSERT(encode_record(*back) == body);
  RC_ASSERT(body.find('\n') == std::string::npos);
}

// Without it two kinds could share a token, and the reader would take one for the other.
TEST(Record, KindsAreDistinctAndStable) {
  std::set<std::string> kinds;
  const std::array<JournalRecord, kAlternatives> all = {
      SettingsChanged{},    NodeReported{},       TenantPutRecord{},  TenantDeleted{},
      JobSubmittedRecord{}, JobCancelledRecord{}, AttemptRunning{},   AttemptEndedRecord{},
      AllocationObserved{}, JobStarted{},         JobWaits{},         JobRefused{},
      AttemptPrepared{},    JobForgotten{},       IdempotentAnswer{}, DaemonStarted{},
      TokenCreated{},       TokenRotated{},       TokenRevoked{},     SliceOrdered{},
      SliceMade{},          SliceReturned{}};
  for (const JournalRecord& record : all) kinds.emplace(record_kind(record));
  EXPECT_EQ(kinds, (std::set<std::string>{
                       "settings_changed",    "node_reported", "tenant_put",      "tenant_deleted",
                       "job_submitted",       "job_cancelled", "attempt_running", "attempt_ended",
                       "allocation_observed", "job_started",   "job_waits",       "job_refused",
                       "attempt_prepared",    "job_forgotten", "idempotency",     "daemon_started",
                       "token_created",       "token_rotated", "token_revoked",   "slice_ordered",
                       "slice_made",          "slice_returned"}));
}

// Without it the bytes of a journal could change silently, and a later version could not read an earlier
// one's.
TEST(Record, GoldenBytes) {
  EXPECT_EQ(encode_record(JobStarted{JobId(17), 2, {NpuIndex(0), NpuIndex(5)}}),
            R"({"job":17,"attempt":2,"npus":[0,5]})");
  EXPECT_EQ(
      encode_record(JobStarted{
          JobId(17), 2, {NpuIndex(5)}, SlicePlacement{"vir04", 1, Bytes::gib(12), Bytes::mib(10'763), 4}}),
      R"({"job":17,"attempt":2,"npus":[5],"slice":{"template":"vir04","vgroup":1,"memory":12884901888,)"
      R"("usableMemory":11285823488,"aiCores":4}})");
  EXPECT_EQ(encode_record(SettingsChanged{}), R"({"keepAfterMs":600000})");
  EXPECT_EQ(encode_record(SettingsChanged{1, false, SliceCount::kNone}),
            R"({"keepAfterMs":1,"sliceVariants":false,"sliceCountsAs":"none"})");
  EXPECT_EQ(encode_record(JobWaits{JobId(17), ReasonCode::kQuotaNpus}),
            R"({"job":17,"reason":"quota.npus.exceeded"})");
  JobSubmittedRecord submitted;
  submitted.input.spec.id = JobId(1);
  submitted.input.spec.tenant = TenantId(0);
  submitted.program.name = "train";
  submitted.program.command = {"python3", "train.py"};
  submitted.program.env = {{"SEED", "7"}};
  EXPECT_EQ(
      encode_record(submitted),
      R"({"input":{"spec":{"id":1,"tenant":0,"priority":"normal","request":{"kind":"whole","npus":1,)"
      R"("memoryPerNpu":0,"aiCores":0,"corePercent":0},"bandwidthBps":0,"timeLimitMs":2305843009213693951,)"
      R"("noWait":false,"restart":"never","restartsMax":0}},"program":{"name":"train","labels":{},)"
      R"("command":["python3","train.py"],"env":{"SEED":"7"},"workdir":"","host":{"cpuMilli":2305843009213693951,)"
      R"("memory":2305843009213693951,"processes":2305843009213693951},"submitterUid":0,"idempotencyKey":"",)"
      R"("requestHash":""}})");
}

// Without it a journal that was written before slices were known could not be read.
TEST(Record, FieldsOfSlicesMayBeMissing) {
  const auto settings = decode_record("settings_changed", R"({"keepAfterMs":5})");
  ASSERT_TRUE(settings) << settings.error().to_string();
  EXPECT_EQ(*settings, JournalRecord(SettingsChanged{5, true, SliceCount::kOne}));
  const auto reported = decode_record(
      "node_reported",
      R"({"node":"n","npus":[{"npu":0,"chip":"910B4","memory":1,"aiCores":20,"health":"ok"}]})");
  ASSERT_TRUE(reported) << reported.error().to_string();
  EXPECT_EQ(*reported, JournalRecord(NodeReported{"n", {{0, "910B4", Bytes(1), 20, Health::kOk}}}));
  const auto started = decode_record("job_started", R"({"job":1,"attempt":1,"npus":[0]})");
  ASSERT_TRUE(started) << started.error().to_string();
  EXPECT_EQ(*started, JournalRecord(JobStarted{JobId(1), 1, {NpuIndex(0)}}));
}

// Without it a daemon could not start on a journal that a newer minor version has written to.
TEST(Record, UnknownFieldsAreSkipped) {
  const auto record = decode_record("job_forgotten", R"({"job":4,"because":"retention"})");
  ASSERT_TRUE(record) << record.error().to_string();
  EXPECT_EQ(*record, JournalRecord(JobForgotten{JobId(4)}));
}

// Without it a damaged record would be filled up with defaults, and the state would silently be another one.
TEST(Record, MissingFieldsAndUnknownKindsAreRefused) {
  const auto missing = decode_record("job_started", R"({"job":4,"npus":[]})");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kDataLoss);
  EXPECT_EQ(missing.error().reason, "input.missing_field");
  EXPECT_NE(missing.error().to_string().find("attempt"), std::string::npos) << missing.error().to_string();

  const auto unknown = decode_record("moon_landed", "{}");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().reason, "record.unknown_kind");
  EXPECT_NE(unknown.error().message.find("moon_landed"), std::string::npos);

  const auto torn = decode_record("job_started", R"({"job":4,"att)");
  ASSERT_FALSE(torn);
  EXPECT_EQ(torn.error().code, Code::kDataLoss);
  EXPECT_EQ(torn.error().reason, "input.syntax");
}

// Without it a body with an unset handle would be written as a valid-looking number and come back as a
// stranger's.
TEST(Record, AnUnsetHandleDoesNotComeBackAsAnother) {
  const auto back = decode_record("job_forgotten", encode_record(JobForgotten{}));
  EXPECT_FALSE(back);
}

// Without it the secrets of a job's environment would show up in the daemon's log when its record is damaged.
TEST(Record, MessagesKeepEnvironmentValuesToThemselves) {
  const JobProgram program;
  std::string body = encode_program(program);
  body.replace(body.find(R"("env":{})"), 8, R"("env":{"TOKEN":["hunter2"]})");
  const auto back = decode_program(body);
  ASSERT_FALSE(back);
  EXPECT_NE(back.error().to_string().find("env.TOKEN"), std::string::npos) << back.error().to_string();
  EXPECT_EQ(back.error().to_string().find("hunter2"), std::string::npos) << back.error().to_string();
}

// Without it a message with bytes of another encoding (a path in Latin-1) would make the journal unreadable.
TEST(Record, InvalidUtf8IsReplacedAndReadable) {
  AttemptEndedRecord record;
  record.input.job = JobId(1);
  record.message = "cannot execute /caf\xe9";
  const auto back = decode_record(record_kind(record), encode_record(record));
  ASSERT_TRUE(back) << back.error().to_string();
  EXPECT_EQ(std::get<AttemptEndedRecord>(*back).message, "cannot execute /caf\xEF\xBF\xBD");
}

// Without it recovery could feed the core something else than what the live daemon fed it.
TEST(Record, TheCoreIsToldItsPartAndNothingElse) {
  EXPECT_EQ(core_input(JobCancelledRecord{{JobId(2)}, 1000, ""}), Input(JobCancelled{JobId(2)}));
  EXPECT_EQ(core_input(SettingsChanged{5}), Input(SettingsChanged{5}));
  EXPECT_EQ(core_input(JobStarted{}), std::nullopt);
  EXPECT_EQ(core_decision(JobWaits{JobId(2), ReasonCode::kNpusBusy}),
            Decision(JobWaits{JobId(2), ReasonCode::kNpusBusy}));
  EXPECT_EQ(core_decision(SettingsChanged{}), std::nullopt);
  EXPECT_EQ(core_input(DaemonStarted{}), std::nullopt);
}

}  // namespace
}  // namespace tangram::wire
