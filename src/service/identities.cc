#include "service/identities.h"

#include <utility>

#include "service/secret.h"
#include "service/token_text.h"

namespace tangram::service {
namespace {

// Of a token that is not active.
tl::unexpected<Error> refuse(const Token& token, wire::TokenState state) {
  const std::string id = format_token_id(token.id);
  const bool expired = state == wire::TokenState::kExpired;
  return fail(Code::kUnauthenticated, expired ? "token.expired" : "token.revoked",
              "token " + id + " (" + token.name + (expired ? ") has expired" : ") is revoked"),
              expired ? "ask the operator for a new one: tangram token create, or tangram token rotate " + id
                      : std::string("ask the operator for a new one: tangram token create"),
              {{"token", id}});
}

bool opens(const Token& token, const std::string& secret, TimeMs now) {
  const bool in_grace = token.old_secret_until && now < *token.old_secret_until;
  return is_secret_of(secret, token.secret_hash) || (in_grace && is_secret_of(secret, token.old_secret_hash));
}

Caller::Kind kind_of(wire::Role role) {
  switch (role) {
    case wire::Role::kOperator:
      return Caller::Kind::kOperator;
    case wire::Role::kTenant:
      return Caller::Kind::kTenant;
    case wire::Role::kViewer:
      return Caller::Kind::kViewer;
  }
  return Caller::Kind::kTenant;
}

}  // namespace

Identities::Identities(const State& state, const Options& options)
    : own_uid_(options.own_uid), tokens_(state.tokens()) {
  for (const auto& [uid, id] : state.uids()) {
    const auto tenant = state.core().tenant(id);
    uids_[uid] = {id, tenant ? tenant->spec.name : std::string()};
  }
}

Result<Caller> Identities::of_uid(uid_t uid) const {
  Caller caller;
  caller.uid = uid;
  if (uid == 0 || uid == own_uid_) {
    caller.kind = Caller::Kind::kOperator;
    return caller;
  }
  const auto found = uids_.find(uid);
  if (found != uids_.end()) {
    caller.kind = Caller::Kind::kTenant;
    caller.tenant = found->second.tenant;
    caller.tenant_name = found->second.name;
    return caller;
  }
  return fail(Code::kUnauthenticated, "caller.unknown",
              "uid " + std::to_string(uid) + " is neither the operator nor listed in a tenant",
              "ask the operator to add it to `members` of your tenant", {{"uid", std::int64_t{uid}}});
}

Result<Caller> Identities::of_token(std::string_view text, TimeMs now) const {
  const auto invalid = [] {
    return fail(Code::kUnauthenticated, "token.invalid", "the token is not one of this daemon's",
                "check that it is whole and not rotated since, or ask the operator for a new one");
  };
  const std::optional<TokenText> parsed = TokenText::parse(text);
  if (!parsed) return invalid();
  const auto found = tokens_.find(parsed->id);
  if (found == tokens_.end() || !opens(*found->second, parsed->secret, now)) return invalid();
  const Token& token = *found->second;
  if (token.state(now) != wire::TokenState::kActive) return refuse(token, token.state(now));
  Caller caller;
  caller.kind = kind_of(token.role);
  caller.token = token.id;
  caller.token_name = token.name;
  if (token.tenant) caller.tenant = *token.tenant;
  caller.tenant_name = token.tenant_name;
  return caller;
}

void IdentityCell::replace(std::shared_ptr<const Identities> identities) {
  const std::lock_guard lock(mutex_);
  identities_.swap(identities);
  std::erase_if(last_uses_, [&](const auto& use) { return !identities_->tokens().contains(use.first); });
}

std::shared_ptr<const Identities> IdentityCell::get() const {
  const std::lock_guard lock(mutex_);
  return identities_;
}

void IdentityCell::used(std::uint64_t token, TimeMs at) {
  const std::lock_guard lock(mutex_);
  last_uses_[token] = at;
}

std::optional<TimeMs> IdentityCell::last_used(std::uint64_t token) const {
  const std::lock_guard lock(mutex_);
  const auto found = last_uses_.find(token);
  if (found == last_uses_.end()) return std::nullopt;
  return found->second;
}

}  // namespace tangram::service
