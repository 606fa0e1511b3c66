// Whether jobs could open the machine's device nodes, as the kernel would decide.
#include "service/device_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tangram::service {
namespace {

using testing::IsEmpty;

struct stat node(uid_t owner, gid_t group, mode_t mode) {
  struct stat status{};
  status.st_uid = owner;
  status.st_gid = group;
  status.st_mode = S_IFCHR | mode;
  return status;
}

// Without it a machine on which no job can open an NPU would look well, or a well one ill.
TEST(DeviceAccess, TheFirstClassThatAUserIsInDecides) {
  const JobUser user{5000, {70, 80}};
  EXPECT_TRUE(may_open(node(0, 0, 0666), user));
  EXPECT_FALSE(may_open(node(0, 0, 0660), user));
  EXPECT_FALSE(may_open(node(0, 0, 0664), user)) << "reading is not enough";
  EXPECT_TRUE(may_open(node(0, 80, 0660), user));
  EXPECT_FALSE(may_open(node(0, 80, 0606), user)) << "who is in the group is not among the others";
  EXPECT_TRUE(may_open(node(5000, 0, 0600), user));
  EXPECT_FALSE(may_open(node(5000, 80, 0066), user));
  EXPECT_TRUE(may_open(node(1, 1, 0), JobUser{0, {}})) << "root";
}

// Without it a node that is closed would not be named, or one that is not there.
TEST(DeviceAccess, ClosedNodesAreNamedWithTheirOwnerAndMode) {
  char name[] = "/tmp/tangram-dev-XXXXXX";
  const std::string directory = mkdtemp(&name[0]);
  for (const char* file : {"davinci0", "davinci3", "davinci_manager", "other"})
    std::ofstream(directory + "/" + file) << "";
  ASSERT_EQ(chmod((directory + "/davinci0").c_str(), 0640), 0);
  ASSERT_EQ(chmod((directory + "/davinci3").c_str(), 0666), 0);
  ASSERT_EQ(chmod((directory + "/davinci_manager").c_str(), 0666), 0);
  ASSERT_EQ(chmod((directory + "/other").c_str(), 0600), 0);
  const JobUser stranger{geteuid() + 1, {}};
  const std::vector<ClosedDevice> closed = closed_devices(directory, {0, 3, 5}, stranger);
  ASSERT_EQ(closed.size(), 1U);
  EXPECT_EQ(closed[0].path, directory + "/davinci0");
  EXPECT_EQ(closed[0].owner, geteuid());
  EXPECT_EQ(closed[0].mode, 0640U);
  EXPECT_THAT(closed_devices(directory, {3}, stranger), IsEmpty());
  std::filesystem::remove_all(directory);
}

ClosedDevice closed_node(std::string group, mode_t mode) {
  return {"/dev/davinci0", 0, std::move(group), mode};
}

// Without it the doctor would put the user of one job into a group, and the jobs of a root daemon, each with
// a uid of its own and no groups but the configured one, would find the nodes closed as before.
TEST(DeviceAccess, OfARootDaemonTheConfiguredGroupIsMended) {
  Options options;
  options.device_group.file = "/etc/tangram/tangramd.yaml";
  const auto command = [&options](const std::string& group, mode_t mode) {
    return opening_command({closed_node(group, mode)}, 200'000, options);
  };
  EXPECT_EQ(
      command("video", 0660),
      "printf '\\ndevices: {group: video}\\n' >> /etc/tangram/tangramd.yaml && systemctl restart tangram");
  options.device_group.has_section = true;
  EXPECT_EQ(command("video", 0660),
            "${EDITOR:-vi} /etc/tangram/tangramd.yaml && systemctl restart tangram  # devices.group: video");
  EXPECT_EQ(command("HwHiAiUser", 0660), "systemctl restart tangram") << "made after the daemon's start";
  EXPECT_EQ(command("root", 0660), "chmod a+rw /dev/davinci0") << "there is no group that jobs could have";
  options.device_groups = {1000};
  EXPECT_EQ(command("root", 0660), "chgrp HwHiAiUser /dev/davinci0 && chmod g+rw /dev/davinci0");
  EXPECT_EQ(command("video", 0600), "chgrp HwHiAiUser /dev/davinci0 && chmod g+rw /dev/davinci0");
  EXPECT_EQ(command("", 0660), "chgrp HwHiAiUser /dev/davinci0 && chmod g+rw /dev/davinci0") << "no name";
}

// Without it a daemon of a plain user would be told to change a setting that it does not use.
TEST(DeviceAccess, WithoutRootTheDaemonsUserIsPutIntoTheGroup) {
  Options options;
  options.own_uid = 5000;
  EXPECT_EQ(opening_command({closed_node("video", 0660)}, 5000, options),
            "usermod -aG video \"$(id -nu 5000)\"");
  EXPECT_EQ(opening_command({closed_node("video", 0600)}, 5000, options), "chmod a+rw /dev/davinci0");
}

}  // namespace
}  // namespace tangram::service
