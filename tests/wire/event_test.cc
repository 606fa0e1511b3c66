// The words and cursors of events.
#include "wire/event.h"

#include <gtest/gtest.h>

#include <set>

namespace tangram::wire {
namespace {

// Without it two kinds of change could be called the same, or one of them nothing.
TEST(EventTypes, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const EventType type : event_types()) {
    EXPECT_TRUE(names.insert(to_string(type)).second) << to_string(type);
    EXPECT_NE(to_string(type).find('.'), std::string_view::npos);
  }
  EXPECT_EQ(event_types().size(), static_cast<std::size_t>(EventType::kDaemonStarted) + 1);
  EXPECT_EQ(to_string(EventType::kJobSubmitted), "job.submitted");
  EXPECT_EQ(to_string(EventType::kDaemonStarted), "daemon.started");
}

// Without it a slip in a filter would mean that nothing ever comes.
TEST(EventTypes, OthersAreRefusedWithWhatWasMeant) {
  for (const std::string_view known : {"job.ended", "npu.allocated", "job.*", "daemon.*"}) {
    EXPECT_TRUE(check_event_type(known, "type")) << known;
  }
  for (const std::string_view text : {"", "job", "job.", "*", "job.vanished", "j*", "jobs.*"}) {
    const auto checked = check_event_type(text, "type");
    ASSERT_FALSE(checked) << text;
    EXPECT_EQ(checked.error().reason, "input.bad_value");
  }
  EXPECT_NE(check_event_type("job.endet", "type").error().hint.find("job.ended"), std::string::npos);
}

// Without it a cursor that a client kept would mean another place.
TEST(Cursors, AreReadAsTheyAreWritten) {
  for (const EventCursor& cursor :
       {EventCursor{0, 0}, EventCursor{1'042, 7}, EventCursor{5, EventCursor::kItemMax},
        EventCursor{18'446'744'073'709'551'615ULL, EventCursor::kItemMax - 1}}) {
    const auto read = parse_cursor(format_cursor(cursor), "after");
    ASSERT_TRUE(read) << format_cursor(cursor);
    EXPECT_EQ(*read, cursor);
  }
  EXPECT_EQ(format_cursor({1'042, 0}), "1042.0");
  EXPECT_EQ(format_cursor({1'042, EventCursor::kItemMax}), "1042");
}

// Without it a slip in a cursor would begin somewhere else instead of being refused.
TEST(Cursors, RefuseWhatIsNone) {
  for (const std::string_view text : {"", ".", "1.", ".1", "x", "1.x", "-1", "+1", " 1", "1 ", "1.0.0", "1,0",
                                      "18446744073709551616", "1.1048575", "1.4294967296"}) {
    const auto read = parse_cursor(text, "after");
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().reason, "input.bad_value");
    EXPECT_NE(read.error().message.find("after"), std::string::npos);
    EXPECT_FALSE(read.error().hint.empty());
  }
}

// Without it a position behind a record would come before its events.
TEST(Cursors, AreOrdered) {
  EXPECT_LT((EventCursor{1, 5}), (EventCursor{1, EventCursor::kItemMax}));
  EXPECT_LT((EventCursor{1, EventCursor::kItemMax}), (EventCursor{2, 0}));
}

}  // namespace
}  // namespace tangram::wire
