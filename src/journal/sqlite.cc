#include "journal/sqlite.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <limits>
#include <utility>

#include "base/invariant.h"
#include "base/quote.h"
#include "journal/checksum.h"
#include "journal/sync_time.h"

namespace tangram::journal {
namespace {

constexpr int kBusyTimeoutMs = 5000;
constexpr mode_t kFileMode = 0600;

std::string path_of(sqlite3* database) {
  const char* const name = sqlite3_db_filename(database, "main");
  return name == nullptr || *name == '\0' ? "the journal" : name;
}

// The error of the last call on `database`.
Error last_error(sqlite3* database) {
  const int code = sqlite3_errcode(database);
  const std::string path = path_of(database);
  const std::string text = path + ": " + printable(sqlite3_errmsg(database));
  switch (code) {
    case SQLITE_FULL:
      return Error{Code::kUnavailable,
                   "journal.disk_full",
                   text,
                   "free space on the file system of " + path + "; Tangram goes on by itself then",
                   {},
                   nullptr};
    case SQLITE_IOERR:
      return Error{Code::kUnavailable,
                   "journal.io_error",
                   text + " (" + errno_text(sqlite3_system_errno(database)) + ")",
                   "check the disk below " + path,
                   {},
                   nullptr};
    case SQLITE_CANTOPEN:
      return Error{Code::kUnavailable,
                   "journal.io_error",
                   text + " (" + errno_text(sqlite3_system_errno(database)) + ")",
                   "check that the directory exists and that this user may write in it",
                   {},
                   nullptr};
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return Error{Code::kUnavailable,
                   "journal.read_only",
                   text,
                   "make the file system of " + path + " writable for this user",
                   {},
                   nullptr};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Error{Code::kUnavailable,
                   "journal.busy",
                   text,
                   "end the other program that holds " + path + " open",
                   {},
                   nullptr};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Error{Code::kDataLoss,
                   "journal.corrupt",
                   text,
                   "the file was left as it is: move " + path +
                       " away with its -wal file and put a backup in its place",
                   {},
                   nullptr};
    default:
      return Error{Code::kInternal, "journal.sqlite", text, {}, {}, nullptr};
  }
}

std::string_view text_of(sqlite3_value* value) {
  const void* const bytes = sqlite3_value_blob(value);
  if (bytes == nullptr) return {};
  return {static_cast<const char*>(bytes), static_cast<std::size_t>(sqlite3_value_bytes(value))};
}

void checksum_of_row(sqlite3_context* context, int /*four*/, sqlite3_value** values) {
  sqlite3_result_int64(context, checksum_of(sqlite3_value_int64(values[0]), sqlite3_value_int64(values[1]),
                                            text_of(values[2]), text_of(values[3])));
}

}  // namespace

// ---- Statement

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

void Statement::bind(int parameter, std::int64_t value) {
  const int code = sqlite3_bind_int64(statement_.get(), parameter, value);
  TG_ASSERT(code == SQLITE_OK, "bound to a statement that runs, or no such parameter");
}

void Statement::bind(int parameter, std::string_view text) {
  const int code = sqlite3_bind_text64(statement_.get(), parameter, text.data() == nullptr ? "" : text.data(),
                                       text.size(), SQLITE_STATIC, SQLITE_UTF8);
  // A text beyond SQLite's limit binds as NULL, which the schema refuses.
  TG_ASSERT(code == SQLITE_OK || code == SQLITE_TOOBIG,
            "bound to a statement that runs, or no such parameter");
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) {
    reset();
    return false;
  }
  Error error = last_error(database_);
  reset();
  return fail(std::move(error));
}

Result<void> Statement::run() {
  TG_TRY(const bool row, step());
  TG_ASSERT(!row, "a statement without rows gave one");
  return {};
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
}

std::int64_t Statement::column_int64(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string_view Statement::column_text(int column) const {
  const void* const bytes = sqlite3_column_blob(statement_.get(), column);
  if (bytes == nullptr) return {};
  return {static_cast<const char*>(bytes),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

// ---- Database

void Database::Close::operator()(sqlite3* database) const {
  const int code = sqlite3_close(database);
  TG_ASSERT(code == SQLITE_OK, "a statement outlives its database");
}

Result<Database> Database::open(const std::string& path) {
  // SQLite would let others read what it makes; its further files take over the mode of this one.
  // One that is there is left alone: closing it would drop the locks of another connection of this process.
  const int made = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode);
  if (made >= 0) close(made);
  sqlite3* raw = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                      timed_file_layer());
  TG_ASSERT(raw != nullptr, "out of memory");
  std::unique_ptr<sqlite3, Close> database(raw);
  if (code != SQLITE_OK) return fail(last_error(raw));
  sqlite3_busy_timeout(raw, kBusyTimeoutMs);
  const int defined = sqlite3_create_function_v2(raw, "checksum_of", 4,
                                                 SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY,
                                                 nullptr, checksum_of_row, nullptr, nullptr, nullptr);
  TG_ASSERT(defined == SQLITE_OK, "out of memory");
  return Database(std::move(database));
}

Result<void> Database::execute(const char* sql) {
  if (sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) {
    return fail(last_error(database_.get()));
  }
  return {};
}

Result<Statement> Database::prepare(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v3(database_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) !=
      SQLITE_OK) {
    return fail(last_error(database_.get()));
  }
  return Statement(database_.get(), statement);
}

Result<std::int64_t> Database::query_int64(const char* sql) {
  TG_TRY(Statement statement, prepare(sql));
  TG_TRY(const bool row, statement.step());
  TG_ASSERT(row, "a query for one row gave none");
  return statement.column_int64(0);
}

Result<std::string> Database::query_text(const char* sql) {
  TG_TRY(Statement statement, prepare(sql));
  TG_TRY(const bool row, statement.step());
  TG_ASSERT(row, "a query for one row gave none");
  return std::string(statement.column_text(0));
}

bool Database::in_transaction() const {
  return sqlite3_get_autocommit(database_.get()) == 0;
}

bool Database::was_moved() const {
  int moved = 0;
  const int code = sqlite3_file_control(database_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  return code == SQLITE_OK && moved != 0;
}

void Database::checkpoint_on_close(bool wanted) {
  sqlite3_db_config(database_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, wanted ? 0 : 1, nullptr);
}

// ---- Transaction

Result<Transaction> Transaction::begin(Database& database) {
  TG_TRY_VOID(database.execute("BEGIN IMMEDIATE"));
  return Transaction(database);
}

Result<void> Transaction::commit() {
  TG_TRY_VOID(database_->execute("COMMIT"));
  database_ = nullptr;
  return {};
}

Transaction::~Transaction() {
  // SQLite may have rolled back by itself, for example when the disk was full.
  if (database_ != nullptr && database_->in_transaction()) (void)database_->execute("ROLLBACK");
}

}  // namespace tangram::journal
