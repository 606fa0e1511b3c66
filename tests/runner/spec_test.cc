#include "runner/spec.h"

#include <gtest/gtest.h>

namespace tangram::runner {
namespace {

SuperviseSpec full_spec() {
  SuperviseSpec spec;
  spec.launch.key = {"j-17", 3};
  spec.launch.tenant = "team-a";
  spec.launch.uid = 4000000000U;
  spec.launch.gid = 5;
  spec.launch.groups = {6, 7};
  spec.launch.argv = {"prog", "", "a b", "\xff\n"};
  spec.launch.env = {{"A", "1"}, {"EMPTY", ""}};
  spec.launch.workdir = "/data";
  spec.launch.npus = {0, 5};
  spec.launch.slice = {2, 133, "vir04_3c"};
  spec.launch.limits = {1500, Bytes::gib(3), 77};
  spec.launch.time_limit_ms = 1;
  spec.launch.grace_ms = 0;
  spec.launch.log_bytes_max = 12345;
  spec.dir = "/state/jobs/j-17/3";
  spec.cgroup = {{"/sys/fs/cgroup/x", 3, true}};
  spec.walls = {true, false, true};
  spec.device_dir = "/dev";
  spec.mounts = {{"/a", "/b", false}};
  spec.hidden_paths = {"/state"};
  return spec;
}

// Without this, a field could be forgotten on one side and shift all that follow.
TEST(Spec, EveryFieldSurvivesTheWay) {
  const SuperviseSpec spec = full_spec();
  const Result<SuperviseSpec> read = decode(encode(spec));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->launch.key, spec.launch.key);
  EXPECT_EQ(read->launch.tenant, spec.launch.tenant);
  EXPECT_EQ(read->launch.uid, spec.launch.uid);
  EXPECT_EQ(read->launch.gid, spec.launch.gid);
  EXPECT_EQ(read->launch.groups, spec.launch.groups);
  EXPECT_EQ(read->launch.argv, spec.launch.argv);
  EXPECT_EQ(read->launch.env, spec.launch.env);
  EXPECT_EQ(read->launch.workdir, spec.launch.workdir);
  EXPECT_EQ(read->launch.npus, spec.launch.npus);
  EXPECT_EQ(read->launch.slice, spec.launch.slice);
  EXPECT_EQ(read->launch.limits, spec.launch.limits);
  EXPECT_EQ(read->launch.time_limit_ms, 1);
  EXPECT_EQ(read->launch.grace_ms, 0);
  EXPECT_EQ(read->launch.log_bytes_max, 12345);
  EXPECT_EQ(read->dir, spec.dir);
  EXPECT_EQ(read->cgroup, spec.cgroup);
  EXPECT_EQ(read->walls, spec.walls);
  EXPECT_EQ(read->device_dir, spec.device_dir);
  EXPECT_EQ(read->mounts, spec.mounts);
  EXPECT_EQ(read->hidden_paths, spec.hidden_paths);
}

// Without this, a job of whole NPUs would be taken for one of a slice.
TEST(Spec, NoSliceStaysNoSlice) {
  SuperviseSpec spec = full_spec();
  spec.launch.slice.reset();
  const Result<SuperviseSpec> read = decode(encode(spec));
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->launch.slice);
  EXPECT_EQ(read->launch.limits, spec.launch.limits);
}

// Without this, a supervisor of another version could run half a description.
TEST(Spec, TruncatedAndForeignBytesAreRefused) {
  const std::string bytes = encode(full_spec());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode(std::string_view(bytes).substr(0, size))) << size;
  }
  EXPECT_FALSE(decode(bytes + "x"));
  EXPECT_FALSE(decode("something else entirely"));
}

}  // namespace
}  // namespace tangram::runner
