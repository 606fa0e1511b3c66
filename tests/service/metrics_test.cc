// What a scrape is told: the numbers, and above all what it is not told.
#include "service/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>

#include "service/harness.h"

namespace tangram::service::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A sample's value by "name{label="value",…}", labels in the order of the table; of a histogram its count.
using Samples = std::map<std::string, double>;

Samples samples_of(const std::string& page) {
  Samples samples;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    const auto space = line.rfind(' ');
    std::string name = line.substr(0, space);
    if (name.find("_bucket{le=") != std::string::npos || name.ends_with("_seconds_sum")) continue;
    if (name.ends_with("_seconds_count")) name.resize(name.size() - std::string("_count").size());
    EXPECT_FALSE(samples.contains(name)) << name << " stands twice";
    samples[name] = std::stod(line.substr(space + 1));
  }
  return samples;
}

std::optional<double> value(const Samples& samples, const std::string& name) {
  const auto found = samples.find(name);
  return found == samples.end() ? std::nullopt : std::optional(found->second);
}

constexpr double kGib = 1'073'741'824.0;

class MetricsTest : public ::testing::Test {
 protected:
  std::string page() {
    MetricFamilies families;
    machine.service->add_metrics(families);
    return families.text();
  }
  Samples scrape() { return samples_of(page()); }

  // NPU 0 as the device would show it with these processes.
  void show_processes(std::vector<DeviceProcess> processes) {
    DeviceNpu npu = FakeDevices(1).scan()->npus.front();
    npu.processes = Sample<std::vector<DeviceProcess>>::known(std::move(processes));
    machine.devices.set_npu(npu);
  }
  bool eventually_shows(const std::string& name, std::optional<double> wanted) {
    return eventually([&] { return value(scrape(), name) == wanted; });
  }

  Machine machine;
};

