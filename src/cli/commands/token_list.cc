#include "cli/commands/all.h"
#include "cli/render.h"
#include "cli/session.h"
#include "wire/command_texts.h"
#include "wire/tokens.h"

namespace tangram::cli {
namespace {

int run(Session& session, const Arguments& /*arguments*/) {
  const Result<wire::TokenList> list = session.api().tokens();
  if (!list) return session.report(list.error());
  return session.emit(wire::write(*list),
                      [&](const Canvas& canvas) { return render_tokens(list->items, canvas); });
}

}  // namespace

const Command kTokenList{
    .name = "token list",
    .summary = wire::help::kTokenList,
    .run = run,
    .columns = token_columns,
    .examples = "tangram token list\n",
};

}  // namespace tangram::cli
