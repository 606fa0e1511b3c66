// The walls around a tenant's job: mount namespace and device cgroup decide what it may use, whatever it
// says.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "acl/acl.h"
#include "ascendsim/simulated_machine.h"

namespace ascendsim {
namespace {

namespace fs = std::filesystem;

constexpr char kDevices[] = "/sys/fs/cgroup/devices";

std::vector<std::int64_t> physical_ids() {
  std::uint32_t count = 0;
  const aclError error = aclrtGetDeviceCount(&count);
  EXPECT_TRUE(error == ACL_SUCCESS || error == ACL_ERROR_RT_NO_DEVICE) << error;
  std::vector<std::int64_t> ids;
  for (std::uint32_t i = 0; i < count; ++i) {
    std::int64_t id = -1;
    EXPECT_EQ(aclrtGetDeviceInfo(i, ACL_DEV_ATTR_PHY_CHIP_ID, &id), ACL_SUCCESS);
    ids.push_back(id);
  }
  return ids;
}

using Ids = std::vector<std::int64_t>;

// This process moves into a mount namespace whose /dev is empty.
void enter_container() {
  ASSERT_EQ(unshare(CLONE_NEWNS), 0);
  // In a chroot / is no mount point, and /dev, which is the one that counts, has to be.
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    ASSERT_EQ(mount("none", "/dev", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
  }
  ASSERT_EQ(mount("tmpfs", "/dev", "tmpfs", 0, "mode=755"), 0);
}

void make_node(unsigned major, unsigned minor, const std::string& path) {
  ASSERT_EQ(mknod(path.c_str(), S_IFCHR | 0666, makedev(major, minor)), 0) << path;
  ASSERT_EQ(chmod(path.c_str(), 0666), 0) << path;
}

// A device cgroup for one test, removed with it.
class DeviceCgroup {
 public:
  DeviceCgroup() : path_(std::string(kDevices) + "/ascendsim-test-" + std::to_string(getpid())) {
    std::error_code error;
    fs::create_directory(path_, error);
  }
  DeviceCgroup(const DeviceCgroup&) = delete;
  DeviceCgroup& operator=(const DeviceCgroup&) = delete;
  ~DeviceCgroup() {
    eventually([this] { return rmdir(path_.c_str()) == 0; });
  }

  void write(const char* file, const std::string& text) const {
    std::ofstream out(path_ + "/" + file);
    out << text << std::flush;
    EXPECT_TRUE(out.good()) << file << " " << text;
  }
  void enter() const { write("cgroup.procs", "0"); }

 private:
  std::string path_;
};

bool has_device_cgroups() {
  return fs::exists(std::string(kDevices) + "/devices.list");
}

// Without this, the nodes would not be what a device cgroup can allow or deny.
TEST(Walls, NodesAreRealCharacterNodes) {
  const SimulatedMachine machine;
  ASSERT_NE(machine.node_major(), 0U);
  for (const auto& [name, minor] : {std::pair{"davinci0", 0U}, std::pair{"davinci7", 7U}}) {
    struct stat status{};
    ASSERT_EQ(stat((machine.root() + "/dev/" + name).c_str(), &status), 0);
    EXPECT_TRUE(S_ISCHR(status.st_mode));
    EXPECT_EQ(status.st_rdev, makedev(machine.node_major(), minor));
  }
  EXPECT_EQ(open((machine.root() + "/dev/davinci0").c_str(), O_RDWR), -1);
  EXPECT_EQ(errno, ENXIO);
  for (const char* name : {"davinci_manager", "devmm_svm", "hisi_hdc"}) {
    EXPECT_TRUE(fs::is_character_file(machine.root() + "/dev/" + name)) << name;
  }
  EXPECT_TRUE(fs::exists(machine.root() + "/driver/version.info"));
}

// Without this, a container would see, and use, NPUs that it was not given.
TEST(Walls, AMountNamespaceSeesOnlyItsOwnNodes) {
  const SimulatedMachine machine;
  const unsigned major = machine.node_major();
  run_program(machine, [major] {
    enter_container();
    make_node(major, 5, "/dev/davinci5");
    make_node(major, 3, "/dev/davinci3");
    make_node(major, 6, "/dev/davinci1");                     // another chip's number under this name
    make_node(major == 240 ? 241 : 240, 2, "/dev/davinci2");  // somebody else's device
    std::ofstream("/dev/davinci4") << "not a node";
    ASSERT_EQ(symlink("/dev/davinci3", "/dev/davinci7"), 0);
    EXPECT_EQ(physical_ids(), (Ids{3, 5})) << "numbered from 0 in ascending order of the host";
    EXPECT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
    EXPECT_EQ(aclrtSetDevice(2), ACL_ERROR_RT_INVALID_DEVICEID);
  });
  run_program(machine, [] {
    enter_container();
    EXPECT_EQ(physical_ids(), Ids{});
    EXPECT_EQ(aclrtSetDevice(0), ACL_ERROR_RT_INVALID_DEVICEID);
  });
}

// Without this, a job could reach further by changing its own environment.
TEST(Walls, TheVisibleDevicesVariableOnlyNarrows) {
  const SimulatedMachine machine;
  const unsigned major = machine.node_major();
  const auto with_variable = [&](const char* value, const Ids& expected) {
    run_program(machine, [&] {
      enter_container();
      for (const unsigned minor : {2U, 4U, 6U})
        make_node(major, minor, "/dev/davinci" + std::to_string(minor));
      setenv("ASCEND_RT_VISIBLE_DEVICES", value, 1);
      EXPECT_EQ(physical_ids(), expected) << value;
    });
  };
  with_variable("0,1,2,3,4,5,6,7", {2, 4, 6});
  with_variable("2,0", {6, 2});
  with_variable("1", {4});
  with_variable("7", {});
  with_variable("0,9,1", {2});
  with_variable("1,1,0", {4});
  with_variable("", {});
  with_variable("0,two", {2});
}

// Without this, a process could see processes and NPUs of other containers in npu-smi.
TEST(Walls, AContainerSeesOnlyItsOwnProcesses) {
  const SimulatedMachine machine;
  const unsigned major = machine.node_major();
  const Signal holding;
  const Child neighbour([&] {
    use_machine(machine);
    ASSERT_EQ(aclrtSetDevice(3), ACL_SUCCESS);
    holding.raise();
    pause();
  });
  ASSERT_TRUE(holding.wait());
  run_program(machine, [&] {
    enter_container();
    make_node(major, 3, "/dev/davinci3");
    ASSERT_EQ(setuid(1000), 0);  // a privileged container is shown what the host is shown
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    const MachineSnapshot inside = machine.snapshot();
    EXPECT_EQ(inside.machine.in_container, 1U);
    ASSERT_EQ(inside.npus.size(), 1U);
    EXPECT_EQ(inside.npus[0].phy_id, 3U);
    EXPECT_EQ(inside.npus[0].logic_id, 0U);
    EXPECT_EQ(inside.npus[0].process_count, 1U);
  });
}

// Without this, the device cgroup, the strongest wall of a job, would not hold.
TEST(Walls, ADeviceCgroupAllowsOnlyWhatItLists) {
  if (!has_device_cgroups()) GTEST_SKIP() << "no v1 devices hierarchy on this host";
  const SimulatedMachine machine;
  const DeviceCgroup cgroup;
  const std::string major = std::to_string(machine.node_major());
  cgroup.write("devices.deny", "a");
  cgroup.write("devices.allow", "c 1:* rwm");
  cgroup.write("devices.allow", "c " + major + ":1 rwm");
  cgroup.write("devices.allow", "c " + major + ":6 rwm");
  cgroup.write("devices.allow", "c " + major + ":7 r");
  run_program(machine, [&] {
    cgroup.enter();
    setenv("ASCEND_RT_VISIBLE_DEVICES", "0,1,2,3,4,5,6,7", 1);
    EXPECT_EQ(physical_ids(), (Ids{1, 6}));
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    EXPECT_EQ(aclrtSetDevice(2), ACL_ERROR_RT_INVALID_DEVICEID);
  });
}

// Without this, a denial on top of "everything" would be missed: the list of such a cgroup does not show it.
TEST(Walls, AHiddenDenialIsFound) {
  if (!has_device_cgroups()) GTEST_SKIP() << "no v1 devices hierarchy on this host";
  const SimulatedMachine machine;
  const DeviceCgroup cgroup;
  cgroup.write("devices.deny", "c " + std::to_string(machine.node_major()) + ":2 rwm");
  run_program(machine, [&] {
    cgroup.enter();
    EXPECT_EQ(physical_ids(), (Ids{0, 1, 3, 4, 5, 6, 7}));
  });
}

// Without this, a process that lost a device could still start to use it by the list it got before.
TEST(Walls, AccessIsCheckedAgainWhenADeviceIsSet) {
  if (!has_device_cgroups()) GTEST_SKIP() << "no v1 devices hierarchy on this host";
  const SimulatedMachine machine;
  const DeviceCgroup cgroup;
  cgroup.write("devices.deny", "a");
  run_program(machine, [&] {
    EXPECT_EQ(physical_ids().size(), 8U);
    cgroup.enter();
    EXPECT_EQ(aclrtSetDevice(0), ACL_ERROR_RT_NO_PERMISSION);
  });
}

}  // namespace
}  // namespace ascendsim
