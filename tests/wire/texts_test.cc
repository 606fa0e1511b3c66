#include "wire/texts.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>

#include "wire/catalogue.h"
#include "wire/schema.h"

namespace tangram::wire {
namespace {

constexpr int kLastReason = static_cast<int>(kReasonLast);
constexpr std::array kLanguages = {Language::kEnglish, Language::kChinese};

Names names() {
  Names result;
  result.tenant = [](TenantId id) { return id.value == 0 ? std::string("org") : std::string("team-a"); };
  result.job = [](JobId id) { return id.value == 3 ? std::string() : "train-" + std::to_string(id.value); };
  return result;
}

JobSpec spec() {
  JobSpec job;
  job.id = JobId(17);
  job.tenant = TenantId(1);
  job.priority = Priority::kHigh;
  job.request.npus = 2;
  job.request.memory_per_npu = Bytes::gib(16);
  return job;
}

Blocker blocker(ReasonCode code) {
  Blocker result;
  result.reason = code;
  result.tenant = TenantId(1);
  result.asked = 2;
  result.used = 4;
  result.limit = 4;
  result.free = 1;
  result.unhealthy = 2;
  result.kept_for = JobId(5);
  return result;
}

Blocker capacity(ReasonCode code) {
  Blocker result = blocker(code);
  result.tenant = TenantId();
  result.limit = 8;
  return result;
}

bool has_chinese(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0xE4 && static_cast<unsigned char>(c) <= 0xE9) return true;
  }
  return false;
}

// Without it a reason that an event keeps in English would stay English, or lose its names and numbers.
TEST(Texts, AToldReasonIsMadeAnewInTheOtherLanguage) {
  Names ids = names();
  ids.job = [](JobId) { return std::string(); };
  for (int n = 1; n <= kLastReason; ++n) {
    const auto code = static_cast<ReasonCode>(n);
    const std::string_view words = find_template(code)->chinese;
    Blocker known = words.find("{tenant}") == std::string_view::npos ? capacity(code) : blocker(code);
    known.holders = {JobId(4), JobId(9)};
    const ReasonView told = make_reason(spec(), known, ids, Language::kEnglish);
    const ReasonView chinese = localised(told, Language::kChinese);
    // What the job asked for beside the dimension is not among the details.
    const bool partly = words.find("{memory}") != std::string_view::npos ||
                        words.find("{priority}") != std::string_view::npos;
    EXPECT_EQ(chinese.message, partly ? describe(code, Language::kChinese)
                                      : make_reason(spec(), known, ids, Language::kChinese).message);
    EXPECT_EQ(chinese.code, told.code);
    EXPECT_EQ(localised(told, Language::kEnglish).message, told.message);
  }
  const ReasonView newer{"quota.moons.exceeded", "no moon is left", "", {}};
  EXPECT_EQ(localised(newer, Language::kChinese).message, "no moon is left");
}

// Without it a reason that is added later would be shown as nothing in one of the languages.
TEST(Texts, EveryReasonHasBothLanguages) {
  for (int n = 1; n <= kLastReason; ++n) {
    const auto code = static_cast<ReasonCode>(n);
    ASSERT_NE(find_template(code), nullptr) << token(code);
    ASSERT_NE(find_reason(token(code)), nullptr) << token(code);
    EXPECT_FALSE(describe(code, Language::kEnglish).empty()) << token(code);
    EXPECT_FALSE(has_chinese(describe(code, Language::kEnglish))) << token(code);
    EXPECT_TRUE(has_chinese(describe(code, Language::kChinese))) << token(code);
    for (const Language language : kLanguages) {
      const ReasonView view = make_reason(spec(), blocker(code), names(), language);
      EXPECT_EQ(view.code, token(code));
      EXPECT_FALSE(view.hint.empty());
      EXPECT_EQ(view.message.find('{'), std::string::npos) << view.message;
      EXPECT_EQ(has_chinese(view.message), language == Language::kChinese) << view.message;
    }
  }
  EXPECT_EQ(reason_templates().size(), static_cast<std::size_t>(kLastReason));
}

