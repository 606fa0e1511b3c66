#include <atomic>
#include <chrono>
#include <fstream>

#include "cli/fake_daemon.h"
#include "net/base64.h"
#include "wire/errors.h"
#include "wire/schema.h"

namespace tangram::cli {
namespace {

using Commands = FakeDaemon;

wire::JobView job(const std::string& id, JobState state) {
  wire::JobView view;
  view.id = id;
  view.name = "train-001";
  view.tenant = "team-a";
  view.state = state;
  view.attempt = state == JobState::kRunning || state == JobState::kEnded ? 1 : 0;
  return view;
}

wire::JobView ended(const std::string& id, Outcome outcome, std::optional<std::int64_t> exit_status = {}) {
  wire::JobView view = job(id, JobState::kEnded);
  view.outcome = outcome;
  view.exit_status = exit_status;
  return view;
}

net::Response ok(std::string body) {
  return {200, {}, std::move(body)};
}

net::Response problem(Code code, const std::string& reason, const std::string& message) {
  const Error error{code, reason, message, "do this", {}, nullptr};
  return {wire::http_status(error), {}, wire::write_problem(error)};
}

// Without it whoever has a token would be told of headers, and not of the option that takes it.
TEST_F(Commands, SaysHowATokenIsGiven) {
  route = [](const net::Request&) {
    return problem(Code::kUnauthenticated, "token.missing", "the request carries no token");
  };
  const Ended done = tangram({"status"});
  EXPECT_EQ(done.code, 5);
  EXPECT_NE(done.err.find("give one with --token-file or TANGRAM_TOKEN"), std::string::npos) << done.err;
  EXPECT_EQ(done.err.find("do this"), std::string::npos) << done.err;
}

// Without it a script could not take the id from standard output, or would not see why the job waits.
TEST_F(Commands, SubmitPrintsTheIdAndSaysTheState) {
  route = [](const net::Request&) {
    wire::JobView view = job("j-17", JobState::kWaiting);
    view.reason = wire::ReasonView{"quota.npus.exceeded", "tenant team-a holds 4 of 4 NPUs", "", {}};
    return ok(wire::write(view));
  };
  const Ended done = tangram({"submit", "--tenant", "team-a", "--", "./train"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out, "j-17\n");
  EXPECT_EQ(done.err, "job train-001 (j-17) is waiting: tenant team-a holds 4 of 4 NPUs\n");
  ASSERT_EQ(requests().size(), 1U);
  const auto sent = wire::read_job_submission(requests()[0].body);
  ASSERT_TRUE(sent) << sent.error().to_string();
  EXPECT_EQ(sent->command, std::vector<std::string>{(std::filesystem::current_path() / "train").string()});
  EXPECT_TRUE(requests()[0].headers.get("Idempotency-Key").value_or("").starts_with("cli-"));
}

// Without it nobody would learn from the answer that a program finds less memory than was asked for.
TEST_F(Commands, SubmitSaysWhatIsGranted) {
  route = [](const net::Request&) {
    wire::JobView view = job("j-17", JobState::kStarting);
    view.npus = {0};
    view.granted =
        "vir02: 2 AI cores, 6GiB nominal, 5381MiB for the program; the smallest template that holds 4GiB";
    return ok(wire::write(view));
  };
  const Ended done = tangram({"submit", "--tenant", "team-a", "--slice", "4GiB", "--", "./train"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out, "j-17\n");
  EXPECT_EQ(
      done.err,
      "job train-001 (j-17) is starting on NPU 0\n"
      "granted: vir02: 2 AI cores, 6GiB nominal, 5381MiB for the program; the smallest template that holds "
      "4GiB\n");
  const Ended dashes = tangram({"submit", "--tenant", "team-a", "--slice", "--", "gemm"});
  EXPECT_EQ(dashes.code, 2);
  EXPECT_EQ(dashes.err,
            "tangram: --slice needs a value\n  hint: write --slice MEMORY[,CORES] in front of '--'\n");
}

// Without it a program below the job's own directory or on the job's own PATH could not be named.
TEST_F(Commands, SubmitLeavesTheProgramToTheJobWhereItIsToldTo) {
  route = [](const net::Request&) { return ok(wire::write(job("j-17", JobState::kWaiting))); };
  EXPECT_EQ(tangram({"submit", "--workdir", "/srv/work", "--", "./train"}).code, 0);
  EXPECT_EQ(tangram({"submit", "--env", "PATH=/opt/bin", "--", "sh"}).code, 0);
  ASSERT_EQ(requests().size(), 2U);
  const auto below = wire::read_job_submission(requests()[0].body);
  const auto bare = wire::read_job_submission(requests()[1].body);
  ASSERT_TRUE(below && bare);
  EXPECT_EQ(below->command, std::vector<std::string>{"./train"});
  EXPECT_EQ(bare->command, std::vector<std::string>{"sh"});
}

// Without it `submit --wait` would hide how the job ended.
TEST_F(Commands, SubmitWaitEndsAsTheJobDid) {
  std::atomic<int> waits = 0;
  route = [&](const net::Request& request) {
    if (request.segments.back() != "wait") return ok(wire::write(job("j-17", JobState::kRunning)));
    return ok(
        wire::write(++waits < 3 ? job("j-17", JobState::kRunning) : ended("j-17", Outcome::kFailed, 42)));
  };
  const Ended done = tangram({"submit", "--wait", "--idempotency-key", "k", "--", "./train"});
  EXPECT_EQ(done.code, 42);
  EXPECT_EQ(done.out, "j-17\n");
  EXPECT_NE(done.err.find("has failed: exited with status 42"), std::string::npos) << done.err;
  EXPECT_EQ(waits, 3);
  EXPECT_EQ(requests()[0].headers.get("Idempotency-Key"), "k");
  waits = 2;
  const Ended json = tangram({"submit", "--wait", "-o", "json", "--", "./train"});
  EXPECT_EQ(json.code, 42);
  EXPECT_EQ(json.err, "");
  const auto view = wire::read_job_view(json.out);
  ASSERT_TRUE(view) << json.out;
  EXPECT_EQ(view->state, JobState::kEnded);
}

// Without it a refusal by quota, by busy NPUs and by a wrong name could not be told apart by a script.
TEST_F(Commands, EveryRefusalHasItsExitCode) {
  const std::vector<std::pair<Code, int>> table = {{Code::kInvalidArgument, 2}, {Code::kPolicyRefused, 3},
                                                   {Code::kNotNow, 1},          {Code::kNotFound, 4},
                                                   {Code::kUnauthenticated, 5}, {Code::kUnavailable, 6},
                                                   {Code::kAlreadyExists, 7},   {Code::kInternal, 6}};
  for (const auto& [code, exit_code] : table) {
    route = [wanted = code](const net::Request&) { return problem(wanted, "some.reason", "some sentence"); };
    const Ended done = tangram({"submit", "--no-wait", "--", "./train"});
    EXPECT_EQ(done.code, exit_code) << to_string(code);
    EXPECT_EQ(done.out, "");
    EXPECT_EQ(done.err, "tangram: some sentence\n  hint: do this\n");
  }
}

// Without it a job that --no-wait refused would look like one that was accepted.
TEST_F(Commands, AJobRefusedAtOnceIsANo) {
  route = [](const net::Request&) {
    wire::JobView view = ended("j-17", Outcome::kRefused);
    view.reason = wire::ReasonView{"capacity.npus.busy", "0 of 8 NPUs are free", "", {}};
    return ok(wire::write(view));
  };
  const Ended done = tangram({"submit", "--no-wait", "--wait", "--", "./train"});
  EXPECT_EQ(done.code, 1);
  EXPECT_NE(done.err.find("0 of 8 NPUs are free"), std::string::npos) << done.err;
}

// Without it `wait` could follow a name to another job, or report a failed one as good.
TEST_F(Commands, WaitAsksByIdAndEndsWithTheFirstBadStatus) {
  route = [](const net::Request& request) {
    const bool waiting = request.segments.back() == "wait";
    const std::string name = request.segments[2];
    if (name == "good" || name == "j-1") return ok(wire::write(ended("j-1", Outcome::kSucceeded, 0)));
    if (!waiting) return ok(wire::write(job("j-2", JobState::kRunning)));
    return ok(wire::write(ended("j-2", Outcome::kFailed, 3)));
  };
  const Ended done = tangram({"wait", "good", "bad"});
  EXPECT_EQ(done.code, 3);
  EXPECT_EQ(done.out,
            "job train-001 (j-1) has succeeded\njob train-001 (j-2) has failed: exited with status 3\n");
  EXPECT_EQ(requests().back().path, "/v1/jobs/j-2/wait");
  EXPECT_EQ(tangram({"wait", "good"}).code, 0);
}

// Without it a wait could not be bounded.
TEST_F(Commands, WaitGivesUpAfterItsTimeout) {
  route = [](const net::Request&) { return ok(wire::write(job("j-1", JobState::kRunning))); };
  const Ended done = tangram({"wait", "j-1", "--timeout", "1ms"});
  EXPECT_EQ(done.code, 1);
  EXPECT_EQ(done.out, "job train-001 (j-1) is running\n");
}

net::Response for_a_while(Code code, const std::string& reason, const std::string& message,
                          const std::string& seconds) {
  net::Response response = problem(code, reason, message);
  response.headers.set("Retry-After", seconds);
  return response;
}

// Without it a tenant that is above its rate for a moment, or a daemon that is full for one, would end a wait
// of days, and a script would take the job for a failed one.
TEST_F(Commands, WaitGoesOnThroughRefusalsThatPass) {
  std::atomic<int> waits = 0;
  route = [&](const net::Request& request) {
    if (request.segments.back() != "wait") return ok(wire::write(job("j-17", JobState::kRunning)));
    switch (++waits) {
      case 1:
        return for_a_while(Code::kResourceExhausted, "rate.exceeded", "team-a asks too often", "1");
      case 2:
        return for_a_while(Code::kUnavailable, "http.connections.exceeded", "too many", "0");
      case 3:
        return ok(wire::write(job("j-17", JobState::kRunning)));
      case 4:
        return for_a_while(Code::kResourceExhausted, "rate.exceeded", "team-a asks too often", "0");
      default:
        return ok(wire::write(ended("j-17", Outcome::kSucceeded, 0)));
    }
  };
  const auto started = std::chrono::steady_clock::now();
  const Ended done = tangram({"wait", "train-001"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.err, "tangramd asks for patience: team-a asks too often; trying again\n");
  EXPECT_GE(std::chrono::steady_clock::now() - started, std::chrono::milliseconds(1'400));
  EXPECT_EQ(waits, 5);
  waits = 3;
  const Ended submitted = tangram({"submit", "--wait", "--", "./train"});
  EXPECT_EQ(submitted.code, 0) << submitted.err;
  EXPECT_EQ(waits, 5);
}

// Without it a command would sit there for a refusal that it met at once, or `wait --timeout` overstay its
// time.
TEST_F(Commands, RefusalsAreNotWaitedForInVain) {
  route = [](const net::Request&) {
    return for_a_while(Code::kResourceExhausted, "rate.exceeded", "team-a asks too often", "30");
  };
  const auto started = std::chrono::steady_clock::now();
  EXPECT_EQ(tangram({"wait", "j-1"}).code, 6);
  EXPECT_EQ(tangram({"submit", "--wait", "--", "./train"}).code, 6);
  EXPECT_EQ(tangram({"logs", "-f", "j-1"}).code, 6);
  EXPECT_EQ(tangram({"events", "-f"}).code, 6);
  EXPECT_EQ(tangram({"queue", "--watch"}).code, 6);
  EXPECT_EQ(requests().size(), 5U);
  route = [](const net::Request& request) {
    if (request.segments.back() != "wait") return ok(wire::write(job("j-1", JobState::kRunning)));
    return for_a_while(Code::kResourceExhausted, "rate.exceeded", "team-a asks too often", "30");
  };
  EXPECT_EQ(tangram({"wait", "j-1", "--timeout", "500ms"}).code, 6);
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(10));
}

// Without it `logs -f` would end at a moment in which its tenant asks too much, or in which the seat of its
// broken stream is not free yet.
TEST_F(Commands, FollowGoesOnThroughRefusalsThatPass) {
  std::atomic<int> looks = 0;
  std::atomic<int> streams = 0;
  route = [&](const net::Request& request) {
    if (request.segments.back() != "logs") {
      if (++looks == 2) return for_a_while(Code::kResourceExhausted, "rate.exceeded", "too fast", "0");
      return ok(wire::write(ended("j-1", Outcome::kSucceeded, 0)));
    }
    const std::string offset(request.query.get("offset").value_or("0"));
    switch (++streams) {
      case 1:
        return for_a_while(Code::kResourceExhausted, "http.connections.share_exceeded", "no seat", "0");
      case 2:
        return ok("id: 2\ndata: " + net::encode_base64("a\n") + "\n\n");
      case 3:
        return for_a_while(Code::kUnavailable, "service.stopping", "it stops", "0");
      default:
        return ok("id: 9\ndata: " + net::encode_base64("from " + offset + "\n") +
                  "\n\nevent: end\ndata:\n\n");
    }
  };
  const Ended done = tangram({"logs", "-f", "j-1"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out, "a\nfrom 2\n");
}

// Without it `logs -f` would stop at the first restart, or miss the beginning.
TEST_F(Commands, FollowGoesOnThroughEveryAttempt) {
  std::atomic<int> looks = 0;
  route = [&](const net::Request& request) {
    if (request.segments.back() == "logs") {
      const std::string attempt(request.query.get("attempt").value_or("?"));
      return ok("id: 10\ndata: " + net::encode_base64("attempt " + attempt + "\n") +
                "\n\nevent: end\ndata:\n\n");
    }
    wire::JobView view = job("j-1", JobState::kRunning);
    switch (++looks) {
      case 1:
      case 2:
        view.state = JobState::kWaiting;
        view.attempt = 0;
        break;
      case 3:
        view.attempt = 1;
        break;
      case 4:
        view.state = JobState::kReady;
        view.attempt = 1;
        break;
      case 5:
        view.state = JobState::kStarting;
        view.attempt = 2;
        break;
      default:
        view = ended("j-1", Outcome::kSucceeded, 0);
        view.attempt = 2;
    }
    return ok(wire::write(view));
  };
  const Ended done = tangram({"logs", "-f", "train-001"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out, "attempt 1\nattempt 2\n");
  EXPECT_NE(done.err.find("has succeeded"), std::string::npos);
}

// Without it one unknown job in the list would leave the others running.
TEST_F(Commands, CancelGoesOnAfterAnError) {
  route = [](const net::Request& request) {
    if (request.segments[2] == "x") return problem(Code::kNotFound, "job.unknown", "there is no job x");
    return ok(wire::write(job(request.segments[2], JobState::kRunning)));
  };
  const Ended done = tangram({"cancel", "x", "j-2"});
  EXPECT_EQ(done.code, 4);
  EXPECT_EQ(done.out, "job train-001 (j-2) is being stopped\n");
  EXPECT_NE(done.err.find("there is no job x"), std::string::npos);
}

// Without it `quota TENANT` would show the teams of others, or leave out the tenant's own children.
TEST_F(Commands, QuotaShowsTheTenantAndItsSubtree) {
  const auto tenant = [](const std::string& name, const std::string& parent) {
    wire::QuotaView view;
    view.tenant.name = name;
    view.tenant.parent = parent;
    return view;
  };
  route = [&](const net::Request& request) {
    if (request.segments.size() == 3) return ok(wire::write(tenant("mid", "top")));
    return ok(wire::write(wire::QuotaList{
        {tenant("leaf", "mid"), tenant("mid", "top"), tenant("top", ""), tenant("other", "top")}}));
  };
  const Ended done = tangram({"quota", "mid"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_NE(done.out.find("\nmid "), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("\n  leaf "), std::string::npos) << done.out;
  EXPECT_EQ(done.out.find("other"), std::string::npos) << done.out;
}

// Without it -o json and -o yaml could print a table, or something that no parser takes.
TEST_F(Commands, QueueAnswersAsJsonAndYaml) {
  route = [](const net::Request&) {
    return ok(wire::write(wire::JobList{{job("j-1", JobState::kRunning)}, ""}));
  };
  const Ended json = tangram({"queue", "-o", "json", "--all", "--label", "a=b", "--state", "running"});
  EXPECT_EQ(json.code, 0) << json.err;
  const auto list = wire::read_job_list(json.out);
  ASSERT_TRUE(list) << json.out;
  EXPECT_EQ(list->items.size(), 1U);
  EXPECT_EQ(requests().size(), 1U) << "the status is asked for only by the table";
  const Ended yaml = tangram({"queue", "-o", "yaml"});
  EXPECT_NE(yaml.out.find("id: j-1"), std::string::npos) << yaml.out;
}

// Without it an error in a file would not say in which one, or a JSON file be read as YAML.
TEST_F(Commands, ApplyNamesTheFileAndItsKind) {
  route = [](const net::Request&) {
    return problem(Code::kInvalidArgument, "input.unknown_field", "line 3: spec.quota.npu is unknown");
  };
  const std::string path = std::string(::testing::TempDir()) + "tangram-apply-test.json";
  {
    std::ofstream(path) << " {\"items\":[]}";
  }
  const Ended done = tangram({"apply", "-f", path});
  std::filesystem::remove(path);
  EXPECT_EQ(done.code, 2);
  EXPECT_NE(done.err.find(path + ": line 3: spec.quota.npu is unknown"), std::string::npos) << done.err;
  EXPECT_EQ(requests()[0].headers.get("Content-Type"), "application/json");
  tangram({"apply", "-f", "-"}, "kind: Tenant\n");
  EXPECT_EQ(requests()[1].headers.get("Content-Type"), "application/yaml");
  tangram({"apply", "-f", "-"}, "{kind: Tenant}\n");
  EXPECT_EQ(requests()[2].headers.get("Content-Type"), "application/yaml");
}

// Without it somebody who mistypes a name would have to look it up in a list.
TEST_F(Commands, SuggestsTheNameThatWasMeant) {
  route = [](const net::Request& request) {
    const bool listing = request.segments.size() == 2;
    if (listing && request.segments[1] == "jobs")
      return ok(wire::write(wire::JobList{{job("j-17", JobState::kRunning)}, ""}));
    if (listing) {
      wire::QuotaView tenant;
      tenant.tenant.name = "team-a";
      return ok(wire::write(wire::QuotaList{{tenant}}));
    }
    const std::string& name = request.segments[2];
    const bool about_job = request.segments[1] == "jobs";
    const Error error{Code::kNotFound,
                      about_job ? "job.unknown" : "tenant.unknown",
                      "no " + name,
                      "",
                      {{about_job ? "job" : "tenant", name}},
                      nullptr};
    return net::Response{404, {}, wire::write_problem(error)};
  };
  EXPECT_NE(tangram({"why", "trian-001"}).err.find("did you mean: train-001"), std::string::npos);
  EXPECT_NE(tangram({"logs", "team-a/train-01"}).err.find("did you mean: team-a/train-001"),
            std::string::npos);
  EXPECT_NE(tangram({"quota", "taem-a"}).err.find("did you mean: team-a"), std::string::npos);
  EXPECT_NE(tangram({"quota", "taem-a", "--lang", "zh"}).err.find("您是不是要：team-a"), std::string::npos);
  // The neighbour of an id is another job.
  EXPECT_EQ(tangram({"why", "j-18"}).err.find("did you mean"), std::string::npos);
  EXPECT_EQ(tangram({"why", "something-else"}).err.find("did you mean"), std::string::npos);
  EXPECT_EQ(tangram({"why", "trian-001"}).code, wire::kExitNotFound);
}

// Without it the daemon would answer in another language than the command.
TEST_F(Commands, AsksForItsLanguage) {
  route = [](const net::Request&) { return ok(wire::write(wire::StatusView{})); };
  tangram({"status"});
  tangram({"status", "--lang", "zh"});
  tangram({"status", "--lang=zh", "--no-headers"});
  ASSERT_EQ(requests().size(), 3U);
  EXPECT_EQ(requests()[0].headers.get("Accept-Language"), "en");
  EXPECT_EQ(requests()[1].headers.get("Accept-Language"), "zh");
  EXPECT_EQ(requests()[2].headers.get("Accept-Language"), "zh") << "errors are for people";
}

// Without it the options of tables could be refused, or silently do nothing.
TEST_F(Commands, TablesTakeTheirOptions) {
  route = [](const net::Request& request) {
    if (request.segments.back() == "status") return ok(wire::write(wire::StatusView{}));
    return ok(
        wire::write(wire::JobList{{job("j-17", JobState::kRunning), job("j-18", JobState::kWaiting)}, ""}));
  };
  EXPECT_EQ(tangram({"queue", "-q"}).out, "j-17\nj-18\n");
  EXPECT_EQ(tangram({"queue", "--columns", "state,job"}).out, "STATE    JOB\nrunning  j-17\nwaiting  j-18\n");
  EXPECT_EQ(tangram({"queue", "--columns=job", "--no-headers"}).out, "j-17\nj-18\n");
  EXPECT_EQ(tangram({"queue", "-o", "csv", "--columns", "job,npus"}).out, "job,npus\nj-17,1\nj-18,1\n");
  EXPECT_NE(tangram({"queue", "-o", "wide"}).out.find("MESSAGE"), std::string::npos);
  EXPECT_EQ(tangram({"queue", "--columns", "state", "--lang", "zh"}).out, "状态\n运行中\n等待\n");
  EXPECT_EQ(tangram({"queue", "--columns", "state", "--no-headers", "--lang", "zh"}).out,
            "running\nwaiting\n")
      << "programs read the same words in every language";
}

// Without it contradictions would be resolved by guessing, after a call that was for nothing.
TEST_F(Commands, TablesRefuseWhatContradictsItself) {
  route = [](const net::Request&) { return ok(wire::write(wire::StatusView{})); };
  const auto refusal = [&](const std::vector<std::string>& words) {
    const Ended done = tangram(words);
    EXPECT_EQ(done.code, wire::kExitBadInput) << done.err;
    return done.err;
  };
  EXPECT_NE(refusal({"queue", "--columns", "stat"}).find("did you mean: state"), std::string::npos);
  EXPECT_NE(refusal({"queue", "--columns", "nothing"}).find("the columns are: pos, job"), std::string::npos);
  EXPECT_NE(refusal({"queue", "--columns", "job,"}).find("no column ''"), std::string::npos);
  EXPECT_NE(refusal({"queue", "-q", "--columns", "job"}).find("--quiet"), std::string::npos);
  EXPECT_NE(refusal({"queue", "-q", "-o", "json"}).find("--quiet is for tables"), std::string::npos);
  EXPECT_NE(refusal({"why", "j-1", "-o", "csv"}).find("shows no table"), std::string::npos);
  EXPECT_NE(refusal({"why", "j-1", "--no-headers"}).find("no option"), std::string::npos);
  EXPECT_TRUE(requests().empty());
}

// Without it a code from an answer would mean a search through documents.
TEST_F(Commands, ExplainsWithoutADaemon) {
  const Ended one = tangram({"explain", "quota.npus.exceeded"});
  EXPECT_EQ(one.code, 0);
  EXPECT_EQ(one.out,
            "quota.npus.exceeded: the tenant's NPUs are all in use\n"
            "  what follows: the job waits, and starts by itself when this is no longer so\n"
            "  what to do: it starts when jobs of the tenant end\n");
  EXPECT_NE(tangram({"explain", "request.slice.unsupported"}).out.find("tangram doctor says why"),
            std::string::npos);
  EXPECT_NE(tangram({"explain", "not_found"}).out.find("not there"), std::string::npos);
  EXPECT_NE(tangram({"explain", "70", "--lang", "zh"}).out.find("程序的缺陷"), std::string::npos);
  EXPECT_NE(tangram({"explain"}).out.find("capacity.npus.busy"), std::string::npos);
  const Ended unknown = tangram({"explain", "quota.npu.exceeded"});
  EXPECT_EQ(unknown.code, wire::kExitNotFound);
  EXPECT_NE(unknown.err.find("did you mean: tangram explain quota.npus.exceeded"), std::string::npos);
  EXPECT_TRUE(requests().empty());
}

}  // namespace
}  // namespace tangram::cli
