#include "net/server_events.h"

#include <gtest/gtest.h>

#include <vector>

namespace tangram::net {
namespace {

struct Heard {
  std::vector<ServerEvent> events;
  bool ok = true;
};

// The stream in pieces of that size.
Heard read_in_pieces(std::string_view stream, std::size_t size) {
  Heard heard;
  ServerEventReader reader;
  for (std::size_t at = 0; at < stream.size(); at += size) {
    const auto fed = reader.feed(stream.substr(at, size), [&](const ServerEvent& event) {
      heard.events.push_back(event);
      return true;
    });
    heard.ok = heard.ok && fed.has_value();
  }
  return heard;
}

// Without this, an event that the network cut in two would be lost or garbled.
TEST(ServerEvents, AreTheSameHoweverTheyAreCut) {
  constexpr std::string_view kStream =
      ": a comment\n\nretry: 1000\nid: 7\n\nevent: lease\ndata: {\"a\":1}\n\n"
      "id:8\r\ndata: first\r\ndata:second\r\n\r\ndata\n\n"
      "event: none without data\n\ndata: last, not ended";
  for (std::size_t size = 1; size <= kStream.size(); ++size) {
    const Heard heard = read_in_pieces(kStream, size);
    ASSERT_TRUE(heard.ok);
    ASSERT_EQ(heard.events.size(), 3U) << "in pieces of " << size;
    EXPECT_EQ(heard.events[0].name, "lease");
    EXPECT_EQ(heard.events[0].data, "{\"a\":1}");
    EXPECT_EQ(heard.events[0].id, "7");
    EXPECT_EQ(heard.events[1].name, "");
    EXPECT_EQ(heard.events[1].data, "first\nsecond");
    EXPECT_EQ(heard.events[1].id, "8");
    EXPECT_EQ(heard.events[2].data, "");
  }
}

// Without this, a reader that is cut off would skip an event whose id came and whose data did not.
TEST(ServerEvents, AnIdCountsWithTheEndOfItsBlock) {
  ServerEventReader reader;
  const auto on_event = [](const ServerEvent&) { return true; };
  ASSERT_TRUE(reader.feed("id: 4\n", on_event));
  EXPECT_EQ(reader.last_id(), "");
  ASSERT_TRUE(reader.feed("\nid: 5\ndata: x\n", on_event));
  EXPECT_EQ(reader.last_id(), "4");
  ASSERT_TRUE(reader.feed("\n: alive\n\n", on_event));
  EXPECT_EQ(reader.last_id(), "5");
}

// Without this, a caller that has enough would be given more.
TEST(ServerEvents, StopWhenTheCallerHasEnough) {
  ServerEventReader reader;
  int count = 0;
  const auto fed = reader.feed("data: 1\n\ndata: 2\n\n", [&](const ServerEvent&) {
    ++count;
    return false;
  });
  ASSERT_TRUE(fed);
  EXPECT_FALSE(*fed);
  EXPECT_EQ(count, 1);
}

// Without this, a server could fill the memory of its client with one event.
TEST(ServerEvents, ALargeEventIsAnError) {
  const std::string line = "data: " + std::string(1U << 20, 'x') + "\n";
  ServerEventReader reader;
  bool refused = false;
  for (int i = 0; i < 20 && !refused; ++i) {
    refused = !reader.feed(line, [](const ServerEvent&) { return true; });
  }
  EXPECT_TRUE(refused);
  ServerEventReader endless;
  EXPECT_FALSE(endless.feed(std::string(ServerEventReader::kEventBytesMax + 1, 'x'),
                            [](const ServerEvent&) { return true; }));
}

}  // namespace
}  // namespace tangram::net
