// Golden frames: what people see, compared letter by letter with the files in golden/. To accept a change,
// run the test once with TANGRAM_UPDATE_GOLDEN=1 and read the difference.
#include "cli/render.h"

#include <gtest/gtest.h>

#include <sstream>

#include "cli/golden.h"

namespace tangram::cli {
namespace {

constexpr TimeMs kNow(1'796'000'000'000);
constexpr wire::Language kEnglish = wire::Language::kEnglish;

Canvas canvas(std::size_t width = 80) {
  return {width, false, kNow};
}

Canvas chinese() {
  return {80, false, kNow, wire::Language::kChinese};
}

Canvas with(const TableView& view) {
  return {80, false, kNow, kEnglish, view};
}

TimeMs ago(std::int64_t ms) {
  return TimeMs(kNow.value - ms);
}

void expect_golden(const std::string& name, const std::string& text, std::size_t width = 80) {
  expect_as_kept(name, text);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(display_width(line), width) << line;
    EXPECT_TRUE(line.empty() || line.back() != ' ') << "'" << line << "'";
  }
}

wire::NpuStatusView free_npu(std::uint32_t id) {
  wire::NpuStatusView npu;
  npu.npu = id;
  npu.chip = "910B4";
  npu.health = Health::kOk;
  npu.memory_total = Bytes::gib(32);
  npu.memory_used = Bytes::mib(2'867);
  npu.ai_core_percent = 0;
  npu.temperature_celsius = 38;
  npu.power_milliwatt = 85'400;
  return npu;
}

wire::NpuStatusView held_npu(std::uint32_t id, const std::string& tenant, const std::string& job,
                             const std::string& name) {
  wire::NpuStatusView npu = free_npu(id);
  npu.mode = NpuMode::kWhole;
  npu.memory_used = Bytes::mib(28'058);
  npu.ai_core_percent = 97;
  npu.temperature_celsius = 61;
  npu.power_milliwatt = 291'600;
  npu.tenant = tenant;
  npu.job = job;
  npu.job_name = name;
  return npu;
}

wire::StatusView machine() {
  wire::StatusView view;
  view.version = "0.1.0";
  view.node = "node-1";
  view.driver_version = "24.1.rc2";
  view.devices_available = true;
  view.npus = {held_npu(0, "team-a", "j-15", "train-001"), held_npu(1, "team-a", "j-15", "train-001"),
               held_npu(2, "team-b", "j-16", "infer-001"), free_npu(3)};
  view.npus_free = 1;
  view.jobs_running = 2;
  view.jobs_queued = 1;
  return view;
}

wire::JobView job(const std::string& id, const std::string& name, const std::string& tenant) {
  wire::JobView view;
  view.id = id;
  view.name = name;
  view.tenant = tenant;
  view.submitted_at = ago(120'000);
  view.command = {"python3", "train.py", "it's me"};
  return view;
}

wire::JobView running_job() {
  wire::JobView view = job("j-15", "train-001", "team-a");
  view.priority = Priority::kHigh;
  view.state = JobState::kRunning;
  view.npus_requested = 2;
  view.npus = {0, 1};
  view.started_at = ago(61'000);
  view.attempt = 1;
  return view;
}

wire::JobView waiting_job() {
  wire::JobView view = job("j-17", "train-017", "team-a");
  view.state = JobState::kWaiting;
  view.npus_requested = 2;
  view.position = 1;
  view.reason = wire::ReasonView{"quota.npus.exceeded",
                                 "tenant team-a may hold 4 NPUs, holds 3 and this job needs 2",
                                 "tangram quota team-a",
                                 {}};
  return view;
}

wire::JobView failed_job() {
  wire::JobView view = job("j-9", "j-9", "team-b");
  view.priority = Priority::kLow;
  view.state = JobState::kEnded;
  view.outcome = Outcome::kFailed;
  view.signal = 11;
  view.npus = {5};
  view.attempt = 2;
  view.restarts = 1;
  view.started_at = ago(100'000);
  view.ended_at = ago(30'000);
  return view;
}

// Without it the table that people look at most could lose a column, cut a name or run over the terminal.
TEST(RenderStatus, OneLinePerNpu) {
  expect_golden("status", render_status(machine(), canvas()));
}

// Without it nobody could see in the table what parts of an NPU are given, to whom, and for what request.
TEST(RenderStatus, TellsWhatWasAskedForAndWhatWasGranted) {
  wire::StatusView view = machine();
  wire::NpuStatusView& cut = view.npus[3];
  cut.mode = NpuMode::kSliced;
  cut.slices.resize(4);
  cut.slices[0].template_name = "vir02";
  cut.slices[0].memory = Bytes::gib(6);
  cut.slices[0].tenant = "team-a";
  cut.slices[0].job_name = "answers";
  cut.slices[0].slice_requested = wire::SliceRequest{Bytes::gib(4), 2};
  cut.slices[1].template_name = "vir01";  // of a job that this caller may not see
  cut.slices[1].memory = Bytes::gib(3);
  cut.slices[2].template_name = "vir01";
  cut.slices[2].id = 102;
  cut.slices[2].residual = true;
  cut.slices[3].template_name = "vir01";
  cut.slices[3].id = 103;
  view.npus[2].slice_requested = wire::SliceRequest{Bytes::mib(13'000), 0};
  view.npus_free = 0;
  cut.slices.resize(5);
  cut.slices[4].template_name = "vir01";
  cut.slices[4].id = 104;
  cut.slices[4].residual = true;
  cut.slices[4].unseen = true;
  expect_golden("status_slices", render_status(view, canvas()));
  expect_golden("zh_status_slices", render_status(view, chinese()));
}

// Without it a value that was not measured would be shown as 0, and a sick NPU without its reason.
TEST(RenderStatus, UnknownIsADash) {
  wire::StatusView view = machine();
  wire::NpuStatusView blind;
  blind.npu = 4;
  blind.health = Health::kUnknown;
  blind.health_note = "dcmi_get_device_health answers -8020";
  wire::NpuStatusView sick = free_npu(5);
  sick.health = Health::kAlarm;
  sick.health_note = "0x80E01801: HBM multi-bit ECC error";
  view.npus.push_back(blind);
  view.npus.push_back(sick);
  view.driver_version.clear();
  view.missing_walls = {"no root: all jobs run as the same user"};
  expect_golden("status_unknown", render_status(view, canvas()));
}

// Without it a machine whose driver is away would look like one without NPUs.
TEST(RenderStatus, SaysThatTheDriverIsAway) {
  wire::StatusView view;
  view.devices_note = "libdcmi.so cannot be loaded; install the Ascend driver or set devices.library";
  expect_golden("status_no_devices", render_status(view, canvas()));
  view.devices_available = true;
  view.devices_note.clear();
  expect_golden("status_no_npus", render_status(view, canvas()));
}

// Without it only doctor would tell that the driver is too old.
TEST(RenderStatus, SaysWhatIsToBeKnownOfTheDriver) {
  wire::StatusView view = machine();
  view.devices_note = "the driver 22.0.4 is below 25.5, the oldest that is supported; upgrade it";
  const std::string text = render_status(view, canvas());
  EXPECT_NE(text.find("the driver 22.0.4 is below 25.5"), std::string::npos) << text;
  EXPECT_EQ(text.find("22.0.4"), text.rfind("22.0.4"));
}

// Without it long names would break the table instead of giving way to ids.
TEST(RenderStatus, NamesGiveWayToIds) {
  wire::StatusView view = machine();
  view.npus[0].job_name = "a-name-of-a-job-that-is-much-longer-than-others";
  expect_golden("status_long_names", render_status(view, canvas()));
}

// Without it the reasons could be lost from the queue, or ended jobs shown without how they ended.
TEST(RenderQueue, ShowsOrderAndReason) {
  const std::vector<wire::JobView> jobs = {running_job(), waiting_job()};
  expect_golden("queue", render_queue(jobs, {false, false, 5}, canvas()));
  const std::vector<wire::JobView> all = {failed_job(), running_job(), waiting_job()};
  expect_golden("queue_all", render_queue(all, {true, false, 5}, canvas()));
  const std::vector<wire::JobView> none_waiting = {running_job()};
  expect_golden("queue_none_waiting", render_queue(none_waiting, {false, false, 6}, canvas()));
}

// Without it a slice would count as an NPU in the queue, and nobody see what of one it is.
TEST(RenderQueue, ASliceIsShownByItsTemplateOrSize) {
  wire::JobView cut = running_job();
  cut.npus_requested = 1;
  cut.npus = {0};
  cut.slice_requested = wire::SliceRequest{Bytes::gib(4), 0};
  cut.slice = wire::SliceView{"vir02", Bytes::gib(6), Bytes::mib(5381), 2, std::nullopt, 100};
  wire::JobView whole = cut;
  whole.id = "j-16";
  whole.slice.reset();
  wire::JobView waiting = waiting_job();
  waiting.npus_requested = 1;
  waiting.slice_requested = wire::SliceRequest{Bytes::gib(4), 2};
  const std::vector<wire::JobView> jobs = {cut, whole, waiting};
  expect_golden("queue_slices", render_queue(jobs, {false, false, 5}, canvas()));
  EXPECT_EQ(render_queue(jobs, {}, with({.columns = {"job", "npus", "slice"}, .headers = false})),
            "j-15  1  vir02\n"
            "j-16  1  whole\n"
            "j-17  1  4GiB,2\n");
}

// Without it an empty queue would be an empty screen.
TEST(RenderQueue, EmptyStatesSayWhatToDoNext) {
  EXPECT_EQ(
      render_queue({}, {false, false, 5}, canvas()),
      "No jobs are waiting. 5 NPUs are free; start one: tangram submit --tenant TENANT\n  -- PROGRAM\n");
  EXPECT_EQ(render_queue({}, {false, false, std::nullopt}, canvas(120)),
            "No jobs are waiting. Start one: tangram submit --tenant TENANT -- PROGRAM\n");
  EXPECT_EQ(render_queue({}, {false, true, 1}, canvas()),
            "No unfinished job matches. See all of them: tangram queue --all\n");
  EXPECT_EQ(render_queue({}, {true, false, 1}, canvas()),
            "No jobs yet. Start one: tangram submit --tenant TENANT --npus 1 -- PROGRAM\n");
}

// Without it the order of the answer (verdict, blockers, remedies, estimate with its assumption) could be
// lost.
TEST(RenderWhy, VerdictFirst) {
  wire::WhyView view;
  view.job = waiting_job();
  view.verdict = "job train-017 waits: tenant team-a may hold 4 NPUs, holds 3 and this job needs 2";
  view.blockers = {
      *waiting_job().reason,
      {"capacity.npus.busy",
       "this job needs 2 free NPUs of one node, 1 is free: NPU 3; train-001 (j-15) holds 0 and 1, infer-001 "
       "(j-16) holds 2",
       "",
       {}}};
  view.remedies = {{"train-001 (team-a, 2 NPUs) ends", "tangram cancel j-15", true},
                   {"the quota of team-a is raised to 5 NPUs, which is one more than now", "", false}};
  view.position = 3;
  view.queue_length = 11;
  view.estimated_start = TimeMs(kNow.value + 8'040'000);
  view.assumption = "running jobs end at their limits and nothing of a higher priority comes";
  expect_golden("why", render_why(view, canvas()));
  view.estimated_start.reset();
  view.remedies.clear();
  expect_golden("why_no_estimate", render_why(view, canvas()));
}

// Without it `why` of a job that runs would speak of a queue.
TEST(RenderWhy, OfARunningJobIsOneSentence) {
  wire::WhyView view;
  view.job = running_job();
  EXPECT_EQ(render_why(view, canvas()),
            "job train-001 (j-15) is running on NPUs 0, 1 (primary device: NPU 0)\n");
}

wire::QuotaView tenant(const std::string& name, const std::string& parent) {
  wire::QuotaView view;
  view.tenant.name = name;
  view.tenant.parent = parent;
  return view;
}

// Without it a limit, a use or the tree could be shown for the wrong tenant.
TEST(RenderQuota, TreeOfDimensions) {
  wire::QuotaView team = tenant("team-a", "research");
  team.tenant.quota.npus = 4;
  team.tenant.quota.memory_per_npu = Bytes::gib(32);
  team.tenant.quota.memory_total = Bytes::gib(64);
  team.tenant.quota.running_jobs = 4;
  team.tenant.quota.run_time_ms = 86'400'000;
  team.tenant.quota.bandwidth_bps = 10'000'000'000;
  team.used = {2, Bytes::gib(80), 40, 4, 1'500'000'000};
  team.queued = 3;
  team.notes = {"bandwidth is booked, not shaped"};
  wire::QuotaView other = tenant("team-b", "elsewhere");
  other.tenant.quota.priorities = PrioritySet{0b110};
  const std::vector<wire::QuotaView> list = {team, tenant("research", ""), other};
  expect_golden("quota", render_quota(list, canvas()));
  EXPECT_EQ(render_quota({}, canvas()), "No tenants yet. Create some: tangram apply -f tenants.yaml\n");
}

// Without it a circle in a broken answer would hang the command.
TEST(RenderQuota, SurvivesACircle) {
  const std::vector<wire::QuotaView> list = {tenant("a", "b"), tenant("b", "a"), tenant("c", "")};
  EXPECT_NE(render_quota(list, canvas()).find("c  "), std::string::npos);
}

// Without it a field of a job could be missing or show 0 for what is not known.
TEST(RenderJob, ShowsEverything) {
  wire::JobView full = running_job();
  full.memory_per_npu = Bytes::gib(16);
  full.bandwidth_bps = 1'000'000'000;
  full.time_limit_ms = 3'600'000;
  full.restart = RestartPolicy::kOnFailure;
  full.restarts_max = 3;
  full.labels = {{"model", "bert"}, {"run", "7"}};
  full.workdir = "/srv/train";
  expect_golden("describe_running", render_job(full, canvas()));
  expect_golden("describe_waiting", render_job(waiting_job(), canvas()));
  expect_golden("describe_ended", render_job(failed_job(), canvas()));
}

// Without it the one-line answers of submit and wait could name the wrong NPU as the primary device.
TEST(RenderState, OneSentence) {
  EXPECT_EQ(render_state(running_job(), kEnglish),
            "job train-001 (j-15) is running on NPUs 0, 1 (primary device: NPU 0)");
  wire::JobView sliced = running_job();
  sliced.npus = {3};
  sliced.slice = wire::SliceView{"vir02", Bytes::gib(6), Bytes::mib(5381), 2, std::nullopt, std::nullopt};
  EXPECT_EQ(render_state(sliced, kEnglish), "job train-001 (j-15) is running in vir02 of NPU 3");
  sliced.slice->id = 148;
  EXPECT_EQ(render_state(sliced, kEnglish), "job train-001 (j-15) is running in vir02 (slice 148) of NPU 3");
  EXPECT_EQ(render_state(waiting_job(), kEnglish),
            "job train-017 (j-17) is waiting at position 1: tenant team-a may hold 4 NPUs, holds 3 and this "
            "job needs "
            "2");
  EXPECT_EQ(render_state(failed_job(), kEnglish), "job j-9 has failed: ended by SIGSEGV");
  wire::JobView view = failed_job();
  view.signal.reset();
  view.exit_status = 3;
  view.message = "killed by its host memory limit of 1GiB";
  EXPECT_EQ(render_state(view, kEnglish), "job j-9 has failed: killed by its host memory limit of 1GiB");
  view.message.clear();
  EXPECT_EQ(render_state(view, kEnglish), "job j-9 has failed: exited with status 3");
  view.exit_status.reset();
  view.outcome = Outcome::kLost;
  EXPECT_EQ(render_state(view, kEnglish), "job j-9 was lost");
}

// Without it a program would find less memory than its owner had asked for, and nobody have said so.
TEST(RenderGranted, OfWhatItHasOrWouldGet) {
  wire::JobView view = waiting_job();
  EXPECT_EQ(render_granted(view, kEnglish), "");
  view.granted =
      "vir02: 2 AI cores, 6GiB nominal, 5381MiB for the program; the smallest template that holds 4GiB";
  EXPECT_EQ(render_granted(view, kEnglish), "would get: " + view.granted);
  view.npus = {3};
  view.state = JobState::kStarting;
  EXPECT_EQ(render_granted(view, kEnglish), "granted: " + view.granted);
  EXPECT_EQ(render_granted(view, wire::Language::kChinese), "分配：" + view.granted);
  view.state = JobState::kEnded;
  EXPECT_EQ(render_granted(view, kEnglish), "") << "it has it no more";
  wire::JobView whole = running_job();
  whole.granted = "2 NPUs whole, each of 910B4 with 32GiB and 20 AI cores, 29GiB for the program";
  EXPECT_NE(render_job(whole, canvas(200)).find("granted:      2 NPUs whole"), std::string::npos);
}

// Without it a job on all NPUs would widen the table, or a gap in the list be hidden.
TEST(NpuList, ShortensRunsOfThreeAndMore) {
  const auto list = [](std::vector<std::uint32_t> npus) { return npu_list(npus); };
  EXPECT_EQ(list({}), "-");
  EXPECT_EQ(list({3}), "3");
  EXPECT_EQ(list({0, 1}), "0,1");
  EXPECT_EQ(list({0, 1, 2, 3, 4, 5, 6, 7}), "0-7");
  EXPECT_EQ(list({0, 2, 3, 4, 7}), "0,2-4,7");
}

// Without it an error could lose its cause or its remedy, or carry an escape sequence to the terminal.
TEST(RenderError, MessageAndHint) {
  const Error inner{Code::kNotFound, "job.unknown", "no job \x1b[1mx", "tangram queue --all", {}, nullptr};
  EXPECT_EQ(render_error(inner, canvas()),
            "tangram: no job ?[1mx\n  hint: tangram queue --all\n  see also: tangram explain job.unknown\n");
  EXPECT_EQ(render_error(wrap("a.yaml", inner), canvas()).substr(0, 16), "tangram: a.yaml:");
}

// Without it `apply` could not be told apart from one that changed nothing.
TEST(RenderApply, OneLinePerDocument) {
  const wire::ApplyAnswer answer{{{"Tenant", "team-a", "created"}, {"Tenant", "team-b", "unchanged"}}};
  EXPECT_EQ(render_apply(answer, canvas()), "Tenant/team-a created\nTenant/team-b unchanged\n");
}

// Without it a user who reads Chinese would get tables that are half English, or out of line.
TEST(Render, InChinese) {
  expect_golden("zh_status", render_status(machine(), chinese()));
  const std::vector<wire::JobView> jobs = {failed_job(), running_job(), waiting_job()};
  expect_golden("zh_queue", render_queue(jobs, {true, false, 5}, chinese()));
  expect_golden("zh_queue_empty", render_queue({}, {false, false, 5}, chinese()));
  expect_golden("zh_describe", render_job(running_job(), chinese()));
  wire::WhyView why;
  why.job = waiting_job();
  why.verdict = "任务 train-017 等待中：租户 team-a 的配额为 4 个 NPU，已占用 3，任务需要 2 个 NPU";
  why.blockers = {
      {"quota.npus.exceeded", "租户 team-a 的配额为 4 个 NPU，已占用 3，任务需要 2 个 NPU", "", {}},
      {"capacity.npus.busy",
       "任务需要同一节点上的 2 个 NPU；符合要求的有 8 个 NPU，其中空闲且健康的有 1 个",
       "",
       {}}};
  why.remedies = {{"train-001 结束或被取消", "tangram cancel j-15", true}};
  why.position = 3;
  why.queue_length = 11;
  expect_golden("zh_why", render_why(why, chinese()));
  wire::QuotaView team = tenant("team-a", "");
  team.tenant.quota.npus = 4;
  team.tenant.quota.memory_total = Bytes::gib(64);
  team.used.npus = 2;
  team.used.memory_total = Bytes::gib(80);
  const std::vector<wire::QuotaView> list = {team};
  expect_golden("zh_quota", render_quota(list, chinese()));
  const Error error{Code::kNotFound, "job.unknown", "没有任务 x", "看看队列", {}, nullptr};
  EXPECT_EQ(render_error(error, chinese()),
            "tangram: 没有任务 x\n  提示：看看队列\n  另见：tangram explain job.unknown\n");
}

// Without it a script would have to cut its columns out of a table for people.
TEST(Render, BareTables) {
  const std::vector<wire::JobView> jobs = {failed_job(), running_job(), waiting_job()};
  const QueueQuestion question{true, false, 5};
  EXPECT_EQ(render_queue(jobs, question, with({.columns = {"job", "state", "reason"}, .headers = false})),
            "j-9   failed(SIGSEGV)  -\n"
            "j-15  running          -\n"
            "j-17  waiting          quota.npus.exceeded\n");
  EXPECT_EQ(render_queue(jobs, question, with({.ids = true})), "j-9\nj-15\nj-17\n");
  EXPECT_EQ(render_queue({}, question, with({.ids = true})), "");
  EXPECT_EQ(render_queue({}, question, with({.columns = {"job"}})), "JOB\n");
  EXPECT_EQ(
      render_queue({}, question, with({.csv = true})),
      "pos,job,name,tenant,priority,npus,state,on,age,submitted,started,ended,attempt,labels,reason,kind,"
      "message,slice\n");
  EXPECT_EQ(render_status(machine(), with({.columns = {"npu", "tenant", "job", "name"}, .headers = false})),
            "0  team-a  j-15  train-001\n"
            "1  team-a  j-15  train-001\n"
            "2  team-b  j-16  infer-001\n"
            "3  -       -     -\n");
  EXPECT_EQ(render_status(machine(), with({.ids = true})), "0\n1\n2\n3\n");
  expect_golden("status_csv", render_status(machine(), with({.csv = true})), 200);
}

// Without it a quota could not be read by a script: the tree is for eyes.
TEST(RenderQuota, BareRowsAreFlat) {
  wire::QuotaView team = tenant("team-a", "research");
  team.tenant.quota.npus = 4;
  team.tenant.quota.memory_total = Bytes::gib(64);
  team.used.npus = 2;
  team.used.memory_total = Bytes::gib(80);
  const std::vector<wire::QuotaView> list = {tenant("research", ""), team};
  EXPECT_EQ(render_quota(list, with({.ids = true})), "research\nteam-a\n");
  expect_golden("quota_csv", render_quota(list, with({.csv = true})));
  const std::string left =
      render_quota(list, with({.columns = {"tenant", "dimension", "left"}, .headers = false}));
  EXPECT_NE(left.find("team-a    npus               2\n"), std::string::npos) << left;
  EXPECT_NE(left.find("team-a    memoryTotal   -16GiB\n"), std::string::npos) << left;
}

// Without it a terminal without colours would show escape sequences, or one with colours none.
TEST(Render, ColoursOnlyWhenAsked) {
  EXPECT_EQ(render_status(machine(), canvas()).find('\x1b'), std::string::npos);
  EXPECT_NE(render_status(machine(), {80, true, kNow}).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace tangram::cli