// Without it a dashboard would show 0 °C and 0 bytes for an NPU that nobody could read.
TEST_F(MetricsTest, UnknownIsAbsent) {
  machine.start();
  const Samples samples = scrape();
  EXPECT_EQ(value(samples, R"(tangram_npu_memory_used_bytes{node="node-1",npu="0"})"), kGib);
  for (const char* name : {"tangram_npu_temperature_celsius", "tangram_npu_power_watts",
                           "tangram_npu_ai_core_utilization_ratio"}) {
    for (const auto& [key, ignored] : samples) EXPECT_FALSE(key.starts_with(name)) << key;
  }
  DeviceNpu npu = FakeDevices(1).scan()->npus.front();
  npu.temperature_celsius = Sample<std::int32_t>::known(0);
  npu.power_milliwatt = Sample<std::int32_t>::known(85'500);
  npu.ai_core_percent = Sample<std::int32_t>::known(97);
  machine.devices.set_npu(npu);
  EXPECT_TRUE(eventually_shows(R"(tangram_npu_temperature_celsius{node="node-1",npu="0"})", 0.0));
  EXPECT_TRUE(eventually_shows(R"(tangram_npu_power_watts{node="node-1",npu="0"})", 85.5));
  EXPECT_TRUE(eventually_shows(R"(tangram_npu_ai_core_utilization_ratio{node="node-1",npu="0"})", 0.97));
}

// Without it a driver that went away would look like eight idle NPUs.
TEST_F(MetricsTest, ADriverThatIsAwayIsSeen) {
  machine.start();
  EXPECT_EQ(value(scrape(), "tangram_devices_up"), 1.0);
  machine.devices.set_away(true);
  EXPECT_TRUE(eventually_shows("tangram_devices_up", 0.0));
  EXPECT_TRUE(eventually_shows(R"(tangram_npu_memory_used_bytes{node="node-1",npu="0"})", std::nullopt));
  EXPECT_TRUE(eventually_shows(R"(tangram_npu_health{node="node-1",npu="0",health="unknown"})", 1.0));
  EXPECT_EQ(value(scrape(), R"(tangram_npu_memory_capacity_bytes{node="node-1",npu="0"})"), 32 * kGib);
}

// Without it an alert about an old driver could not be written, or would never end after the upgrade.
TEST_F(MetricsTest, OldDriverIsSeenInMetricAndStatusUntilItIsUpgraded) {
  using Kind = DriverStanding::Kind;
  machine.devices.set_driver("22.0.4", {Kind::kBelow, "driver 22.0.4 is older than 25.5"});
  machine.start();
  EXPECT_EQ(value(scrape(), R"(tangram_driver_supported{node="node-1",driver="22.0.4"})"), 0.0);
  EXPECT_EQ(machine.service->status(kOperator).devices_note, "driver 22.0.4 is older than 25.5");
  EXPECT_TRUE(eventually([&] { return machine.service->status(kOperator).npus_free == 4; }))
      << "it is used all the same";
  machine.devices.set_driver("25.5.1", {Kind::kSupported, ""});
  EXPECT_TRUE(eventually_shows(R"(tangram_driver_supported{node="node-1",driver="25.5.1"})", 1.0));
  EXPECT_EQ(value(scrape(), R"(tangram_driver_supported{node="node-1",driver="22.0.4"})"), std::nullopt);
  EXPECT_EQ(machine.service->status(kOperator).devices_note, "");
  machine.devices.set_driver("", {Kind::kUnknown, "the driver's version is not known"});
  EXPECT_TRUE(eventually_shows(R"(tangram_driver_supported{node="node-1",driver="25.5.1"})", std::nullopt));
  EXPECT_EQ(machine.service->status(kOperator).devices_note, "the driver's version is not known");
}

// Without it a job that holds NPUs and does nothing could not be told from one that works, and memory of a
// stranger's process would be shown as the job's.
TEST_F(MetricsTest, AllocatedAndUsedOfAJobStandApart) {
  machine.start();
  machine.tenant("team-a", 2);
  const std::string job = machine.job("team-a", 1);
  ASSERT_TRUE(machine.reaches(job, JobState::kRunning));
  const std::string labels = R"({tenant="team-a",job_id=")" + job + "\"}";
  EXPECT_EQ(value(scrape(), "tangram_job_memory_allocated_bytes" + labels), 32 * kGib);
  EXPECT_EQ(value(scrape(), "tangram_job_memory_used_bytes" + labels), std::nullopt) << "no process list yet";
  machine.executor->set_owner(71, {job, 1});
  machine.executor->set_owner(72, {"j-999", 1});
  show_processes({{71, Bytes::gib(3)}, {71, Bytes::gib(1)}, {72, Bytes::gib(8)}, {73, Bytes::gib(16)}});
  EXPECT_TRUE(eventually_shows("tangram_job_memory_used_bytes" + labels, 4 * kGib));
  EXPECT_EQ(value(scrape(), R"(tangram_tenant_memory_used_bytes{tenant="team-a"})"), 4 * kGib);
  EXPECT_EQ(value(scrape(), R"(tangram_tenant_npus_used{tenant="team-a"})"), 1.0);
  EXPECT_EQ(value(scrape(), "tangram_npu_lease_info{node=\"node-1\",npu=\"0\",tenant=\"team-a\",job_id=\"" +
                                job + "\"}"),
            1.0);
  const auto status = machine.service->status(kOperator);
  EXPECT_EQ(status.npus.front().memory_used_by_job, Bytes::gib(4));
  show_processes({});
  EXPECT_TRUE(eventually_shows("tangram_job_memory_used_bytes" + labels, 0.0));
  machine.executor->tells_owners = false;
  show_processes({{71, Bytes::gib(3)}});
  EXPECT_TRUE(eventually_shows("tangram_job_memory_used_bytes" + labels, std::nullopt));
  machine.world.finish({job, 1}, Outcome::kSucceeded, 0);
  EXPECT_TRUE(eventually_shows("tangram_job_memory_allocated_bytes" + labels, std::nullopt));
  EXPECT_EQ(value(scrape(), R"(tangram_jobs_ended_total{outcome="succeeded"})"), 1.0);
}

