// The file that says who asked what.
#include "server/audit_log.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "service/harness.h"

namespace tangram::server {
namespace {

class AuditLogTest : public ::testing::Test {
 protected:
  AuditLogTest() {
    std::string name = "/tmp/tg-audit-XXXXXX";
    directory = mkdtemp(name.data());
    options.path = directory + "/log/audit.log";
  }
  ~AuditLogTest() override { std::filesystem::remove_all(directory); }

  std::unique_ptr<AuditLog> open() {
    auto log = AuditLog::open(options);
    EXPECT_TRUE(log) << log.error().to_string();
    return log ? std::move(*log) : nullptr;
  }
  static AuditEntry entry(const std::string& path = "/v1/jobs") {
    AuditEntry entry;
    entry.who = "token t-3";
    entry.name = "ci";
    entry.role = "tenant";
    entry.tenant = "team-a";
    entry.from = "192.0.2.7:40112";
    entry.method = "POST";
    entry.path = path;
    entry.status = 201;
    return entry;
  }
  std::vector<std::string> lines(const std::string& suffix = "") const {
    std::vector<std::string> all;
    std::ifstream file(options.path + suffix);
    for (std::string line; std::getline(file, line);) all.push_back(line);
    return all;
  }

  std::string directory;
  AuditOptions options;
};

// Without this, nobody could tell afterwards who did what.
TEST_F(AuditLogTest, OneLineForEachUse) {
  open()->record(entry());
  const auto all = lines();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].substr(all[0].find(",\"who\"")),
            R"(,"who":"token t-3","name":"ci","role":"tenant","tenant":"team-a","from":"192.0.2.7:40112",)"
            R"("method":"POST","path":"/v1/jobs","status":201})");
  struct stat info{};
  ASSERT_EQ(stat(options.path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

// Without this, a daemon that is root would write wherever a link in that place points.
TEST_F(AuditLogTest, FollowsNoLinkAndTakesNoPipe) {
  std::filesystem::create_directories(directory + "/log");
  std::ofstream(directory + "/target") << "kept";
  std::filesystem::create_symlink(directory + "/target", options.path);
  const auto link = AuditLog::open(options);
  ASSERT_FALSE(link);
  EXPECT_EQ(link.error().reason, "audit.unwritable");
  EXPECT_EQ(link.error().message,
            "cannot write the audit log " + options.path + ": it is a symbolic link, not a plain file");
  EXPECT_EQ(std::filesystem::file_size(directory + "/target"), 4U);
  std::filesystem::remove(options.path);
  ASSERT_EQ(mkfifo(options.path.c_str(), 0600), 0);
  EXPECT_FALSE(AuditLog::open(options));
}

// Without this, the log would be a place to read tokens from, or to forge lines in.
TEST_F(AuditLogTest, HoldsNoSecretAndNoForgedLine) {
  open()->record(entry("/v1/tokens/tgt_3_0123456789abcdef\"}\n{\"who\":\"uid 0"));
  open()->record(entry("/x\"}\n{\"who\":\"uid 0\xff"));
  open()->record(entry("/" + std::string(5'000, 'x')));
  const auto all = lines();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].find("0123456789"), std::string::npos) << all[0];
  EXPECT_NE(all[1].find("\\u000a"), std::string::npos) << all[1];
  EXPECT_LT(all[2].size(), 600U);
}

// Without this, a token that was sent with escapes in it could be read from the log.
TEST_F(AuditLogTest, HoldsNoSecretThatWasEscaped) {
  const std::vector<std::string> starts = {"%74%67%74_",   "tg%74_", "tgt%5f", "tgt%5F", "%2574gt_",
                                           "%25%37%34gt_", "tgl_",   "TGT_",   "tg%4C_"};
  {
    auto log = open();
    for (const std::string& start : starts)
      log->record(entry("/v1/jobs/" + start + "3_01234567%38%39abcdef"));
    log->record(entry("/" + std::string(190, 'x') + "/%74gt_3_0123456789abcdef"));
    log->record(entry("/v1/jobs/team%2Fa%20%zz%7"));
  }
  const auto all = lines();
  ASSERT_EQ(all.size(), starts.size() + 2);
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    EXPECT_EQ(all[i].find("01234567"), std::string::npos) << all[i];
    EXPECT_NE(all[i].find("(token)\""), std::string::npos) << all[i];
  }
  EXPECT_NE(all.back().find("\"/v1/jobs/team%2Fa%20%zz%7\""), std::string::npos) << all.back();
}

// Without this, the log would fill the disk.
TEST_F(AuditLogTest, FilesAreRotatedAndBounded) {
  options.bytes_max = 10'000;
  options.files_max = 3;
  for (int run = 0; run < 20; ++run) {
    auto log = open();
    for (int i = 0; i < 20; ++i) log->record(entry("/" + std::to_string(run)));
  }
  for (const char* const suffix : {"", ".1", ".2"}) {
    EXPECT_LE(std::filesystem::file_size(options.path + suffix), 10'000U) << suffix;
    for (const std::string& line : lines(suffix)) EXPECT_EQ(line.back(), '}') << suffix;
  }
  EXPECT_FALSE(std::filesystem::exists(options.path + ".3"));
  EXPECT_NE(lines().back().find("\"/19\""), std::string::npos);
  EXPECT_EQ(lines(".1").size() + lines(".2").size() + lines().size() > 60, true);
}

// What is in the way of the oldest file, as somebody might have put it there.
class ObstructedAuditLog : public AuditLogTest {
 protected:
  ObstructedAuditLog() {
    options.bytes_max = 10'000;
    options.files_max = 2;
    std::filesystem::create_directories(options.path + ".1/kept");
  }
  // About 170 bytes each.
  void record(AuditLog& log, int count) {
    for (int i = 0; i < count; ++i) {
      log.record(entry("/" + std::to_string(recorded)));
      ++recorded;
      // One write each.
      ASSERT_TRUE(service::testing::eventually([&] {
        const auto all = lines();
        return (!all.empty() &&
                all.back().find("\"/" + std::to_string(recorded - 1) + "\"") != std::string::npos) ||
               is_full();
      }));
    }
  }
  bool is_full() const { return std::filesystem::file_size(options.path) > 2 * 10'000 - 400; }

  int recorded = 0;
};

// Without this, a file that cannot be rotated would grow without end, and every line would try it anew.
TEST_F(ObstructedAuditLog, GrowsToTwiceItsSizeAndNoFurther) {
  ::testing::internal::CaptureStderr();
  auto log = open();
  record(*log, 90);
  EXPECT_EQ(lines().size(), 90U) << "nothing is lost before that";
  EXPECT_GT(std::filesystem::file_size(options.path), 10'000U);
  record(*log, 110);
  log.reset();
  EXPECT_LE(std::filesystem::file_size(options.path), 20'000U);
  const std::string told = ::testing::internal::GetCapturedStderr();
  const auto first = told.find("cannot rotate the audit log");
  ASSERT_NE(first, std::string::npos) << told;
  EXPECT_EQ(told.find("cannot rotate the audit log", first + 1), std::string::npos) << told;
  EXPECT_NE(told.find(options.path + ".1"), std::string::npos) << told;
}

// Without this, whoever clears the way would have to start the daemon anew.
TEST_F(ObstructedAuditLog, IsRotatedOnceTheWayIsClear) {
  options.rotate_retry = std::chrono::milliseconds(10);
  auto log = open();
  record(*log, 200);
  EXPECT_TRUE(is_full());
  std::filesystem::remove_all(options.path + ".1");
  std::this_thread::sleep_for(options.rotate_retry * 2);
  log->record(entry("/after"));
  ASSERT_TRUE(service::testing::eventually([&] { return lines().size() == 2; }));
  EXPECT_NE(lines()[0].find("\"lost\":"), std::string::npos) << lines()[0];
  EXPECT_NE(lines()[1].find("/after"), std::string::npos) << lines()[1];
  EXPECT_GT(lines(".1").size(), 90U);
}

// Without this, a directory that is taken away would cost every line until it is back, or older files.
TEST_F(AuditLogTest, GoesOnInTheOldFileWhileNoNewOneCanBeOpened) {
  options.bytes_max = 1'000;
  options.files_max = 3;
  options.rotate_retry = std::chrono::milliseconds(0);
  auto log = open();
  const std::string elsewhere = directory + "/elsewhere/audit.log";
  std::filesystem::rename(directory + "/log", directory + "/elsewhere");
  for (int i = 0; i < 10; ++i) {
    const auto before = std::filesystem::file_size(elsewhere);
    log->record(entry("/" + std::to_string(i)));
    ASSERT_TRUE(service::testing::eventually([&] { return std::filesystem::file_size(elsewhere) > before; }));
  }
  std::filesystem::rename(directory + "/elsewhere", directory + "/log");
  log->record(entry("/last"));
  log.reset();
  EXPECT_EQ(lines(".1").size(), 10U);
  ASSERT_EQ(lines().size(), 1U);
  EXPECT_NE(lines().back().find("/last"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(options.path + ".2"));
}

// Without this, the lines after somebody has removed or moved the file by hand would go nowhere.
TEST_F(AuditLogTest, AFileThatWasTakenAwayIsBegunAnew) {
  auto log = open();
  const auto arrives = [&](const std::string& path) {
    log->record(entry(path));
    return service::testing::eventually([&] {
      const auto all = lines();
      return !all.empty() && all.back().find('"' + path + '"') != std::string::npos;
    });
  };
  ASSERT_TRUE(arrives("/first"));
  std::filesystem::remove(options.path);
  ASSERT_TRUE(arrives("/after-remove"));
  EXPECT_EQ(lines().size(), 1U);
  std::filesystem::rename(options.path, options.path + ".old");
  ASSERT_TRUE(arrives("/after-move"));
  EXPECT_EQ(lines(".old").size(), 1U);
  std::filesystem::remove(options.path);
  std::ofstream(options.path) << "{}\n";
  ASSERT_TRUE(arrives("/after-replacement"));
  EXPECT_EQ(lines().size(), 2U);
}

// Without this, whoever knocks without end would push all that matters out of the file.
TEST_F(AuditLogTest, RepeatedRefusalsAreCounted) {
  auto log = open();
  for (int i = 0; i < 5'000; ++i) {
    AuditEntry refused = entry("/" + std::to_string(i));
    refused.who = "";
    refused.from = "192.0.2.7:" + std::to_string(i);
    refused.party = "192.0.2.7";
    refused.status = 401;
    refused.reason = "token.invalid";
    log->record_refusal(std::move(refused));
  }
  AuditEntry other = entry();
  other.from = "192.0.2.8:1";
  other.party = "192.0.2.8";
  other.reason = "token.invalid";
  log->record_refusal(other);
  log.reset();
  const auto all = lines();
  ASSERT_GE(all.size(), 3U);
  EXPECT_LE(all.size(), 6U);
  std::int64_t told = 0;
  for (const std::string& line : all) {
    if (line.find("192.0.2.7") == std::string::npos) continue;
    const std::size_t at = line.find("\"count\":");
    told += at == std::string::npos ? 1 : std::stoll(line.substr(at + 8));
  }
  EXPECT_EQ(told, 5'000);
}

// Without this, a refused attempt to change something would pass for a refused look.
TEST_F(AuditLogTest, RefusalsOfOtherMethodsAndAnswersStandApart) {
  auto log = open();
  for (const std::string method : {"GET", "DELETE", "GET"}) {
    for (const int status : {401, 0}) {
      AuditEntry refused = entry();
      refused.method = method;
      refused.status = status;
      refused.reason = "token.invalid";
      log->record_refusal(refused);
    }
  }
  log.reset();
  const auto all = lines();
  EXPECT_EQ(all.size(), 6U);
  const auto with = [&all](const std::string& text) {
    return std::ranges::count_if(
        all, [&](const std::string& line) { return line.find(text) != std::string::npos; });
  };
  EXPECT_EQ(with("\"GET\""), 4);
  EXPECT_EQ(with("\"DELETE\""), 2);
  EXPECT_EQ(with("\"status\":0"), 3);
}

// Without this, a second's silence would leave the last refusals untold until somebody else comes.
TEST_F(AuditLogTest, HeldBackRefusalsAreToldWithinSeconds) {
  auto log = open();
  for (int i = 0; i < 10; ++i) log->record_refusal(entry());
  EXPECT_TRUE(service::testing::eventually([&] { return lines().size() == 2; }));
}

// Without this, a start without a place to write would leave no trace of anybody.
TEST_F(AuditLogTest, APlaceThatCannotBeWrittenIsNamed) {
  options.path = "/proc/nothing/audit.log";
  const auto log = AuditLog::open(options);
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().reason, "audit.unwritable");
  EXPECT_NE(log.error().message.find("/proc/nothing/audit.log"), std::string::npos);
  EXPECT_NE(log.error().hint.find("audit.file"), std::string::npos);
}

// Without this, a full disk would stop the service, or lines would vanish and nobody know.
TEST_F(AuditLogTest, LinesThatCannotBeWrittenAreCounted) {
  // As good as a full disk for one process: no file may grow beyond this.
  signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 500;
  auto log = open();
  log->record(entry("/first"));
  ASSERT_TRUE(service::testing::eventually([&] { return lines().size() == 1; }));
  setrlimit(RLIMIT_FSIZE, &small);
  for (int i = 0; i < 7; ++i) {
    log->record(entry("/lost/" + std::string(200, 'x')));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(lines().size(), 1U);
  setrlimit(RLIMIT_FSIZE, &before);
  log->record(entry("/last"));
  ASSERT_TRUE(service::testing::eventually([&] { return lines().size() == 3; }));
  EXPECT_NE(lines()[1].find("\"lost\":7"), std::string::npos) << lines()[1];
  EXPECT_NE(lines()[2].find("/last"), std::string::npos);
}

}  // namespace
}  // namespace tangram::server
