// Tables of bearer tokens.
#include <array>
#include <limits>
#include <string>

#include "base/quote.h"
#include "wire/codecs.h"
#include "wire/schema.h"
#include "wire/tables.h"
#include "wire/tokens.h"

namespace tangram::wire {
namespace {

constexpr std::string_view kNever = "never";
constexpr std::string_view kLifetimeWanted = "a duration above 0 (\"90d\"), or \"never\"";

Codec<TokenState> token_state_word() {
  return {"active, expired or revoked",
          [](Reader& reader, const Node& node, TokenState& into) {
            for (const TokenState state : {TokenState::kActive, TokenState::kExpired, TokenState::kRevoked}) {
              if (node.kind == Node::Kind::kText && node.text == token_state_name(state)) {
                into = state;
                return;
              }
            }
            reader.bad_value(node, "input.bad_value", "active, expired or revoked");
          },
          [](const TokenState& from) { return Node::of(std::string(token_state_name(from))); },
          R"({"type":"string","enum":["active","expired","revoked"]})"};
}

// A duration above 0, or "never".
std::string lifetime_schema() {
  return R"({"anyOf":[{"type":"string","enum":["never"]},)" + duration_text(kLifetimeMsMin).schema + "]}";
}

Codec<Lifetime> lifetime_text() {
  return {"duration (\"90d\") or never",
          [](Reader& reader, const Node& node, Lifetime& into) {
            if (node.kind != Node::Kind::kText) return reader.wrong_type(node, kLifetimeWanted);
            const Result<Lifetime> lifetime = parse_lifetime(node.text, reader.path());
            if (!lifetime) return reader.bad_value(node, "input.bad_value", kLifetimeWanted);
            into = *lifetime;
          },
          [](const Lifetime& from) { return Node::of(format_lifetime(from)); }, lifetime_schema()};
}

void check_request(Reader& reader, const Node& node, const TokenRequest& request) {
  if (!reader.ok()) return;
  const PathScope scope(reader, "tenant");
  if (request.role == Role::kTenant && request.tenant.empty()) {
    reader.problem(node, "input.missing_field", "is missing: a token of role tenant acts for one tenant",
                   "name the tenant, or choose role operator or viewer");
  }
  if (request.role != Role::kTenant && !request.tenant.empty()) {
    reader.problem(
        node, "input.bad_value",
        "is given, but a token of role " + std::string(role_name(request.role)) + " acts for no tenant",
        "leave it out, or choose role tenant");
  }
}

}  // namespace

std::string_view role_name(Role role) {
  switch (role) {
    case Role::kOperator:
      return "operator";
    case Role::kTenant:
      return "tenant";
    case Role::kViewer:
      return "viewer";
  }
  return "?";
}

std::string_view token_state_name(TokenState state) {
  switch (state) {
    case TokenState::kActive:
      return "active";
    case TokenState::kExpired:
      return "expired";
    case TokenState::kRevoked:
      return "revoked";
  }
  return "?";
}

Result<Role> parse_role(std::string_view text, std::string_view field) {
  for (const Role role : {Role::kOperator, Role::kTenant, Role::kViewer}) {
    if (text == role_name(role)) return role;
  }
  return fail(Code::kInvalidArgument, "input.bad_value",
              std::string(field) + " " + quoted(text) + " is no role", "write operator, tenant or viewer");
}

Result<Lifetime> parse_lifetime(std::string_view text, std::string_view field) {
  if (text == kNever) return Lifetime{};
  TG_TRY(const std::int64_t ms, parse_duration_ms(text, field));
  if (ms >= kLifetimeMsMin) return Lifetime{ms};
  return fail(Code::kInvalidArgument, "input.out_of_range",
              std::string(field) + " " + quoted(text) + " is no time at all",
              "write " + std::string(kLifetimeWanted));
}

std::string format_lifetime(Lifetime lifetime) {
  return lifetime.ms >= kUnlimited ? std::string(kNever) : format_duration_ms(lifetime.ms);
}

Codec<Role> role_word() {
  return {"operator, tenant or viewer",
          [](Reader& reader, const Node& node, Role& into) {
            if (node.kind != Node::Kind::kText) return reader.wrong_type(node, "operator, tenant or viewer");
            const Result<Role> role = parse_role(node.text, reader.path());
            if (!role) return reader.bad_value(node, "input.bad_value", "operator, tenant or viewer");
            into = *role;
          },
          [](const Role& from) { return Node::of(std::string(role_name(from))); },
          R"({"type":"string","enum":["operator","tenant","viewer"]})"};
}

const Table<TokenRequest>& token_request_table() {
  static const Table<TokenRequest> table{
      "TokenRequest",
      "Body of POST /v1/tokens.",
      {
          required("name", &TokenRequest::name, name_text(), "unique among active tokens"),
          required("role", &TokenRequest::role, role_word(), "what its bearer may do"),
          optional("tenant", &TokenRequest::tenant, name_text(), "of role tenant: for whom it acts"),
          optional("lifetime", &TokenRequest::lifetime, lifetime_text(), "left out: 90d"),
      },
      check_request};
  return table;
}

const Table<TokenRotation>& token_rotation_table() {
  static const Table<TokenRotation> table{
      "TokenRotation",
      "Body of POST /v1/tokens/{token}/rotate.",
      {
          optional("grace", &TokenRotation::grace_ms, duration_text(0),
                   "how long the old secret goes on; left out: it ends at once"),
          optional("lifetime", &TokenRotation::lifetime, lifetime_text(),
                   "counted from now; left out: as long as before"),
      },
      nullptr};
  return table;
}

const Table<TokenView>& token_view_table() {
  static const Table<TokenView> table{
      "TokenView",
      "A bearer token as the service shows it.",
      {
          required("id", &TokenView::id, text(), "\"t-3\""),
          required("name", &TokenView::name, text(), "as it was created"),
          required("role", &TokenView::role, role_word(), "what its bearer may do"),
          optional("tenant", &TokenView::tenant, text(), "for whom it acts"),
          required("state", &TokenView::state, token_state_word(), "only an active one is accepted"),
          shown("createdAt", &TokenView::created_at, time_text(), "when it was created"),
          shown("createdBy", &TokenView::created_by, text(), "\"uid 0\" or \"token t-1\""),
          optional("rotatedAt", &TokenView::rotated_at, time_text(), "when its secret was changed last"),
          optional("expiresAt", &TokenView::expires_at, time_text(), "left out: never"),
          optional("revokedAt", &TokenView::revoked_at, time_text(), "when it was revoked"),
          optional("oldSecretUntil", &TokenView::old_secret_until, time_text(),
                   "until when the secret before the last rotation is accepted"),
          optional("lastUsedAt", &TokenView::last_used_at, time_text(),
                   "left out: not since the daemon started"),
          secret(optional("secret", &TokenView::secret, text(),
                          "the token itself: only in the answer that made it, never again")),
      },
      nullptr};
  return table;
}

const Table<TokenList>& token_list_table() {
  static const Table<TokenList> table{
      "TokenList",
      "Answer of GET /v1/tokens.",
      {required("items", &TokenList::items,
                list(object(token_view_table()), std::numeric_limits<std::size_t>::max()),
                "ascending by id; revoked and expired ones are kept for 30 days")},
      nullptr};
  return table;
}

Result<TokenRequest> read_token_request(std::string_view json) {
  TG_TRY(const Node node, parse_json(json, kBodyBytesMax));
  return read_whole(token_request_table(), node, Reading::kStrict);
}

Result<TokenRotation> read_token_rotation(std::string_view json) {
  TG_TRY(const Node node, parse_json(json, kBodyBytesMax));
  return read_whole(token_rotation_table(), node, Reading::kStrict);
}

std::string write(const TokenRequest& request) {
  return to_json(write_fields(token_request_table(), request));
}
std::string write(const TokenRotation& rotation) {
  return to_json(write_fields(token_rotation_table(), rotation));
}
std::string write(const TokenView& view) {
  return to_json(write_fields(token_view_table(), view));
}
std::string write(const TokenList& list) {
  return to_json(write_fields(token_list_table(), list));
}
Result<TokenView> read_token_view(std::string_view json) {
  return read_answer(token_view_table(), json);
}
Result<TokenList> read_token_list(std::string_view json) {
  return read_answer(token_list_table(), json);
}

}  // namespace tangram::wire
