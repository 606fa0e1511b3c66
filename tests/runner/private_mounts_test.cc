#include "runner/private_mounts.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "runner/job_view.h"

namespace tangram::runner {
namespace {

// Steps of a child process, which has nothing of GoogleTest: its exit status is the number of the step that
// failed.
class Steps {
 public:
  void expect(bool holds) {
    ++step_;
    if (!holds && failed_ == 0) failed_ = step_;
  }
  int failed() const { return failed_; }

 private:
  int step_ = 0;
  int failed_ = 0;
};

int in_child(const std::function<void(Steps&)>& body) {
  const pid_t child = fork();
  if (child == 0) {
    Steps steps;
    body(steps);
    _exit(steps.failed());
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

class PrivateMounts : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root: only root makes mounts";
    char path[] = "/var/tmp/tangram-chroot-XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    root_ = path;
    for (const char* directory : {"/proc", "/dev", "/tmp", "/some"}) {
      ASSERT_EQ(mkdir((root_ + directory).c_str(), 0755), 0);
    }
  }
  void TearDown() override {
    if (!root_.empty()) std::filesystem::remove_all(root_);
  }

  // As `chroot DIR` on a machine whose mounts are shared: the directory is no mount point.
  void enter(Steps& steps) const {
    steps.expect(unshare(CLONE_NEWNS) == 0);
    steps.expect(make_mounts_private().has_value());
    steps.expect(mount(nullptr, "/", nullptr, MS_REC | MS_SHARED, nullptr) == 0);
    steps.expect(mount("proc", (root_ + "/proc").c_str(), "proc", 0, nullptr) == 0);
    steps.expect(chroot(root_.c_str()) == 0 && chdir("/") == 0);
  }

  std::string root_;
};

// Without it a daemon in a plain chroot would start every job without its walls.
TEST_F(PrivateMounts, NamespacesCanBeMadeInAPlainChroot) {
  EXPECT_EQ(in_child([this](Steps& steps) {
              enter(steps);
              steps.expect(probe_namespaces().has_value());
            }),
            0);
}

// Without it what a job's view hides would be hidden from the whole machine.
TEST_F(PrivateMounts, NothingIsSeenOutside) {
  EXPECT_EQ(in_child([this](Steps& steps) {
              enter(steps);
              const int inside = in_child([](Steps& job) {
                job.expect(unshare(CLONE_NEWNS) == 0);
                job.expect(make_mounts_private().has_value());
                job.expect(mount("tmpfs", "/some", "tmpfs", 0, nullptr) == 0);
                job.expect(mkdir("/some/hidden", 0700) == 0);
                job.expect(access("/proc/self/fd", F_OK) == 0);
                job.expect(access("/proc/root", F_OK) != 0);
                job.expect(chdir("/") == 0 && access("some/hidden", F_OK) == 0);
              });
              steps.expect(inside == 0);
              steps.expect(access("/some", F_OK) == 0 && access("/some/hidden", F_OK) != 0);
              steps.expect(access("/proc/self/fd", F_OK) == 0);
            }),
            0);
}

}  // namespace
}  // namespace tangram::runner
