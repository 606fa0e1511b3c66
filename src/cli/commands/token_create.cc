#include <array>

#include "cli/commands/all.h"
#include "cli/session.h"
#include "cli/token_secret.h"
#include "wire/command_texts.h"
#include "wire/schema.h"
#include "wire/tokens.h"

namespace tangram::cli {
namespace {

namespace help = wire::help;

constexpr std::array<std::string_view, 3> kRoles{"operator", "tenant", "viewer"};

constexpr Option kName{.name = "NAME", .about = help::kTokenName, .required = true};
constexpr Option kRole{.name = "--role",
                       .about = help::kTokenRole,
                       .value = "ROLE",
                       .required = true,
                       .completes = Completes::kChoice,
                       .choices = kRoles};
constexpr Option kTenant{
    .name = "--tenant", .about = help::kTokenTenant, .value = "TENANT", .completes = Completes::kTenant};
constexpr Option kLifetime{.name = "--lifetime", .about = help::kTokenLifetime, .value = "TIME"};
constexpr std::array kOptions{kName, kRole, kTenant, kLifetime, kTokenOut};

Error wrong_tenant(bool missing) {
  return {Code::kInvalidArgument,
          "cli.usage",
          missing ? "a token of role tenant needs --tenant" : "only a token of role tenant has a --tenant",
          "tangram token create NAME --role tenant --tenant TENANT, or --role viewer",
          {},
          nullptr};
}

Result<wire::TokenRequest> read_request(const Arguments& arguments) {
  wire::TokenRequest request;
  request.name = arguments.text(kName);
  TG_TRY_VOID(wire::check_name(request.name, kName.name));
  TG_TRY(request.role, wire::parse_role(arguments.text(kRole), kRole.name));
  request.tenant = arguments.text(kTenant);
  if ((request.role == wire::Role::kTenant) == request.tenant.empty())
    return fail(wrong_tenant(request.tenant.empty()));
  if (arguments.has(kLifetime)) {
    TG_TRY(request.lifetime, wire::parse_lifetime(arguments.text(kLifetime), kLifetime.name));
  }
  return request;
}

int run(Session& session, const Arguments& arguments) {
  const Result<wire::TokenRequest> request = read_request(arguments);
  if (!request) return session.report(request.error());
  return hand_over_secret(session, arguments.text(kTokenOut), false,
                          [&] { return session.api().create_token(*request); });
}

}  // namespace

const Command kTokenCreate{
    .name = "token create",
    .summary = help::kTokenCreate,
    .run = run,
    .options = kOptions,
    .examples =
        "tangram token create ci --role tenant --tenant team-a --out ci.token\n"
        "tangram token create dashboard --role viewer --lifetime never\n",
};

}  // namespace tangram::cli
