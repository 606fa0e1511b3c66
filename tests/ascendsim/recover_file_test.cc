#include "ascendsim/vnpu/recover_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "ascendsim/daemon/occupancy.h"

namespace ascendsim {
namespace {

constexpr char kText[] =
    "vnpu_config_recover:enable\n"
    "[vnpu-config start]\n"
    "0:100:npu-smi set -t create-vnpu -i 7 -c 0 -f vir02 -v 100\n"
    "0:101:npu-smi set -t create-vnpu -i 7 -c 0 -f vir01 -v 101 -g 3\n"
    "[vnpu-config end]\n";

// Without it the file would not be the one that operators and the vendor's own script read.
TEST(RecoverFile, IsTheVendorsForm) {
  const auto file = parse_recover_file(kText);
  ASSERT_TRUE(file);
  ASSERT_EQ(file->entries.size(), 2U);
  EXPECT_TRUE(file->enabled);
  EXPECT_EQ(file->entries[0].card_id, 7U);
  EXPECT_EQ(file->entries[0].template_name, "vir02");
  EXPECT_FALSE(file->entries[0].vgroup);
  EXPECT_EQ(file->entries[1].vgroup, 3U);
  EXPECT_EQ(format_recover_file(*file), kText);
  EXPECT_TRUE(parse_recover_file("")->enabled) << "no file: as the vendor delivers it";
}

// Without it a damaged file would be taken for an empty one, and what it said would be lost with the next
// create.
TEST(RecoverFile, DamageIsNotEmptiness) {
  for (const char* damaged :
       {"vnpu_config_recover:perhaps\n[vnpu-config start]\n[vnpu-config end]\n",
        "vnpu_config_recover:enable\n", "vnpu_config_recover:enable\n[vnpu-config start]\n",
        "vnpu_config_recover:enable\n[vnpu-config start]\nrm -rf /\n[vnpu-config end]\n"}) {
    EXPECT_FALSE(parse_recover_file(damaged)) << damaged;
  }
  const std::string long_line =
      "vnpu_config_recover:enable\n[vnpu-config start]\n0:100:npu-smi set -t create-vnpu -i 7 -c 0 -f vir02 "
      "-v 100" +
      std::string(300, ' ') + "\n[vnpu-config end]\n";
  EXPECT_FALSE(parse_recover_file(long_line));
}

// Without it a symbolic link could make root write elsewhere, or others could read the file.
TEST(RecoverFile, IsAPlainFileForRootAlone) {
  char folder[] = "/tmp/recover-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/vnpu.cfg";
  EXPECT_TRUE(load_recover_file(path)->entries.empty());
  ASSERT_TRUE(store_recover_file(path, *parse_recover_file(kText)));
  struct stat status{};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  EXPECT_EQ(load_recover_file(path)->entries.size(), 2U);
  ASSERT_EQ(symlink(path.c_str(), (path + ".link").c_str()), 0);
  EXPECT_FALSE(load_recover_file(path + ".link"));
  std::filesystem::remove_all(folder);
}

// Without it a Pod could be looked for by a number that never names it.
TEST(ContainerId, OnlyDockersOwnContainersHaveOne) {
  EXPECT_EQ(container_id_of_cpuset("/docker/0123456789abcdef0123"), 0x0123456789abU);
  EXPECT_EQ(container_id_of_cpuset("/system.slice/docker-fedcba987654"), 0xfedcba987654U);
  EXPECT_EQ(container_id_of_cpuset("/kubepods/burstable/pod123/cri-containerd-0123456789ab"),
            0xFFFFFFFFFFFFU);
  EXPECT_EQ(container_id_of_cpuset("/"), 0xFFFFFFFFFFFFU);
  EXPECT_EQ(container_id_of_cpuset("/a/very/long/path/before/docker/0123456789ab"), 0xFFFFFFFFFFFFU)
      << "the driver reads 33 bytes";
  EXPECT_EQ(container_id_of_cpuset("/docker/xyz"), 0xFFFFFFFFFFFFU);
}

}  // namespace
}  // namespace ascendsim
