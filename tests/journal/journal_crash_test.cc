#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <random>
#include <thread>

#include "base/crash_point.h"
#include "journal/support.h"

namespace tangram::journal {
namespace {

class JournalCrashTest : public JournalFixture {
 protected:
  struct Writer {
    pid_t pid = -1;
    int acks = -1;
  };

  Writer start_writer(const char* mode, const char* crash_at) const {
    int ends[2] = {-1, -1};
    if (pipe2(ends, O_CLOEXEC) != 0) std::abort();
    const pid_t pid = fork();
    if (pid < 0) std::abort();
    if (pid == 0) {
      dup2(ends[1], STDOUT_FILENO);
      setenv("TANGRAM_CRASH_AT", crash_at, 1);
      execl(JOURNAL_WRITER, "journal_writer", directory_.c_str(), mode, nullptr);
      _exit(127);
    }
    close(ends[1]);
    return {pid, ends[0]};
  }

  // At most ten seconds; the acknowledgement stays in the pipe.
  static void wait_for_first_ack(const Writer& writer) {
    pollfd poll_fd{writer.acks, POLLIN, 0};
    EXPECT_EQ(poll(&poll_fd, 1, 10'000), 1) << "the writer acknowledged nothing";
  }

  // Waits for the death by SIGKILL, and gives the last sequence that was acknowledged before it (0: none).
  static std::uint64_t wait_for_death(const Writer& writer) {
    std::uint64_t last = 0;
    std::uint64_t next = 0;
    while (read(writer.acks, &next, sizeof next) == sizeof next) last = next;
    close(writer.acks);
    int status = 0;
    EXPECT_EQ(waitpid(writer.pid, &status, 0), writer.pid);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "it ended by itself: " << status;
    return last;
  }

  // All that was acknowledged is there, in order and without gaps. The number of records.
  std::uint64_t verify(std::uint64_t acknowledged) const {
    auto journal = open();
    if (journal == nullptr) return 0;
    const auto all = read_all(*journal);
    EXPECT_GE(all.size(), acknowledged);
    // At most one whole batch that nobody saw acknowledged.
    EXPECT_LE(all.size(), acknowledged + 7);
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(all[i].sequence, i + 1);
      EXPECT_EQ(all[i].body, "body " + std::to_string(i + 1));
      if (HasFailure()) break;
    }
    const auto snapshot = journal->latest_snapshot();
    EXPECT_TRUE(snapshot);
    const Snapshot latest = snapshot ? snapshot->value_or(Snapshot{0, "snapshot 0"}) : Snapshot{};
    EXPECT_EQ(latest.body, "snapshot " + std::to_string(latest.sequence));
    EXPECT_LE(latest.sequence, all.size());
    return all.size();
  }
};

// Without this, an acknowledged job could vanish with the daemon.
TEST_F(JournalCrashTest, KilledAtRandomMomentsKeepsWhatItAcknowledged) {
  const unsigned seed = 20260;
  std::mt19937 random(seed);
  std::uint64_t held = 0;
  for (int round = 0; round < 50; ++round) {
    SCOPED_TRACE("seed " + std::to_string(seed) + " round " + std::to_string(round));
    const Writer writer = start_writer("write", "");
    // The moment must be blind to what the writer does, so here time is the right thing to wait for. In most
    // rounds it counts from the first acknowledgement, so that a slow machine does not kill only what has not
    // begun.
    if (round % 5 != 0) wait_for_first_ack(writer);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
    kill(writer.pid, SIGKILL);
    held = verify(std::max(held, wait_for_death(writer)));
    if (HasFailure()) return;
  }
  EXPECT_GE(held, 40U) << "the kills came too early to test anything";
}

#ifdef TANGRAM_CRASH_POINTS
// Without this, the windows that random kills seldom hit would be untested.
TEST_F(JournalCrashTest, KilledAtEachNamedPlace) {
  std::uint64_t held = 0;
  for (const char* const place :
       {"journal.migrating", "journal.before_version", "journal.before_mark_file", "journal.before_append:20",
        "journal.before_commit:20", "journal.before_mark:20", "journal.after_append:20",
        "journal.before_snapshot", "journal.after_snapshot"}) {
    SCOPED_TRACE(place);
    const Writer writer = start_writer("write", place);
    const std::uint64_t acknowledged = wait_for_death(writer);
    // The next start goes on from there: after the first three, with the making of the files.
    const bool is_last_of_them = std::string_view(place) == "journal.before_mark_file";
    if (is_last_of_them) {
      EXPECT_FALSE(std::filesystem::exists(file("ACKNOWLEDGED"))) << "it has its name before it is whole";
    }
    if (is_last_of_them || held + acknowledged > 0) held = verify(std::max(held, acknowledged));
    if (HasFailure()) return;
    if (is_last_of_them) {
      EXPECT_EQ(read_file(file("VERSION")), newest_version() + "\n");
      EXPECT_EQ(read_file(file("ACKNOWLEDGED")), mark_of(0));
      EXPECT_FALSE(std::filesystem::exists(file("ACKNOWLEDGED.new")));
    }
  }
  EXPECT_GT(held, 50U);
}

// Without this, a kill during compaction could leave a hole.
TEST_F(JournalCrashTest, KilledWhileCompactingLeavesNoHole) {
  auto journal = open();
  ASSERT_TRUE(journal->append(records(20'000)));
  ASSERT_TRUE(journal->save_snapshot({20'000, "s"}));
  journal.reset();
  wait_for_death(start_writer("compact", "journal.compacting:3"));
  journal = open();
  const std::uint64_t dropped = std::uint64_t{2} * 4096;
  EXPECT_EQ(read_all(*journal, dropped).size(), 20'000 - dropped);
  EXPECT_TRUE(journal->compact(TimeMs(1'000'000)));
  EXPECT_EQ(*journal->append(records(1)), 20'001U);
}
#endif

}  // namespace
}  // namespace tangram::journal
