// The command line of tangram-kube. Values; reading them touches nothing but the environment.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/server.h"

namespace tangram::kube::process {

struct Options {
  std::string kubeconfig;
  std::string space = "kube-system";  // own namespace
  std::string identity;               // in the Lease, and of the own Pod
  net::TcpEndpoint listen{"0.0.0.0", 8'443, nullptr};
  net::TcpEndpoint metrics{"0.0.0.0", 9'395, nullptr};
  std::string certificates = "/run/tangram";
  std::string scheduler = "default-scheduler";
  std::string runtime_class;
  std::string scheduler_ca;                    // a file; empty: the cluster's own
  std::vector<std::string> scheduler_clients;  // common names
  bool open_gates = false;
  bool help = false;
};

const char* usage();

// Errors: kInvalidArgument "kube.options.invalid", naming the option. `argv` may be permuted.
Result<Options> parse_options(int argc, char** argv);

}  // namespace tangram::kube::process
