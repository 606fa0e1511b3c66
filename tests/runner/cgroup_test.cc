#include "runner/cgroup.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "runner/files.h"

namespace tangram::runner {
namespace {

constexpr const char* kV1Mounts =
    "25 20 0:21 / / rw - ext4 /dev/vda rw\n"
    "31 23 0:28 / /sys/fs/cgroup rw shared:9 - tmpfs tmpfs rw,mode=755\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "33 31 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "34 31 0:31 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
    "35 31 0:32 / /sys/fs/cgroup/devices rw - cgroup cgroup rw,devices\n"
    "36 31 0:33 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n"
    "37 31 0:34 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n";
constexpr const char* kV1Self =
    "6:name=systemd:/x\n5:freezer:/\n4:devices:/\n3:pids:/user\n2:memory:/user/a\n1:cpu,cpuacct:/\n";
constexpr const char* kV2Mounts = "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n";

// Without this, a machine of another layout would run jobs without limits, or write into foreign groups.
TEST(CgroupLayout, V1FindsEachControllerAndOurGroupInIt) {
  const std::vector<Hierarchy> layout = parse_cgroup_layout(kV1Mounts, kV1Self);
  ASSERT_EQ(layout.size(), 5U);
  EXPECT_EQ(layout[0].mount_point, "/sys/fs/cgroup/cpu,cpuacct");
  EXPECT_EQ(layout[0].own_dir, "/sys/fs/cgroup/cpu,cpuacct");
  EXPECT_TRUE(has(layout[0].controllers, Controller::kCpu));
  EXPECT_EQ(layout[1].own_dir, "/sys/fs/cgroup/memory/user/a");
  EXPECT_EQ(layout[2].own_dir, "/sys/fs/cgroup/pids/user");
}

// Without this, a daemon in a container would look for its group outside of what it sees.
TEST(CgroupLayout, NestedGroupsAreFoundBelowTheMountedRoot) {
  const std::string mounts = "30 20 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup rw\n";
  EXPECT_EQ(parse_cgroup_layout(mounts, "0::/docker/abc/inner\n").at(0).own_dir, "/sys/fs/cgroup/inner");
  EXPECT_EQ(parse_cgroup_layout(mounts, "0::/docker/abc\n").at(0).own_dir, "/sys/fs/cgroup");
  EXPECT_EQ(parse_cgroup_layout(mounts, "0::/docker/abcdef\n").at(0).own_dir, "/sys/fs/cgroup");
  EXPECT_EQ(parse_cgroup_layout(kV2Mounts, "0::/../sibling\n").at(0).own_dir, "/sys/fs/cgroup");
}

// Without this, a mount point with a blank in its name, or rubbish, would break the start of the daemon.
TEST(CgroupLayout, EscapesAndRubbishAreHarmless) {
  const std::string mounts = "30 20 0:26 / /sys/a\\040b rw - cgroup2 cgroup2 rw\nrubbish\n1 2 3 - cgroup\n\n";
  const std::vector<Hierarchy> layout = parse_cgroup_layout(mounts, "no colon\n0::/\n");
  ASSERT_EQ(layout.size(), 1U);
  EXPECT_EQ(layout[0].mount_point, "/sys/a b");
  EXPECT_TRUE(parse_cgroup_layout("", "").empty());
}

class CgroupFixture : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/tangram-cgroup-XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    root_ = path;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::string at(const std::string& path) const {
    const Result<std::string> text = read_file(root_ + path);
    return text ? *text : "(none)";
  }
  void put(const std::string& path, const std::string& text) {
    ASSERT_TRUE(make_directories((root_ + path).substr(0, (root_ + path).rfind('/')), 0755));
    ASSERT_TRUE(write_control(root_ + path, text));
  }

