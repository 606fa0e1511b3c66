#include "runner/attempt_dir.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace tangram::runner {
namespace {

class AttemptDirTest : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/tangram-attempt-XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    dir_ = {path};
  }
  void TearDown() override { std::filesystem::remove_all(dir_.path); }

  AttemptDir dir_;
  const AttemptKey key_{"j-1", 2};
};

// Without this, an end could change its meaning between the supervisor and the daemon.
TEST_F(AttemptDirTest, ExitRecordIsReadAsItWasWritten) {
  AttemptExit record;
  record.key = key_;
  record.outcome = Outcome::kFailed;
  record.signal = 9;
  record.out_of_memory = true;
  record.message = "killed by \"x\"\nand \xff";
  ASSERT_TRUE(write_exit_record(dir_, record));
  const auto read = read_exit_record(dir_, key_);
  ASSERT_TRUE(read && read->has_value());
  EXPECT_EQ((*read)->outcome, Outcome::kFailed);
  EXPECT_EQ((*read)->signal, 9);
  EXPECT_FALSE((*read)->exit_status);
  EXPECT_TRUE((*read)->out_of_memory);
  EXPECT_EQ((*read)->message, "killed by \"x\"?and ?");
}

// Without this, a damaged record could be taken for a success.
TEST_F(AttemptDirTest, MissingAndDamagedRecordsAreToldApart) {
  const auto none = read_exit_record(dir_, key_);
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->has_value());
  for (const char* const text : {"", "{", "[]", "{\"outcome\":7}", "{\"outcome\":\"great\"}"}) {
    std::ofstream(dir_.exit_record()) << text;
    const auto damaged = read_exit_record(dir_, key_);
    ASSERT_FALSE(damaged) << text;
    EXPECT_EQ(damaged.error().code, Code::kDataLoss);
  }
}

// Without this, a damaged list could make the daemon kill a control group that is not the job's.
TEST_F(AttemptDirTest, OnlyGroupsOfThisAttemptAreRead) {
  const CgroupDir own{"/sys/fs/cgroup/a b/tangram/j-1.2", 5, false};
  ASSERT_TRUE(write_cgroup_list(
      dir_, {own, {"/sys/fs/cgroup", 1, true}, {"/sys/fs/cgroup/tangram/j-1.20", 1, true}}));
  const auto read = read_cgroup_list(dir_, key_);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, std::vector<CgroupDir>{own});
}

// Without this, a key could name a directory outside the state.
TEST(AttemptKeyCheck, RefusesWhatIsNoPlainName) {
  EXPECT_TRUE(check_key({"j-17", 1}));
  for (const char* const job : {"", "..", "a/b", "A", "j 1", "j.1"}) EXPECT_FALSE(check_key({job, 1})) << job;
  EXPECT_FALSE(check_key({std::string(65, 'a'), 1}));
  EXPECT_FALSE(check_key({"j-1", 0}));
}

}  // namespace
}  // namespace tangram::runner
