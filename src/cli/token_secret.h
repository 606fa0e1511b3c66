// Where the secret of a token goes: into a file of its owner's, or alone to standard output.
#pragma once

#include <functional>
#include <string>

#include "cli/command.h"
#include "cli/session.h"
#include "wire/command_texts.h"
#include "wire/tokens.h"

namespace tangram::cli {

// What both makers of secrets take.
inline constexpr Option kTokenOut{
    .name = "--out", .about = wire::help::kTokenOut, .value = "FILE", .completes = Completes::kFile};

// Makes the file first, so that a secret that cannot be kept is not asked for: then `call`, then the secret
// goes where it is to. `path` empty: standard output. `replace`: a file that is there gives way to one that
// is complete; otherwise it must not be there. The exit code.
int hand_over_secret(Session& session, const std::string& path, bool replace,
                     const std::function<Result<wire::TokenView>()>& call);

}  // namespace tangram::cli
