// Bearer tokens as documents: what an operator asks for and what the service answers. Same rules of reading
// and writing as schema.h. Thread-safe: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "wire/types.h"

namespace tangram::wire {

// What the bearer of a token may do.
enum class Role : std::uint8_t {
  kOperator,  // everything
  kTenant,    // reads its tenant with its subtree, submits and cancels for it
  kViewer,    // reads everything, changes nothing
};

std::string_view role_name(Role role);
Result<Role> parse_role(std::string_view text, std::string_view field);

// How long a token is good for: a duration, or never ending.
struct Lifetime {
  std::int64_t ms = kUnlimited;  // kUnlimited: "never"

  friend bool operator==(const Lifetime&, const Lifetime&) = default;
};

inline constexpr Lifetime kLifetimeDefault{90LL * 24 * 3'600'000};
inline constexpr std::int64_t kLifetimeMsMin = 1;

// "90d", "12h" or "never".
Result<Lifetime> parse_lifetime(std::string_view text, std::string_view field);
std::string format_lifetime(Lifetime lifetime);

// ---- what clients send

struct TokenRequest {
  std::string name;
  Role role = Role::kTenant;
  std::string tenant;  // of role tenant
  Lifetime lifetime = kLifetimeDefault;

  friend bool operator==(const TokenRequest&, const TokenRequest&) = default;
};

struct TokenRotation {
  std::int64_t grace_ms = 0;         // how long the old secret goes on
  std::optional<Lifetime> lifetime;  // absent: as before

  friend bool operator==(const TokenRotation&, const TokenRotation&) = default;
};

Result<TokenRequest> read_token_request(std::string_view json);
Result<TokenRotation> read_token_rotation(std::string_view json);
std::string write(const TokenRequest& request);
std::string write(const TokenRotation& rotation);

// ---- what the service answers

enum class TokenState : std::uint8_t { kActive, kExpired, kRevoked };

std::string_view token_state_name(TokenState state);

struct TokenView {
  std::string id;  // "t-3"
  std::string name;
  Role role = Role::kTenant;
  std::string tenant;
  TokenState state = TokenState::kActive;
  TimeMs created_at;
  std::string created_by;  // "uid 0", "token t-1"
  std::optional<TimeMs> rotated_at;
  std::optional<TimeMs> expires_at;  // absent: never
  std::optional<TimeMs> revoked_at;
  std::optional<TimeMs> old_secret_until;  // of a rotation with grace
  std::optional<TimeMs> last_used_at;      // absent: not since the daemon started
  std::string secret;                      // only in the answer that made it; never again

  friend bool operator==(const TokenView&, const TokenView&) = default;
};

struct TokenList {
  std::vector<TokenView> items;

  friend bool operator==(const TokenList&, const TokenList&) = default;
};

std::string write(const TokenView& view);
std::string write(const TokenList& list);
Result<TokenView> read_token_view(std::string_view json);
Result<TokenList> read_token_list(std::string_view json);

}  // namespace tangram::wire
