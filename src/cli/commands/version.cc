#include "cli/commands/all.h"
#include "cli/render.h"
#include "cli/session.h"
#include "wire/command_texts.h"

namespace tangram::cli {
namespace {

int run(Session& session, const Arguments& /*arguments*/) {
  wire::VersionView client;
  client.version = TANGRAM_VERSION;
  const Result<wire::VersionView> server = session.api().version();
  std::string json = "{\"client\":" + wire::write(client);
  if (server) json += ",\"server\":" + wire::write(*server);
  json += '}';
  const int code = session.emit(json, [&](const Canvas& canvas) {
    return render_version(client, server ? std::optional(*server) : std::nullopt, canvas);
  });
  return server ? code : session.report(server.error());
}

}  // namespace

const Command kVersion{
    .name = "version",
    .summary = wire::help::kVersion,
    .run = run,
};

}  // namespace tangram::cli
