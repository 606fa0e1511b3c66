#include "journal/migrations.h"

#include <array>

#include "journal/sqlite.h"
#include "journal/support.h"

namespace tangram::journal {
namespace {

class MigrationsTest : public JournalFixture {};

constexpr std::array kTwoSteps = {
    Migration{1, "CREATE TABLE notes(id INTEGER PRIMARY KEY, text TEXT NOT NULL)"},
    Migration{2,
              "ALTER TABLE notes ADD COLUMN author TEXT NOT NULL DEFAULT 'nobody'; UPDATE notes SET text = "
              "text || '!'"}};

// Without this, an upgrade would start empty, or run a step twice.
TEST_F(MigrationsTest, EachStepRunsOnceAndKeepsTheData) {
  auto database = Database::open(file("x.db"));
  ASSERT_TRUE(database);
  ASSERT_TRUE(migrate(*database, std::span(kTwoSteps).first(1)));
  EXPECT_EQ(*database->query_int64("PRAGMA user_version"), 1);
  ASSERT_TRUE(database->execute("INSERT INTO notes VALUES(1, 'old')"));
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(migrate(*database, kTwoSteps));
    EXPECT_EQ(*database->query_int64("PRAGMA user_version"), 2);
    EXPECT_EQ(*database->query_text("SELECT text || ' ' || author FROM notes"), "old! nobody");
  }
}

// Without this, a step that fails half-way would leave tables that no version knows.
TEST_F(MigrationsTest, AFailedStepLeavesTheVersionBefore) {
  auto database = Database::open(file("x.db"));
  ASSERT_TRUE(database);
  ASSERT_TRUE(migrate(*database, std::span(kTwoSteps).first(1)));
  const std::array broken = {kTwoSteps[0],
                             Migration{2, "CREATE TABLE half(x); INSERT INTO nowhere VALUES(1)"}};
  const auto failed = migrate(*database, broken);
  ASSERT_FALSE(failed);
  EXPECT_EQ(*database->query_int64("PRAGMA user_version"), 1);
  EXPECT_EQ(*database->query_int64("SELECT count(*) FROM sqlite_schema WHERE name = 'half'"), 0);
  EXPECT_FALSE(database->in_transaction());
}

// Without this, a step could be left out or put at the wrong place when a version is added.
TEST(Migrations, AreNumberedFromOneWithoutGaps) {
  std::int64_t version = 0;
  for (const Migration& step : migrations()) EXPECT_EQ(step.to_version, ++version);
  EXPECT_GE(version, 1);
}

// Without this, an upgrade could lose records, or take events for kept that an older version never wrote.
TEST_F(MigrationsTest, JournalsOfEachOlderVersionAreTakenOver) {
  for (std::size_t version = 1; version < migrations().size(); ++version) {
    SCOPED_TRACE("from version " + std::to_string(version));
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      std::filesystem::remove(entry.path());
    }
    {
      auto database = Database::open(file("journal.db"));
      ASSERT_TRUE(database);
      ASSERT_TRUE(migrate(*database, migrations().first(version)));
      ASSERT_TRUE(database->execute("INSERT INTO snapshots(sequence, body) VALUES(1, 'state')"));
      ASSERT_TRUE(
          database->execute("INSERT INTO records(sequence, at_ms, kind, body)"
                            " VALUES(1, 5, 'test', 'a'), (2, 6, 'test', 'b')"));
    }
    write_file(file("VERSION"), std::to_string(version) + "\n");
    const auto journal = open();
    ASSERT_NE(journal, nullptr);
    EXPECT_EQ(read_all(*journal).size(), 2U);
    EXPECT_TRUE(journal->latest_snapshot().value()->intact);
    EXPECT_EQ(*journal->append(records(1)), 3U);
    const auto events = journal->read_events({});
    ASSERT_TRUE(events);
    EXPECT_EQ(events->lost_through, version < 3 ? 2U : 0U) << "the records of before events had none";
    EXPECT_EQ(read_file(file("VERSION")), newest_version() + "\n");
    EXPECT_EQ(read_file(file("ACKNOWLEDGED")), mark_of(3));
  }
}

}  // namespace
}  // namespace tangram::journal