// Without it a tenant's figures would miss those of its children, or an unlimited one would seem to have a
// limit.
TEST_F(MetricsTest, TenantsShowLimitsAndSubtrees) {
  machine.start();
  machine.tenant("team-a", 3);
  machine.tenant("child", 2, ", parent: team-a");
  ASSERT_TRUE(
      machine.apply("apiVersion: tangram.dev/v1\nkind: Tenant\nmetadata: {name: free}\nspec: "
                    "{quota: {bandwidth: 8Gbps, runTime: 90s}}\n"));
  const std::string job = machine.job("child", 2);
  ASSERT_TRUE(machine.reaches(job, JobState::kRunning));
  machine.job("child", 1);
  const Samples samples = scrape();
  EXPECT_EQ(value(samples, R"(tangram_tenant_npus_limit{tenant="team-a"})"), 3.0);
  EXPECT_EQ(value(samples, R"(tangram_tenant_npus_allocated{tenant="team-a"})"), 2.0);
  EXPECT_EQ(value(samples, R"(tangram_tenant_npus_allocated{tenant="child"})"), 2.0);
  EXPECT_EQ(value(samples, R"(tangram_tenant_queued_jobs{tenant="team-a"})"), 1.0);
  EXPECT_EQ(value(samples, R"(tangram_tenant_info{tenant="child",parent="team-a"})"), 1.0);
  EXPECT_EQ(value(samples, R"(tangram_tenant_npus_limit{tenant="free"})"), std::nullopt);
  EXPECT_EQ(value(samples, R"(tangram_tenant_memory_limit_bytes{tenant="free"})"), std::nullopt);
  EXPECT_EQ(value(samples, R"(tangram_tenant_bandwidth_limit_bytes_per_second{tenant="free"})"), 1e9);
  EXPECT_EQ(value(samples, R"(tangram_tenant_run_time_limit_seconds{tenant="free"})"), 90.0);
  EXPECT_EQ(value(samples, R"(tangram_queue_jobs{reason="quota.npus.exceeded"})"), 1.0);
  EXPECT_EQ(value(samples, R"(tangram_queue_jobs{reason="capacity.npus.busy"})"), 0.0);
  EXPECT_EQ(value(samples, R"(tangram_jobs{state="waiting"})"), 1.0);
  EXPECT_EQ(value(samples, R"(tangram_jobs{state="running"})"), 1.0);
}

// Without it a name of the page would never be seen, or one would be exposed that the page does not have.
TEST_F(MetricsTest, EveryNameOfTheTableCanBeSeen) {
  machine.devices.set_driver("25.5.1", {DriverStanding::Kind::kSupported, ""});
  machine.start();
  ASSERT_TRUE(
      machine.apply("apiVersion: tangram.dev/v1\nkind: Tenant\nmetadata: {name: team-a}\nspec: "
                    "{quota: {npus: 2, memoryTotal: 64GiB, memoryPerNpu: 32GiB, aiCores: 40, "
                    "runningJobs: 2, runTime: 24h, bandwidth: 10Gbps}}\n"));
  const std::string job = machine.job("team-a", 1);
  ASSERT_TRUE(machine.reaches(job, JobState::kRunning));
  DeviceNpu npu = FakeDevices(1).scan()->npus.front();
  npu.temperature_celsius = npu.power_milliwatt = npu.ai_core_percent = Sample<std::int32_t>::known(40);
  npu.processes.valid = true;
  machine.devices.set_npu(npu);
  std::set<std::string_view> missing;
  EXPECT_TRUE(eventually([&] {
    missing.clear();
    const std::string seen = page();
    for (const wire::MetricInfo& metric : wire::metrics()) {
      const bool is_the_servers = metric.metric == wire::Metric::kHttpRequests;
      const bool is_seen = seen.find("# TYPE " + std::string(metric.name) + ' ') != std::string::npos;
      if (!is_the_servers && !is_seen) missing.insert(metric.name);
    }
    return missing.empty();
  })) << *missing.begin();
}

// Without it a journal on a full disk would be noticed by its users first.
TEST_F(MetricsTest, AJournalThatFailsIsSeen) {
  machine.start();
  machine.tenant("team-a", 1);
  const Samples before = scrape();
  EXPECT_EQ(value(before, "tangram_journal_up"), 1.0);
  EXPECT_EQ(value(before, "tangram_journal_failures_total"), 0.0);
  EXPECT_GT(value(before, "tangram_journal_records_total"), 0.0);
  EXPECT_EQ(value(before, "tangram_journal_last_sequence"),
            static_cast<double>(machine.store.records().size()));
  EXPECT_GT(value(before, "tangram_command_duration_seconds"), 0.0);
  EXPECT_GT(value(before, "tangram_decision_duration_seconds"), 0.0);
  EXPECT_EQ(value(before, "tangram_journal_append_duration_seconds"),
            value(before, "tangram_journal_sync_duration_seconds"));
  machine.store.set_full(true);
  machine.devices.set_health(0, Health::kAlarm);  // a report, which is kept until it is durable
  EXPECT_TRUE(eventually([&] {
    const Samples now = scrape();
    return value(now, "tangram_journal_up") == 0.0 && value(now, "tangram_journal_failures_total") > 0.0 &&
           value(now, R"(tangram_writer_backlog{kind="report"})") > 0.0 &&
           value(now, "tangram_journal_lag_seconds") > 0.05;
  }));
  machine.store.set_full(false);
  EXPECT_TRUE(eventually_shows("tangram_journal_up", 1.0));
  EXPECT_TRUE(eventually([&] { return value(scrape(), "tangram_journal_lag_seconds") < 0.05; }));
}

