// A state directory whose files are damaged, or were never ours. Opened and recovered as the daemon does, it
// gives a state or an error. The first byte says which: '0' journal.db and its log as a whole, '1' patches to
// good files, '2' rows of a file that SQLite finds nothing wrong with.
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "input.h"
#include "journal/journal.h"
#include "journal/migrations.h"
#include "journal/sqlite.h"
#include "require.h"
#include "service/recovery.h"

namespace tangram::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr std::array kFiles = {"journal.db", "journal.db-wal", "ACKNOWLEDGED", "VERSION"};
using Contents = std::array<std::string, kFiles.size()>;

// In memory where there is such a place: hundreds of files a second would wear out a disk.
const std::string& directory() {
  static const std::string path = [] {
    const char* const base = fs::exists("/dev/shm") ? "/dev/shm" : "/tmp";
    std::string made = std::string(base) + "/tangram-fuzz-XXXXXX";
    require(mkdtemp(made.data()) != nullptr, "a directory can be made");
    static const std::string kept = made;
    (void)std::atexit([] { fs::remove_all(kept); });
    return made;
  }();
  return path;
}

std::string state_directory() {
  return directory() + "/state";
}

void write_files(const Contents& contents) {
  fs::remove_all(state_directory());
  fs::create_directory(state_directory());
  for (std::size_t i = 0; i < kFiles.size(); ++i) {
    if (contents[i].empty()) continue;
    std::ofstream(state_directory() + "/" + kFiles[i], std::ios::binary) << contents[i];
  }
}

Contents read_files() {
  Contents contents;
  for (std::size_t i = 0; i < kFiles.size(); ++i) {
    std::ifstream file(state_directory() + "/" + kFiles[i], std::ios::binary);
    contents[i].assign(std::istreambuf_iterator<char>(file), {});
  }
  return contents;
}

std::vector<NewRecord> history() {
  const std::string tenant =
      R"({"input":{"tenant":0,"spec":{"name":"a","parent":"","quota":{"npus":4,"memoryPerNpu":1099511627776,)"
      R"("memoryTotal":1099511627776,"aiCores":1000,"runningJobs":4,"runTimeMs":2305843009213693951,"priorities":7,)"
      R"("bandwidthBps":0}}},"extras":{"members":[],"jobDefaults":{}}})";
  return {{TimeMs(1000),
           "daemon_started",
           R"({"version":"1","bootId":"b"})",
           {{"daemon.started", {}, "", "", "{}"}}},
          {TimeMs(1001), "tenant_put", tenant, {{"tenant.created", {0}, "a", "", "{}"}}},
          {TimeMs(1002), "settings_changed", R"({"keepAfterMs":600000})"},
          {TimeMs(1003), "token_created",
           R"({"token":1,"name":"t","role":"viewer","secretHash":"00","lifetimeMs":1000,"by":"uid 0"})"}};
}

// With a log that was not emptied, as after a kill, and two snapshots.
const Contents& good_files() {
  static const Contents contents = [] {
    fs::remove_all(state_directory());
    auto journal = journal::Journal::open(state_directory());
    require(journal.has_value(), "a journal can be made");
    const auto records = history();
    require((*journal)->append(records).has_value(), "records can be appended");
    for (const std::uint64_t sequence : {2U, 4U}) {
      service::State state;
      require((*journal)->save_snapshot({sequence, state.to_snapshot()}).has_value(),
              "a snapshot can be saved");
    }
    return read_files();
  }();
  return contents;
}

// FILE OFFSET LENGTH BYTES, or a cut.
Contents patched(Input& input) {
  Contents contents = good_files();
  for (int patches = 0; !input.empty() && patches < 32; ++patches) {
    const std::uint8_t what = input.byte();
    std::string& file = contents[what % kFiles.size()];
    const std::size_t at = file.empty() ? 0 : input.number(3) % file.size();
    if ((what & 0x80U) != 0) {
      file.resize(at);
      continue;
    }
    const std::string_view bytes = input.text(input.byte());
    file.replace(at, std::min(bytes.size(), file.size() - at), bytes);
  }
  return contents;
}

