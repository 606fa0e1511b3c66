#include "net/host_lookup.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <pthread.h>

#include <chrono>
#include <csignal>
#include <future>
#include <memory>
#include <string>
#include <thread>

namespace tangram::net {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

// A name server that says nothing until it is let go. What it shares with the thread that asks lives as long
// as both.
class Silent {
 public:
  ~Silent() {
    state_->go.set_value();
    state_->left.get_future().wait();
  }
  LookUp look_up() const {
    return [state = state_](const char*, const char* port, const addrinfo* wanted, addrinfo** found) {
      state->asked.set_value();
      state->go.get_future().wait();
      const int problem = getaddrinfo("127.0.0.1", port, wanted, found);
      state->left.set_value();
      return problem;
    };
  }
  void wait_until_asked() const { state_->asked.get_future().wait(); }

 private:
  struct State {
    std::promise<void> asked;
    std::promise<void> go;
    std::promise<void> left;
  };
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

std::string text_of(const Addresses& list) {
  char text[INET6_ADDRSTRLEN] = "";
  if (list->ai_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(list->ai_addr);
    inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text);
    return std::string(text) + ":" + std::to_string(ntohs(v4->sin_port));
  }
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(list->ai_addr);
  inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text);
  return "[" + std::string(text) + "]:" + std::to_string(ntohs(v6->sin6_port));
}

// Without it a machine whose name server is away could not reach a daemon that was given by its address.
TEST(HostLookup, AsksNobodyForAnAddressInDigits) {
  const LookUp never = [](const char*, const char*, const addrinfo*, addrinfo**) {
    ADD_FAILURE() << "somebody was asked";
    return EAI_FAIL;
  };
  const auto v4 = look_up_host("127.0.0.1", 8443, Clock::now() + seconds(10), nullptr, never);
  ASSERT_TRUE(v4) << v4.error().to_string();
  EXPECT_EQ(text_of(*v4), "127.0.0.1:8443");
  const auto v6 = look_up_host("::1", 80, Clock::now() + seconds(10), nullptr, never);
  ASSERT_TRUE(v6) << v6.error().to_string();
  EXPECT_EQ(text_of(*v6), "[::1]:80");
}

// Without it a name could not be used at all.
TEST(HostLookup, FindsTheAddressesOfAName) {
  const auto list = look_up_host("localhost", 8443, Clock::now() + seconds(30), nullptr);
  ASSERT_TRUE(list) << list.error().to_string();
  EXPECT_TRUE(text_of(*list) == "127.0.0.1:8443" || text_of(*list) == "[::1]:8443") << text_of(*list);
  EXPECT_TRUE(look_up_host("localhost", 8443, std::nullopt, nullptr)) << "without a deadline";
}

// Without it a name server that is silent would hold a command far beyond its time.
TEST(HostLookup, GivesUpAtItsDeadline) {
  const Silent server;
  const auto started = Clock::now();
  const auto list =
      look_up_host("tangram.example", 443, started + milliseconds(100), nullptr, server.look_up());
  ASSERT_FALSE(list);
  EXPECT_EQ(list.error().reason, "client.timeout");
  EXPECT_GE(Clock::now() - started, milliseconds(100));
  EXPECT_LT(Clock::now() - started, seconds(10));
}

// Without it the holder of a lease or a subscription could not be destroyed before the name server speaks.
TEST(HostLookup, EndsWhenItIsInterrupted) {
  const Silent server;
  Interrupt interrupt;
  std::thread later([&] {
    server.wait_until_asked();
    interrupt.raise();
  });
  const auto list = look_up_host("tangram.example", 443, std::nullopt, &interrupt, server.look_up());
  later.join();
  ASSERT_FALSE(list);
  EXPECT_EQ(list.error().reason, "client.interrupted");
}

// Without it a name that is misspelt would be told as a daemon that is away.
TEST(HostLookup, TellsWhatTheSystemSays) {
  const LookUp unknown = [](const char* host, const char* port, const addrinfo*, addrinfo**) {
    EXPECT_STREQ(host, "nowhere.example");
    EXPECT_STREQ(port, "443");
    return EAI_NONAME;
  };
  const auto list = look_up_host("nowhere.example", 443, Clock::now() + seconds(10), nullptr, unknown);
  ASSERT_FALSE(list);
  EXPECT_EQ(list.error().code, Code::kUnavailable);
  EXPECT_EQ(list.error().reason, "client.unreachable");
  EXPECT_EQ(list.error().message, gai_strerror(EAI_NONAME));
}

// Without it a signal for the program could be taken by a thread that it knows nothing of.
TEST(HostLookup, LeavesSignalsToTheProgram) {
  std::promise<bool> blocked;
  const LookUp look = [&](const char*, const char*, const addrinfo*, addrinfo**) {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    blocked.set_value(sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGINT) == 1);
    return EAI_NONAME;
  };
  sigset_t before;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  EXPECT_FALSE(look_up_host("tangram.example", 443, Clock::now() + seconds(10), nullptr, look));
  EXPECT_TRUE(blocked.get_future().get());
  sigset_t after;
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(sigismember(&before, SIGTERM), sigismember(&after, SIGTERM));
}

}  // namespace
}  // namespace tangram::net
