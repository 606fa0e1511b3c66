#include "journal/journal.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
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

// A daemon that is killed between the fork and the exec of a child leaves its lock to the child for a moment.
// Without this, the start right after such a kill would be refused for a process that is gone.
TEST_F(JournalTest, TheLockOfADeadOwnerIsWaitedFor) {
  open().reset();
  const pid_t owner = fork();
  if (owner == 0) {
    const int lock = ::open((directory_ + "/LOCK").c_str(), O_RDWR | O_TRUNC);
    const std::string pid = std::to_string(getpid()) + "\n";
    const bool owned = flock(lock, LOCK_EX | LOCK_NB) == 0 &&
                       write(lock, pid.data(), pid.size()) == static_cast<ssize_t>(pid.size());
    if (fork() == 0) usleep(300'000);
    _exit(owned ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(owner, &status, 0), owner);
  ASSERT_EQ(status, 0);
  const auto next = Journal::open(directory_);
  EXPECT_TRUE(next) << next.error().to_string();
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

// Without this, a daemon that is root would write its pid over the file that a link in the directory points
// at, or a start wait for ever at a pipe.
TEST_F(JournalTest, FollowsNoLinkAndWaitsAtNoPipe) {
  write_file(file("target"), "kept");
  std::filesystem::create_symlink(file("target"), file("LOCK"));
  const auto linked = Journal::open(directory_);
  ASSERT_FALSE(linked);
  EXPECT_EQ(linked.error().message,
            "cannot open " + file("LOCK") + ": it is a symbolic link, not a plain file");
  EXPECT_NE(linked.error().hint.find("move away what stands in its place"), std::string::npos);
  EXPECT_EQ(read_file(file("target")), "kept");
  std::filesystem::remove(file("LOCK"));
  ASSERT_EQ(mkfifo(file("VERSION").c_str(), 0600), 0);
  const auto pipe = Journal::open(directory_);
  ASSERT_FALSE(pipe);
  EXPECT_EQ(pipe.error().to_string(),
            "cannot open the journal: cannot open " + file("VERSION") + ": it is a pipe, not a plain file");
  std::filesystem::remove(file("VERSION"));
  std::filesystem::create_symlink(file("target"), file("VERSION.new"));
  EXPECT_TRUE(Journal::open(directory_));
  EXPECT_EQ(read_file(file("target")), "kept");
}

// Without this, the first start on a fresh machine would fail.
TEST_F(JournalTest, MakesTheDirectoryForItsOwnerOnly) {
  const std::string deep = file("a/b/c");
  ASSERT_TRUE(Journal::open(deep));
  EXPECT_EQ(std::filesystem::status(deep).permissions(), std::filesystem::perms::owner_all);
  EXPECT_EQ(read_file(deep + "/VERSION"), newest_version() + "\n");
}

// Without this, an upgrade would lose what the version before has written, or leave the directory as if it
// had not happened.
TEST_F(JournalTest, GoesOnFromTheFirstVersion) {
  ASSERT_TRUE(open()->append(records(5)));
  {
    auto database = Database::open(file("journal.db"));
    ASSERT_TRUE(database);
    ASSERT_TRUE(database->execute(take_back_to(1).c_str()));
  }
  write_file(file("VERSION"), "1\n");
  auto journal = open();
  EXPECT_EQ(read_all(*journal).size(), 5U);
  EXPECT_EQ(read_file(file("VERSION")), newest_version() + "\n");
  ASSERT_TRUE(journal->append(records(1)));
}

// Without this, an old program would misread, and then damage, what a newer one wrote.
TEST_F(JournalTest, RefusesANewerVersion) {
  ASSERT_TRUE(open()->append(records(1)));
  write_file(file("VERSION"), "7\n");
  const auto refused = Journal::open(directory_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "journal.version.newer");
  EXPECT_NE(refused.error().to_string().find("version 7"), std::string::npos);
  EXPECT_NE(refused.error().to_string().find("up to " + newest_version()), std::string::npos);
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
  EXPECT_EQ(read_file(file("VERSION")), newest_version() + "\n");
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

// Without this, a file with other tables would be called a bug of the program, and nobody be told what to do.
TEST_F(JournalTest, NamesAFileWithOtherTables) {
  ASSERT_TRUE(open()->append(records(3)));
  {
    auto database = Database::open(file("journal.db"));
    ASSERT_TRUE(database->execute("ALTER TABLE records RENAME COLUMN body TO text"));
  }
  const auto refused = Journal::open(directory_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kDataLoss);
  EXPECT_EQ(refused.error().reason, "journal.corrupt");
  EXPECT_NE(refused.error().to_string().find(file("journal.db") + " is damaged"), std::string::npos);
  EXPECT_FALSE(refused.error().hint.empty());
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

// Without it a slow disk could not be told from a slow journal.
TEST_F(JournalTest, MeasuresTheTimeOfFsync) {
  const auto journal = open();
  EXPECT_EQ(journal->last_sync_time().count(), 0);
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(journal->append(records(10)));
  const auto whole = std::chrono::steady_clock::now() - begin;
  EXPECT_GT(journal->last_sync_time().count(), 0);
  EXPECT_LT(journal->last_sync_time(), whole);
}

// The files as a kill leaves them, with the second half of the records in the write-ahead log.
class KilledJournalTest : public JournalFixture {
 protected:
  KilledJournalTest() {
    EXPECT_TRUE(open()->append(records(50)));
    const auto journal = open();
    for (int i = 0; i < 50; ++i) EXPECT_TRUE(journal->append(records(1, 300)));
    for (const char* const name : {"journal.db", "journal.db-wal", "ACKNOWLEDGED"}) {
      files_[name] = read_file(file(name));
    }
  }

  void lay_out() const {
    std::filesystem::remove(file("journal.db-shm"));
    for (const auto& [name, text] : files_) write_file(file(name), text);
  }

  Error refusal() const {
    lay_out();
    const auto refused = Journal::open(directory_);
    EXPECT_FALSE(refused);
    return refused ? Error{} : refused.error();
  }

  std::map<std::string, std::string> files_;
};

// Without this, a test of damage would test nothing.
TEST_F(KilledJournalTest, GivesBackAllRecords) {
  lay_out();
  EXPECT_EQ(read_all(*open()).size(), 100U);
}

// Without this, acknowledged records would vanish without a word: SQLite drops all that follows a bad
// checksum.
TEST_F(KilledJournalTest, DamageInTheMiddleOfTheLogIsNoticed) {
  std::string& log = files_["journal.db-wal"];
  log[log.size() / 2] = static_cast<char>(~log[log.size() / 2]);
  const Error error = refusal();
  EXPECT_EQ(error.code, Code::kDataLoss);
  EXPECT_EQ(error.reason, "journal.records_missing");
  EXPECT_NE(error.to_string().find("but records up to 100 were acknowledged"), std::string::npos)
      << error.to_string();
  EXPECT_NE(error.to_string().find(file("journal.db")), std::string::npos);
  EXPECT_NE(error.hint.find(file("ACKNOWLEDGED")), std::string::npos) << error.hint;
  EXPECT_TRUE(read_file(file("journal.db")) == files_["journal.db"]) << "it was written to";
  EXPECT_TRUE(read_file(file("journal.db-wal")) == log) << "it was written to";
}

// Without this, a log that was cut or removed would be taken for an empty one.
TEST_F(KilledJournalTest, AMissingEndOfTheLogIsNoticed) {
  std::string& log = files_["journal.db-wal"];
  for (const std::size_t size : {log.size() - 5'000, std::size_t{40}, std::size_t{0}}) {
    log.resize(size);
    EXPECT_EQ(refusal().reason, "journal.records_missing") << size;
  }
}

// Without this, SQLite would take a file that has lost its content for a new one, and delete the log of the
// old one.
TEST_F(KilledJournalTest, AnEmptyFileDoesNotCostTheLog) {
  for (const std::string& rest : {std::string(), std::string("S")}) {
    files_["journal.db"] = rest;
    for (const bool has_version : {true, false}) {
      if (has_version) {
        write_file(file("VERSION"), "1\n");
      } else {
        std::filesystem::remove(file("VERSION"));
      }
      const Error error = refusal();
      EXPECT_EQ(error.reason, "journal.corrupt") << error.to_string();
      EXPECT_TRUE(read_file(file("journal.db-wal")) == files_["journal.db-wal"]) << "the log is gone";
    }
  }
}

// Without this, an operator who has nothing better could not go on.
TEST_F(KilledJournalTest, GoesOnWithoutWhatIsMissingWhenToldSo) {
  files_["journal.db-wal"].clear();
  files_.erase("ACKNOWLEDGED");
  lay_out();
  std::filesystem::remove(file("ACKNOWLEDGED"));
  {
    const auto journal = open();
    ASSERT_NE(journal, nullptr);
    EXPECT_EQ(journal->last_sequence(), 50U);
    EXPECT_EQ(*journal->append(records(1)), 51U);
  }
  EXPECT_EQ(read_file(file("ACKNOWLEDGED")), mark_of(51));
}

// Without this, a loss of power in the middle of a write of the mark, or any damage to it, would stop a start
// that has all its records.
TEST_F(KilledJournalTest, AMarkThatCannotBeReadRefusesNothing) {
  const std::string torn = mark_of(199).substr(0, 18) + mark_of(200).substr(18);
  for (const std::string& text :
       {std::string(), std::string("12\n"), std::string("00000000000000000200\n"), torn,
        mark_of(100).substr(0, 21) + mark_of(200).substr(21), mark_of(200) + "\n", std::string(42, '\0'),
        std::string("18446744073709551616 18446744073709551616\n")}) {
    SCOPED_TRACE(text);
    files_["ACKNOWLEDGED"] = text;
    lay_out();
    const auto journal = open();
    ASSERT_NE(journal, nullptr);
    EXPECT_EQ(journal->last_sequence(), 100U);
    EXPECT_EQ(read_file(file("ACKNOWLEDGED")), mark_of(100)) << "it is made anew";
  }
}

// Without this, a full disk would stop the first start that makes a mark, or make each commit fail.
TEST_F(KilledJournalTest, AMarkThatCannotBeMadeRefusesNothing) {
  files_.erase("ACKNOWLEDGED");
  lay_out();
  std::filesystem::remove(file("ACKNOWLEDGED"));
  std::filesystem::create_directory(file("ACKNOWLEDGED.new"));
  {
    const auto journal = open();
    ASSERT_NE(journal, nullptr);
    EXPECT_EQ(*journal->append(records(1)), 101U);
  }
  EXPECT_FALSE(std::filesystem::exists(file("ACKNOWLEDGED")));
  std::filesystem::remove(file("ACKNOWLEDGED.new"));
  EXPECT_NE(open(), nullptr);
  EXPECT_EQ(read_file(file("ACKNOWLEDGED")), mark_of(101)) << "the next start makes it";
}

// Without this, a crash between a commit and its mark, or a loss of power, after which the mark may be an
// older one, would stop the next start.
TEST_F(KilledJournalTest, AMarkThatLagsBehindIsNoFault) {
  for (const std::uint64_t sequence : {0U, 7U, 99U, 100U}) {
    files_["ACKNOWLEDGED"] = mark_of(sequence);
    lay_out();
    EXPECT_EQ(read_all(*open()).size(), 100U);
  }
}

// Without this, a compaction that drops the newest records would look like a loss of them.
TEST_F(KilledJournalTest, ACompactedJournalMissesNothing) {
  lay_out();
  {
    const auto journal = open();
    for (const std::uint64_t sequence : {99U, 100U}) ASSERT_TRUE(journal->save_snapshot({sequence, "s"}));
    ASSERT_TRUE(journal->compact(TimeMs(1'000'000)));
  }
  const auto journal = open();
  ASSERT_NE(journal, nullptr);
  EXPECT_EQ(journal->last_sequence(), 100U);
}

// Without it recovery could not go back behind a snapshot that it cannot read.
TEST_F(JournalTest, GivesTheSnapshotBeforeAnother) {
  auto journal = open();
  ASSERT_TRUE(journal->append(records(30)));
  ASSERT_TRUE(journal->save_snapshot({10, "state 10"}));
  ASSERT_TRUE(journal->save_snapshot({20, "state 20"}));
  EXPECT_EQ(journal->snapshot_before(21).value()->sequence, 20U);
  EXPECT_EQ(journal->snapshot_before(20).value()->body, "state 10");
  EXPECT_EQ(journal->snapshot_before(10).value(), std::nullopt);
}

// Changes one row of the closed journal as a failing disk would: its checksum stays.
void spoil(const std::string& path, const std::string& sql) {
  auto database = Database::open(path);
  ASSERT_TRUE(database);
  ASSERT_TRUE(database->execute(sql.c_str()));
}

// Without it a flipped bit that leaves a text well-formed would be believed: another tenant's quota, another
// time.
TEST_F(JournalTest, RefusesARecordThatIsNotTheOneThatWasKept) {
  for (const std::string& change : {std::string(R"(body = '{"npus":5}')"), std::string("at_ms = at_ms + 1"),
                                    std::string("kind = 'tesu'"), std::string("checksum = checksum + 1")}) {
    {
      auto journal = open();
      ASSERT_TRUE(journal->append(std::vector{record(1, "{}"), record(2, R"({"npus":4})"), record(3, "{}")}));
    }
    spoil(file("journal.db"), "UPDATE records SET " + change + " WHERE sequence = 2");
    auto journal = open();
    std::vector<std::uint64_t> visited;
    const auto walked = journal->read_after(0, [&](const StoredRecord& stored) -> Result<void> {
      visited.push_back(stored.sequence);
      return {};
    });
    ASSERT_FALSE(walked) << change;
    EXPECT_EQ(walked.error().code, Code::kDataLoss);
    EXPECT_EQ(walked.error().reason, "journal.corrupt");
    EXPECT_NE(walked.error().message.find("record 2 does not fit its checksum"), std::string::npos)
        << walked.error().to_string();
    EXPECT_NE(walked.error().hint.find("backup"), std::string::npos);
    EXPECT_EQ(visited, std::vector<std::uint64_t>{1});
    EXPECT_EQ(read_all(*journal, 2).size(), 1U) << "those that nobody reads again do no harm";
    journal.reset();
    std::filesystem::remove_all(directory_);
  }
}

// Without it a snapshot with one changed digit would become the state.
TEST_F(JournalTest, SaysThatASnapshotIsNotTheOneThatWasSaved) {
  {
    auto journal = open();
    ASSERT_TRUE(journal->append(records(30)));
    ASSERT_TRUE(journal->save_snapshot({10, R"({"npus":1})"}));
    ASSERT_TRUE(journal->save_snapshot({20, R"({"npus":2})"}));
    EXPECT_TRUE(journal->latest_snapshot().value()->intact);
  }
  spoil(file("journal.db"), R"(UPDATE snapshots SET body = '{"npus":3}' WHERE sequence = 20)");
  auto journal = open();
  EXPECT_FALSE(journal->latest_snapshot().value()->intact);
  EXPECT_EQ(journal->latest_snapshot().value()->sequence, 20U);
  EXPECT_TRUE(journal->snapshot_before(20).value()->intact);
}

// Without it one flipped bit of the header would go unseen, and every record from then on be unreadable.
TEST_F(JournalTest, RefusesAFileOfAnotherEncoding) {
  auto journal = open();
  ASSERT_TRUE(journal->append(records(3)));
  journal.reset();
  {
    std::fstream database(file("journal.db"), std::ios::in | std::ios::out | std::ios::binary);
    database.seekp(59).put(2);  // 1 is UTF-8, 2 and 3 are UTF-16
  }
  const auto refused = Journal::open(directory_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "journal.corrupt");
}

// Without it numbers that no journal gives would run over: the daemon would abort with the next record, or
// overwrite.
TEST_F(JournalTest, RefusesNumbersThatNoRecordHas) {
  for (const std::string& number :
       {std::string("-5"), std::string("8796093022208"), std::string("9223372036854775807")}) {
    for (const std::string& insert : {"INSERT INTO records VALUES(" + number + ", 0, 'kind', '', 0)",
                                      "INSERT INTO snapshots VALUES(" + number + ", '', 0)"}) {
      open().reset();
      {
        auto database = Database::open(file("journal.db"));
        ASSERT_TRUE(database->execute(insert.c_str()));
      }
      const auto refused = Journal::open(directory_);
      ASSERT_FALSE(refused) << insert;
      EXPECT_EQ(refused.error().reason, "journal.corrupt") << refused.error().to_string();
      std::filesystem::remove_all(directory_);
    }
  }
}

}  // namespace
}  // namespace tangram::journal