  const AttemptKey key_{"j-1", 2};
  const HostLimits limits_{1500, Bytes::mib(64), 50};
  std::string root_;
};

// Without this, limits on a v1 machine could be written to the wrong file or in the wrong unit.
TEST_F(CgroupFixture, V1LimitsGoToTheirControllers) {
  for (const char* const dir : {"cpu,cpuacct", "memory", "pids", "devices", "freezer"}) {
    ASSERT_TRUE(make_directories(root_ + "/sys/fs/cgroup/" + dir, 0755));
  }
  put("/sys/fs/cgroup/memory/user/a/tangram/j-1.2/memory.memsw.limit_in_bytes", "");
  const CgroupParent parent = CgroupParent::open(parse_cgroup_layout(kV1Mounts, kV1Self, root_), "tangram");
  EXPECT_TRUE(parent.missing().empty());
  EXPECT_TRUE(parent.can_filter_devices());
  Cgroup cgroup(parent.leaf(key_, limits_));
  ASSERT_TRUE(cgroup.create(limits_, {{240, 3}}, true));
  EXPECT_EQ(at("/sys/fs/cgroup/cpu,cpuacct/tangram/j-1.2/cpu.cfs_quota_us"), "150000");
  EXPECT_EQ(at("/sys/fs/cgroup/cpu,cpuacct/tangram/j-1.2/cpu.cfs_period_us"), "100000");
  EXPECT_EQ(at("/sys/fs/cgroup/memory/user/a/tangram/j-1.2/memory.limit_in_bytes"), "67108864");
  EXPECT_EQ(at("/sys/fs/cgroup/memory/user/a/tangram/j-1.2/memory.memsw.limit_in_bytes"), "67108864");
  EXPECT_EQ(at("/sys/fs/cgroup/pids/user/tangram/j-1.2/pids.max"), "50");
  EXPECT_EQ(at("/sys/fs/cgroup/devices/tangram/j-1.2/devices.deny"), "a");
  EXPECT_EQ(at("/sys/fs/cgroup/devices/tangram/j-1.2/devices.allow"), "c 240:3 rw");
  put("/sys/fs/cgroup/memory/user/a/tangram/j-1.2/memory.oom_control",
      "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
  EXPECT_EQ(cgroup.out_of_memory_kills(), 2);
}

// Without this, a v1 machine could lose a race against a job that forks while it is killed.
TEST_F(CgroupFixture, V1KillFreezesAndThaws) {
  const CgroupParent parent = CgroupParent::open(parse_cgroup_layout(kV1Mounts, kV1Self, root_), "tangram");
  const pid_t member = fork();
  if (member == 0) {
    pause();
    _exit(0);
  }
  const Cgroup cgroup(parent.leaf(key_, HostLimits()));
  put("/sys/fs/cgroup/freezer/tangram/j-1.2/cgroup.procs", std::to_string(member) + "\n");
  EXPECT_FALSE(cgroup.empty());
  cgroup.kill_all();
  int status = 0;
  ASSERT_EQ(waitpid(member, &status, 0), member);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  EXPECT_EQ(at("/sys/fs/cgroup/freezer/tangram/j-1.2/freezer.state"), "THAWED");
}

// Without this, a moment without descriptors would make a job look ended whose processes live.
TEST_F(CgroupFixture, AGroupThatCannotBeReadIsNotEmpty) {
  const CgroupParent parent = CgroupParent::open(parse_cgroup_layout(kV1Mounts, kV1Self, root_), "tangram");
  const Cgroup cgroup(parent.leaf(key_, HostLimits()));
  EXPECT_TRUE(cgroup.empty()) << "there is none";
  put("/sys/fs/cgroup/freezer/tangram/j-1.2/cgroup.procs", std::to_string(getpid()) + "\n");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const bool empty = cgroup.empty();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_FALSE(empty);
}

// Without this, limits on a v2 machine would not be enabled for the children, or written in v1's words.
TEST_F(CgroupFixture, V2EnablesControllersAndWritesLimits) {
  put("/sys/fs/cgroup/unit/cgroup.controllers", "cpuset cpu io memory pids\n");
  put("/sys/fs/cgroup/unit/tangram/j-1.2/memory.swap.max", "");
  const CgroupParent parent =
      CgroupParent::open(parse_cgroup_layout(kV2Mounts, "0::/unit\n", root_), "tangram");
  EXPECT_TRUE(parent.missing().empty());
  EXPECT_EQ(at("/sys/fs/cgroup/unit/cgroup.subtree_control"), "+cpu +memory +pids");
  EXPECT_EQ(at("/sys/fs/cgroup/unit/tangram/cgroup.subtree_control"), "+cpu +memory +pids");
  Cgroup cgroup(parent.leaf(key_, limits_));
  ASSERT_TRUE(cgroup.create(limits_, {}, false));
  EXPECT_EQ(at("/sys/fs/cgroup/unit/tangram/j-1.2/cpu.max"), "150000 100000");
  EXPECT_EQ(at("/sys/fs/cgroup/unit/tangram/j-1.2/memory.max"), "67108864");
  EXPECT_EQ(at("/sys/fs/cgroup/unit/tangram/j-1.2/memory.swap.max"), "0");
  EXPECT_EQ(at("/sys/fs/cgroup/unit/tangram/j-1.2/pids.max"), "50");
  cgroup.kill_all();
  EXPECT_EQ(at("/sys/fs/cgroup/unit/tangram/j-1.2/cgroup.kill"), "1");
  put("/sys/fs/cgroup/unit/tangram/j-1.2/memory.events", "low 0\noom 3\noom_kill 1\noom_group_kill 0\n");
  EXPECT_EQ(cgroup.out_of_memory_kills(), 1);
}

// Without this, a restart inside the refuge group would nest one refuge in another.
TEST_F(CgroupFixture, V2ParentIsTheSameFromInsideTheRefuge) {
  put("/sys/fs/cgroup/unit/cgroup.controllers", "pids\n");
  ASSERT_TRUE(make_directories(root_ + "/sys/fs/cgroup/unit/tangram-daemon", 0755));
  const auto layout = parse_cgroup_layout(kV2Mounts, "0::/unit/tangram-daemon\n", root_);
  const CgroupParent parent = CgroupParent::open(layout, "tangram");
  EXPECT_EQ(parent.leaf(key_, limits_).at(0).path, root_ + "/sys/fs/cgroup/unit/tangram/j-1.2");
  const CgroupParent absolute = CgroupParent::open(layout, "/pool/tangram");
  EXPECT_EQ(absolute.leaf(key_, limits_).at(0).path, root_ + "/sys/fs/cgroup/pool/tangram/j-1.2");
}

// Without this, a hybrid machine would look for limits in v2, where they are not, or kill in v1, where it is
// slow.
TEST_F(CgroupFixture, HybridKillsInV2AndLimitsInV1) {
  put("/sys/fs/cgroup/unified/cgroup.controllers", "hugetlb\n");
  const std::string mounts =
      std::string(kV1Mounts) + "40 31 0:40 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
  const CgroupParent parent =
      CgroupParent::open(parse_cgroup_layout(mounts, std::string(kV1Self) + "0::/\n", root_), "tangram");
  EXPECT_TRUE(parent.missing().empty());
  Cgroup cgroup(parent.leaf(key_, limits_));
  ASSERT_TRUE(cgroup.create(limits_, {}, true));
  EXPECT_EQ(at("/sys/fs/cgroup/pids/user/tangram/j-1.2/pids.max"), "50");
  EXPECT_EQ(at("/sys/fs/cgroup/unified/tangram/j-1.2/pids.max"), "(none)");
  cgroup.kill_all();
  EXPECT_EQ(at("/sys/fs/cgroup/unified/tangram/j-1.2/cgroup.kill"), "1");
  EXPECT_FALSE(std::filesystem::exists(root_ + "/sys/fs/cgroup/freezer/tangram/j-1.2"));
}

// Without this, a machine without control groups would look as if limits held.
TEST_F(CgroupFixture, WhatIsMissingIsNamed) {
  const CgroupParent parent = CgroupParent::open({}, "tangram");
  EXPECT_EQ(parent.missing().size(), 4U);
  EXPECT_TRUE(parent.leaf(key_, limits_).empty());
  EXPECT_TRUE(Cgroup({}).empty());
}

// Without this, a daemon without root would fail every job once another daemon has made groups of that name.
TEST_F(CgroupFixture, GroupsOfAnotherUserAreNotTaken) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to be another user";
  const std::string mounts =
      std::string(kV1Mounts) + "40 31 0:40 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
  const auto layout = parse_cgroup_layout(mounts, std::string(kV1Self) + "0::/\n", root_);
  ASSERT_TRUE(CgroupParent::open(layout, "tangram").can_filter_devices());
  ASSERT_EQ(chmod(root_.c_str(), 0755), 0);
  ASSERT_EQ(seteuid(65534), 0);
  const CgroupParent parent = CgroupParent::open(layout, "tangram");
  ASSERT_EQ(seteuid(0), 0);
  EXPECT_TRUE(parent.paths().empty());
  EXPECT_EQ(parent.missing().size(), 4U);
  EXPECT_FALSE(parent.can_filter_devices());
}

// Without this, the filter of v2 machines would be code that no kernel has ever accepted.
TEST(DeviceFilter, KernelEnforcesTheProgram) {
  const Result<std::vector<Hierarchy>> layout = detect_cgroup_layout();
  ASSERT_TRUE(layout);
  std::string v2;
  for (const Hierarchy& hierarchy : *layout) v2 = hierarchy.unified ? hierarchy.own_dir : v2;
  if (v2.empty() || geteuid() != 0) GTEST_SKIP() << "needs root and a v2 hierarchy";
  const std::string group = v2 + "/tangram-filter-" + std::to_string(getpid());
  ASSERT_TRUE(make_directory(group, 0755));
  const Result<void> attached = attach_device_filter(group, {{1, 5}, {136, DeviceNumber::kAnyMinor}});
  int status = -1;
  if (attached) {
    const pid_t child = fork();
    if (child == 0) {
      if (!write_control(group + "/cgroup.procs", "0")) _exit(1);
      if (!read_fd(UniqueFd(open("/dev/zero", O_RDONLY)).get(), 16).error().message.starts_with("larger"))
        _exit(2);
      if (open("/dev/null", O_RDWR) >= 0 || errno != EPERM) _exit(3);
      if (open("/dev/random", O_RDONLY) >= 0 || errno != EPERM) _exit(4);
      _exit(0);
    }
    waitpid(child, &status, 0);
  }
  EXPECT_EQ(rmdir(group.c_str()), 0);
  if (!attached) GTEST_SKIP() << attached.error().to_string();
  EXPECT_EQ(status, 0) << WEXITSTATUS(status);
}

// Without this, v1 would be told another language than its own.
TEST(DeviceFilter, V1RulesAreInTheKernelsWords) {
  EXPECT_EQ(v1_rule({1, 3}), "c 1:3 rw");
  EXPECT_EQ(v1_rule({136, DeviceNumber::kAnyMinor}), "c 136:* rw");
}

// Without this, two daemons with the same parent group would kill each other's jobs, which are named alike,
// and anybody who can read the group could keep the daemon from starting.
TEST(CgroupParentTest, IsClaimedByOneDaemonAtATime) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const Result<std::vector<Hierarchy>> layout = detect_cgroup_layout();
  ASSERT_TRUE(layout);
  const CgroupParent parent = CgroupParent::open(*layout, "tangram-test-claim-" + std::to_string(getpid()));
  if (parent.paths().empty()) GTEST_SKIP() << "no control groups here";
  {
    const auto first = parent.claim();
    ASSERT_TRUE(first) << first.error().to_string();
    const auto second = parent.claim();
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().reason, "runner.cgroup.in_use");
  }
  const int stranger = open((parent.paths().front() + "/cgroup.procs").c_str(), O_RDONLY | O_CLOEXEC);
  struct flock shared{};
  shared.l_type = F_RDLCK;
  EXPECT_EQ(fcntl(stranger, F_OFD_SETLK, &shared), 0);
  EXPECT_TRUE(parent.claim());
  close(stranger);
  for (const std::string& path : parent.paths()) EXPECT_EQ(rmdir(path.c_str()), 0) << path;
}

}  // namespace
}  // namespace tangram::runner