// Without it a token could be listed twice with different meanings, or lack a language.
TEST(Texts, CatalogueIsComplete) {
  std::set<std::string_view> tokens;
  for (const ReasonText& reason : reason_catalogue()) {
    EXPECT_TRUE(tokens.insert(reason.token).second) << reason.token;
    EXPECT_FALSE(reason.english.empty() || reason.english_hint.empty()) << reason.token;
    EXPECT_TRUE(has_chinese(reason.chinese) && has_chinese(reason.chinese_hint)) << reason.token;
    EXPECT_FALSE(has_chinese(reason.english) || has_chinese(reason.english_hint)) << reason.token;
  }
  EXPECT_EQ(find_reason("no.such.reason"), nullptr);
}

// Without it a user would read "quota exceeded" and not whose, how much and held by whom.
TEST(Texts, QuotaReasonsNameTenantAndNumbers) {
  Blocker npus = blocker(ReasonCode::kQuotaNpus);
  npus.holders = {JobId(3), JobId(4), JobId(5)};
  EXPECT_EQ(make_reason(spec(), npus, names(), Language::kEnglish).message,
            "tenant team-a holds 4 of 4 NPUs and the job needs 2 NPUs; held by j-3, train-4 and train-5");
  EXPECT_EQ(make_reason(spec(), npus, names(), Language::kChinese).message,
            "租户 team-a 的配额为 4 个 NPU，已占用 4，任务需要 2 个 NPU；占用者：j-3、train-4、train-5");
  EXPECT_EQ(make_reason(spec(), npus, names(), Language::kEnglish).hint,
            "it starts when jobs of the tenant end: tangram queue --tenant team-a");

  Blocker above = blocker(ReasonCode::kQuotaMemoryTotal);
  above.tenant = TenantId(0);
  above.asked = Bytes::gib(64).count;
  above.used = Bytes::gib(100).count;
  above.limit = Bytes::gib(128).count;
  EXPECT_EQ(
      make_reason(spec(), above, names(), Language::kEnglish).message,
      "tenant org (above team-a) holds 100GiB of 128GiB of device memory in all and the job needs 64GiB");

  Blocker time = blocker(ReasonCode::kQuotaRunTime);
  time.asked = 7'200'000;
  time.limit = 3'600'000;
  const ReasonView run_time = make_reason(spec(), time, names(), Language::kEnglish);
  EXPECT_EQ(run_time.message, "the job's time limit is 2h and tenant team-a allows at most 1h");
  EXPECT_EQ(run_time.hint.substr(0, 37), "submit it with --time-limit 1h or les");

  Blocker priority = blocker(ReasonCode::kQuotaPriority);
  priority.limit = 0b110;
  const ReasonView forbidden = make_reason(spec(), priority, names(), Language::kEnglish);
  EXPECT_EQ(forbidden.message, "tenant team-a may not use priority high; it may use normal, low");
  EXPECT_EQ(forbidden.details,
            (Details{{"tenant", "team-a"}, {"dimension", "priorities"}, {"allowed", "normal, low"}}));
  Blocker jobs = blocker(ReasonCode::kQuotaRunningJobs);
  jobs.used = 1;
  jobs.limit = 1;
  EXPECT_EQ(make_reason(spec(), jobs, names(), Language::kEnglish).message,
            "tenant team-a runs 1 of at most 1 job at once");
}

// Without this, a waiting user would not learn how many NPUs are missing.
TEST(Texts, CapacityReasonsNameNumbers) {
  EXPECT_EQ(make_reason(spec(), capacity(ReasonCode::kNpusBusy), names(), Language::kEnglish).message,
            "the job needs 2 NPUs of one node; of 8 NPUs that would do, 1 is free and healthy");
  EXPECT_EQ(make_reason(spec(), capacity(ReasonCode::kNpusUnhealthy), names(), Language::kEnglish).message,
            "the job needs 2 NPUs of one node; of 8 NPUs that would do, 2 are not healthy, 1 is free");
  const ReasonView kept = make_reason(spec(), capacity(ReasonCode::kNpusKept), names(), Language::kEnglish);
  EXPECT_EQ(kept.message, "the NPUs that are free are kept for job train-5, which waited past the bound");
  EXPECT_EQ(kept.hint, "see what that job waits for: tangram why j-5");
  EXPECT_EQ(make_reason(spec(), capacity(ReasonCode::kMemoryNever), names(), Language::kEnglish).message,
            "the job needs 16GiB per NPU and no NPU has that much");
}

