// Events beside the records: kept with them, dropped with them, read while others write.
#include <atomic>
#include <filesystem>
#include <thread>

#include "journal/sqlite.h"
#include "journal/support.h"

namespace tangram::journal {
namespace {

NewEvent event(const std::string& type, const std::string& topic = "", const std::string& body = "{}") {
  return {type, {3, 1}, topic, "a group", body};
}

NewRecord with_events(std::vector<NewEvent> events, std::int64_t at = 1) {
  NewRecord made = record(at, "body");
  made.events = std::move(events);
  return made;
}

std::vector<std::string> cursors(const StoredEvents& found) {
  std::vector<std::string> all;
  for (const StoredEvent& stored : found.events) {
    all.push_back(std::to_string(stored.cursor.sequence) + "." + std::to_string(stored.cursor.item));
  }
  return all;
}

using Cursors = std::vector<std::string>;

class JournalEventsTest : public JournalFixture {
 protected:
  // Records 1 to 4; the third has none.
  static void fill(Journal& journal) {
    ASSERT_TRUE(journal.append(std::vector{with_events({event("a", "x"), event("b", "y")}),
                                           with_events({event("c", "x")}), with_events({})}));
    ASSERT_TRUE(journal.append(std::vector{with_events({event("d"), event("e", "x")})}));
  }
};

// Without this, a reader could miss events, get them in another order, or get other ones than were written.
TEST_F(JournalEventsTest, AreReadInOrderFromACursorOn) {
  auto journal = open();
  fill(*journal);
  const auto all = journal->read_events({});
  ASSERT_TRUE(all) << all.error().to_string();
  EXPECT_EQ(cursors(*all), (Cursors{"1.0", "1.1", "2.0", "4.0", "4.1"}));
  EXPECT_EQ(all->lost_through, 0U);
  const NewEvent& first = all->events.front().event;
  EXPECT_EQ(first.type, "a");
  EXPECT_EQ(first.tenants, (std::vector<std::uint32_t>{3, 1}));
  EXPECT_EQ(first.topic, "x");
  EXPECT_EQ(first.group, "a group");
  EXPECT_EQ(first.body, "{}");

  EventRange range;
  range.after = {1, 0};
  EXPECT_EQ(cursors(*journal->read_events(range)), (Cursors{"1.1", "2.0", "4.0", "4.1"}));
  range.after = {1, EventCursor::kItemMax};
  EXPECT_EQ(cursors(*journal->read_events(range)), (Cursors{"2.0", "4.0", "4.1"}));
  range.before = {4, 1};
  EXPECT_EQ(cursors(*journal->read_events(range)), (Cursors{"2.0", "4.0"}));
  range.backwards = true;
  EXPECT_EQ(cursors(*journal->read_events(range)), (Cursors{"4.0", "2.0"}));
  range.limit = 1;
  EXPECT_EQ(cursors(*journal->read_events(range)), (Cursors{"4.0"}));
}

// Without this, the history of one job would be a walk over everything, or that of another one.
TEST_F(JournalEventsTest, AreFoundByTheirTopic) {
  auto journal = open();
  fill(*journal);
  EventRange range;
  range.topic = "x";
  EXPECT_EQ(cursors(*journal->read_events(range)), (Cursors{"1.0", "2.0", "4.1"}));
  range.backwards = true;
  range.limit = 2;
  EXPECT_EQ(cursors(*journal->read_events(range)), (Cursors{"4.1", "2.0"}));

  auto database = Database::open(file("journal.db"));
  ASSERT_TRUE(database);
  auto statement =
      std::move(*database->prepare("EXPLAIN QUERY PLAN SELECT id FROM events WHERE id > ? AND id < ? AND "
                                   "topic = ? AND topic <> '' ORDER BY id"));
  ASSERT_TRUE(*statement.step());
  EXPECT_NE(statement.column_text(3).find("events_by_topic"), std::string::npos) << statement.column_text(3);
}

// Without this, a group that the disk did not take could leave events of things that never were.
TEST_F(JournalEventsTest, GoWithTheirRecords) {
  auto journal = open();
  fill(*journal);
  // A body that SQLite cannot take fails the whole group.
  std::vector<NewRecord> group{with_events({event("f")}), with_events({event("g")})};
  {
    auto database = Database::open(file("journal.db"));
    ASSERT_TRUE(
        database->execute("CREATE TRIGGER refuse BEFORE INSERT ON events WHEN NEW.type = 'g'"
                          " BEGIN SELECT RAISE(ABORT, 'no'); END"));
  }
  EXPECT_FALSE(journal->append(group));
  EXPECT_EQ(journal->read_events({})->events.size(), 5U);
  {
    auto database = Database::open(file("journal.db"));
    ASSERT_TRUE(database->execute("DROP TRIGGER refuse"));
  }
  EXPECT_EQ(*journal->append(group), 5U);
  journal.reset();
  EXPECT_EQ(cursors(*open()->read_events({})), (Cursors{"1.0", "1.1", "2.0", "4.0", "4.1", "5.0", "6.0"}));
}

// Without this, events would be kept for ever, or a reader whose events were dropped would not be told.
TEST_F(JournalEventsTest, ACompactionDropsThemAndSaysSo) {
  auto journal = open();
  ASSERT_TRUE(
      journal->append(std::vector{with_events({event("a", "x")}, 1), with_events({event("b", "x")}, 2),
                                  with_events({event("c", "x")}, 3)}));
  ASSERT_TRUE(journal->save_snapshot({2, "s"}));
  ASSERT_TRUE(journal->compact(TimeMs(1'000)));
  const auto left = journal->read_events({});
  EXPECT_EQ(cursors(*left), Cursors{"3.0"});
  EXPECT_EQ(left->lost_through, 2U);
  journal.reset();
  EXPECT_EQ(open()->read_events({})->lost_through, 2U);
}

// Without this, the journal of an older version would look as if nothing had ever happened in it.
TEST_F(JournalEventsTest, AnOlderJournalSaysThatItHasNone) {
  {
    ASSERT_TRUE(open()->append(records(7)));
    auto database = Database::open(file("journal.db"));
    ASSERT_TRUE(database);
    ASSERT_TRUE(database->execute(take_back_to(2).c_str()));
    write_file(file("VERSION"), "2\n");
  }
  auto journal = open();
  EXPECT_EQ(journal->read_events({})->lost_through, 7U);
  ASSERT_TRUE(journal->append(std::vector{with_events({event("a")})}));
  EXPECT_EQ(cursors(*journal->read_events({})), Cursors{"8.0"});
}

// Without this, readers of events could make the writer wait or fail, or see what is not durable.
TEST_F(JournalEventsTest, ReadersAndTheWriterDoNotDisturbEachOther) {
  auto journal = open();
  std::atomic<bool> done = false;
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      EventCursor position{0, EventCursor::kItemMax};
      std::uint64_t expected = 1;
      while (!done || expected <= 2'000) {
        EventRange range;
        range.after = position;
        const auto found = journal->read_events(range);
        ASSERT_TRUE(found) << found.error().to_string();
        for (const StoredEvent& stored : found->events) {
          ASSERT_EQ(stored.cursor.sequence, expected++);
          position = stored.cursor;
        }
      }
    });
  }
  for (int i = 0; i < 1'000; ++i) {
    const auto appended = journal->append(std::vector{with_events({event("a")}), with_events({event("b")})});
    ASSERT_TRUE(appended) << appended.error().to_string();
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
}

// Without it a damaged table would abort the daemon when somebody asks for events.
TEST_F(JournalEventsTest, AreRefusedWhenNobodyKnowsWhichAreLost) {
  auto journal = open();
  fill(*journal);
  for (const char* const damage : {"UPDATE events_lost SET through = -3", "DELETE FROM events_lost"}) {
    auto database = Database::open(file("journal.db"));
    ASSERT_TRUE(database->execute(damage));
    const auto found = journal->read_events({});
    ASSERT_FALSE(found) << damage;
    EXPECT_EQ(found.error().reason, "journal.corrupt");
  }
}

}  // namespace
}  // namespace tangram::journal
