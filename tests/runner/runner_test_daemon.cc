// Plays the daemon in crash tests: runs one attempt and says on stdout how far it came, a line for each step.
//
//   runner_test_daemon ROOT SUPERVISOR CGROUP_PARENT UID JOB SCRIPT
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <future>
#include <string>

#include "runner/process_executor.h"

namespace {

void say(const std::string& line) {
  std::puts(line.c_str());
  std::fflush(stdout);
}

int run(char** argv) {
  tangram::runner::ProcessExecutorConfig config;
  config.root = argv[1];
  config.supervisor = argv[2];
  config.cgroup_parent = argv[3];
  tangram::LaunchSpec spec;
  spec.key = {argv[5], 1};
  spec.tenant = "alice";
  spec.uid = spec.gid = static_cast<uid_t>(std::strtoul(argv[4], nullptr, 10));
  spec.argv = {"sh", "-c", argv[6]};
  spec.env = {{"PATH", "/usr/bin:/bin"}};
  spec.grace_ms = 1000;
  std::promise<tangram::AttemptExit> ended;
  const auto executor = tangram::runner::make_process_executor(config);
  const auto started =
      executor->start({[](const tangram::AttemptKey&) { say("running"); },
                       [&](const tangram::AttemptExit& record) { ended.set_value(record); }});
  if (!started) return say("error " + started.error().to_string()), 1;
  const auto prepared = executor->prepare(spec);
  if (!prepared) return say("error " + prepared.error().to_string()), 1;
  say("prepared " + std::to_string(prepared->pid) + " " + std::to_string(prepared->start_ticks) + " " +
      prepared->boot_id);
  if (const auto gone = executor->go(spec.key); !gone) return say("error " + gone.error().to_string()), 1;
  say("gone");
  const tangram::AttemptExit record = ended.get_future().get();
  say("exited " + std::string(tangram::to_string(record.outcome)) + " " +
      std::to_string(record.exit_status.value_or(-1)));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  // A test that dies must not leave this behind.
  alarm(60);
  return argc == 7 ? run(argv) : 2;
}
