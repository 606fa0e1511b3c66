#include <array>

#include "cli/commands/all.h"
#include "cli/render.h"
#include "cli/session.h"
#include "wire/command_texts.h"
#include "wire/errors.h"
#include "wire/tokens.h"

namespace tangram::cli {
namespace {

namespace help = wire::help;

constexpr Option kTokens{.name = "TOKEN",
                         .about = help::kToken,
                         .required = true,
                         .repeatable = true,
                         .completes = Completes::kToken};
constexpr std::array kOptions{kTokens};

int run(Session& session, const Arguments& arguments) {
  int code = wire::kExitOk;
  wire::TokenList revoked;
  for (const std::string& name : arguments.list(kTokens)) {
    Result<wire::TokenView> token = session.api().revoke_token(name);
    if (token) {
      revoked.items.push_back(std::move(*token));
    } else {
      // The others are still wanted gone.
      const int failed = session.report(token.error());
      if (code == wire::kExitOk) code = failed;
    }
  }
  const int emitted = session.emit(wire::write(revoked), [&](const Canvas& canvas) {
    std::string text;
    for (const wire::TokenView& token : revoked.items) text += render_token(token, canvas.language) + '\n';
    return text;
  });
  return code == wire::kExitOk ? emitted : code;
}

}  // namespace

const Command kTokenRevoke{
    .name = "token revoke",
    .summary = help::kTokenRevoke,
    .run = run,
    .options = kOptions,
    .examples = "tangram token revoke ci\n",
};

}  // namespace tangram::cli
