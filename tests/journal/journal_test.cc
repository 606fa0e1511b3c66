#include "journal/journal.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "journal/sqlite.h"
#include "journal/support.h"

namespace tangram::journal {
namespace {

class JournalTest : public JournalFixture {};

// Without this, a restart would forget or reorder what was acknowledged.
TEST_F(JournalTest, KeepsRecordsInOrderOverAReopen) {
  auto journal = open();
  EXPECT_EQ(journal->last_sequence(), 0U);
  const std::vector<NewRecord> batch = {{TimeMs(7), "job_submitted", R"({"a":1})"},
                                        {TimeMs(8), "job_started", std::string("nul \0 and \xff", 11)}};
  EXPECT_EQ(*journal->append(batch), 1U);
  EXPECT_EQ(*journal->append(std::vector{record(9, "")}), 3U);
  EXPECT_EQ(*journal->append({}), 4U);
  journal.reset();
  journal = open();
  EXPECT_EQ(journal->last_sequence(), 3U);
  const auto all = read_all(*journal);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].sequence, 1U);
  EXPECT_EQ(all[0].at, TimeMs(7));
  EXPECT_EQ(all[0].kind, "job_submitted");
  EXPECT_EQ(all[0].body, R"({"a":1})");
  EXPECT_EQ(all[1].body, std::string("nul \0 and \xff", 11));
  EXPECT_EQ(all[2].body, "");
  EXPECT_EQ(read_all(*journal, 2).size(), 1U);
  EXPECT_EQ(read_all(*journal, 3).size(), 0U);
  EXPECT_EQ(read_all(*journal, 99).size(), 0U);
}

// Without this, a reader that fails would be called again, or its error be lost.
TEST_F(JournalTest, TheVisitorEndsTheWalk) {
  auto journal = open();
  ASSERT_TRUE(journal->append(records(5)));
  int calls = 0;
  const auto walked = journal->read_after(0, [&](const StoredRecord& stored) -> Result<void> {
    ++calls;
    if (stored.sequence == 2) return fail(Code::kInternal, "enough", "enough");
    return {};
  });
  ASSERT_FALSE(walked);
  EXPECT_EQ(walked.error().reason, "enough");
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(journal->append(records(1)));
}

// Without this, records would be acknowledged into a file that no later start will read.
TEST_F(JournalTest, AFileThatWasMovedAwayTakesNoRecords) {
  auto journal = open();
  ASSERT_TRUE(journal->append(records(1)));
  std::filesystem::rename(file("journal.db"), file("elsewhere.db"));
  const auto refused = journal->append(records(1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "journal.moved");
  EXPECT_FALSE(journal->save_snapshot({1, "{}"}));
  std::filesystem::rename(file("elsewhere.db"), file("journal.db"));
  EXPECT_EQ(*journal->append(records(1)), 2U);
  std::filesystem::copy_file(file("journal.db"), file("copy.db"));
  std::filesystem::rename(file("copy.db"), file("journal.db"));
  EXPECT_EQ(journal->append(records(1)).error().reason, "journal.moved");
}

// Without this, a tenant could read all jobs, secrets in their environments included, where it can pass
// through the state directory.
TEST_F(JournalTest, FilesAreTheOwnersAlone) {
  std::filesystem::permissions(directory_, std::filesystem::perms::all);
  auto journal = open();
  ASSERT_TRUE(journal->append(records(5)));
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    ++files;
    const auto others = std::filesystem::perms::group_all | std::filesystem::perms::others_all;
    EXPECT_EQ(entry.status().permissions() & others, std::filesystem::perms::none) << entry.path();
  }
  EXPECT_GE(files, 4) << "LOCK, VERSION, the database and its log";
}

