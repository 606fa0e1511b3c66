// The part of the state that holds bearer tokens.
#include <algorithm>
#include <vector>

#include "base/invariant.h"
#include "service/state.h"

namespace tangram::service {

wire::TokenState Token::state(TimeMs now) const {
  if (revoked_at) return wire::TokenState::kRevoked;
  return expires_at && *expires_at <= now ? wire::TokenState::kExpired : wire::TokenState::kActive;
}

TimeMs Token::ended_at(TimeMs now) const {
  switch (state(now)) {
    case wire::TokenState::kActive:
      return TimeMs::never();
    case wire::TokenState::kExpired:
      return expires_at.value_or(TimeMs::never());
    case wire::TokenState::kRevoked:
      return revoked_at.value_or(TimeMs::never());
  }
  return TimeMs::never();
}

void State::create_token(const wire::TokenCreated& record, TimeMs at) {
  forget_ended_tokens(at);
  Token token;
  token.id = record.id;
  token.name = record.name;
  token.role = record.role;
  token.tenant = record.tenant;
  token.tenant_name = record.tenant_name;
  token.secret_hash = record.secret_hash;
  token.lifetime = record.lifetime;
  token.expires_at = record.expires_at;
  token.created_at = at;
  token.created_by = record.by;
  next_token_ = std::max(next_token_, record.id + 1);
  tokens_[record.id] = std::make_shared<const Token>(std::move(token));
}

void State::rotate_token(const wire::TokenRotated& record, TimeMs at) {
  const auto found = tokens_.find(record.id);
  TG_ASSERT(found != tokens_.end(), "a record rotates a token that is not there");
  Token token = *found->second;
  token.old_secret_hash = record.old_secret_until ? token.secret_hash : std::string();
  token.old_secret_until = record.old_secret_until;
  token.secret_hash = record.secret_hash;
  token.lifetime = record.lifetime;
  token.expires_at = record.expires_at;
  token.rotated_at = at;
  found->second = std::make_shared<const Token>(std::move(token));
}

void State::revoke_token(std::uint64_t id, TimeMs at) {
  const auto found = tokens_.find(id);
  TG_ASSERT(found != tokens_.end(), "a record revokes a token that is not there");
  Token token = *found->second;
  token.revoked_at = at;
  found->second = std::make_shared<const Token>(std::move(token));
}

// A tenant that is created again under the same name is another tenant: the old tokens do not open it.
void State::revoke_tokens_of(TenantId tenant, TimeMs at) {
  for (const auto& [id, token] : tokens_) {
    if (token->tenant == tenant && !token->revoked_at) revoke_token(id, at);
  }
}

void State::forget_ended_tokens(TimeMs at) {
  std::vector<std::pair<TimeMs, std::uint64_t>> ended;
  for (const auto& [id, token] : tokens_) {
    if (const TimeMs since = token->ended_at(at); since != TimeMs::never()) ended.emplace_back(since, id);
  }
  std::sort(ended.begin(), ended.end());
  std::size_t left = ended.size();
  for (const auto& [since, id] : ended) {
    if (left < kEndedTokensMax && since.value + kEndedTokenKeepMs > at.value) break;
    tokens_.erase(id);
    --left;
  }
}

}  // namespace tangram::service
