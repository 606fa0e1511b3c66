// A temporary state directory and short ways to fill and read a journal.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "journal/journal.h"
#include "journal/migrations.h"

namespace tangram::journal {

class JournalFixture : public ::testing::Test {
 protected:
  JournalFixture() {
    std::string name = (std::filesystem::temp_directory_path() / "tangram-journal-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    directory_ = name;
  }
  ~JournalFixture() override {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  std::string file(std::string_view name) const { return directory_ + "/" + std::string(name); }

  std::unique_ptr<Journal> open() const {
    auto journal = Journal::open(directory_);
    EXPECT_TRUE(journal) << journal.error().to_string();
    return journal ? std::move(*journal) : nullptr;
  }

  std::string directory_;
};

// The newest version, as the file VERSION says it.
inline std::string newest_version() {
  return std::to_string(migrations().back().to_version);
}

// SQL that makes the tables of the newest version those of version 1 or 2.
inline std::string take_back_to(int version) {
  return "ALTER TABLE records DROP COLUMN checksum; ALTER TABLE snapshots DROP COLUMN checksum;"
         "DROP TABLE events; DROP TABLE events_lost; PRAGMA user_version = " +
         std::to_string(version);
}

// What ACKNOWLEDGED holds.
inline std::string mark_of(std::uint64_t sequence) {
  std::string digits = std::to_string(sequence);
  digits.insert(0, 20 - digits.size(), '0');
  return digits + " " + digits + "\n";
}

inline NewRecord record(std::int64_t at, std::string body) {
  return {TimeMs(at), "test", std::move(body)};
}

inline std::vector<NewRecord> records(int count, std::size_t body_bytes = 20) {
  std::vector<NewRecord> all;
  all.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i)
    all.push_back(record(i, std::string(body_bytes, static_cast<char>('a' + i % 26))));
  return all;
}

inline std::vector<StoredRecord> read_all(Journal& journal, std::uint64_t after = 0) {
  std::vector<StoredRecord> all;
  const auto walked = journal.read_after(after, [&](const StoredRecord& stored) -> Result<void> {
    all.push_back(stored);
    return {};
  });
  EXPECT_TRUE(walked) << walked.error().to_string();
  return all;
}

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace tangram::journal