// Without it one who asked for a slice would be sent to an option that cannot stand beside it, in either
// language.
TEST(Texts, TheHintNamesTheOptionThatSaysTheSize) {
  JobSpec job = spec();
  Blocker above = blocker(ReasonCode::kQuotaMemoryPerNpu);
  above.asked = Bytes::gib(16).count;
  above.limit = Bytes::gib(8).count;
  const auto has = [](const ReasonView& reason, const char* text) {
    return reason.hint.find(text) != std::string::npos;
  };
  EXPECT_TRUE(has(make_reason(job, above, names(), Language::kEnglish), "--memory 8GiB or less"));
  job.request.kind = RequestKind::kSlice;
  const ReasonView told = make_reason(job, above, names(), Language::kEnglish);
  EXPECT_TRUE(has(told, "--slice 8GiB or less")) << told.hint;
  EXPECT_TRUE(has(localised(told, Language::kChinese), "--slice 8GiB"))
      << localised(told, Language::kChinese).hint;
}

// Without it one who asked for a slice would be told of whole NPUs, and not which leftover is in the way.
TEST(Texts, ReasonsOfSlicesNameWhatWasAskedFor) {
  JobSpec job = spec();
  job.request.kind = RequestKind::kSlice;
  job.request.memory_per_npu = Bytes::gib(4);
  Blocker busy = capacity(ReasonCode::kSlotsBusy);
  busy.asked = 1;
  busy.cut = 3;
  EXPECT_EQ(
      make_reason(job, busy, names(), Language::kEnglish).message,
      "the job needs a slice of 4GiB; an NPU has the memory, but cannot be cut once more: of 8 NPUs that "
      "would do, 3 are cut");
  job.request.ai_cores = 2;
  busy.reason = ReasonCode::kMemoryBusy;
  const ReasonView told = make_reason(job, busy, names(), Language::kEnglish);
  EXPECT_EQ(told.message,
            "the job needs a slice of 4GiB and 2 AI cores; of 8 NPUs that would do, 1 is free and healthy, 3 "
            "are cut "
            "into slices");
  EXPECT_EQ(make_reason(job, busy, names(), Language::kChinese).message,
            "任务需要一个切片（4GiB、2 个 AI Core）；符合要求的有 8 个 NPU，其中空闲且健康的有 1 "
            "个，已切分的有 3 个");
  EXPECT_EQ(localised(told, Language::kChinese).message,
            make_reason(job, busy, names(), Language::kChinese).message);
  busy.reason = ReasonCode::kSlicesResidual;
  busy.residual = {{NpuIndex(7), StraySlice{100, "vir04", 0, true}}};
  Names known = names();
  known.npu = [](NpuIndex npu) { return "NPU " + std::to_string(npu.value); };
  EXPECT_EQ(
      make_reason(job, busy, known, Language::kEnglish).message,
      "the job needs a slice of 4GiB and 2 AI cores, and slices that no job holds take the room: slice 100 "
      "(vir04) of NPU 7");
  EXPECT_EQ(make_reason(spec(), busy, known, Language::kChinese).message,
            "任务需要同一节点上的 1 个 NPU，但无任务持有的切片占用了资源：NPU 7 的切片 100（vir04）");
}

