// Where the API server is and how to show oneself there. Values; reading them is in kubeconfig.cc and
// config.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tangram::kube {

// A text that stands in the configuration itself, or in a file that may be replaced while this process runs
// (certificates and tokens rotate). The file wins where both are given.
struct Material {
  std::string text{};
  std::string file{};

  bool given() const { return !text.empty() || !file.empty(); }
};

struct ClusterConfig {
  std::string host;  // name or numeric address
  std::uint16_t port = 443;
  bool tls = true;                // without it only this machine's own loopback is called
  std::string path_prefix{};      // "/k8s/clusters/c-1" behind some proxies; mostly empty
  std::string tls_name{};         // whose certificate the server shows, where that is not `host`
  Material authorities;           // PEM; none: those that the system trusts
  Material client_certificate;    // PEM; with client_key
  Material client_key;            // PEM, without a password
  Material token;                 // of a bearer
  std::string space = "default";  // the namespace that is meant where none is named

  std::string server() const;  // "https://192.0.2.1:6443"
};

// The context `context` of a kubeconfig, its current one when empty. Relative paths in it are relative to the
// file. Of the ways to authenticate, those with a client certificate, a token or a token file are supported;
// programs (exec), auth-provider, passwords and impersonation are not, nor is a server that is not verified
// or only reached through a proxy: each is refused with the field's name, never passed over. Errors,
// kInvalidArgument unless the system says otherwise: "kube.config.unreadable", "kube.config.invalid",
// "kube.config.unsupported".
Result<ClusterConfig> load_kubeconfig(const std::string& path, std::string_view context = {});
// `directory`: what relative paths are relative to; `name` stands in messages.
Result<ClusterConfig> parse_kubeconfig(std::string_view text, const std::string& directory,
                                       const std::string& name, std::string_view context);

// What a Pod is given: KUBERNETES_SERVICE_HOST and _PORT, and below `directory` the files token, ca.crt and
// namespace of its service account. The token and the authorities are read anew when they rotate.
// Errors: kFailedPrecondition "kube.config.not_in_cluster".
inline constexpr const char* kServiceAccountDirectory = "/var/run/secrets/kubernetes.io/serviceaccount";
Result<ClusterConfig> in_cluster_config(const std::string& directory = kServiceAccountDirectory);

// The file at KUBECONFIG (one only) when that is set, what the Pod is given when this process runs in one,
// else
// ~/.kube/config. `path` and `context` come from options and may be empty.
Result<ClusterConfig> find_config(const std::string& path, std::string_view context);

// Whole, at most 1 MiB. Errors as load_kubeconfig().
Result<std::string> read_small_file(const std::string& path);

}  // namespace tangram::kube
