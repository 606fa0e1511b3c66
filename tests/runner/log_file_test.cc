#include "runner/log_file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "runner/files.h"

namespace tangram::runner {
namespace {

class LogFileTest : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/tangram-log-XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    dir_ = path;
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  std::string path() const { return dir_ + "/log"; }
  std::string text() const { return read_file(path(), 1 << 26).value(); }

  std::string dir_;
};

// Without this, a short log could be altered by the machinery for long ones.
TEST_F(LogFileTest, ShortOutputIsKeptAsItIs) {
  Result<LogFile> log = LogFile::open(path(), 1 << 16);
  ASSERT_TRUE(log);
  log->append("one\n");
  log->append("two\n");
  log->finish();
  EXPECT_EQ(text(), "one\ntwo\n");
  EXPECT_EQ(log->bytes_cut(), 0);
}

// Without this, the bound could be passed, or head, tail and the number of missing bytes not add up.
TEST_F(LogFileTest, HeadMarkAndTailAddUpToTheOutput) {
  Result<LogFile> log = LogFile::open(path(), 6000);
  ASSERT_TRUE(log);
  std::string all;
  for (int line = 0; line < 3000; ++line) {
    const std::string next = "line " + std::to_string(line) + "\n";
    all += next;
    log->append(next);
    struct stat info{};
    ASSERT_EQ(stat(path().c_str(), &info), 0);
    ASSERT_LE(info.st_size, 6000);
  }
  log->finish();
  const std::string kept = text();
  const std::string mark = "\n[tangram: " + std::to_string(log->bytes_cut()) + " bytes were cut here]\n";
  const std::size_t at = kept.find(mark);
  ASSERT_NE(at, std::string::npos);
  const std::string head = kept.substr(0, at);
  const std::string tail = kept.substr(at + mark.size());
  EXPECT_TRUE(all.starts_with(head));
  EXPECT_TRUE(all.ends_with(tail));
  EXPECT_GE(tail.size(), 1000U);
  EXPECT_EQ(head.size() + tail.size() + static_cast<std::size_t>(log->bytes_cut()), all.size());
}

// Without this, a disk that is full for a while would end the log silently, or the job.
TEST_F(LogFileTest, BytesLostToAFullDiskAreCountedAndMarked) {
  const pid_t child = fork();
  if (child == 0) {
    // A file size limit fails like a full disk, and can be lifted again.
    signal(SIGXFSZ, SIG_IGN);
    Result<LogFile> log = LogFile::open(path(), 1 << 16);
    if (!log) _exit(1);
    rlimit limit = {10, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
    log->append("0123456789");
    log->append("lost bytes");
    limit.rlim_cur = RLIM_INFINITY;
    setrlimit(RLIMIT_FSIZE, &limit);
    log->append("and on\n");
    log->finish();
    _exit(log->bytes_lost() == 10 ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(text(), "0123456789\n[tangram: 10 bytes were lost here: File too large]\nand on\n");
}

}  // namespace
}  // namespace tangram::runner