// Without it the waiting time of jobs would be measured from the wrong end.
TEST_F(MetricsTest, WaitingTimeIsThatInTheQueue) {
  machine.start();
  machine.tenant("team-a", 1);
  const std::string first = machine.job("team-a", 1);
  ASSERT_TRUE(machine.reaches(first, JobState::kRunning));
  const std::string second = machine.job("team-a", 1);
  machine.clock.advance(20'000);
  machine.world.finish({first, 1}, Outcome::kSucceeded, 0);
  ASSERT_TRUE(machine.reaches(second, JobState::kRunning));
  EXPECT_THAT(page(), HasSubstr("\ntangram_job_wait_duration_seconds_sum 20\n"
                                "tangram_job_wait_duration_seconds_count 2\n"));
}

// Without it ten thousand tenants would make a scrape of a quarter of a million lines.
TEST(MetricsOfManyTenants, AreBounded) {
  State state;
  for (std::uint32_t i = 0; i < 3'000; ++i) {
    state.apply(wire::TenantPutRecord{{TenantId(i), {"t-" + std::to_string(i), "", {}}}, {}}, TimeMs(1));
  }
  wire::JobSubmittedRecord waits;
  waits.input.spec.id = JobId(1);
  waits.input.spec.tenant = TenantId(2'999);
  waits.input.spec.request.npus = 1;
  waits.program.name = "waits";
  state.apply(waits, TimeMs(2));
  const MetricsState taken = metrics_state(state);
  const Options options;
  const DeviceLook look;
  const Meters meters;
  MetricFamilies families;
  add_metrics({options, taken, look, meters, {}, 0, {}, {}}, families);
  const Samples samples = samples_of(families.text());
  EXPECT_EQ(value(samples, "tangram_tenants"), 3'000.0);
  EXPECT_EQ(value(samples, "tangram_tenants_omitted"), 2'000.0);
  EXPECT_EQ(value(samples, R"(tangram_tenant_queued_jobs{tenant="t-2999"})"), 1.0)
      << "it waits for something";
  EXPECT_EQ(value(samples, R"(tangram_tenant_queued_jobs{tenant="t-0"})"), 0.0);
  EXPECT_EQ(value(samples, R"(tangram_tenant_queued_jobs{tenant="t-1500"})"), std::nullopt);
}

// Without it one odd name that a driver gave would make the whole page unreadable, and a number its
// precision.
TEST(MetricFamiliesTest, WriteWhatPrometheusReads) {
  MetricFamilies families;
  families.add(wire::Metric::kNpuInfo, 1.0, {"node \"a\"", "0", "910\\B4", "25.2\nrc1"});
  families.add(wire::Metric::kNpuMemoryCapacity, 68'719'476'735.0, {"n", "0"});
  families.add(wire::Metric::kNpuAiCoreUtilization, 0.1, {"n", "0"});
  families.add(wire::Metric::kNpuTemperature, std::nullopt, {"n", "0"});
  const std::string page = families.text();
  EXPECT_THAT(page, HasSubstr("\ntangram_npu_info{node=\"node \\\"a\\\"\",npu=\"0\",chip=\"910\\\\B4\","
                              "driver=\"25.2\\nrc1\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("{node=\"n\",npu=\"0\"} 68719476735\n"));
  EXPECT_THAT(page, HasSubstr("{node=\"n\",npu=\"0\"} 0.1\n"));
  EXPECT_THAT(page, HasSubstr("# TYPE tangram_npu_info gauge\n"));
  EXPECT_THAT(page, Not(HasSubstr("temperature"))) << "neither samples nor a head";
}

// Without it a histogram's buckets would not add up to its count, or have no end.
TEST(MetricFamiliesTest, WriteHistogramsWithAllTheirBuckets) {
  prometheus::Histogram histogram({0.5, 2});
  histogram.Observe(0.25);
  histogram.Observe(1);
  histogram.Observe(64);
  MetricFamilies families;
  families.add(wire::Metric::kDecisionDuration, histogram);
  EXPECT_THAT(families.text(), HasSubstr("histogram\n"
                                         "tangram_decision_duration_seconds_bucket{le=\"0.5\"} 1\n"
                                         "tangram_decision_duration_seconds_bucket{le=\"2\"} 2\n"
                                         "tangram_decision_duration_seconds_bucket{le=\"+Inf\"} 3\n"
                                         "tangram_decision_duration_seconds_sum 65.25\n"
                                         "tangram_decision_duration_seconds_count 3\n"));
}

}  // namespace
}  // namespace tangram::service::testing
