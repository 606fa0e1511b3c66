// `events`, `history` and `queue --watch`: what they ask, what they print, how they go on.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <sstream>

#include "cli/fake_daemon.h"
#include "cli/render.h"
#include "wire/errors.h"
#include "wire/event.h"

namespace tangram::cli {
namespace {

wire::EventView event(const std::string& cursor, const std::string& type) {
  wire::EventView view;
  view.cursor = cursor;
  view.at = TimeMs(1'764'428'547'000);  // 2025-11-29 15:02:27Z
  view.type = type;
  return view;
}

wire::EventView job_event(const std::string& cursor, const std::string& type) {
  wire::EventView view = event(cursor, type);
  view.tenant = "team-a";
  view.job = "j-17";
  view.job_name = "train-001";
  return view;
}

std::string frame(const wire::EventView& view) {
  return "id: " + view.cursor + "\ndata: " + wire::write(view) + "\n\n";
}

net::Response ok(std::string body) {
  return {200, {}, std::move(body)};
}

net::Response problem(Code code, std::string reason, std::string message) {
  const Error error{code, std::move(reason), std::move(message), "", {}, nullptr};
  return {wire::http_status(error), {}, wire::write_problem(error)};
}

std::string parameter(const net::Request& request, std::string_view name) {
  return std::string(request.query.get(name).value_or("(none)"));
}

class Events : public FakeDaemon {};

// What stands behind the time.
std::string line(const wire::EventView& view, wire::Language language = wire::Language::kEnglish) {
  const std::string text = render_event(view, Canvas{.language = language});
  EXPECT_TRUE(text.starts_with("2025-11-29 15:02:27Z  ")) << text;
  EXPECT_TRUE(text.ends_with("\n"));
  return text.substr(22, text.size() - 23);
}

// Without it somebody who looks at the events would have to read their JSON.
TEST(RenderEvent, WaysOfAJobAreSentences) {
  wire::EventView view = job_event("1.0", "job.submitted");
  view.npus_requested = 2;
  view.priority = Priority::kHigh;
  EXPECT_EQ(line(view), "job.submitted   job train-001 (j-17) of team-a wants 2 NPUs, priority high");
  view.slice_requested = wire::SliceRequest{Bytes::gib(4), 2};
  EXPECT_EQ(
      line(view),
      "job.submitted   job train-001 (j-17) of team-a wants a slice of 4GiB, 2 AI cores, priority high");
  view.slice_requested.reset();
  view.state = JobState::kWaiting;
  view.reason = wire::ReasonView{"quota.npus.exceeded", "no quota is left", "", {}};
  EXPECT_EQ(line(view),
            "job.submitted   job train-001 (j-17) of team-a wants 2 NPUs, priority high; it waits: no quota "
            "is left");
  view.type = "job.waiting";
  view.jobs = 1;
  EXPECT_EQ(line(view), "job.waiting     job train-001 (j-17) of team-a waits: no quota is left");
  view.jobs = 12;
  EXPECT_EQ(line(view), "job.waiting     12 jobs like train-001 (j-17) of team-a wait: no quota is left");
  view.type = "job.refused";
  EXPECT_EQ(line(view), "job.refused     job train-001 (j-17) of team-a was refused: no quota is left");
  view = job_event("1.0", "job.starting");
  view.npus = {0, 1, 2, 5};
  view.attempt = 2;
  EXPECT_EQ(line(view),
            "job.starting    job train-001 (j-17) of team-a is starting on NPUs 0-2,5 (attempt 2)");
  view.type = "job.running";
  view.attempt = 1;
  view.npus = {3};
  EXPECT_EQ(line(view), "job.running     job train-001 (j-17) of team-a runs on NPU 3");
  view.template_name = "vir02";
  EXPECT_EQ(line(view), "job.running     job train-001 (j-17) of team-a runs in vir02 of NPU 3");
  view.template_name.clear();
  view.type = "job.stopping";
  view.by_uid = 1000;
  EXPECT_EQ(line(view),
            "job.stopping    job train-001 (j-17) of team-a is being stopped, cancelled by uid 1000");
  view.by_uid.reset();
  view.by_token = "t-3";
  EXPECT_EQ(line(view),
            "job.stopping    job train-001 (j-17) of team-a is being stopped, cancelled by token t-3");
  view = job_event("1.0", "job.ended");
  view.attempt = 1;
  view.outcome = Outcome::kSucceeded;
  view.message = "exited with status 0";
  EXPECT_EQ(line(view), "job.ended       job train-001 (j-17) of team-a has ended: succeeded");
  view.outcome = Outcome::kTimedOut;
  view.message = "stopped after 1h";
  EXPECT_EQ(line(view),
            "job.ended       job train-001 (j-17) of team-a has ended: timed out: stopped after 1h");
  view.outcome = Outcome::kCancelled;
  view.message = "cancelled";
  EXPECT_EQ(line(view), "job.ended       job train-001 (j-17) of team-a has ended: cancelled");
  view.message = "stopped after 1h";
  view.type = "job.requeued";
  view.outcome = Outcome::kLost;
  EXPECT_EQ(line(view),
            "job.requeued    job train-001 (j-17) of team-a is back in the queue; attempt 1 is lost: stopped "
            "after 1h");
  EXPECT_EQ(line(job_event("1.0", "job.forgotten")),
            "job.forgotten   job train-001 (j-17) of team-a is forgotten, its logs are removed");
}

// Without it what becomes of tenants, NPUs and the daemon would be told in fields only.
TEST(RenderEvent, WhatElseChangesIsASentence) {
  wire::EventView view = event("1.0", "tenant.changed");
  view.tenant = "team-a";
  view.changed = {"quota.npus", "members"};
  EXPECT_EQ(line(view), "tenant.changed  tenant team-a was changed: quota.npus, members");
  view = event("1.0", "npu.health");
  view.npu = 3;
  view.chip = "910B4";
  view.health = Health::kWarning;
  view.health_before = Health::kOk;
  EXPECT_EQ(line(view), "npu.health      NPU 3 (910B4) has changed from ok to warning");
  view = job_event("1.0", "npu.allocated");
  view.npu = 0;
  EXPECT_EQ(line(view), "npu.allocated   NPU 0 is given to job train-001 (j-17) of team-a");
  view = event("1.0", "daemon.started");
  view.version = "0.1.0";
  EXPECT_EQ(line(view), "daemon.started  tangramd 0.1.0 has started");
  // A newer daemon, and a tenant with bad intentions.
  view = job_event("1.0", "job.teleported");
  view.job_name = "x\x1b[2J\n";
  EXPECT_EQ(line(view), "job.teleported  job x?[2J? (j-17) of team-a");
}

// Without it a user who reads Chinese would follow events in English, or lose their reasons.
TEST(RenderEvent, InChinese) {
  const auto chinese = [](const wire::EventView& view) { return line(view, wire::Language::kChinese); };
  wire::EventView view = job_event("1.0", "job.waiting");
  view.jobs = 1;
  view.reason = wire::ReasonView{
      "quota.npus.exceeded",
      "tenant team-a holds 4 of 4 NPUs and the job needs 1 NPU",
      "",
      {{"tenant", "team-a"}, {"dimension", "npus"}, {"asked", 1}, {"used", 4}, {"limit", 4}}};
  EXPECT_EQ(
      chinese(view),
      "job.waiting     租户 team-a 的任务 train-001 (j-17) 等待中：租户 team-a 的配额为 4 个 NPU，已占用 "
      "4，任务需要 1 个 NPU");
  view.jobs = 12;
  EXPECT_EQ(chinese(view).substr(0, chinese(view).find("：")),
            "job.waiting     与租户 team-a 的任务 train-001 (j-17) 同类的 12 个任务等待中");
  view = job_event("1.0", "job.ended");
  view.outcome = Outcome::kFailed;
  view.message = "exited with status 3";
  EXPECT_EQ(chinese(view), "job.ended       租户 team-a 的任务 train-001 (j-17) 已结束：失败：退出状态为 3");
  view = event("1.0", "npu.health");
  view.npu = 3;
  view.health_before = Health::kOk;
  view.health = Health::kWarning;
  EXPECT_EQ(chinese(view), "npu.health      NPU 3 的健康状态由正常变为一般告警");
  view = job_event("1.0", "job.running");
  view.npus = {0, 1};
  EXPECT_EQ(chinese(view), "job.running     租户 team-a 的任务 train-001 (j-17) 运行中，位于 NPU 0,1");
}

// Without it the newest events could come in the wrong order, or a filter go missing.
TEST_F(Events, ShowTheLastOnesInTheirOrder) {
  route = [](const net::Request& request) {
    const bool first = !request.query.get("before");
    wire::EventList list;
    list.items = first ? std::vector{event("9.0", "daemon.started"), event("8.1", "npu.gone")}
                       : std::vector{event("8.0", "npu.gone")};
    if (first) list.next = "8.1";
    return ok(wire::write(list));
  };
  const Ended done = tangram({"events", "--last", "3", "--tenant", "team-a", "--npu", "3", "--type", "npu.*",
                              "--type", "daemon.*", "-o", "json"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out, wire::write(event("8.0", "npu.gone")) + "\n" + wire::write(event("8.1", "npu.gone")) +
                          "\n" + wire::write(event("9.0", "daemon.started")) + "\n");
  ASSERT_EQ(requests().size(), 2U);
  EXPECT_EQ(requests()[0].path, "/v1/history");
  EXPECT_EQ(parameter(requests()[0], "newest"), "true");
  EXPECT_EQ(parameter(requests()[0], "limit"), "3");
  EXPECT_EQ(parameter(requests()[0], "tenant"), "team-a");
  EXPECT_EQ(parameter(requests()[0], "npu"), "3");
  EXPECT_EQ(requests()[0].query.all("type").size(), 2U);
  EXPECT_EQ(parameter(requests()[1], "limit"), "1");
  EXPECT_EQ(parameter(requests()[1], "before"), "8.1");
}

// Without it a script that keeps a cursor could not fetch what came since.
TEST_F(Events, GoOnBehindACursorToTheEnd) {
  route = [](const net::Request& request) {
    wire::EventList list;
    if (parameter(request, "after") == "5.0") {
      list.items = {event("6.0", "npu.gone")};
      list.next = "7";
    } else {
      list.items = {event("8.0", "npu.gone")};
    }
    return ok(wire::write(list));
  };
  const Ended done = tangram({"events", "--after", "5.0", "-o", "yaml"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(requests().size(), 2U);
  EXPECT_EQ(parameter(requests()[1], "after"), "7");
  EXPECT_TRUE(done.out.starts_with("---\n")) << done.out;
  EXPECT_NE(done.out.find("6.0"), std::string::npos);
  EXPECT_NE(done.out.find("8.0"), std::string::npos);
}

// Without it a restart of the daemon would end `events -f`, or events of that time would be lost or doubled.
TEST_F(Events, FollowGoesOnWhereItBroke) {
  std::atomic<int> calls = 0;
  route = [&](const net::Request&) {
    switch (++calls) {
      case 1:
        return ok("id: 4\n\n" + frame(event("5.0", "npu.gone")) + frame(event("5.1", "npu.gone")));
      case 2:
        // The seat of the stream that broke is not free yet.
        return problem(Code::kResourceExhausted, "events.streams.too_many", "no seat");
      case 3:
        return ok(frame(event("6.0", "npu.appeared")) + ": keep-alive\nid: 9\n\n");
      default:
        return problem(Code::kFailedPrecondition, "events.cursor.gone", "they are gone");
    }
  };
  const Ended done = tangram({"events", "-f", "-o", "json"});
  EXPECT_EQ(done.code, 7) << done.err;
  EXPECT_NE(done.err.find("they are gone"), std::string::npos);
  EXPECT_EQ(std::ranges::count(done.out, '\n'), 3);
  ASSERT_EQ(requests().size(), 4U);
  EXPECT_EQ(requests()[0].path, "/v1/events");
  EXPECT_EQ(parameter(requests()[0], "after"), "(none)");
  EXPECT_EQ(parameter(requests()[1], "after"), "5.1");
  EXPECT_EQ(parameter(requests()[2], "after"), "5.1");
  EXPECT_EQ(parameter(requests()[3], "after"), "9");
}

// Without it the last ones and those that follow would overlap or leave a gap.
TEST_F(Events, FollowBeginsBehindTheLastOnes) {
  route = [&](const net::Request& request) {
    if (request.segments.back() == "events") {
      return problem(Code::kPermissionDenied, "test.end", "enough");
    }
    wire::EventList list;
    if (parameter(request, "tenant") == "team-a") list.items = {event("5.1", "npu.gone")};
    return ok(wire::write(list));
  };
  EXPECT_EQ(tangram({"events", "-f", "--last", "1", "--tenant", "team-a"}).code, 5);
  EXPECT_EQ(parameter(requests()[1], "after"), "5.1");
  // Where nothing matched so far, everything that matches is new.
  EXPECT_EQ(tangram({"events", "-f", "--last", "1", "--tenant", "team-b"}).code, 5);
  EXPECT_EQ(parameter(requests()[3], "after"), "oldest");
  EXPECT_EQ(tangram({"events", "--last", "1", "--after", "3.0"}).code, 2);
  EXPECT_EQ(tangram({"events", "--last", "none"}).code, 2);
  EXPECT_EQ(tangram({"events", "--npu", "x"}).code, 2);
}

// Without it `history` would ask for something else than it was given.
TEST_F(Events, HistoryKnowsJobsTenantsAndNpus) {
  route = [](const net::Request& request) {
    if (request.segments[1] == "tenants") {
      if (request.segments[2] != "team-a")
        return problem(Code::kNotFound, "tenant.unknown", "no such tenant");
      wire::QuotaView view;
      view.tenant.name = "team-a";
      return ok(wire::write(view));
    }
    if (parameter(request, "job") == "nobody")
      return problem(Code::kNotFound, "job.unknown", "no job nobody");
    return ok(R"({"items":[]})");
  };
  const auto asked = [&](const std::string& subject) {
    const Ended done = tangram({"history", subject});
    EXPECT_EQ(done.code, 0) << done.err;
    const net::Request request = requests().back();
    std::string all;
    for (const char* const name : {"job", "tenant", "npu"}) {
      if (request.query.get(name)) all += std::string(name) + "=" + parameter(request, name);
    }
    return all;
  };
  EXPECT_EQ(asked("3"), "npu=3");
  EXPECT_EQ(asked("j-17"), "job=j-17");
  EXPECT_EQ(asked("team-a/train"), "job=team-a/train");
  EXPECT_EQ(asked("team-a"), "tenant=team-a");
  EXPECT_EQ(asked("train"), "job=train");
  const Ended unknown = tangram({"history", "nobody"});
  EXPECT_EQ(unknown.code, 4);
  EXPECT_NE(unknown.err.find("no tenant and no job nobody"), std::string::npos) << unknown.err;
}

// Without it a queue that is watched would show what was, or be asked for without end when nothing happens.
TEST_F(Events, QueueIsShownAgainWhenSomethingChanges) {
  std::atomic<int> streams = 0;
  std::atomic<int> lists = 0;
  route = [&](const net::Request& request) {
    if (request.segments.back() == "events") {
      switch (++streams) {
        case 1:
          return ok("id: 4\n\n" + frame(job_event("5.0", "job.ended")) + ": keep-alive\nid: 9\n\n");
        case 2:
          return problem(Code::kResourceExhausted, "events.streams.too_many", "no seat");
        default:
          return problem(Code::kPermissionDenied, "test.end", "enough");
      }
    }
    wire::JobView view;
    view.id = "j-" + std::to_string(++lists);
    view.tenant = "team-a";
    view.state = JobState::kRunning;
    return ok(wire::write(wire::JobList{{view}, ""}));
  };
  const Ended done = tangram({"queue", "--watch", "-o", "json", "--tenant", "team-a"});
  EXPECT_EQ(done.code, 5) << done.err;
  EXPECT_EQ(streams, 3);
  EXPECT_GE(lists, 1);
  EXPECT_LE(lists, 3);
  EXPECT_EQ(std::ranges::count(done.out, '\n'), lists);
  EXPECT_EQ(parameter(requests()[0], "after"), "(none)");
  const Ended unreachable = [&] {
    std::istringstream in;
    std::ostringstream out;
    std::ostringstream err;
    Streams streams_of{in, out, err};
    const int code = run({"queue", "--watch"}, {{"/nonexistent/s"}}, streams_of);
    return Ended{code, out.str(), err.str()};
  }();
  EXPECT_EQ(unreachable.code, 6);
}

}  // namespace
}  // namespace tangram::cli
