#include "server/log_reader.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "runner/log_file.h"

namespace tangram::server {
namespace {

constexpr std::int64_t kBound = 12'000;
constexpr std::size_t kDrainMax = 1 << 20;  // a reader that goes on for ever fails its test

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
    for (std::string chunk = reader.read(); !chunk.empty() && all.size() < kDrainMax; chunk = reader.read())
      all += chunk;
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

// Without this, a job could print a mark of its own: hide what it printed behind it, or have a follower read
// the same bytes for ever.
TEST_F(LogReaderTest, AMarkThatTheProgramPrintedIsOutput) {
  const std::vector<std::string> numbers = {"9223372036854775807", "9223372036854773800", "0", "1500"};
  for (const std::string& number : numbers) {
    SetUp();
    const std::string output = std::string(kBound / 6, 'A') + "\n[tangram: " + number +
                               " bytes were cut here]\n" + std::string(500, 'B') + "\n";
    file->append(output);
    file->finish();
    LogReader reader(directory + "/log", kBound, 0);
    EXPECT_EQ(drain(reader), output) << number;
    EXPECT_EQ(reader.position(), static_cast<std::int64_t>(output.size())) << number;
    TearDown();
  }
}

// Without this, a mark printed at the place of the first cut would be taken for the writer's, or the writer's
// not be found.
TEST_F(LogReaderTest, OfAPrintedMarkAndARealOneTheRealOneCounts) {
  const std::string printed = "\n[tangram: 9223372036854775807 bytes were cut here]\n";
  file->append(std::string(kBound / 6, 'A') + printed);
  while (file->bytes_cut() == 0) write_lines(1);
  LogReader reader(directory + "/log", kBound, 0);
  const std::string seen = drain(reader);
  EXPECT_NE(seen.find("[tangram: " + std::to_string(file->bytes_cut()) + " bytes were cut here]"),
            std::string::npos);
  EXPECT_EQ(seen.find(printed), std::string::npos);
  EXPECT_EQ(reader.position(), static_cast<std::int64_t>(kBound / 6 + printed.size() + written.size()));
}

// Without this, the number in a damaged file would lead positions astray.
TEST_F(LogReaderTest, ANumberThatCannotBeIsNoMark) {
  const std::vector<std::string> numbers = {"9223372036854775807", "99999999999999999999", "-5", "0"};
  for (const std::string& number : numbers) {
    const std::string path = directory + "/damaged";
    const std::string output =
        std::string(kBound / 6, 'A') + "\n[tangram: " + number + " bytes were cut here]\nB\n";
    std::filesystem::remove(path);
    std::ofstream(path) << output;
    std::filesystem::permissions(path, std::filesystem::perms::owner_read);
    LogReader reader(path, kBound, 0);
    EXPECT_EQ(drain(reader), output) << number;
  }
}

}  // namespace
}  // namespace tangram::server
