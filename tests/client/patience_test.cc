#include "client/patience.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace tangram::client {
namespace {

using std::chrono::milliseconds;

Error error_of(Code code, const std::string& reason, Details details = {}) {
  return {code, reason, "", "", std::move(details), nullptr};
}

Error away() {
  return error_of(Code::kUnavailable, "client.unreachable");
}

Error busy(std::int64_t retry_after_ms = 0) {
  return error_of(Code::kResourceExhausted, "rate.exceeded", {{std::string(kRetryAfterMs), retry_after_ms}});
}

// What a Patience does, without the time that it takes.
struct Watched {
  std::vector<milliseconds> rests;
  std::vector<std::string> waits;
  std::uint32_t random = 0;

  PatienceOptions options() {
    PatienceOptions options;
    options.on_wait = [this](const Error& error) { waits.push_back(error.reason); };
    options.random = [this] { return random; };
    options.rest = [this](milliseconds time) { rests.push_back(time); };
    return options;
  }
};

// Without it a refusal that another try cannot mend would be asked for again and again, or one that it can
// would end a wait of hours.
TEST(Patience, KnowsWhatMayPass) {
  EXPECT_TRUE(may_pass(away()));
  EXPECT_TRUE(may_pass(busy()));
  EXPECT_TRUE(may_pass(error_of(Code::kUnavailable, "http.connections.exceeded")));
  EXPECT_TRUE(may_pass(error_of(Code::kDeadlineExceeded, "client.timeout")));
  EXPECT_TRUE(may_pass(error_of(Code::kResourceExhausted, "events.streams.too_many")));
  for (const char* reason :
       {"input.too_large", "http.header.too_large", "client.answer.too_large", "http.413"})
    EXPECT_FALSE(may_pass(error_of(Code::kResourceExhausted, reason))) << reason;
  for (const Code code :
       {Code::kInvalidArgument, Code::kNotFound, Code::kAlreadyExists, Code::kPermissionDenied,
        Code::kUnauthenticated, Code::kFailedPrecondition, Code::kPolicyRefused, Code::kNotNow,
        Code::kAborted, Code::kDataLoss, Code::kUnimplemented, Code::kInternal})
    EXPECT_FALSE(may_pass(error_of(code, "some.reason"))) << to_string(code);
}

// Without it a server's word would not be heeded, would be believed without bound, or would bring all whom it
// turned away back at the same moment.
TEST(Patience, RestsAsLongAsItIsTold) {
  EXPECT_EQ(rest_after(away(), 0), milliseconds(200));
  EXPECT_EQ(rest_after(busy(5), 0), milliseconds(200));
  EXPECT_EQ(rest_after(busy(-1), 0), milliseconds(200));
  EXPECT_EQ(rest_after(busy(3'000), 0), milliseconds(3'000));
  EXPECT_EQ(rest_after(busy(86'400'000), 0), milliseconds(30'000));
  EXPECT_EQ(rest_after(busy(INT64_MAX), 1'500), milliseconds(31'500));
  milliseconds most{0};
  for (std::uint32_t random = 0; random < 10'000; random += 7) {
    const milliseconds rest = rest_after(busy(2'000), random);
    EXPECT_GE(rest, milliseconds(2'000));
    EXPECT_LE(rest, milliseconds(3'000));
    most = std::max(most, rest);
  }
  EXPECT_GT(most, milliseconds(2'900));
  EXPECT_EQ(rest_after(error_of(Code::kUnavailable, "x", {{std::string(kRetryAfterMs), "soon"}}), 0),
            milliseconds(200));
}

// Without it the second restart of a daemon within the life of a `logs -f` would end it.
TEST(Patience, BeginsAnewAfterAnAnswer) {
  Watched watched;
  PatienceOptions options = watched.options();
  options.away_max = milliseconds(20);
  Patience patience(options);
  patience.answered();
  EXPECT_TRUE(patience.again_after(away()));
  std::this_thread::sleep_for(milliseconds(30));
  EXPECT_FALSE(patience.again_after(away()));
  EXPECT_EQ(watched.waits.size(), 1U);
  patience.answered();
  EXPECT_TRUE(patience.again_after(away()));
  EXPECT_EQ(watched.waits.size(), 2U);
  EXPECT_FALSE(patience.again_after(error_of(Code::kNotFound, "job.unknown")));
}

// Without it whoever reads a log too slowly, and is cut off, would be told that the daemon does not answer.
TEST(Patience, ABrokenConnectionAloneIsNotADaemonThatIsAway) {
  const Error broken = error_of(Code::kUnavailable, "client.connection_lost");
  Watched watched;
  Patience patience(watched.options());
  patience.answered();
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(patience.again_after(broken));
    patience.answered();
  }
  EXPECT_TRUE(watched.waits.empty());
  EXPECT_TRUE(patience.again_after(broken));
  EXPECT_TRUE(patience.again_after(away()));
  EXPECT_TRUE(patience.again_after(away()));
  EXPECT_EQ(watched.waits, std::vector<std::string>{"client.unreachable"});
  EXPECT_EQ(watched.rests.size(), 6U);
}

// Without it a command would wait a minute for a daemon that was never there, or ten for a queue that is
// full.
TEST(Patience, BeginsWithTheFirstAnswer) {
  Watched watched;
  Patience patience(watched.options());
  EXPECT_FALSE(patience.again_after(away()));
  EXPECT_FALSE(patience.again_after(error_of(Code::kDeadlineExceeded, "client.timeout")));
  EXPECT_FALSE(patience.again_after(busy()));
  EXPECT_TRUE(watched.rests.empty());
  // It was there, and went away over the call.
  EXPECT_TRUE(patience.again_after(error_of(Code::kUnavailable, "client.connection_lost")));
  EXPECT_TRUE(patience.again_after(away()));
  EXPECT_TRUE(patience.again_after(busy(1'000)));
  EXPECT_EQ(watched.rests,
            (std::vector<milliseconds>{milliseconds(200), milliseconds(200), milliseconds(1'000)}));
}

// Without it a daemon that answers "no" first, and "later" then, would count as one that was never there.
TEST(Patience, ARefusalForGoodIsAnAnswer) {
  Watched watched;
  Patience patience(watched.options());
  EXPECT_FALSE(patience.again_after(error_of(Code::kNotFound, "tenant.unknown")));
  EXPECT_TRUE(patience.again_after(busy()));
  Patience other(watched.options());
  EXPECT_FALSE(other.again_after(error_of(Code::kInternal, "client.answer.invalid")));
  EXPECT_FALSE(other.again_after(busy()));
}

// Without it a daemon that is restarted while it is busy would be given up at once, or one that is busy for
// ever waited for without end.
TEST(Patience, CountsAwayAndBusyApart) {
  Watched watched;
  PatienceOptions options = watched.options();
  options.away_max = milliseconds(20);
  options.busy_max = milliseconds(1'000);
  Patience patience(options);
  patience.answered();
  EXPECT_TRUE(patience.again_after(busy()));
  std::this_thread::sleep_for(milliseconds(40));
  EXPECT_TRUE(patience.again_after(away()));
  EXPECT_TRUE(patience.again_after(busy()));
  std::this_thread::sleep_for(milliseconds(40));
  EXPECT_TRUE(patience.again_after(away()));
  std::this_thread::sleep_for(milliseconds(1'000));
  EXPECT_FALSE(patience.again_after(busy()));
  EXPECT_EQ(watched.waits,
            (std::vector<std::string>{"rate.exceeded", "client.unreachable", "client.unreachable"}));
}

// Without it `wait --timeout` would overstay its time because of a server that asks for more.
TEST(Patience, EndsWithTheCallersTime) {
  Watched watched;
  Patience patience(watched.options());
  patience.answered();
  const auto now = Patience::Clock::now();
  EXPECT_TRUE(patience.again_after(busy(30'000), now + milliseconds(9'000)));
  ASSERT_EQ(watched.rests.size(), 1U);
  EXPECT_LE(watched.rests[0], milliseconds(9'000));
  EXPECT_GT(watched.rests[0], milliseconds(0));
  EXPECT_FALSE(patience.again_after(busy(), now));
}

// Without it the answer itself could be lost between the tries.
TEST(Patience, GivesTheAnswerThatCameAtLast) {
  Watched watched;
  Patience patience(watched.options());
  patience.answered();
  int calls = 0;
  const auto third = [&]() -> Result<int> {
    if (++calls < 3) return fail(busy());
    return calls;
  };
  EXPECT_EQ(patiently<int>(patience, third), 3);
  EXPECT_EQ(watched.rests.size(), 2U);
  const auto never = [&]() -> Result<int> { return fail(Code::kNotFound, "job.unknown", "no"); };
  EXPECT_EQ(patiently<int>(patience, never).error().reason, "job.unknown");
}

}  // namespace
}  // namespace tangram::client
