#include <array>

#include "cli/commands/all.h"
#include "cli/session.h"
#include "cli/token_secret.h"
#include "wire/command_texts.h"
#include "wire/tokens.h"

namespace tangram::cli {
namespace {

namespace help = wire::help;

constexpr Option kToken{
    .name = "TOKEN", .about = help::kToken, .required = true, .completes = Completes::kToken};
constexpr Option kGrace{.name = "--grace", .about = help::kTokenGrace, .value = "TIME"};
constexpr Option kLifetime{.name = "--lifetime", .about = help::kTokenNewLifetime, .value = "TIME"};
constexpr std::array kOptions{kToken, kGrace, kLifetime, kTokenOut};

Result<wire::TokenRotation> read_rotation(const Arguments& arguments) {
  wire::TokenRotation rotation;
  if (arguments.has(kLifetime)) {
    TG_TRY(rotation.lifetime, wire::parse_lifetime(arguments.text(kLifetime), kLifetime.name));
  }
  if (arguments.has(kGrace)) {
    TG_TRY(rotation.grace_ms, parse_duration_ms(arguments.text(kGrace), kGrace.name));
  }
  return rotation;
}

int run(Session& session, const Arguments& arguments) {
  const Result<wire::TokenRotation> rotation = read_rotation(arguments);
  if (!rotation) return session.report(rotation.error());
  return hand_over_secret(session, arguments.text(kTokenOut), true,
                          [&] { return session.api().rotate_token(arguments.text(kToken), *rotation); });
}

}  // namespace

const Command kTokenRotate{
    .name = "token rotate",
    .summary = help::kTokenRotate,
    .run = run,
    .options = kOptions,
    .examples = "tangram token rotate ci --grace 1h --out ci.token\n",
};

}  // namespace tangram::cli
