#include <array>
#include <set>

#include "cli/commands/all.h"
#include "cli/render.h"
#include "cli/session.h"
#include "wire/command_texts.h"

namespace tangram::cli {
namespace {

namespace help = wire::help;

constexpr Option kTenant{.name = "TENANT", .about = help::kQuotaTenant, .completes = Completes::kTenant};
constexpr std::array kOptions{kTenant};

// The tenant and everything below it, in the list's order.
std::vector<wire::QuotaView> subtree(const std::vector<wire::QuotaView>& all, const std::string& root) {
  std::set<std::string> names{root};
  for (bool grown = true; grown;) {
    grown = false;
    for (const wire::QuotaView& view : all) {
      if (names.contains(view.tenant.parent)) grown = names.insert(view.tenant.name).second || grown;
    }
  }
  std::vector<wire::QuotaView> kept;
  for (const wire::QuotaView& view : all) {
    if (names.contains(view.tenant.name)) kept.push_back(view);
  }
  return kept;
}

int run(Session& session, const Arguments& arguments) {
  const std::string tenant = arguments.text(kTenant);
  if (!tenant.empty()) {
    // Asked for by name first: the list cannot tell "not there" from "not yours".
    const Result<wire::QuotaView> view = session.api().tenant(tenant);
    if (!view) return session.report(view.error());
  }
  Result<wire::QuotaList> list = session.api().tenants();
  if (!list) return session.report(list.error());
  if (!tenant.empty()) list->items = subtree(list->items, tenant);
  return session.emit(wire::write(*list),
                      [&](const Canvas& canvas) { return render_quota(list->items, canvas); });
}

}  // namespace

const Command kQuota{
    .name = "quota",
    .summary = help::kQuota,
    .run = run,
    .options = kOptions,
    .columns = quota_columns,
    .examples =
        "tangram quota\n"
        "tangram quota team-a\n",
};

}  // namespace tangram::cli
