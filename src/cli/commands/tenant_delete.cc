#include <array>

#include "cli/commands/all.h"
#include "cli/session.h"
#include "wire/cli_texts.h"
#include "wire/command_texts.h"
#include "wire/errors.h"

namespace tangram::cli {
namespace {

namespace help = wire::help;

constexpr Option kName{
    .name = "NAME", .about = help::kTenantName, .required = true, .completes = Completes::kTenant};
constexpr std::array kOptions{kName};

int run(Session& session, const Arguments& arguments) {
  const std::string name = arguments.text(kName);
  const Result<void> done = session.api().delete_tenant(name);
  if (!done) return session.report(done.error());
  session.say(wire::say::kTenantDeleted, {{"tenant", printable(name)}});
  return wire::kExitOk;
}

}  // namespace

const Command kTenantDelete{
    .name = "tenant delete",
    .summary = help::kTenantDelete,
    .run = run,
    .options = kOptions,
    .examples = "tangram tenant delete team-b\n",
};

}  // namespace tangram::cli
