// The command line of tangram-kube-node.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "kube/node/agent.h"
#include "net/server.h"

namespace tangram::kube::node {

struct Arguments {
  std::string node;
  std::string kubeconfig;
  std::string kubelet = "/var/lib/kubelet";
  std::string library;
  std::optional<net::TcpEndpoint> metrics;
  bool check_only = false;
  AgentOptions agent;
};

// Tells the user; the exit status.
int complain(const Error& error);

// Exit status, or -1 to go on.
int parse_arguments(int argc, char** argv, Arguments& arguments);

}  // namespace tangram::kube::node
