// Tokens that must outlive the daemon, and open what they should for as long as they should.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "service/harness.h"
#include "service/secret.h"
#include "service/token_text.h"

namespace tangram::service::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kDayMs = 24LL * 3'600'000;

class TokensTest : public ::testing::Test {
 protected:
  TokensTest() {
    machine.start();
    machine.tenant("team-a", 2);
    machine.tenant("team-a-child", 1, ", parent: team-a");
    machine.tenant("team-b", 2);
  }

  static wire::TokenRequest request(const std::string& name, wire::Role role,
                                    const std::string& tenant = "") {
    wire::TokenRequest request;
    request.name = name;
    request.role = role;
    request.tenant = tenant;
    return request;
  }
  Result<wire::TokenView> create(const wire::TokenRequest& request, const Caller& caller = kOperator) {
    return machine.call<wire::TokenView>(
        [&](auto done) { machine.service->create_token(caller, request, done); });
  }
  wire::TokenView must_create(const wire::TokenRequest& request) {
    const auto made = create(request);
    if (made) return *made;
    ADD_FAILURE() << made.error().to_string();
    return {};
  }
  Result<wire::TokenView> rotate(const std::string& token, const wire::TokenRotation& rotation = {}) {
    return machine.call<wire::TokenView>(
        [&](auto done) { machine.service->rotate_token(kOperator, token, rotation, done); });
  }
  Result<wire::TokenView> revoke(const std::string& token) {
    return machine.call<wire::TokenView>(
        [&](auto done) { machine.service->revoke_token(kOperator, token, done); });
  }
  // "" when it is accepted.
  std::string verdict(const std::string& secret) {
    const auto caller = machine.service->authenticate(secret);
    return caller ? "" : caller.error().reason;
  }

  Machine machine;
};

// Without this, a list could be read from memory that a new token has just given back (seen by the
// sanitizers).
TEST_F(TokensTest, AreListedWhileOthersAreMade) {
  for (int number = 0; number < 50; ++number) {
    must_create(request("old-" + std::to_string(number), wire::Role::kViewer));
  }
  std::atomic<bool> done = false;
  std::thread lister([&] {
    while (!done) EXPECT_GE(machine.service->tokens(kOperator)->items.size(), 50U);
  });
  for (int number = 0; number < 50; ++number) {
    must_create(request("new-" + std::to_string(number), wire::Role::kViewer));
  }
  done = true;
  lister.join();
}

// Without this, a token would act for somebody else than it was made for.
TEST_F(TokensTest, EachRoleIsWhatItSays) {
  const auto op = must_create(request("op", wire::Role::kOperator));
  const auto own = must_create(request("own", wire::Role::kTenant, "team-a"));
  const auto view = must_create(request("view", wire::Role::kViewer));
  EXPECT_TRUE(machine.service->authenticate(op.secret)->is_operator());
  const auto tenant = *machine.service->authenticate(own.secret);
  EXPECT_EQ(tenant.kind, Caller::Kind::kTenant);
  EXPECT_EQ(tenant.tenant_name, "team-a");
  EXPECT_EQ(tenant.who(), "token t-2");
  machine.job("team-a-child", 1);
  machine.job("team-b", 1);
  EXPECT_EQ(machine.service->jobs(tenant, {})->items.size(), 1U);
  const auto viewer = *machine.service->authenticate(view.secret);
  EXPECT_EQ(machine.service->jobs(viewer, {})->items.size(), 2U);
  EXPECT_EQ(machine.submit(R"({"tenant":"team-a","command":["/x"]})", "", viewer).status, 403);
  EXPECT_EQ(machine.cancel("j-1", viewer).error().reason, "caller.read_only");
  EXPECT_EQ(create(request("x", wire::Role::kOperator), viewer).error().reason, "caller.not_operator");
  EXPECT_EQ(create(request("x", wire::Role::kOperator), tenant).error().reason, "caller.not_operator");
}

// Without this, whoever reads a backup of the journal would hold every token.
TEST_F(TokensTest, TheSecretIsNowhere) {
  const auto made = must_create(request("ci", wire::Role::kOperator));
  const auto again = *rotate("ci");
  const std::string bare = made.secret.substr(made.secret.rfind('_') + 1);
  EXPECT_EQ(bare.size(), 64U);
  EXPECT_NE(again.secret, made.secret);
  std::string all;
  for (const StoredRecord& record : machine.store.records()) all += record.body;
  EXPECT_THAT(all, Not(HasSubstr(bare)));
  EXPECT_THAT(all, Not(HasSubstr(again.secret.substr(again.secret.rfind('_') + 1))));
  EXPECT_THAT(all, HasSubstr(hash_of_secret(bare)));
  machine.stop();
  EXPECT_THAT(machine.store.latest_snapshot().value()->body, Not(HasSubstr(bare)));
}

