// From what an operator asks about a token to the record that makes it so. Pure functions of the state.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "service/access.h"
#include "service/options.h"
#include "service/state.h"
#include "wire/tokens.h"

namespace tangram::service {

// The record of a token that may be created now, with this hash of its secret. Errors: tenant.unknown,
// input.reserved, token.name_in_use, tokens.full.
Result<wire::TokenCreated> resolve_token(const State& state, const Options& options, const Caller& caller,
                                         const wire::TokenRequest& request, std::string secret_hash,
                                         TimeMs now);

// The record of a rotation. Errors: token.revoked; of one that had expired, and is active again by this, also
// token.name_in_use, tokens.full.
Result<wire::TokenRotated> resolve_rotation(const State& state, const Options& options, const Token& token,
                                            const Caller& caller, const wire::TokenRotation& rotation,
                                            std::string secret_hash, TimeMs now);

// By "t-3", or by name: the active one of that name, else the one created last. kNotFound "token.unknown".
Result<std::shared_ptr<const Token>> find_token(const State& state, std::string_view reference, TimeMs now);

// Without the secret.
wire::TokenView make_token_view(const Token& token, TimeMs now);

}  // namespace tangram::service
