// Which daemon is meant, and how it is shown who asks: a socket, or a server with TLS and a token.
#pragma once

#include <string>

#include "base/result.h"
#include "client/api_client.h"

namespace tangram::client {

// What the caller says; empty: nothing.
struct RemoteArguments {
  std::string socket_path = {};
  std::string server = {};      // "https://host:8443"
  std::string token_file = {};  // a token itself never stands on a command line: everybody could see it
  std::string ca_file = {};
  OptionNames names = {};
};

// What the environment of the process says.
struct RemoteEnvironment {
  std::string socket_path = {};  // TANGRAM_SOCKET
  std::string server = {};       // TANGRAM_SERVER
  std::string token = {};        // TANGRAM_TOKEN
  std::string ca_file = {};      // TANGRAM_CA_FILE
};
RemoteEnvironment remote_environment();

// What the caller says, else what the environment says, else the installed daemon's socket. Errors:
// kInvalidArgument "client.server.invalid", "client.token_file.unreadable", "client.token_file.exposed",
// "client.token.invalid".
Result<ApiClientOptions> resolve_remote(const RemoteArguments& arguments,
                                        const RemoteEnvironment& environment);

// The token in a file that nobody else may read.
Result<std::string> read_token_file(const std::string& path);

}  // namespace tangram::client
