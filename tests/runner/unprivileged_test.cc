#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "runner/attempt_dir.h"
#include "runner/cgroup.h"
#include "runner_fixture.h"

namespace tangram::runner {
namespace {

constexpr uid_t kNobody = 65534;

// What a daemon without root does, as exit status: 0 when all was as it should be.
int run_unprivileged(const std::string& root, const std::string& cgroup_parent) {
  if (setgroups(0, nullptr) != 0 || setresgid(kNobody, kNobody, kNobody) != 0 ||
      setresuid(kNobody, kNobody, kNobody) != 0) {
    return 10;
  }
  ProcessExecutorConfig config;
  config.root = root;
  config.cgroup_parent = cgroup_parent;
  config.supervisor = root + "/tangram-supervise";
  Events events;
  const auto executor = make_process_executor(config);
  if (!executor->start(events.sink())) return 11;
  bool said_no_root = false;
  for (const std::string& wall : executor->missing_walls())
    said_no_root |= wall.starts_with("no root: all jobs run as user id 65534");
  if (!said_no_root || executor->missing_walls().size() < 4) return 12;
  LaunchSpec sliced;
  sliced.key = {"j-3", 1};
  sliced.argv = {"true"};
  sliced.slice = {0, 100, "vir01"};
  const Result<SupervisorIdentity> refused = executor->prepare(sliced);
  if (refused || refused.error().reason != "runner.slice.no_private_devices") return 19;
  LaunchSpec spec;
  spec.key = {"j-1", 1};
  spec.argv = {"sh", "-c", "id -u; setsid sleep 300 & exit 3"};
  spec.env = {{"PATH", "/usr/bin:/bin"}};
  spec.npus = {0};  // without a node: the simulated driver makes none without root
  spec.grace_ms = 500;
  if (!executor->prepare(spec) || !executor->go(spec.key)) return 13;
  const AttemptExit record = events.wait_exit(spec.key);
  if (record.outcome != Outcome::kFailed || record.exit_status != 3) {
    std::fprintf(stderr, "%s\n", record.message.c_str());
    return 14;
  }
  if (read_file(executor->log_path(spec.key)).value_or("") != "65534\n") return 15;
  spec.key.job = "j-2";
  spec.argv = {"sh", "-c",
               "setsid sleep 300 & (setsid sh -c 'sleep 300 & sleep 300' &); touch up; exec sleep 300"};
  const Result<SupervisorIdentity> prepared = executor->prepare(spec);
  if (!prepared || !executor->go(spec.key)) return 16;
  const std::string up = attempt_dir(root, spec.key).work() + "/up";
  if (!wait_until([&] { return access(up.c_str(), F_OK) == 0; })) return 17;
  kill(prepared->pid, SIGKILL);
  return events.wait_exit(spec.key).outcome == Outcome::kLost ? 0 : 18;
}

class Unprivileged : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root to give it up";
    char path[] = "/tmp/tangram-nobody-XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    root_ = path;
    ASSERT_EQ(chown(path, kNobody, kNobody), 0);
    // The build may lie below a home that is closed to others.
    std::filesystem::copy_file(TANGRAM_SUPERVISE, root_ + "/tangram-supervise");
    const Result<std::vector<Hierarchy>> layout = detect_cgroup_layout();
    ASSERT_TRUE(layout);
    cgroup_name_ = "tangram-test-nobody-" + std::to_string(getpid());
    groups_of_root_ = CgroupParent::open(*layout, cgroup_name_).paths();
  }
  void TearDown() override {
    std::filesystem::remove_all(root_);
    for (const std::string& group : groups_of_root_) rmdir(group.c_str());
  }

  std::vector<pid_t> leftovers() const {
    std::vector<pid_t> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const Result<std::string> environment = read_file(entry.path().string() + "/environ");
      if (environment && environment->find("TANGRAM_JOB_DIR=" + root_) != std::string::npos) {
        found.push_back(static_cast<pid_t>(std::stol(entry.path().filename().string())));
      }
    }
    return found;
  }

  std::string root_;
  std::string cgroup_name_;
  std::vector<std::string> groups_of_root_;
};

// Without this, Tangram could not be tried without root, also where a daemon of root has left its groups, or
// would leave processes behind there.
TEST_F(Unprivileged, DaemonWithoutRootWorksAndSaysWhatIsMissing) {
  const pid_t child = fork();
  if (child == 0) _exit(run_unprivileged(root_, cgroup_name_));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << WEXITSTATUS(status);
  EXPECT_TRUE(leftovers().empty());
  for (const pid_t pid : leftovers()) kill(pid, SIGKILL);
}

}  // namespace
}  // namespace tangram::runner