std::int64_t number_of(std::string_view text) {
  std::int64_t value = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// One row a line: "R SEQUENCE TIME KIND BODY", "S SEQUENCE BODY", "L THROUGH", "E ID TYPE TENANTS TOPIC
// BODY".
void insert(journal::Database& database, std::string_view line) {
  Input fields(reinterpret_cast<const std::uint8_t*>(line.data()), line.size());
  const std::string_view table = fields.until(' ');
  const bool numbered = table == "R" || table == "S" || table == "E";
  if (!numbered && table != "L") return;
  const char* const sql =
      table == "R"   ? "INSERT OR REPLACE INTO records VALUES(?1, ?2, ?3, ?4, checksum_of(?1, ?2, ?3, ?4))"
      : table == "S" ? "INSERT OR REPLACE INTO snapshots VALUES(?1, ?2, checksum_of(?1, 0, 'snapshot', ?2))"
      : table == "E" ? "INSERT OR REPLACE INTO events VALUES(?, ?, ?, ?, '', ?)"
                     : "UPDATE events_lost SET through = ?";
  auto statement = database.prepare(sql);
  require(statement.has_value(), "the tables are those of this version");
  statement->bind(1, number_of(fields.until(' ')));
  if (table == "R") {
    statement->bind(2, number_of(fields.until(' ')));
    statement->bind(3, fields.until(' '));
    statement->bind(4, fields.rest());
  } else if (table == "S") {
    statement->bind(2, fields.rest());
  } else if (table == "E") {
    for (int parameter = 2; parameter < 5; ++parameter) statement->bind(parameter, fields.until(' '));
    statement->bind(5, fields.rest());
  }
  (void)statement->run();
}

Contents rows(Input& input) {
  fs::remove_all(state_directory());
  fs::create_directory(state_directory());
  {
    auto database = journal::Database::open(state_directory() + "/journal.db");
    require(database.has_value(), "a database can be made");
    require(database->execute("PRAGMA journal_mode = WAL").has_value(), "it has a log");
    require(journal::migrate(*database, journal::migrations()).has_value(), "it has the tables");
    require(database->execute("BEGIN").has_value(), "a transaction begins");
    if (input.byte() == '-') require(database->execute("DELETE FROM events_lost").has_value(), "rows can go");
    for (int lines = 0; !input.empty() && lines < 100; ++lines) insert(*database, input.until('\n'));
    require(database->execute("COMMIT").has_value(), "the transaction ends");
  }
  return read_files();
}

// What the daemon does with a directory: everything ends in a value or in an error.
void use() {
  auto journal = journal::Journal::open(state_directory());
  if (!journal) return require_presentable(journal.error());
  const auto recovered = service::recover(**journal);
  if (!recovered) return require_presentable(recovered.error());
  require(recovered->sequence <= (*journal)->last_sequence(), "no record is of the future");
  for (const bool backwards : {false, true}) {
    EventRange range;
    range.backwards = backwards;
    const auto events = (*journal)->read_events(range);
    if (!events) require_presentable(events.error());
  }
  const NewRecord next{recovered->state.last_time(), "daemon_started", R"({"version":"2","bootId":"c"})", {}};
  const auto appended = (*journal)->append(std::span(&next, 1));
  if (!appended) return require_presentable(appended.error());
  const auto saved = (*journal)->save_snapshot({*appended, recovered->state.to_snapshot()});
  if (!saved) return require_presentable(saved.error());
  const auto compacted = (*journal)->compact(recovered->state.last_time());
  if (!compacted) require_presentable(compacted.error());
  require(service::recover(**journal).has_value(), "what was recovered once and went on is recovered again");
}

}  // namespace
}  // namespace tangram::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tangram::fuzz;
  be_quiet();
  Input input(data, size);
  switch (input.byte()) {
    case '0': {
      Contents contents;
      contents[0] = input.text(input.number(2));
      contents[1] = input.rest();
      contents[3] = "4\n";
      write_files(contents);
      break;
    }
    case '1':
      write_files(patched(input));
      break;
    case '2':
      write_files(rows(input));
      break;
    default:
      return -1;
  }
  use();
  return 0;
}
