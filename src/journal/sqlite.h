// The SQLite C API behind values that clean up after themselves and return Result. Nothing else here calls
// SQLite.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace tangram::journal {

// A prepared statement. Goes before its database. Parameters count from 1, columns from 0.
class Statement {
 public:
  void bind(int parameter, std::int64_t value);
  // `text` must stay as it is until reset().
  void bind(int parameter, std::string_view text);

  // True: a row is there. False: done; the statement is reset.
  Result<bool> step();
  // step() for a statement without rows.
  Result<void> run();
  void reset();

  std::int64_t column_int64(int column) const;
  std::string_view column_text(int column) const;  // valid until the next step

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };

  Statement(sqlite3* database, sqlite3_stmt* statement) : database_(database), statement_(statement) {}

  sqlite3* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// One connection. Calls from one thread at a time. Errors:
//   kUnavailable "journal.disk_full", "journal.io_error", "journal.read_only", "journal.busy"
//   kDataLoss "journal.corrupt"
//   kInternal "journal.sqlite" for everything else, which would be a bug
class Database {
 public:
  // Creates the file when it is missing. Its statements know the function checksum_of(sequence, at_ms, kind,
  // body) of checksum.h.
  static Result<Database> open(const std::string& path);

  // Statements without rows and without parameters; may hold several.
  Result<void> execute(const char* sql);
  Result<Statement> prepare(const char* sql);

  // One number from the first row.
  Result<std::int64_t> query_int64(const char* sql);
  Result<std::string> query_text(const char* sql);

  bool in_transaction() const;

  // The path no longer names the file that is open: it was removed, renamed or replaced.
  bool was_moved() const;

  // While false, closing the last connection leaves the write-ahead log as it is. True when opened.
  void checkpoint_on_close(bool wanted);

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  explicit Database(std::unique_ptr<sqlite3, Close> database) : database_(std::move(database)) {}

  std::unique_ptr<sqlite3, Close> database_;
};

// Rolls back unless commit() succeeded.
class Transaction {
 public:
  // Takes the write lock at once, so that nothing later can fail for it.
  static Result<Transaction> begin(Database& database);
  ~Transaction();
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;

  Result<void> commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}

  Database* database_;  // null: nothing to undo
};

}  // namespace tangram::journal
