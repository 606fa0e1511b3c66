#include "service/tokens.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>

#include "base/quote.h"
#include "service/secret.h"
#include "service/service_impl.h"
#include "service/token_text.h"

namespace tangram::service {
namespace {

std::optional<std::uint64_t> parse_token_id(std::string_view text) {
  if (!text.starts_with("t-")) return std::nullopt;
  text.remove_prefix(2);
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::shared_ptr<const Token> active_named(const State& state, std::string_view name, TimeMs now) {
  for (const auto& [id, token] : state.tokens()) {
    if (token->name == name && token->state(now) == wire::TokenState::kActive) return token;
  }
  return nullptr;
}

std::optional<TimeMs> end_of(wire::Lifetime lifetime, TimeMs now) {
  if (lifetime.ms >= kUnlimited) return std::nullopt;
  return TimeMs(now.value + lifetime.ms);
}

Error name_in_use(const Token& holder) {
  const std::string id = format_token_id(holder.id);
  return {Code::kAlreadyExists,
          "token.name_in_use",
          "the active token " + id + " has the name " + holder.name + " already",
          "choose another name, or `tangram token rotate " + id + "` for a new secret",
          {{"name", holder.name}, {"token", id}},
          nullptr};
}

Result<void> check_room(const State& state, const Options& options, TimeMs now) {
  const auto active = std::count_if(state.tokens().begin(), state.tokens().end(), [now](const auto& entry) {
    return entry.second->state(now) == wire::TokenState::kActive;
  });
  if (active < options.tokens_max) return {};
  return fail(Code::kResourceExhausted, "tokens.full",
              "the daemon keeps at most " + std::to_string(options.tokens_max) + " active tokens",
              "revoke one that is not used: tangram token list", {{"limit", options.tokens_max}});
}

Error revoked_error(const Token& token) {
  const std::string id = format_token_id(token.id);
  return {Code::kFailedPrecondition,
          "token.revoked",
          "token " + id + " (" + token.name + ") is revoked",
          "create a new one: tangram token create",
          {{"token", id}},
          nullptr};
}

}  // namespace

Result<wire::TokenCreated> resolve_token(const State& state, const Options& options, const Caller& caller,
                                         const wire::TokenRequest& request, std::string secret_hash,
                                         TimeMs now) {
  if (parse_token_id(request.name)) {
    return fail(Code::kInvalidArgument, "input.reserved",
                "name: " + request.name + " reads like the id of a token",
                "choose a name that is not t-<number>");
  }
  if (const auto holder = active_named(state, request.name, now)) return fail(name_in_use(*holder));
  TG_TRY_VOID(check_room(state, options, now));
  wire::TokenCreated record;
  if (request.role == wire::Role::kTenant) {
    TG_TRY(record.tenant, find_tenant(state, caller, request.tenant));
    record.tenant_name = request.tenant;
  }
  record.id = state.next_token_id();
  record.name = request.name;
  record.role = request.role;
  record.secret_hash = std::move(secret_hash);
  record.lifetime = request.lifetime;
  record.expires_at = end_of(request.lifetime, now);
  record.by = caller.who();
  return record;
}

Result<wire::TokenRotated> resolve_rotation(const State& state, const Options& options, const Token& token,
                                            const Caller& caller, const wire::TokenRotation& rotation,
                                            std::string secret_hash, TimeMs now) {
  if (token.revoked_at) return fail(revoked_error(token));
  // An expired one comes back to life: unless its name has gone to another meanwhile, or its place.
  const auto holder = active_named(state, token.name, now);
  if (holder && holder->id != token.id) return fail(name_in_use(*holder));
  if (token.state(now) != wire::TokenState::kActive) TG_TRY_VOID(check_room(state, options, now));
  wire::TokenRotated record;
  record.id = token.id;
  record.secret_hash = std::move(secret_hash);
  record.lifetime = rotation.lifetime.value_or(token.lifetime);
  record.expires_at = end_of(record.lifetime, now);
  if (rotation.grace_ms > 0) record.old_secret_until = TimeMs(now.value + rotation.grace_ms);
  record.by = caller.who();
  return record;
}

Result<std::shared_ptr<const Token>> find_token(const State& state, std::string_view reference, TimeMs now) {
  if (const auto id = parse_token_id(reference)) {
    const auto found = state.tokens().find(*id);
    if (found != state.tokens().end()) return found->second;
  } else if (auto active = active_named(state, reference, now)) {
    return active;
  } else {
    for (auto entry = state.tokens().rbegin(); entry != state.tokens().rend(); ++entry) {
      if (entry->second->name == reference) return entry->second;
    }
  }
  return fail(Code::kNotFound, "token.unknown", "no token " + printable(reference, 64),
              "`tangram token list` lists them", {{"token", std::string(cut_text(reference))}});
}

wire::TokenView make_token_view(const Token& token, TimeMs now) {
  wire::TokenView view;
  view.id = format_token_id(token.id);
  view.name = token.name;
  view.role = token.role;
  view.tenant = token.tenant_name;
  view.state = token.state(now);
  view.created_at = token.created_at;
  view.created_by = token.created_by;
  view.rotated_at = token.rotated_at;
  view.expires_at = token.expires_at;
  view.revoked_at = token.revoked_at;
  if (token.old_secret_until && now < *token.old_secret_until) view.old_secret_until = token.old_secret_until;
  return view;
}

void Service::create_token(const Caller& caller, wire::TokenRequest request, Done<wire::TokenView> done) {
  if (auto allowed = require_operator(caller, "create tokens"); !allowed) {
    return done(fail(std::move(allowed).error()));
  }
  impl_->command<wire::TokenView>(
      [&options = impl_->options, caller, request = std::move(request),
       secret = make_secret("")](Transaction& transaction) -> Result<wire::TokenView> {
        const State& state = transaction.state();
        TG_TRY(auto record,
               resolve_token(state, options, caller, request, hash_of_secret(secret), transaction.now()));
        const std::uint64_t id = record.id;
        transaction.record(std::move(record));
        wire::TokenView view = make_token_view(*state.tokens().at(id), transaction.now());
        view.secret = TokenText{id, secret}.to_string();
        return view;
      },
      std::move(done));
}

void Service::rotate_token(const Caller& caller, std::string reference, wire::TokenRotation rotation,
                           Done<wire::TokenView> done) {
  if (auto allowed = require_operator(caller, "rotate tokens"); !allowed) {
    return done(fail(std::move(allowed).error()));
  }
  impl_->command<wire::TokenView>(
      [&options = impl_->options, caller, reference = std::move(reference), rotation,
       secret = make_secret("")](Transaction& transaction) -> Result<wire::TokenView> {
        const State& state = transaction.state();
        TG_TRY(const auto token, find_token(state, reference, transaction.now()));
        TG_TRY(auto record, resolve_rotation(state, options, *token, caller, rotation, hash_of_secret(secret),
                                             transaction.now()));
        transaction.record(std::move(record));
        wire::TokenView view = make_token_view(*state.tokens().at(token->id), transaction.now());
        view.secret = TokenText{token->id, secret}.to_string();
        return view;
      },
      std::move(done));
}

void Service::revoke_token(const Caller& caller, std::string reference, Done<wire::TokenView> done) {
  if (auto allowed = require_operator(caller, "revoke tokens"); !allowed) {
    return done(fail(std::move(allowed).error()));
  }
  impl_->command<wire::TokenView>(
      [caller, reference = std::move(reference)](Transaction& transaction) -> Result<wire::TokenView> {
        const State& state = transaction.state();
        TG_TRY(const auto token, find_token(state, reference, transaction.now()));
        // Twice is as good as once: who repeats a lost answer wants nothing else.
        if (!token->revoked_at) transaction.record(wire::TokenRevoked{token->id, caller.who()});
        return make_token_view(*state.tokens().at(token->id), transaction.now());
      },
      std::move(done));
}

Result<wire::TokenList> Service::tokens(const Caller& caller) const {
  if (!caller.sees_all()) {
    return fail(Code::kPermissionDenied, "caller.not_operator",
                "only the operator and viewers may list tokens", "ask the operator");
  }
  wire::TokenList list;
  const TimeMs now = impl_->clock.now();
  const std::shared_ptr<const Identities> identities = impl_->identities.get();
  for (const auto& [id, token] : identities->tokens()) {
    list.items.push_back(make_token_view(*token, now));
    list.items.back().last_used_at = impl_->identities.last_used(id);
  }
  return list;
}

}  // namespace tangram::service
