#include "journal/events.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "base/invariant.h"

namespace tangram::journal {
namespace {

constexpr int kItemBits = 20;
static_assert(EventCursor::kItemMax == (1U << kItemBits) - 1);
static_assert(kSequenceMax == (std::uint64_t{1} << (63 - kItemBits)) - 1);

std::int64_t id_of(const EventCursor& cursor) {
  return static_cast<std::int64_t>(std::min(cursor.sequence, kSequenceMax) << kItemBits | cursor.item);
}

EventCursor cursor_of(std::int64_t id) {
  const auto bits = static_cast<std::uint64_t>(id);
  return {bits >> kItemBits, static_cast<std::uint32_t>(bits & EventCursor::kItemMax)};
}

std::string join(const std::vector<std::uint32_t>& numbers) {
  std::string text;
  for (const std::uint32_t number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

std::vector<std::uint32_t> split(std::string_view text) {
  std::vector<std::uint32_t> numbers;
  while (!text.empty()) {
    std::uint32_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data(), end, number);
    if (problem != std::errc{}) break;
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(std::min(stop + 1, end) - text.data()));
  }
  return numbers;
}

std::string select_text(const EventRange& range) {
  std::string sql = "SELECT id, type, tenants, topic, in_group, body FROM events WHERE id > ? AND id < ?";
  // The second condition tells SQLite that the partial index will do.
  if (!range.topic.empty()) sql += " AND topic = ? AND topic <> ''";
  sql += range.backwards ? " ORDER BY id DESC LIMIT ?" : " ORDER BY id LIMIT ?";
  return sql;
}

}  // namespace

Result<EventTable> EventTable::prepare(Database& database) {
  TG_TRY(Statement insert,
         database.prepare(
             "INSERT INTO events(id, type, tenants, topic, in_group, body) VALUES(?, ?, ?, ?, ?, ?)"));
  return EventTable(std::move(insert));
}

Result<void> EventTable::append(std::uint64_t sequence, const std::vector<NewEvent>& events) {
  TG_ASSERT(events.size() <= EventCursor::kItemMax, "a record has more events than can be numbered");
  std::uint32_t item = 0;
  for (const NewEvent& event : events) {
    const std::string tenants = join(event.tenants);
    insert_.bind(1, id_of({sequence, item++}));
    insert_.bind(2, event.type);
    insert_.bind(3, tenants);
    insert_.bind(4, event.topic);
    insert_.bind(5, event.group);
    insert_.bind(6, event.body);
    TG_TRY_VOID(insert_.run());
  }
  return {};
}

Result<void> EventTable::drop_through(Database& database, std::int64_t sequence) {
  TG_TRY(Statement drop, database.prepare("DELETE FROM events WHERE id <= ?"));
  TG_TRY(Statement note, database.prepare("UPDATE events_lost SET through = max(through, ?)"));
  drop.bind(1, id_of({static_cast<std::uint64_t>(sequence), EventCursor::kItemMax}));
  note.bind(1, sequence);
  TG_TRY_VOID(drop.run());
  return note.run();
}

Result<std::unique_ptr<EventReader>> EventReader::open(const std::string& path) {
  TG_TRY(Database database, Database::open(path));
  TG_TRY_VOID(database.execute("PRAGMA query_only = ON"));
  TG_TRY(Statement lost, database.prepare("SELECT through FROM events_lost"));
  return std::unique_ptr<EventReader>(new EventReader(std::move(database), std::move(lost)));
}

Result<std::uint64_t> EventReader::lost_through() {
  TG_TRY(const bool row, lost_.step());
  const std::int64_t through = row ? lost_.column_int64(0) : -1;
  lost_.reset();
  if (through >= 0 && static_cast<std::uint64_t>(through) <= kSequenceMax)
    return static_cast<std::uint64_t>(through);
  return fail(Code::kDataLoss, "journal.corrupt", "the journal does not say which of its events are lost",
              "stop the daemon and put a backup of the state directory in its place");
}

Result<StoredEvents> EventReader::read(const EventRange& range) {
  const std::lock_guard lock(mutex_);
  TG_TRY(Statement select, database_.prepare(select_text(range).c_str()));
  int parameter = 0;
  select.bind(++parameter, id_of(range.after));
  select.bind(++parameter, id_of(range.before));
  if (!range.topic.empty()) select.bind(++parameter, range.topic);
  select.bind(++parameter, static_cast<std::int64_t>(std::min<std::size_t>(range.limit, 1U << 20)));
  StoredEvents found;
  while (true) {
    TG_TRY(const bool row, select.step());
    if (!row) break;
    found.events.push_back({cursor_of(select.column_int64(0)),
                            {std::string(select.column_text(1)), split(select.column_text(2)),
                             std::string(select.column_text(3)), std::string(select.column_text(4)),
                             std::string(select.column_text(5))}});
  }
  // Asked last: a compaction in between must not go unnoticed.
  TG_TRY(found.lost_through, lost_through());
  return found;
}

}  // namespace tangram::journal