// Without this, two daemons on one directory would give the same NPU twice.
TEST_F(JournalTest, ASecondOwnerIsRefusedAndToldTheFirst) {
  const auto journal = open();
  const auto second = Journal::open(directory_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(second.error().reason, "journal.in_use");
  EXPECT_NE(second.error().message.find("process " + std::to_string(getpid())), std::string::npos);
  EXPECT_NE(second.error().message.find(directory_), std::string::npos);
}

// Without this, the first start on a fresh machine would fail.
TEST_F(JournalTest, MakesTheDirectoryForItsOwnerOnly) {
  const std::string deep = file("a/b/c");
  ASSERT_TRUE(Journal::open(deep));
  EXPECT_EQ(std::filesystem::status(deep).permissions(), std::filesystem::perms::owner_all);
  EXPECT_EQ(read_file(deep + "/VERSION"), "1\n");
}

// Without this, an old program would misread, and then damage, what a newer one wrote.
TEST_F(JournalTest, RefusesANewerVersion) {
  ASSERT_TRUE(open()->append(records(1)));
  write_file(file("VERSION"), "7\n");
  const auto refused = Journal::open(directory_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "journal.version.newer");
  EXPECT_NE(refused.error().to_string().find("version 7"), std::string::npos);
  EXPECT_NE(refused.error().to_string().find("up to 1"), std::string::npos);
  EXPECT_EQ(read_file(file("VERSION")), "7\n");

  write_file(file("VERSION"), "one\n");
  EXPECT_EQ(Journal::open(directory_).error().reason, "journal.version.invalid");
}

// Without this, a start after a lost disk would begin from nothing while jobs still run.
TEST_F(JournalTest, NoticesThatTheJournalIsGone) {
  ASSERT_TRUE(open()->append(records(1)));
  std::filesystem::remove(file("journal.db"));
  const auto refused = Journal::open(directory_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kDataLoss);
  EXPECT_EQ(refused.error().reason, "journal.missing");
  EXPECT_FALSE(std::filesystem::exists(file("journal.db")));
}

// Without this, a kill between the two files of a first start would make every later start fail.
TEST_F(JournalTest, StartsWhenOnlyTheVersionIsMissing) {
  ASSERT_TRUE(open()->append(records(2)));
  std::filesystem::remove(file("VERSION"));
  EXPECT_EQ(read_all(*open()).size(), 2U);
  EXPECT_EQ(read_file(file("VERSION")), "1\n");
}

// Without this, a damaged file would be read as far as it goes and then be written over.
TEST_F(JournalTest, RefusesADamagedFileAndLeavesIt) {
  {
    auto journal = open();
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(journal->append(records(100, 200)));
  }
  const std::string whole = read_file(file("journal.db"));
  ASSERT_GT(whole.size(), 100'000U);
  std::string middle = whole;
  for (std::size_t at = 4096; at < middle.size(); at += 512) middle[at] = static_cast<char>(~middle[at]);
  std::string head = whole;
  head.replace(0, 100, std::string(100, 'x'));
  for (const std::string& damaged :
       {middle, head, std::string("no database at all, just some text"), std::string()}) {
    write_file(file("journal.db"), damaged);
    write_file(file("journal.db-wal"), "x");  // as after a kill
    const auto refused = Journal::open(directory_);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kDataLoss) << refused.error().to_string();
    EXPECT_EQ(refused.error().reason, "journal.corrupt");
    EXPECT_NE(refused.error().to_string().find(file("journal.db")), std::string::npos);
    EXPECT_FALSE(refused.error().hint.empty());
    EXPECT_TRUE(read_file(file("journal.db")) == damaged);
    std::filesystem::remove(file("journal.db-wal"));
    std::filesystem::remove(file("journal.db-shm"));
  }
}

// Without this, a recovery over a hole would build a state that never was.
TEST_F(JournalTest, NoticesAMissingRecord) {
  ASSERT_TRUE(open()->append(records(10)));
  {
    auto database = Database::open(file("journal.db"));
    ASSERT_TRUE(database);
    ASSERT_TRUE(database->execute("DELETE FROM records WHERE sequence = 5"));
  }
  auto journal = open();
  std::uint64_t last = 0;
  const auto walked = journal->read_after(0, [&](const StoredRecord& stored) -> Result<void> {
    last = stored.sequence;
    return {};
  });
  ASSERT_FALSE(walked);
  EXPECT_EQ(walked.error().code, Code::kDataLoss);
  EXPECT_NE(walked.error().message.find("record 5 is missing"), std::string::npos);
  EXPECT_EQ(last, 4U);
}

// Without this, recovery would start from an old state, or from one that is ahead of the records.
TEST_F(JournalTest, GivesTheNewestSnapshotAndKeepsTwo) {
  auto journal = open();
  EXPECT_EQ(*journal->latest_snapshot(), std::nullopt);
  ASSERT_TRUE(journal->append(records(30)));
  for (const std::uint64_t sequence : {10U, 20U, 30U}) {
    ASSERT_TRUE(journal->save_snapshot({sequence, "state " + std::to_string(sequence)}));
  }
  ASSERT_TRUE(journal->save_snapshot({30, "state 30 again"}));
  EXPECT_EQ(journal->save_snapshot({31, ""}).error().reason, "journal.snapshot.ahead");
  journal.reset();
  {
    auto database = Database::open(file("journal.db"));
    EXPECT_EQ(*database->query_int64("SELECT count(*) FROM snapshots"), 2);
    EXPECT_EQ(*database->query_int64("SELECT min(sequence) FROM snapshots"), 20);
  }
  journal = open();
  const auto latest = journal->latest_snapshot();
  ASSERT_TRUE(latest);
  EXPECT_EQ(latest->value_or(Snapshot{}).sequence, 30U);
  EXPECT_EQ(latest->value_or(Snapshot{}).body, "state 30 again");
}

// Without this, the journal would grow for ever, or lose what no snapshot holds, or give a number twice.
TEST_F(JournalTest, CompactsOnlyWhatIsOldAndHeld) {
  auto journal = open();
  ASSERT_TRUE(journal->append(records(10'000)));  // record n is of time n - 1
  ASSERT_TRUE(journal->compact(TimeMs(1'000'000)));
  EXPECT_EQ(read_all(*journal).size(), 10'000U);  // no snapshot yet

  ASSERT_TRUE(journal->save_snapshot({9'000, "s"}));
  ASSERT_TRUE(journal->compact(TimeMs(8'000)));
  const auto gone = journal->read_after(0, [](const StoredRecord&) -> Result<void> { return {}; });
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().reason, "journal.compacted");
  EXPECT_EQ(gone.error().code, Code::kNotFound);
  EXPECT_EQ(std::get<std::int64_t>(gone.error().details.at(0).second), 8'001);
  EXPECT_EQ(read_all(*journal, 8'000).size(), 2'000U);

  ASSERT_TRUE(journal->compact(TimeMs(1'000'000)));  // the snapshot is the bound now
  EXPECT_EQ(read_all(*journal, 9'000).size(), 1'000U);

  ASSERT_TRUE(journal->save_snapshot({10'000, "s"}));
  ASSERT_TRUE(journal->compact(TimeMs(1'000'000)));
  journal.reset();
  journal = open();  // empty of records: the number comes from the snapshot
  EXPECT_EQ(journal->last_sequence(), 10'000U);
  EXPECT_EQ(*journal->append(records(1)), 10'001U);
  EXPECT_EQ(read_all(*journal, 10'000).size(), 1U);
  EXPECT_FALSE(journal->read_after(9'999, [](const StoredRecord&) -> Result<void> { return {}; }));
}

// Without this, one odd time stamp in between would make a hole.
TEST_F(JournalTest, CompactionStopsAtTheFirstYoungRecord) {
  auto journal = open();
  ASSERT_TRUE(journal->append(std::vector{record(1, ""), record(100, ""), record(2, ""), record(3, "")}));
  ASSERT_TRUE(journal->save_snapshot({4, "s"}));
  ASSERT_TRUE(journal->compact(TimeMs(50)));
  EXPECT_EQ(read_all(*journal, 1).size(), 3U);
}

// Runs `body` on a thread with a small file system of its own at `path`, which goes with the thread.
bool on_small_disk(const std::string& path, const char* options, const std::function<void()>& body) {
  bool mounted = false;
  std::thread thread([&] {
    if (unshare(CLONE_NEWNS) != 0) return;
    if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return;
    if (mount("tmpfs", path.c_str(), "tmpfs", 0, options) != 0) return;
    mounted = true;
    body();
  });
  thread.join();
  return mounted;
}

// Without this, a full disk would lose acknowledged records, keep half a batch, or need a restart.
TEST_F(JournalTest, AFullDiskKeepsNothingOfTheBatchAndHeals) {
  const bool mounted = on_small_disk(directory_, "size=2m", [&] {
    auto journal = open();
    std::uint64_t acknowledged = 0;
    Error error;
    for (int i = 0; i < 1000; ++i) {
      const auto appended = journal->append(records(10, 3000));
      if (!appended) {
        error = appended.error();
        break;
      }
      EXPECT_EQ(*appended, acknowledged + 1);
      acknowledged += 10;
    }
    EXPECT_EQ(error.code, Code::kUnavailable);
    EXPECT_EQ(error.reason, "journal.disk_full") << error.to_string();
    EXPECT_FALSE(error.hint.empty());
    EXPECT_GT(acknowledged, 0U);
    EXPECT_EQ(journal->last_sequence(), acknowledged);
    EXPECT_FALSE(journal->save_snapshot({acknowledged, std::string(4 << 20, 's')}));
    EXPECT_EQ(read_all(*journal).size(), acknowledged);

    ASSERT_EQ(mount("none", directory_.c_str(), nullptr, MS_REMOUNT, "size=16m"), 0);
    const auto healed = journal->append(records(10, 3000));
    ASSERT_TRUE(healed) << healed.error().to_string();
    EXPECT_EQ(*healed, acknowledged + 1);
    journal.reset();
    journal = open();
    EXPECT_EQ(read_all(*journal).size(), acknowledged + 10);
  });
  if (!mounted) GTEST_SKIP() << "needs the right to mount";
}

// Without this, a directory that cannot be written would give a riddle instead of its name.
TEST_F(JournalTest, NamesADirectoryThatCannotBeWritten) {
  const bool mounted = on_small_disk(directory_, "ro", [&] {
    const auto refused = Journal::open(directory_);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().to_string().find(directory_), std::string::npos);
    EXPECT_NE(refused.error().to_string().find("ead-only file system"), std::string::npos);
  });
  if (!mounted) GTEST_SKIP() << "needs the right to mount";
}

}  // namespace
}  // namespace tangram::journal
