// How the daemon of a command line is reached.
#pragma once

#include <string>

#include "cli/command.h"
#include "client/api_client.h"
#include "client/remote.h"

namespace tangram::cli {

// What of the process's environment matters.
struct Environment {
  client::RemoteEnvironment remote = {};
  std::string locale = {};  // of messages: LC_ALL, else LC_MESSAGES, else LANG
};

// The options of the line win over the environment, and that over what is installed. Errors: as
// client::resolve_remote(), and "cli.usage" where they contradict each other.
Result<client::ApiClientOptions> client_options(const Arguments& arguments, const Environment& environment,
                                                wire::Language language);

// The same for what is only a help and must not keep anybody waiting: names to complete or to suggest.
client::ApiClientOptions hasty(client::ApiClientOptions options);

}  // namespace tangram::cli