// Without it a tenant would read that 8 GiB are needed where it asked for 4, or that an NPU is, and not why.
TEST(Texts, QuotaReasonsTellWhatWasAskedForAndWhatThatComesTo) {
  JobSpec job = spec();
  job.request = {RequestKind::kSlice, 1, Bytes::gib(4), 0, 0};
  Blocker memory = blocker(ReasonCode::kQuotaMemoryTotal);
  memory.kept_for = JobId();
  memory.asked = Bytes::gib(8).count;
  memory.used = Bytes::gib(28).count;
  memory.limit = Bytes::gib(32).count;
  memory.granted = Granted{"vir05_1c_8g", Bytes::gib(8), 5};
  const ReasonView told = make_reason(job, memory, names(), Language::kEnglish);
  EXPECT_EQ(
      told.message,
      "tenant team-a holds 28GiB of 32GiB of device memory in all and the job needs 8GiB (a slice of 4GiB "
      "asked for, vir05_1c_8g granted with 8GiB and 5 AI cores)");
  const ReasonView chinese = make_reason(job, memory, names(), Language::kChinese);
  EXPECT_EQ(chinese.message,
            "租户 team-a 的设备内存总量配额为 32GiB，已占用 28GiB，任务需要 8GiB（请求 4GiB 的切片，分配 "
            "vir05_1c_8g，即 8GiB、5 个 AI Core）");
  EXPECT_EQ(localised(told, Language::kChinese).message, chinese.message);
  memory.reason = ReasonCode::kQuotaMemoryTotalNever;
  memory.granted = Granted{"", Bytes::mib(21'527), 1};
  EXPECT_EQ(make_reason(job, memory, names(), Language::kEnglish).message,
            "the job would hold 8GiB of device memory (a slice of 4GiB asked for, a whole NPU granted with "
            "21527MiB and 1 AI core) and tenant team-a may hold at most 32GiB in all");
  const JobSpec whole = spec();
  memory.granted = Granted{"", Bytes::gib(32), 20};
  const ReasonView two = make_reason(whole, memory, names(), Language::kEnglish);
  EXPECT_NE(two.message.find("(16GiB per NPU asked for, whole NPUs granted with 32GiB each)"),
            std::string::npos)
      << two.message;
  EXPECT_EQ(localised(two, Language::kChinese).message,
            make_reason(whole, memory, names(), Language::kChinese).message);
}

// Without it one who asked for more than the largest template would not learn that an NPU in use, however
// little of it, is in the way.
TEST(Texts, ASliceThatBecomesAWholeNpuIsCalledThat) {
  JobSpec job = spec();
  job.request = {RequestKind::kSlice, 1, Bytes::gib(28), 0, 0};
  Blocker busy = capacity(ReasonCode::kMemoryBusy);
  busy.asked = 1;
  busy.granted = Granted{"", Bytes::gib(32), 20};
  const ReasonView told = make_reason(job, busy, names(), Language::kEnglish);
  EXPECT_NE(told.message.find("a slice of 28GiB, which is a whole NPU, for no template is so large"),
            std::string::npos)
      << told.message;
  EXPECT_EQ(localised(told, Language::kChinese).message,
            make_reason(job, busy, names(), Language::kChinese).message);
  busy.granted = Granted{"vir10_3c_16g", Bytes::gib(16), 10};
  EXPECT_EQ(make_reason(job, busy, names(), Language::kEnglish).message.find("whole"), std::string::npos);
}

// Without it a leftover would be named as the reason, and nobody learn what returns it.
TEST(Why, LeftoversAreForTheDoctor) {
  Remedy returned;
  returned.kind = Remedy::Kind::kSlicesReturned;
  returned.starts = true;
  returned.slices = {{NpuIndex(7), StraySlice{100, "vir04", 0, true}}};
  Names known = names();
  known.npu = [](NpuIndex npu) { return "NPU " + std::to_string(npu.value); };
  const RemedyView english = make_remedy(spec(), returned, known, Language::kEnglish);
  EXPECT_EQ(english.command, "tangram doctor");
  EXPECT_EQ(english.text,
            "slice 100 (vir04) of NPU 7 is returned, by the daemon or by a command that this tells");
  EXPECT_EQ(make_remedy(spec(), returned, known, Language::kChinese).text,
            "NPU 7 的切片 100（vir04）被回收，由守护进程或由下列命令给出的命令完成");
  EXPECT_NE(make_reason(ReasonCode::kSlicesResidual, Language::kEnglish).hint.find("tangram doctor"),
            std::string::npos);
  const Blocker residual = capacity(ReasonCode::kSlicesResidual);
  EXPECT_NE(make_reason(spec(), residual, names(), Language::kEnglish).hint.find("tangram doctor"),
            std::string::npos);
}

// Without it whoever waits for an NPU that has refused a cut would look for a slice that is not there.
TEST(Texts, AnNpuThatRestsHasNoSliceToReturn) {
  JobSpec job = spec();
  job.request.kind = RequestKind::kSlice;
  job.request.memory_per_npu = Bytes::gib(4);
  Blocker rests = blocker(ReasonCode::kSlicesResidual);
  rests.tenant = TenantId();
  rests.asked = 1;
  rests.residual = {{NpuIndex(0), StraySlice{100, "", kNoVgroup, true}},
                    {NpuIndex(0), StraySlice{101, "", kNoVgroup, true}},
                    {NpuIndex(3), StraySlice{102, "", kNoVgroup, true}}};
  Names known = names();
  known.npu = [](NpuIndex npu) { return "NPU " + std::to_string(npu.value); };
  const ReasonView told = make_reason(job, rests, known, Language::kEnglish);
  EXPECT_EQ(told.code, "capacity.slices.residual");
  EXPECT_EQ(
      told.message,
      "the job needs a slice of 4GiB, and the driver has just refused to cut what has room for it, which "
      "rests: NPU 0, NPU 3");
  EXPECT_EQ(told.hint.find("returns"), std::string::npos) << told.hint;
  EXPECT_EQ(make_reason(job, rests, known, Language::kChinese).message,
            "任务需要一个切片（4GiB），但驱动刚刚拒绝切分有余量的 NPU，暂不使用：NPU 0、NPU 3");
  EXPECT_EQ(localised(told, Language::kChinese).message,
            "任务需要一个切片（4GiB），但驱动刚刚拒绝切分有余量的 NPU，暂不使用：NPU 0, NPU 3");
  rests.residual.push_back({NpuIndex(4), StraySlice{103, "vir04", 0, true}});
  EXPECT_EQ(make_reason(job, rests, known, Language::kEnglish).message,
            "the job needs a slice of 4GiB, and slices that no job holds take the room: slice 103 (vir04) of "
            "NPU 4");
}

// Without it a caller that knows only the code would make the daemon state numbers that nobody measured.
TEST(Texts, WithoutNumbersTheSentenceIsGeneral) {
  for (int n = 1; n <= kLastReason; ++n) {
    Blocker bare;
    bare.reason = static_cast<ReasonCode>(n);
    const JobSpec job = spec();
    const std::string message = make_reason(job, bare, names(), Language::kEnglish).message;
    EXPECT_EQ(message.find(" 0"), std::string::npos) << message;
    EXPECT_EQ(message.find("unknown"), std::string::npos) << message;
  }
}

// Without it a dashboard could not draw what the sentence says.
TEST(Texts, DetailsCarryTheNumbers) {
  Blocker npus = blocker(ReasonCode::kQuotaNpus);
  npus.kept_for = JobId();
  npus.holders = {JobId(3), JobId(4)};
  EXPECT_EQ(make_reason(spec(), npus, names(), Language::kEnglish).details,
            (Details{{"tenant", "team-a"},
                     {"dimension", "npus"},
                     {"asked", std::int64_t{2}},
                     {"used", std::int64_t{4}},
                     {"limit", std::int64_t{4}},
                     {"holders", "j-3,j-4"}}));
}

Remedy remedy(Remedy::Kind kind) {
  Remedy result;
  result.kind = kind;
  result.jobs = {JobId(3), JobId(4)};
  result.at = TimeMs(1'709'164'800'000);
  result.npus = 1;
  result.memory_per_npu = Bytes::gib(8);
  result.tenant = TenantId(1);
  result.dimension = Dimension::kNpus;
  result.limit = 6;
  result.starts = true;
  return result;
}

// Without it a remedy would be advice, and not something that can be run.
TEST(Why, RemediesAreCommands) {
  const auto english = [](Remedy::Kind kind) {
    return make_remedy(spec(), remedy(kind), names(), Language::kEnglish);
  };
  EXPECT_EQ(english(Remedy::Kind::kJobsEnd),
            (RemedyView{"j-3 and train-4 end or are cancelled", "tangram cancel j-3 j-4", true}));
  EXPECT_EQ(english(Remedy::Kind::kWaitForLimit),
            (RemedyView{"running jobs reach their time limits by 2024-02-29T00:00:00.000Z",
                        "tangram wait j-17", true}));
  EXPECT_EQ(english(Remedy::Kind::kFewerNpus),
            (RemedyView{"submit it with 1 NPU instead of 2",
                        "tangram submit --tenant team-a --npus 1 --memory 16GiB --priority high -- COMMAND",
                        true}));
  EXPECT_EQ(english(Remedy::Kind::kLessMemory).text, "submit it with 8GiB per NPU instead of 16GiB");
  EXPECT_EQ(english(Remedy::Kind::kRaiseQuota),
            (RemedyView{"the operator raises spec.quota.npus of tenant team-a to 6 NPUs",
                        "tangram quota team-a -o yaml", true}));
  EXPECT_EQ(make_remedy(spec(), remedy(Remedy::Kind::kRaiseQuota), names(), Language::kChinese).text,
            "管理员将租户 team-a 的 spec.quota.npus 提高到 6 个 NPU");
}

// Without it `tangram why` would bury its answer, or offer a command that a shell reads otherwise.
TEST(Why, VerdictFirstThenBlockersAndRemedies) {
  Explanation explanation;
  explanation.state = JobState::kWaiting;
  explanation.blockers = {blocker(ReasonCode::kQuotaNpus), capacity(ReasonCode::kNpusBusy)};
  explanation.remedies = {remedy(Remedy::Kind::kFewerNpus)};
  explanation.position = 3;
  explanation.queue_length = 11;
  explanation.estimated_start = TimeMs(1'709'164'800'000);
  JobView job;
  job.id = "j-17";
  job.tenant = "team-a";
  job.priority = Priority::kHigh;
  job.command = {"sh", "-c", "echo 'a b'; ls"};
  const WhyView why = make_why(job, spec(), explanation, names(), Language::kEnglish);
  EXPECT_EQ(why.verdict, "job train-17 waits: tenant team-a holds 4 of 4 NPUs and the job needs 2 NPUs");
  ASSERT_EQ(why.blockers.size(), 2U);
  EXPECT_EQ(why.blockers[1].code, "capacity.npus.busy");
  ASSERT_EQ(why.remedies.size(), 1U);
  EXPECT_EQ(why.remedies[0].command,
            "tangram submit --tenant team-a --npus 1 --memory 16GiB --priority high -- sh -c 'echo '\\''a "
            "b'\\''; ls'");
  EXPECT_EQ(why.position, 3);
  EXPECT_EQ(why.queue_length, 11);
  EXPECT_FALSE(why.assumption.empty());
  EXPECT_EQ(read_why_view(write(why)).value(), why);

  explanation.blockers = {blocker(ReasonCode::kQuotaNpusNever)};
  EXPECT_EQ(make_verdict(spec(), explanation, names(), Language::kChinese),
            "任务 train-17 在当前条件下无法运行：任务需要 2 个 NPU，租户 team-a 的配额上限为 4 个 NPU");
  explanation.blockers.clear();
  explanation.state = JobState::kReady;
  EXPECT_EQ(make_verdict(spec(), explanation, names(), Language::kEnglish),
            "job train-17 is ready to start: nothing is in its way");
}

// Without it "never" and "not now" would be mixed up, and clients would retry what can never work.
TEST(Refusal, NeverIsPolicyAndTheRestIsNotNow) {
  const Error never = make_refusal(spec(), blocker(ReasonCode::kQuotaNpusNever), names(), Language::kEnglish);
  EXPECT_EQ(never.code, Code::kPolicyRefused);
  EXPECT_EQ(never.reason, "quota.npus.above_limit");
  EXPECT_EQ(never.message, "refused: the job needs 2 NPUs and tenant team-a may hold at most 4 NPUs");
  const Error now = make_refusal(spec(), capacity(ReasonCode::kNpusBusy), names(), Language::kEnglish);
  EXPECT_EQ(now.code, Code::kNotNow);
  EXPECT_EQ(now.hint, "leave --no-wait out to let it wait; see who holds them: tangram status")
      << "it was refused, and waits for nothing";
  EXPECT_EQ(never.hint.find("--no-wait"), std::string::npos);
  for (int n = 1; n <= kLastReason; ++n) {
    const std::string text(token(static_cast<ReasonCode>(n)));
    const bool named_never = text.ends_with("above_limit") || text.ends_with("never") ||
                             text.ends_with("forbidden") || text.ends_with("unsupported");
    const Error error =
        make_refusal(spec(), blocker(static_cast<ReasonCode>(n)), names(), Language::kEnglish);
    EXPECT_EQ(error.code == Code::kPolicyRefused, named_never) << text;
  }
}

}  // namespace
}  // namespace tangram::wire
