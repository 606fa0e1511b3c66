// `tangram slices`, `fit` and `doctor` as a process: what they ask of a daemon, and how they end.
#include "cli/fake_daemon.h"
#include "wire/errors.h"

namespace tangram::cli {
namespace {

using Machine = FakeDaemon;

net::Response ok(std::string body) {
  return {200, {}, std::move(body)};
}

std::string asked(const net::Request& request, std::string_view name) {
  for (const auto& parameter : request.query) {
    if (parameter.name == name) return parameter.value;
  }
  return "-";
}

// Without it a script could not act upon whether a mix is legal, or another NPU would be asked about.
TEST_F(Machine, SlicesAsksForACutAndEndsByTheAnswer) {
  wire::SlicesView view{"node-1", {{}, {}}};
  view.npus[0].asked = wire::SliceMixView{{"vir01"}, false, {}};
  view.npus[1].asked = wire::SliceMixView{{"vir01"}, true, {}};
  route = [&](const net::Request&) { return ok(wire::write(view)); };
  EXPECT_EQ(tangram({"slices", "3", "--cut", "vir01", "--cut", "vir02"}).code, 0);
  const net::Request request = requests().at(0);
  EXPECT_EQ(request.path, "/v1/slices");
  EXPECT_EQ(asked(request, "npu"), "3");
  EXPECT_EQ(asked(request, "cut"), "vir01");
  view.npus[1].asked->legal = false;
  EXPECT_EQ(tangram({"slices", "--cut", "vir01"}).code, 1);
  EXPECT_EQ(tangram({"slices", "x"}).code, 2);
  EXPECT_EQ(tangram({"slices", "99999999999"}).code, 4);
}

// Without it a script could not tell "now" from "later" and "never".
TEST_F(Machine, FitEndsByTheAnswer) {
  wire::FitView view;
  view.answer = wire::FitAnswer::kNow;
  view.verdict = "it would start now, on NPU 0";
  route = [&](const net::Request&) { return ok(wire::write(view)); };
  const Ended now = tangram({"fit", "--tenant", "team-a", "--slice", "4GiB,2", "--priority", "high"});
  EXPECT_EQ(now.code, 0) << now.err;
  EXPECT_EQ(now.out, "it would start now, on NPU 0\n");
  const net::Request request = requests().at(0);
  EXPECT_EQ(request.path, "/v1/fit");
  EXPECT_EQ(asked(request, "sliceMemory"), "4GiB");
  EXPECT_EQ(asked(request, "sliceAiCores"), "2");
  EXPECT_EQ(asked(request, "npus"), "-");
  EXPECT_EQ(asked(request, "priority"), "high");
  view.answer = wire::FitAnswer::kLater;
  EXPECT_EQ(tangram({"fit", "--npus", "2", "--memory", "8GiB", "--time-limit", "1h"}).code, 1);
  EXPECT_EQ(asked(requests().back(), "npus"), "2");
  EXPECT_EQ(asked(requests().back(), "memory"), "8GiB");
  EXPECT_EQ(asked(requests().back(), "timeLimit"), "1h");
  view.answer = wire::FitAnswer::kNever;
  EXPECT_EQ(tangram({"fit"}).code, 3);
  EXPECT_EQ(tangram({"fit", "--slice", "4GiB", "--npus", "2"}).code, 2);
}

// Without it a monitor would take a machine that nobody watches for one that is well.
TEST_F(Machine, DoctorEndsByWhatWasFoundAndSaysWhenNobodyAnswers) {
  wire::DoctorView view;
  view.node = "node-1";
  route = [&](const net::Request&) { return ok(wire::write(view)); };
  EXPECT_EQ(tangram({"doctor"}).code, 0);
  view.findings = {{wire::Severity::kNotice, "doctor.slices.foreign", "a slice", "", "npu-smi info", 0, 100}};
  EXPECT_EQ(tangram({"doctor"}).code, 1);
  const Ended away = tangram({"--socket", "/nowhere/s", "doctor"});
  EXPECT_EQ(away.code, 6);
  EXPECT_NE(away.out.find("no daemon answers"), std::string::npos) << away.out;
  EXPECT_NE(away.out.find("$ systemctl restart tangram"), std::string::npos) << away.out;
  const Ended json = tangram({"--socket", "/nowhere/s", "doctor", "-o", "json"});
  EXPECT_EQ(json.code, 6);
  const auto told = wire::read_doctor_view(json.out);
  ASSERT_TRUE(told) << json.out;
  EXPECT_EQ(told->findings.at(0).code, "doctor.daemon.away");
}

}  // namespace
}  // namespace tangram::cli
