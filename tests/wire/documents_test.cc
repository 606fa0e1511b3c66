// What good documents mean, and what the answers look like to the letter.
#include <gtest/gtest.h>

#include <string>

#include "wire/schema.h"

namespace tangram::wire {
namespace {

constexpr const char* kTenants = R"(# three tenants
apiVersion: tangram.dev/v1
kind: Tenant
metadata:
  name: org
---
apiVersion: tangram.dev/v1
kind: Tenant
metadata: {name: team-a}
spec:
  parent: org
  uid: 20001
  members: [1000, 1001]
  quota:
    npus: 4
    memoryPerNpu: 32GiB
    memoryTotal: 128GiB
    aiCores: 80
    runningJobs: 3
    runTime: 24h
    priorities: [high, normal]
    bandwidth: 10Gbps
  jobDefaults: {cpus: 1.5, memory: 8GiB, processes: 512}
---
apiVersion: tangram.dev/v1
kind: Job
metadata: {name: train-001, labels: {model: resnet50, version: 1.10}}
spec:
  tenant: team-a
  npus: 2
  command: [sleep, 5, true]
  env: {DEBUG: yes, LEVEL: 3}
  timeLimit: 1h30m
  restart: on-failure:3
  host: {cpus: 2}
)";

// Without it a quota written by the operator could be applied as another one.
TEST(Documents, EveryFieldOfATenantArrives) {
  const auto documents = read_documents(kTenants, Format::kYaml);
  ASSERT_TRUE(documents) << documents.error().to_string();
  ASSERT_EQ(documents->size(), 3U);
  TenantDoc org;
  org.name = "org";
  EXPECT_EQ(std::get<TenantDoc>((*documents)[0].value), org);
  EXPECT_EQ((*documents)[1].where, "document 2 (line 7)");

  TenantDoc team;
  team.name = "team-a";
  team.parent = "org";
  team.uid = 20001;
  team.members = {1000, 1001};
  team.quota.npus = 4;
  team.quota.memory_per_npu = Bytes::gib(32);
  team.quota.memory_total = Bytes::gib(128);
  team.quota.ai_cores = 80;
  team.quota.running_jobs = 3;
  team.quota.run_time_ms = 86'400'000;
  team.quota.priorities.bits = 0b011;
  team.quota.bandwidth_bps = 10'000'000'000;
  team.job_defaults = {1'500, Bytes::gib(8), 512};
  EXPECT_EQ(std::get<TenantDoc>((*documents)[1].value), team);
}

// Without it arguments such as 5, true or 1.10 would be refused or silently rewritten (1.1) in YAML.
TEST(Documents, UnquotedYamlTextsKeepTheirSpelling) {
  const auto documents = read_documents(kTenants, Format::kYaml);
  ASSERT_TRUE(documents) << documents.error().to_string();
  const auto& job = std::get<JobSubmission>((*documents)[2].value);
  EXPECT_EQ(job.name, "train-001");
  EXPECT_EQ(job.labels.at("version"), "1.10");
  EXPECT_EQ(job.command, (std::vector<std::string>{"sleep", "5", "true"}));
  EXPECT_EQ(job.env.at("DEBUG"), "yes");
  EXPECT_EQ(job.time_limit_ms, 5'400'000);
  EXPECT_EQ(job.restart, RestartPolicy::kOnFailure);
  EXPECT_EQ(job.restarts_max, 3);
  EXPECT_EQ(job.host.cpu_milli, 2'000);
}

// Without it small files could not share their repeated parts, which YAML users expect.
TEST(Documents, AliasesAreExpanded) {
  const auto documents = read_documents(
      "apiVersion: tangram.dev/v1\nkind: Tenant\nmetadata: {name: a}\nspec:\n  quota: &q {npus: 3}\n---\n"
      "apiVersion: tangram.dev/v1\nkind: Job\nmetadata: &m {name: b}\nspec: {command: [&x run, *x]}\n",
      Format::kYaml);
  ASSERT_TRUE(documents) << documents.error().to_string();
  EXPECT_EQ(std::get<JobSubmission>((*documents)[1].value).command, (std::vector<std::string>{"run", "run"}));
}

// Without it the names and the order of fields could change, and with them every script that reads them.
TEST(Golden, Submission) {
  JobSubmission job;
  job.tenant = "team-a";
  job.name = "train-001";
  job.npus = 2;
  job.memory = Bytes::gib(16);
  job.bandwidth_bps = 1'000'000'000;
  job.priority = Priority::kHigh;
  job.time_limit_ms = 3'600'000;
  job.no_wait = true;
  job.restart = RestartPolicy::kOnLost;
  job.labels = {{"b", "2"}, {"a", "1"}};
  job.command = {"python3", "train.py"};
  job.env = {{"SEED", "7"}};
  job.workdir = "/data";
  job.host = {500, Bytes::gib(4), 100};
  EXPECT_EQ(write(job),
            R"({"name":"train-001","labels":{"a":"1","b":"2"},"tenant":"team-a","npus":2,"memory":"16GiB",)"
            R"("bandwidth":"1Gbps","priority":"high","timeLimit":"1h","noWait":true,"restart":"on-lost",)"
            R"("command":["python3","train.py"],"env":{"SEED":"7"},"workdir":"/data",)"
            R"("host":{"cpus":0.5,"memory":"4GiB","processes":100}})");
}

JobView sample_job() {
  JobView job;
  job.id = "j-17";
  job.name = "train-017";
  job.tenant = "team-a";
  job.state = JobState::kWaiting;
  job.reason =
      ReasonView{"quota.npus.exceeded", "tenant team-a holds 4 of 4 NPUs", "", {{"used", std::int64_t{4}}}};
  job.position = 3;
  job.npus_requested = 2;
  job.memory_per_npu = Bytes::gib(16);
  job.time_limit_ms = 60'000;
  job.submitted_at = TimeMs(1'796'000'000'123);
  return job;
}

// Without this, a field that clients read could change its spelling unnoticed.
TEST(Golden, JobView) {
  EXPECT_EQ(
      write(sample_job()),
      R"({"id":"j-17","name":"train-017","tenant":"team-a","priority":"normal","state":"waiting",)"
      R"("reason":{"code":"quota.npus.exceeded","message":"tenant team-a holds 4 of 4 NPUs","details":{"used":4}},)"
      R"("position":3,"npusRequested":2,"memoryPerNpu":"16GiB","timeLimit":"1m","restart":"never","attempt":0,)"
      R"("npus":[],"submittedAt":"2026-11-30T00:53:20.123Z"})");
}

// Without this, what an operator copies from an answer into a file could be refused.
TEST(Golden, QuotaViewAndTenant) {
  QuotaView view;
  view.tenant.name = "team-a";
  view.tenant.quota.npus = 4;
  view.used.npus = 2;
  view.used.memory_total = Bytes::gib(64);
  view.queued = 1;
  EXPECT_EQ(
      write(view),
      R"({"tenant":{"name":"team-a","quota":{"npus":4}},"used":{"npus":2,"memoryTotal":"64GiB","aiCores":0,)"
      R"("runningJobs":0,"bandwidth":"0bps"},"queued":1})");
  EXPECT_EQ(
      write(view.tenant),
      R"({"apiVersion":"tangram.dev/v1","kind":"Tenant","metadata":{"name":"team-a"},"spec":{"quota":{"npus":4}}})");
}

// Without it `-o yaml` could print what YAML reads as something else.
TEST(Golden, YamlOfAnAnswer) {
  const auto yaml = to_yaml(write(sample_job()));
  ASSERT_TRUE(yaml);
  EXPECT_EQ(*yaml,
            "id: j-17\n"
            "name: train-017\n"
            "tenant: team-a\n"
            "priority: normal\n"
            "state: waiting\n"
            "reason:\n"
            "  code: quota.npus.exceeded\n"
            "  message: tenant team-a holds 4 of 4 NPUs\n"
            "  details:\n"
            "    used: 4\n"
            "position: 3\n"
            "npusRequested: 2\n"
            "memoryPerNpu: \"16GiB\"\n"
            "timeLimit: \"1m\"\n"
            "restart: never\n"
            "attempt: 0\n"
            "npus: []\n"
            "submittedAt: \"2026-11-30T00:53:20.123Z\"\n");
  EXPECT_EQ(to_yaml(R"({"a":[{"b":1,"c":[]},[2,"no"],"x: y"],"1":null})").value(),
            "a:\n  - b: 1\n    c: []\n  -\n    - 2\n    - \"no\"\n  - \"x: y\"\n\"1\": null\n");
}

// Without this, "-o json" could print something that is not the answer.
TEST(Golden, PrettyJson) {
  EXPECT_EQ(to_pretty_json(R"({"a":[1,{}],"b":"x"})").value(),
            "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": \"x\"\n}\n");
  EXPECT_FALSE(to_yaml("{"));
}

// Without it times of the API would drift by a day or a zone.
TEST(Spelling, Times) {
  EXPECT_EQ(format_time(TimeMs(0)), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(format_time(TimeMs(1'709'164'799'999)), "2024-02-28T23:59:59.999Z");
  EXPECT_EQ(format_time(TimeMs(1'709'164'800'000)), "2024-02-29T00:00:00.000Z");
  EXPECT_EQ(format_time(TimeMs::never()), "9999-12-31T23:59:59.999Z");
  EXPECT_EQ(parse_time("2024-02-29T00:00:00.000Z", "t").value(), TimeMs(1'709'164'800'000));
  EXPECT_EQ(parse_time("2024-02-29T00:00:00Z", "t").value(), TimeMs(1'709'164'800'000));
  for (const char* bad : {"2023-02-29T00:00:00Z", "2024-02-29 00:00:00Z", "2024-02-29T24:00:00Z",
                          "2024-02-29T00:00:00", "2024-13-01T00:00:00Z", "2024-02-29T00:00:00.5Z",
                          "-024-02-29T00:00:00Z", "1969-12-31T23:59:59.999Z", ""}) {
    EXPECT_FALSE(parse_time(bad, "t")) << bad;
  }
}

// Without it the command line and the API would disagree on these words.
TEST(Spelling, WordsOfTheCommandLine) {
  EXPECT_EQ(parse_priority("low", "--priority").value(), Priority::kLow);
  EXPECT_EQ(parse_priority("lwo", "--priority").error().message,
            "--priority must be high, normal or low, not \"lwo\"");
  EXPECT_EQ(parse_job_state("running", "state").value(), JobState::kRunning);
  EXPECT_EQ(parse_cpus("0.5", "cpus").value(), 500);
  EXPECT_EQ(parse_cpus("2", "cpus").value(), 2'000);
  EXPECT_EQ(parse_cpus("1.25", "cpus").value(), 1'250);
  for (const char* bad :
       {"0", "-1", "1.", "1.2345", ".5", "1e3", "", "99999999999999999999", "1000000.001"}) {
    EXPECT_FALSE(parse_cpus(bad, "cpus")) << bad;
  }
  EXPECT_EQ(format_cpus(1), "0.001");
  EXPECT_EQ(format_cpus(1'250), "1.25");
  EXPECT_EQ(format_restart(RestartPolicy::kOnFailure, 3), "on-failure:3");
  for (const char* bad :
       {"on-failure", "on-failure:", "on-failure:-1", "on-failure:+1", "on-failure:1x", "Never", ""}) {
    EXPECT_FALSE(parse_restart(bad, "restart")) << bad;
  }
}

}  // namespace
}  // namespace tangram::wire
