// Who may hold how many connections, and who goes when there are too many.
#include "net/connection_table.h"

#include <gtest/gtest.h>

#include <vector>

namespace tangram::net {
namespace {

using Verdict = ConnectionTable::Verdict;

class TableTest : public ::testing::Test {
 protected:
  TableTest() {
    limits.connections_max = 20;
    limits.connections_per_share_max = 6;
    limits.connections_unknown_max = 4;
    limits.connections_reserved = 2;
    limits.bytes_per_share_max = 1'000;
    limits.bytes_max = 1'500;
  }

  ConnectionTable::Ticket must_enter(const Share& share) {
    const auto place = table.enter(share);
    EXPECT_EQ(place.verdict, Verdict::kWelcome);
    return place.ticket;
  }

  ServerLimits limits;
  ConnectionTable table{limits};
  const Share a{"tenant a", false};
  const Share b{"tenant b", false};
  const Share operators{"operator", true};
};

// Without this, one tenant could take every connection of the daemon.
TEST_F(TableTest, AShareHasItsBound) {
  for (int i = 0; i < 6; ++i) must_enter(a);
  EXPECT_EQ(table.enter(a).verdict, Verdict::kShareFull);
  const auto other = must_enter(b);
  EXPECT_EQ(table.held_by("tenant a"), 6U);
  table.leave(other);
  table.leave(other);
  EXPECT_EQ(table.held_by("tenant b"), 0U);
  EXPECT_EQ(table.size(), 6U);
}

// Without it a client that found no place would come back at once, and find none again.
TEST_F(TableTest, ARefusalSaysWhenToComeBack) {
  for (const auto& [verdict, status] : {std::pair(ConnectionTable::Verdict::kShareFull, 429),
                                        std::pair(ConnectionTable::Verdict::kServerFull, 503)}) {
    const Response response = refusal_answer(verdict, "tenant team-a", ServerLimits());
    EXPECT_EQ(response.status, status);
    EXPECT_EQ(response.headers.get("Retry-After"), "1");
  }
}

// Without this, strangers who say nothing would keep everybody else out: newcomers always find a place.
TEST_F(TableTest, TheOldestStrangerOfTheGreediestAddressGoes) {
  limits.connections_unknown_max = 8;  // two for one address
  std::vector<ConnectionTable::Ticket> first;
  for (int i = 0; i < 7; ++i) first.push_back(table.enter_unknown("192.0.2." + std::to_string(i)).ticket);
  const auto second_of_3 = table.enter_unknown("192.0.2.3");
  EXPECT_FALSE(second_of_3.evicted);
  EXPECT_EQ(table.enter_unknown("192.0.2.9").evicted, first[3]);
  // Now all have one, and the oldest goes.
  EXPECT_EQ(table.enter_unknown("192.0.2.10").evicted, first[0]);
  EXPECT_EQ(table.size(), 8U);
}

// Without this, one machine could take the place of all others that are not known yet.
TEST_F(TableTest, OneAddressHasAQuarterOfTheStrangersPlaces) {
  limits.connections_unknown_max = 8;
  const auto one = table.enter_unknown("192.0.2.1").ticket;
  const auto two = table.enter_unknown("192.0.2.1").ticket;
  table.set_progress(one, ConnectionTable::Progress::kSecure);
  EXPECT_EQ(table.enter_unknown("192.0.2.1").evicted, two);
  EXPECT_EQ(table.size(), 2U);
}

// Without this, whoever is in the middle of a handshake would be pushed out by those who only ever begin one.
TEST_F(TableTest, WhoHasComeLeastFarGoesFirst) {
  limits.connections_unknown_max = 8;
  const auto secure = table.enter_unknown("192.0.2.1").ticket;
  const auto shaking = table.enter_unknown("192.0.2.2").ticket;
  table.set_progress(secure, ConnectionTable::Progress::kSecure);
  table.set_progress(shaking, ConnectionTable::Progress::kShakingHands);
  for (int i = 0; i < 1'000; ++i) {
    const auto evicted = table.enter_unknown("198.51.100." + std::to_string(i % 200)).evicted;
    EXPECT_NE(evicted, secure);
    EXPECT_NE(evicted, shaking);
  }
  EXPECT_EQ(table.claim(shaking, a).verdict, Verdict::kWelcome);
  // When all have come as far, it is the oldest again.
  ConnectionTable::Ticket last = 0;
  for (int i = 0; i < 8; ++i) {
    last = table.enter_unknown("203.0.113." + std::to_string(i)).ticket;
    table.set_progress(last, ConnectionTable::Progress::kSecure);
  }
  EXPECT_NE(table.enter_unknown("203.0.113.99").evicted, last);
}

// Without this, strangers could fill the connections that are for those who are known, or the other way
// round.
TEST_F(TableTest, StrangersAndTheKnownDoNotTakeEachOthersPlaces) {
  for (int i = 0; i < 100; ++i) table.enter_unknown("192.0.2." + std::to_string(i));
  EXPECT_EQ(table.size(), 4U);
  std::size_t entered = 0;
  for (int tenant = 0; tenant < 9; ++tenant) {
    for (int i = 0; i < 6; ++i) {
      if (table.enter({"tenant " + std::to_string(tenant), false}).verdict == Verdict::kWelcome) ++entered;
    }
  }
  EXPECT_EQ(entered, 14U);  // 20 without 4 for strangers and 2 for the operator
  EXPECT_EQ(table.enter(operators).verdict, Verdict::kWelcome);
  EXPECT_EQ(table.enter(operators).verdict, Verdict::kWelcome);
  EXPECT_EQ(table.enter(operators).verdict, Verdict::kServerFull);
  EXPECT_FALSE(table.enter_unknown("192.0.2.2").verdict == Verdict::kServerFull);
}

// Without this, tenants that rest on their connections would keep out one that has none.
TEST_F(TableTest, AnIdleConnectionOfWhoHoldsMostGoesForANewcomer) {
  std::vector<ConnectionTable::Ticket> of_a;
  for (int i = 0; i < 6; ++i) of_a.push_back(must_enter(a));
  for (int i = 0; i < 5; ++i) must_enter(b);
  for (int i = 0; i < 3; ++i) must_enter({"tenant c", false});
  EXPECT_EQ(table.enter({"tenant d", false}).verdict, Verdict::kServerFull);
  table.set_idle(of_a[3], true);
  table.set_idle(of_a[1], true);
  const auto place = table.enter({"tenant d", false});
  EXPECT_EQ(place.verdict, Verdict::kWelcome);
  EXPECT_EQ(place.evicted, of_a[3]);
  // Busy again: it is not taken away in the middle of a request.
  table.set_idle(of_a[1], false);
  EXPECT_EQ(table.enter({"tenant d", false}).verdict, Verdict::kServerFull);
  // Nobody is pushed out by one who would then hold as many himself.
  table.set_idle(of_a[1], true);
  EXPECT_EQ(table.enter(b).verdict, Verdict::kServerFull);
}

// Without this, a peer that has shown a token would stay among the strangers, and go with them.
TEST_F(TableTest, AConnectionBecomesItsOwners) {
  const auto ticket = table.enter_unknown("192.0.2.1").ticket;
  ASSERT_TRUE(table.reserve(ticket, 100));
  EXPECT_EQ(table.claim(ticket, a).verdict, Verdict::kWelcome);
  EXPECT_EQ(table.claim(ticket, a).verdict, Verdict::kWelcome);
  EXPECT_EQ(table.held_by("tenant a"), 1U);
  EXPECT_EQ(table.bytes_in_flight(), 100U);
  for (int i = 0; i < 10; ++i) EXPECT_NE(table.enter_unknown("192.0.2.1").evicted, ticket);
  // Another token on the same connection: it counts to the other.
  EXPECT_EQ(table.claim(ticket, b).verdict, Verdict::kWelcome);
  EXPECT_EQ(table.held_by("tenant a"), 0U);
  for (int i = 0; i < 6; ++i) must_enter(a);
  EXPECT_EQ(table.claim(ticket, a).verdict, Verdict::kShareFull);
  EXPECT_EQ(table.held_by("tenant b"), 1U);
  table.leave(ticket);
  EXPECT_EQ(table.bytes_in_flight(), 0U);
  EXPECT_EQ(table.claim(ticket, b).verdict, Verdict::kServerFull);
}

// Without this, one tenant could fill the daemon's memory with bodies, or with answers that nobody reads.
TEST_F(TableTest, BytesOfAShareAndOfAllAreBounded) {
  const auto one = must_enter(a);
  const auto two = must_enter(a);
  const auto other = must_enter(b);
  EXPECT_TRUE(table.reserve(one, 800));
  EXPECT_FALSE(table.reserve(two, 201));
  EXPECT_TRUE(table.reserve(two, 200));
  EXPECT_FALSE(table.reserve(other, 501));
  EXPECT_TRUE(table.reserve(other, 500));
  table.give_back(one, 800);
  EXPECT_TRUE(table.reserve(two, 800));
  // An answer is there already: it counts, and the next request has to wait.
  table.add(other, 900);
  EXPECT_FALSE(table.reserve(other, 1));
  table.leave(other);
  table.leave(two);
  EXPECT_EQ(table.bytes_in_flight(), 0U);
  table.give_back(two, 10);
  EXPECT_EQ(table.bytes_in_flight(), 0U);
}

}  // namespace
}  // namespace tangram::net
