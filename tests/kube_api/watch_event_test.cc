#include "kube/api/watch_event.h"

#include <gtest/gtest.h>

#include "kube_api/api_server.h"

namespace tangram::kube {
namespace {

using Type = WatchEvent::Type;

// Without this, an object would be added when it went, or a bookmark taken for an object.
TEST(WatchEvent, TellsWhatHappenedToWhat) {
  JsonReader reader;
  for (const auto& [word, type] : std::initializer_list<std::pair<std::string, Type>>{
           {"ADDED", Type::kAdded}, {"MODIFIED", Type::kModified}, {"DELETED", Type::kDeleted}}) {
    const auto event = read_watch_event(reader, event_line(word, pod("train-0", "17")));
    ASSERT_TRUE(event) << word;
    EXPECT_EQ(event->type, type);
    EXPECT_EQ(meta_of(*event->object).name, "train-0");
    EXPECT_EQ(meta_of(*event->object).space, "team-a");
    EXPECT_EQ(meta_of(*event->object).resource_version, "17");
  }
  const auto plain = read_watch_event(reader, bookmark_line("18"));
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->type, Type::kBookmark);
  EXPECT_FALSE(plain->initial_events_end);
  EXPECT_TRUE(read_watch_event(reader, bookmark_line("18", true))->initial_events_end);
  const auto error = read_watch_event(reader, event_line("ERROR", status_body(410, "Expired", "too old")));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->type, Type::kError);
}

// Without this, a line that lost a part on its way would change the picture of the cluster.
TEST(WatchEvent, RefusesWhatIsNoEvent) {
  JsonReader reader;
  for (const std::string& line :
       {std::string("garbage"), std::string(R"({"type":"ADDED"})"), event_line("RENAMED", pod("a", "1")),
        event_line("ADDED", "[]"), event_line("ADDED", pod("", "1")), event_line("ADDED", pod("a", "")),
        event_line("BOOKMARK", R"({"metadata":{}})"), event_line("ADDED", pod("a", "1")).substr(0, 60)}) {
    const auto event = read_watch_event(reader, line);
    ASSERT_FALSE(event) << line;
    EXPECT_EQ(event.error().reason, "kube.answer.invalid");
  }
}

}  // namespace
}  // namespace tangram::kube
