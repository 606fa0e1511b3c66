#include "cli/client_options.h"

#include "cli/global_options.h"

namespace tangram::cli {
namespace {

constexpr std::chrono::milliseconds kHaste(500);

}  // namespace

Result<client::ApiClientOptions> client_options(const Arguments& arguments, const Environment& environment,
                                                wire::Language language) {
  const client::RemoteArguments said{.socket_path = arguments.text(kSocketOption),
                                     .server = arguments.text(kServerOption),
                                     .token_file = arguments.text(kTokenFileOption),
                                     .ca_file = arguments.text(kCaFileOption)};
  if (!said.socket_path.empty() && !said.server.empty()) {
    return fail(Code::kInvalidArgument, "cli.usage", "--socket and --server cannot both be given",
                "name the one that you mean");
  }
  TG_TRY(client::ApiClientOptions options, client::resolve_remote(said, environment.remote));
  options.language = language;
  return options;
}

client::ApiClientOptions hasty(client::ApiClientOptions options) {
  options.timeout = kHaste;
  return options;
}

}  // namespace tangram::cli
