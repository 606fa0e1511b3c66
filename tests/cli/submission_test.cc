#include "cli/submission.h"

#include <gtest/gtest.h>

namespace tangram::cli {
namespace {

SubmitArguments minimal() {
  SubmitArguments arguments;
  arguments.command = {"./train"};
  return arguments;
}

// Without it a default of the command line could differ from that of the API.
TEST(ParseSubmission, LeavesOutWhatIsNotGiven) {
  const auto job = parse_submission(minimal());
  ASSERT_TRUE(job) << job.error().to_string();
  wire::JobSubmission expected;
  expected.command = {"./train"};
  EXPECT_EQ(*job, expected);
}

// Without it a program would silently be given other bytes than those that were typed.
TEST(ParseSubmission, RefusesWhatJsonCannotCarry) {
  std::vector<SubmitArguments> all(3, minimal());
  all[0].command.emplace_back("\xff");
  all[1].env = {"A=\xff\xfe"};
  all[2].workdir = "/tmp/\xff";
  for (const SubmitArguments& arguments : all) {
    const auto job = parse_submission(arguments);
    ASSERT_FALSE(job);
    EXPECT_NE(job.error().message.find("UTF-8"), std::string::npos) << job.error().to_string();
  }
}

// Without it a slice could be read as something else, or be asked for together with what contradicts it.
TEST(ParseSubmission, ReadsSlices) {
  SubmitArguments arguments;
  arguments.command = {"true"};
  arguments.slice = "4GiB";
  EXPECT_EQ(parse_submission(arguments)->slice, (wire::SliceRequest{Bytes::gib(4), 0}));
  arguments.slice = "7000MiB,2";
  EXPECT_EQ(parse_submission(arguments)->slice, (wire::SliceRequest{Bytes::mib(7000), 2}));
  for (const char* wrong :
       {"0GiB", "0", "-1GiB", "vir04", "4GiB,", "4GiB,0", "4GiB,two", "4GiB,2,3", ",2", "4GiB,1000001"}) {
    arguments.slice = wrong;
    const auto job = parse_submission(arguments);
    ASSERT_FALSE(job) << wrong;
    EXPECT_NE(job.error().message.find("--slice"), std::string::npos) << job.error().message;
  }
  arguments.slice = "4GiB";
  arguments.npus = "1";
  EXPECT_EQ(parse_submission(arguments).error().message, "--slice '4GiB': cannot stand beside --npus");
  arguments.npus.clear();
  arguments.command.clear();
  arguments.memory = "4GiB";
  EXPECT_EQ(parse_lease(arguments).error().message, "--slice '4GiB': cannot stand beside --memory");
  arguments.memory.clear();
  arguments.share = "half";
  EXPECT_EQ(parse_lease(arguments).error().message, "--slice '4GiB': cannot stand beside --share");
}

// Without it a size that no machine has would be refused in bytes, by somebody far away.
TEST(ParseSubmission, SaysWhichSizesThereAre) {
  SubmitArguments arguments = minimal();
  arguments.slice = "300TiB";
  const auto slice = parse_submission(arguments);
  ASSERT_FALSE(slice);
  EXPECT_EQ(slice.error().message, "--slice '300TiB': is more than any NPU has");
  EXPECT_EQ(slice.error().hint, "write a size of at most 256TiB, for example --slice 4GiB");
  arguments.slice = "256TiB";
  EXPECT_TRUE(parse_submission(arguments));
  arguments.slice.clear();
  arguments.memory = "300TiB";
  EXPECT_EQ(parse_submission(arguments).error().message, "--memory '300TiB': is more than any NPU has");
}

// Without it a program beside a lease would run on the whole NPU, though a slice was asked for.
TEST(ParseLease, AProgramGoesWithNoSlice) {
  SubmitArguments arguments;
  arguments.slice = "4GiB";
  EXPECT_TRUE(parse_lease(arguments));
  arguments.command = {"python3"};
  const auto refused = parse_lease(arguments);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "cli.option.invalid");
  EXPECT_NE(refused.error().message.find("cannot stand beside a program"), std::string::npos);
  EXPECT_NE(refused.error().hint.find("tangram submit --slice"), std::string::npos);
  arguments.slice.clear();
  EXPECT_TRUE(parse_lease(arguments));
}

// Without it an option could be read into the wrong field, or with the wrong unit.
TEST(ParseSubmission, ReadsEveryOption) {
  SubmitArguments arguments;
  arguments.tenant = "team-a";
  arguments.name = "train-001";
  arguments.npus = "2";
  arguments.memory = "16GiB";
  arguments.share = "50%";
  arguments.bandwidth = "1Gbps";
  arguments.priority = "high";
  arguments.time_limit = "1h30m";
  arguments.restart = "on-failure:3";
  arguments.workdir = "/srv/train";
  arguments.host_cpus = "0.5";
  arguments.host_memory = "8GiB";
  arguments.host_processes = "100";
  arguments.labels = {"model=bert", "note=a=b"};
  arguments.env = {"BATCH=32", "EMPTY="};
  arguments.no_wait = true;
  arguments.command = {"python3", "train.py", "--", "-x"};
  const auto job = parse_submission(arguments);
  ASSERT_TRUE(job) << job.error().to_string();
  EXPECT_EQ(job->tenant, "team-a");
  EXPECT_EQ(job->name, "train-001");
  EXPECT_EQ(job->npus, 2);
  EXPECT_EQ(job->memory, Bytes::gib(16));
  EXPECT_EQ(job->share, "50%");
  EXPECT_EQ(job->bandwidth_bps, 1'000'000'000);
  EXPECT_EQ(job->priority, Priority::kHigh);
  EXPECT_EQ(job->time_limit_ms, 5'400'000);
  EXPECT_EQ(job->restart, RestartPolicy::kOnFailure);
  EXPECT_EQ(job->restarts_max, 3);
  EXPECT_EQ(job->workdir, "/srv/train");
  EXPECT_EQ(job->host.cpu_milli, 500);
  EXPECT_EQ(job->host.memory, Bytes::gib(8));
  EXPECT_EQ(job->host.processes, 100);
  EXPECT_EQ(job->labels, (std::map<std::string, std::string>{{"model", "bert"}, {"note", "a=b"}}));
  EXPECT_EQ(job->env, (std::map<std::string, std::string>{{"BATCH", "32"}, {"EMPTY", ""}}));
  EXPECT_TRUE(job->no_wait);
  EXPECT_EQ(job->command, arguments.command);
}

struct BadCase {
  const char* what;
  void (*spoil)(SubmitArguments&);
  const char* option;
  const char* value;
};

class BadSubmission : public testing::TestWithParam<BadCase> {};

// Without it a bad value would be passed on, or refused without saying where and what would be right.
TEST_P(BadSubmission, NamesOptionValueAndRemedy) {
  SubmitArguments arguments = minimal();
  GetParam().spoil(arguments);
  const auto job = parse_submission(arguments);
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().code, Code::kInvalidArgument);
  EXPECT_NE(job.error().message.find(GetParam().option), std::string::npos) << job.error().message;
  EXPECT_NE(job.error().message.find(GetParam().value), std::string::npos) << job.error().message;
  const bool says_what_is_right =
      !job.error().hint.empty() || job.error().message.find("must be") != std::string::npos;
  EXPECT_TRUE(says_what_is_right) << job.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    All, BadSubmission,
    testing::Values(
        BadCase{"word", [](SubmitArguments& a) { a.npus = "two"; }, "--npus", "two"},
        BadCase{"zero", [](SubmitArguments& a) { a.npus = "0"; }, "--npus", "0"},
        BadCase{"negative", [](SubmitArguments& a) { a.npus = "-1"; }, "--npus", "-1"},
        BadCase{"fraction", [](SubmitArguments& a) { a.npus = "1.5"; }, "--npus", "1.5"},
        BadCase{"space", [](SubmitArguments& a) { a.npus = " 1"; }, "--npus", " 1"},
        BadCase{"overflow", [](SubmitArguments& a) { a.npus = "99999999999999999999"; }, "--npus", "9999"},
        BadCase{"inexact", [](SubmitArguments& a) { a.npus = "9223372036854775807"; }, "--npus", "9223"},
        BadCase{"memory_unit", [](SubmitArguments& a) { a.memory = "16"; }, "--memory", "16"},
        BadCase{"memory_zero", [](SubmitArguments& a) { a.memory = "0GiB"; }, "--memory", "0GiB"},
        BadCase{"memory_word", [](SubmitArguments& a) { a.memory = "lots"; }, "--memory", "lots"},
        BadCase{"bandwidth", [](SubmitArguments& a) { a.bandwidth = "10GB"; }, "--bandwidth", "10GB"},
        BadCase{"priority", [](SubmitArguments& a) { a.priority = "urgent"; }, "--priority", "urgent"},
        BadCase{"time_unit", [](SubmitArguments& a) { a.time_limit = "60"; }, "--time-limit", "60"},
        BadCase{"time_zero", [](SubmitArguments& a) { a.time_limit = "0s"; }, "--time-limit", "0s"},
        BadCase{"restart", [](SubmitArguments& a) { a.restart = "always"; }, "--restart", "always"},
        BadCase{"restart_open", [](SubmitArguments& a) { a.restart = "on-failure"; }, "--restart",
                "on-failure"},
        BadCase{"restart_negative", [](SubmitArguments& a) { a.restart = "on-failure:-1"; }, "--restart",
                ":-1"},
        BadCase{"label", [](SubmitArguments& a) { a.labels = {"model"}; }, "--label", "model"},
        BadCase{"label_empty", [](SubmitArguments& a) { a.labels = {"=x"}; }, "--label", "=x"},
        BadCase{"label_twice", [](SubmitArguments& a) { a.labels = {"k=1", "k=2"}; }, "--label", "k"},
        BadCase{"env", [](SubmitArguments& a) { a.env = {"BATCH"}; }, "--env", "BATCH"},
        BadCase{"env_name", [](SubmitArguments& a) { a.env = {"1A=x"}; }, "--env", "1A"},
        BadCase{"env_twice", [](SubmitArguments& a) { a.env = {"A=1", "A=1"}; }, "--env", "A"},
        BadCase{"workdir", [](SubmitArguments& a) { a.workdir = "train"; }, "--workdir", "train"},
        BadCase{"cpus", [](SubmitArguments& a) { a.host_cpus = "many"; }, "--host-cpus", "many"},
        BadCase{"host_memory", [](SubmitArguments& a) { a.host_memory = "8"; }, "--host-memory", "8"},
        BadCase{"processes", [](SubmitArguments& a) { a.host_processes = "0"; }, "--host-processes", "0"}),
    [](const testing::TestParamInfo<BadCase>& bad) { return std::string(bad.param.what); });

// Without it a secret in the environment could end up in a terminal's history or a CI log.
TEST(ParseSubmission, NeverShowsTheValueOfAnEnvironmentVariable) {
  SubmitArguments arguments = minimal();
  arguments.env = {"TOKEN=geheim", "TOKEN=geheim"};
  const auto twice = parse_submission(arguments);
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().to_string().find("geheim"), std::string::npos);
  arguments.env = {"BAD NAME=geheim"};
  const auto name = parse_submission(arguments);
  ASSERT_FALSE(name);
  EXPECT_EQ(name.error().to_string().find("geheim"), std::string::npos);
}

// Without it "tangram submit --npus 1" would end in an answer of the service that speaks of JSON.
TEST(ParseSubmission, WantsAProgram) {
  const auto job = parse_submission({});
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().code, Code::kInvalidArgument);
  EXPECT_NE(job.error().hint.find("-- "), std::string::npos);
}

}  // namespace
}  // namespace tangram::cli