// Without it whoever holds a revoked token would be sent to a command that refuses it.
TEST_F(TokensTest, WhoIsRefusedIsToldWhatHelps) {
  const auto revoked = must_create(request("revoked", wire::Role::kViewer));
  ASSERT_TRUE(revoke("revoked"));
  EXPECT_FALSE(rotate("revoked"));
  EXPECT_EQ(machine.service->authenticate(revoked.secret).error().hint,
            "ask the operator for a new one: tangram token create");
  wire::TokenRequest brief = request("brief", wire::Role::kViewer);
  brief.lifetime = {1'000};
  const auto expired = must_create(brief);
  machine.clock.advance(2'000);
  EXPECT_THAT(machine.service->authenticate(expired.secret).error().hint,
              HasSubstr("tangram token rotate " + expired.id));
  EXPECT_TRUE(rotate(expired.id)) << "what the hint names works";
}

// Without this, a token that was handed out would be worthless after a crash, or one that was revoked worth
// something again.
TEST_F(TokensTest, SurviveACrashAndASnapshot) {
  const auto kept = must_create(request("kept", wire::Role::kTenant, "team-a"));
  const auto gone = must_create(request("gone", wire::Role::kViewer));
  const auto turned = must_create(request("turned", wire::Role::kViewer));
  const auto fresh = *rotate("turned");
  ASSERT_TRUE(revoke("gone"));
  for (const bool cleanly : {false, true}) {
    if (cleanly) {
      machine.stop();  // recovers from the snapshot
    } else {
      machine.crash();  // from records
    }
    machine.start();
    EXPECT_EQ(verdict(kept.secret), "");
    EXPECT_EQ(machine.service->authenticate(kept.secret)->tenant_name, "team-a");
    EXPECT_EQ(verdict(gone.secret), "token.revoked");
    EXPECT_EQ(verdict(turned.secret), "token.invalid");
    EXPECT_EQ(verdict(fresh.secret), "");
  }
  EXPECT_EQ(must_create(request("next", wire::Role::kViewer)).id, "t-4");
}

// Without this, an operator would be told of a token that the disk never saw.
TEST_F(TokensTest, AFullDiskMakesNoToken) {
  const auto before = must_create(request("before", wire::Role::kViewer));
  machine.store.set_full(true);
  EXPECT_EQ(create(request("lost", wire::Role::kViewer)).error().reason, "store.unavailable");
  EXPECT_EQ(revoke("before").error().reason, "store.unavailable");
  EXPECT_EQ(verdict(before.secret), "");
  machine.store.set_full(false);
  EXPECT_EQ(machine.service->tokens(kOperator)->items.size(), 1U);
  EXPECT_TRUE(eventually([&] { return create(request("lost", wire::Role::kViewer)).has_value(); }));
}

// Without this, a token would go on after its time.
TEST_F(TokensTest, Expire) {
  auto wanted = request("short", wire::Role::kViewer);
  wanted.lifetime = wire::Lifetime{kDayMs};
  const auto made = must_create(wanted);
  auto forever = request("forever", wire::Role::kViewer);
  forever.lifetime = wire::Lifetime{};
  const auto endless = must_create(forever);
  EXPECT_FALSE(endless.expires_at);
  machine.clock.advance(kDayMs - 1);
  EXPECT_EQ(verdict(made.secret), "");
  machine.clock.advance(1);
  EXPECT_EQ(verdict(made.secret), "token.expired");
  EXPECT_EQ(machine.service->tokens(kOperator)->items[0].state, wire::TokenState::kExpired);
  // Its name is free again, and it comes back to life only while it is.
  const auto again = *rotate("t-1");
  EXPECT_EQ(verdict(again.secret), "");
  machine.clock.advance(kDayMs);
  must_create(wanted);
  EXPECT_EQ(rotate("t-1").error().reason, "token.name_in_use");
  EXPECT_EQ(rotate("short")->id, "t-3");
  machine.clock.advance(3'650 * kDayMs);
  EXPECT_EQ(verdict(endless.secret), "");
}

// Without this, a rotation would cut off everybody who has not heard of it yet, or leave the old secret good
// for ever.
TEST_F(TokensTest, TheOldSecretGoesOnForItsGraceAlone) {
  const auto made = must_create(request("ci", wire::Role::kViewer));
  wire::TokenRotation rotation;
  rotation.grace_ms = 60'000;
  const auto second = *rotate("ci", rotation);
  EXPECT_TRUE(second.old_secret_until);
  EXPECT_EQ(verdict(made.secret), "");
  EXPECT_EQ(verdict(second.secret), "");
  machine.crash();
  machine.start();
  machine.clock.advance(59'999);
  EXPECT_EQ(verdict(made.secret), "");
  machine.clock.advance(1);
  EXPECT_EQ(verdict(made.secret), "token.invalid");
  EXPECT_EQ(verdict(second.secret), "");
  const auto third = *rotate("ci", rotation);
  EXPECT_EQ(verdict(made.secret), "token.invalid");
  EXPECT_EQ(verdict(second.secret), "");
  ASSERT_TRUE(revoke("ci"));
  EXPECT_EQ(verdict(second.secret), "token.revoked");
  EXPECT_EQ(verdict(third.secret), "token.revoked");
}

// Without this, a tenant that is made anew under an old name would be open to its predecessor's tokens.
TEST_F(TokensTest, GoWithTheirTenant) {
  const auto made = must_create(request("b", wire::Role::kTenant, "team-b"));
  const auto done =
      machine.call<void>([&](auto answer) { machine.service->delete_tenant(kOperator, "team-b", answer); });
  ASSERT_TRUE(done);
  EXPECT_EQ(verdict(made.secret), "token.revoked");
  machine.tenant("team-b", 2);
  EXPECT_EQ(verdict(made.secret), "token.revoked");
  machine.crash();
  machine.start();
  EXPECT_EQ(verdict(made.secret), "token.revoked");
}

// Without this, tokens could fill the state, or those that have ended would never leave it.
TEST_F(TokensTest, AreBounded) {
  machine.stop();
  machine.options.tokens_max = 3;
  machine.start();
  for (int i = 0; i < 3; ++i) must_create(request("n" + std::to_string(i), wire::Role::kViewer));
  EXPECT_EQ(create(request("n3", wire::Role::kViewer)).error().reason, "tokens.full");
  ASSERT_TRUE(revoke("n0"));
  must_create(request("n3", wire::Role::kViewer));
  EXPECT_EQ(machine.service->tokens(kOperator)->items.size(), 4U);
  machine.clock.advance(31 * kDayMs);
  ASSERT_TRUE(revoke("n1"));
  must_create(request("n4", wire::Role::kViewer));
  // n0 was revoked 31 days ago and is forgotten; n1 only now.
  const auto left = machine.service->tokens(kOperator)->items;
  ASSERT_EQ(left.size(), 4U);
  EXPECT_EQ(left.front().name, "n1");
  for (int i = 0; i < 1'100; ++i) {
    ASSERT_TRUE(revoke("n4"));
    must_create(request("n4", wire::Role::kViewer));
  }
  EXPECT_LE(machine.service->tokens(kOperator)->items.size(), State::kEndedTokensMax + 3);
}

// Without this, tokens that have expired would come back by rotation beyond the number that there may be.
TEST_F(TokensTest, OneThatHasExpiredComesBackWhereThereIsRoom) {
  machine.stop();
  machine.options.tokens_max = 2;
  machine.start();
  auto wanted = request("short", wire::Role::kViewer);
  wanted.lifetime = wire::Lifetime{kDayMs};
  const auto expired = must_create(wanted);
  machine.clock.advance(kDayMs);
  must_create(request("n1", wire::Role::kViewer));
  must_create(request("n2", wire::Role::kViewer));
  const auto refused = rotate(expired.id);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "tokens.full");
  EXPECT_EQ(verdict(expired.secret), "token.expired");
  EXPECT_TRUE(rotate("n1")) << "an active one has its place";
  ASSERT_TRUE(revoke("n2"));
  const auto back = rotate(expired.id);
  ASSERT_TRUE(back) << back.error().to_string();
  EXPECT_EQ(verdict(back->secret), "");
}

// Without this, nobody could tell later under which token a job was submitted or cancelled.
TEST_F(TokensTest, TheJournalSaysWhichTokenDidIt) {
  const auto made = must_create(request("ci", wire::Role::kTenant, "team-a"));
  const auto caller = *machine.service->authenticate(made.secret);
  ASSERT_EQ(machine.submit(R"({"command":["/x"]})", "", caller).status, 201);
  ASSERT_TRUE(machine.cancel("j-1", caller));
  std::string submitted;
  std::string cancelled;
  for (const StoredRecord& record : machine.store.records()) {
    if (record.kind == "job_submitted") submitted = record.body;
    if (record.kind == "job_cancelled") cancelled = record.body;
  }
  EXPECT_THAT(submitted, HasSubstr(R"("submitterToken":1)"));
  EXPECT_THAT(cancelled, HasSubstr(R"("byToken":1)"));
  EXPECT_THAT(cancelled, Not(HasSubstr("byUid")));
}

// Without this, a text that merely looks like a token could pass, or one that is good be refused.
TEST(TokenText, IsReadStrictly) {
  const std::string secret = make_secret("");
  const auto good = TokenText::parse("tgt_17_" + secret);
  ASSERT_TRUE(good);
  EXPECT_EQ(good->id, 17U);
  EXPECT_EQ(good->to_string(), "tgt_17_" + secret);
  std::string upper = secret;
  upper[0] = 'A';
  for (const std::string& bad :
       {"tgt_" + secret, "tgt__" + secret, "tgt_-1_" + secret, "tgt_+1_" + secret, "TGT_1_" + secret,
        "tgt_1_" + upper, "tgt_1_" + secret + " ", " tgt_1_" + secret, "tgt_1x_" + secret,
        "tgt_99999999999999999999_" + secret, "tgt_1_" + secret.substr(1), std::string()}) {
    EXPECT_FALSE(TokenText::parse(bad)) << bad;
  }
}

}  // namespace
}  // namespace tangram::service::testing
