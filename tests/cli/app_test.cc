#include "cli/app.h"

#include <gtest/gtest.h>

#include <sstream>

namespace tangram::cli {
namespace {

struct Outcome {
  int code = 0;
  std::string out;
  std::string err;
};

// No daemon listens there: what gets as far as a call ends with 6.
Outcome tangram_command(const std::vector<std::string>& arguments, const std::string& input = "") {
  std::istringstream in(input);
  std::ostringstream out;
  std::ostringstream err;
  Streams streams{in, out, err};
  const int code = run(arguments, {{"/nonexistent/tangram.sock", "", "", ""}}, streams);
  return {code, out.str(), err.str()};
}

void expect_usage_error(const std::vector<std::string>& arguments, const std::vector<std::string>& words) {
  const Outcome outcome = tangram_command(arguments);
  EXPECT_EQ(outcome.code, 2) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(outcome.err.starts_with("tangram: ")) << outcome.err;
  for (const std::string& word : words)
    EXPECT_NE(outcome.err.find(word), std::string::npos) << word << "\n" << outcome.err;
}

// Without it a slip in a command or an option would not be exit code 2, or would not say what was meant.
TEST(App, UsageErrorsExitWithTwoAndNameTheWord) {
  expect_usage_error({}, {"needs a command", "submit", "tangram --help"});
  expect_usage_error({"statsu"}, {"'statsu'", "did you mean", "tangram status"});
  expect_usage_error({"tenant", "delte", "x"}, {"'delte'", "tangram tenant delete"});
  expect_usage_error({"tenant"}, {"tangram tenant needs a command", "delete"});
  expect_usage_error({"queue", "--tenat", "a"}, {"'--tenat'", "--tenant"});
  expect_usage_error({"queue", "--tenant"}, {"--tenant"});
  expect_usage_error({"--version"}, {"'--version'", "did you mean: tangram version"});
  expect_usage_error({"queue", "--tenant", ""}, {"--tenant", "must not be empty"});
  expect_usage_error({"wait"}, {"JOB"});
  expect_usage_error({"apply"}, {"--file"});
  expect_usage_error({"status", "surplus"}, {"'surplus'", "tangram status"});
  expect_usage_error({"status", "--", "surplus"}, {"'surplus'"});
  expect_usage_error({"status", "-o", "xml"}, {"--output", "'xml'", "json"});
  expect_usage_error({"submit", "--npus", "two", "--", "x"}, {"--npus", "two"});
  expect_usage_error({"submit", "--npus", "2"}, {"no program", "--"});
  expect_usage_error({"submit", "python3"}, {"'python3'", "behind '--'"});
  expect_usage_error({"queue", "--state", "asleep"}, {"--state", "asleep"});
  expect_usage_error({"queue", "--label", "x"}, {"--label", "x"});
  expect_usage_error({"wait", "j-1", "--timeout", "5"}, {"--timeout", "5"});
  expect_usage_error({"logs", "j-1", "--attempt", "0"}, {"--attempt", "0"});
  expect_usage_error({"apply", "-f", "/nonexistent/t.yaml"}, {"--file", "/nonexistent/t.yaml"});
}

// Without it a daemon that is down would look like bad input, and nobody would know how to name another
// socket.
TEST(App, UnreachableDaemonIsSix) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"status"},
           {"queue", "-o", "json"},
           {"-o", "yaml", "quota", "team-a"},
           {"why", "j-1"},
           {"cancel", "wait"},  // a job may be called like a command
           {"describe", "submit"},
           {"tenant", "delete", "team-a"},
           {"submit", "--label", "a=b", "--label", "c=d", "--", "echo", "--npus", "--", "-x"},
           {"apply", "-f", "-"}}) {
    const Outcome outcome = tangram_command(arguments);
    EXPECT_EQ(outcome.code, 6) << arguments[0] << ": " << outcome.err;
    EXPECT_NE(outcome.err.find("/nonexistent/tangram.sock"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("hint: "), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.out, "");
  }
}

// Without it --socket could lose against the environment.
TEST(App, OptionBeatsEnvironment) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"--socket", "/other.sock", "status"}, {"status", "--socket=/other.sock"}}) {
    const Outcome outcome = tangram_command(arguments);
    EXPECT_EQ(outcome.code, 6);
    EXPECT_NE(outcome.err.find("/other.sock"), std::string::npos) << outcome.err;
  }
}

// Without it one of two daemons that a line names would be asked, and nobody could say which.
TEST(App, ASocketAndAServerContradictEachOther) {
  const Outcome outcome = tangram_command({"status", "--socket", "/s", "--server", "https://h"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("--socket and --server cannot both be given"), std::string::npos) << outcome.err;
}

// Without it a server that is named wrongly in the environment would keep even what needs none from working.
TEST(App, WhatNeedsNoDaemonAsksForNone) {
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  Streams streams{in, out, err};
  EXPECT_EQ(run({"explain", "job.unknown"}, {{"", "ftp://nowhere"}}, streams), 0) << err.str();
  EXPECT_NE(out.str().find("job.unknown"), std::string::npos);
  EXPECT_EQ(run({"status", "--lang", "zh"}, {{"", "ftp://nowhere"}}, streams), 2);
  EXPECT_NE(err.str().find("不是以 https:// 开头"), std::string::npos) << err.str();
}

// Without it `version` would say nothing about the program at hand while the daemon is away.
TEST(App, VersionKnowsItselfWithoutADaemon) {
  const Outcome outcome = tangram_command({"version"});
  EXPECT_EQ(outcome.code, 6);
  EXPECT_NE(outcome.out.find("tangram   "), std::string::npos);
  EXPECT_NE(outcome.out.find("tangramd  -"), std::string::npos);
}

// Without it a file that the service must refuse would first travel there.
TEST(App, ApplyRefusesATooLargeFile) {
  const Outcome outcome = tangram_command({"apply", "-f", "-"}, std::string(10 << 20, '#'));
  EXPECT_EQ(outcome.code, 6);
  EXPECT_NE(outcome.err.find("1MiB"), std::string::npos) << outcome.err;
}

// Without it help would be an error, or would lack the form and an example.
TEST(App, HelpIsDataAndShowsExamples) {
  const Outcome root = tangram_command({"--help"});
  EXPECT_EQ(root.code, 0);
  EXPECT_NE(root.out.find("Exit codes:"), std::string::npos) << root.out;
  EXPECT_EQ(root.err, "");
  const Outcome submit = tangram_command({"submit", "--help"});
  EXPECT_EQ(submit.code, 0);
  EXPECT_NE(submit.out.find("-- PROGRAM"), std::string::npos) << submit.out;
  EXPECT_NE(submit.out.find("Examples:"), std::string::npos);
  for (const char* command :
       {"apply", "wait", "queue", "status", "why", "describe", "logs", "cancel", "quota"}) {
    const Outcome help = tangram_command({command, "--help"});
    EXPECT_EQ(help.code, 0) << command;
    EXPECT_NE(help.out.find("tangram " + std::string(command)), std::string::npos) << help.out;
  }
}

}  // namespace
}  // namespace tangram::cli
