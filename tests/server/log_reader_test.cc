#include "server/log_reader.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "runner/log_file.h"

namespace tangram::server {
namespace {

constexpr std::int64_t kBound = 12'000;

class LogReaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = "/tmp/tg-log-XXXXXX";
    directory = mkdtemp(name.data());
    auto opened = runner::LogFile::open(directory + "/log", kBound);
    ASSERT_TRUE(opened) << opened.error().to_string();
    file = std::make_unique<runner::LogFile>(std::move(*opened));
  }
  void TearDown() override { std::filesystem::remove_all(directory); }
  void write_lines(int count) {
    for (int i = 0; i < count; ++i) {
      const std::string line = "line " + std::to_string(next++) + "\n";
      written += line;
      file->append(line);
    }
  }
  static std::string drain(LogReader& reader) {
    std::string all;
    for (std::string chunk = reader.read(); !chunk.empty(); chunk = reader.read()) all += chunk;
    return all;
  }

  std::string directory;
  std::unique_ptr<runner::LogFile> file;
  std::string written;
  int next = 1;
};

// Without this, a follower would repeat or miss output whenever a long log is cut.
TEST_F(LogReaderTest, AFollowerThatKeepsUpSeesEveryByteOnceAcrossCuts) {
  LogReader reader(directory + "/log", kBound, 0);
  std::string seen;
  for (int round = 0; round < 400; ++round) {
    write_lines(7);
    seen += drain(reader);
  }
  ASSERT_GT(file->bytes_cut(), 0);
  EXPECT_EQ(seen, written);
}

// Without this, a cut and more output between two looks would put a follower at a wrong place.
TEST_F(LogReaderTest, GoesOnAtTheSameByteWhenTheNewFileHasGrown) {
  LogReader reader(directory + "/log", kBound, 0);
  write_lines(600);
  std::string seen = drain(reader);
  const auto cut_before = file->bytes_cut();
  while (file->bytes_cut() == cut_before) write_lines(1);
  write_lines(50);
  seen += drain(reader);
  EXPECT_TRUE(seen.ends_with("line " + std::to_string(next - 1) + "\n"));
  EXPECT_EQ(seen, written);
}

// Without this, a reader that fell behind a cut would not be told that something is missing.
TEST_F(LogReaderTest, ShowsTheMarkWhereOutputIsMissing) {
  LogReader reader(directory + "/log", kBound, 0);
  write_lines(10);
  std::string seen = drain(reader);
  while (file->bytes_cut() < 5 * kBound) write_lines(1);
  seen += drain(reader);
  EXPECT_NE(seen.find("bytes were cut here]"), std::string::npos);
  EXPECT_TRUE(seen.ends_with("line " + std::to_string(next - 1) + "\n"));
}

}  // namespace
}  // namespace tangram::server
