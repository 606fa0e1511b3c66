#include "kube/api/config.h"

#include <charconv>
#include <cstdlib>
#include <utility>

#include "base/plain_file.h"
#include "base/quote.h"

namespace tangram::kube {
namespace {

constexpr std::size_t kFileBytesMax = std::size_t{1} << 20;

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::string trimmed(std::string text) {
  constexpr const char* kBlanks = " \t\r\n";
  text.erase(text.find_last_not_of(kBlanks) + 1);
  text.erase(0, text.find_first_not_of(kBlanks));
  return text;
}

tl::unexpected<Error> not_in_cluster(const std::string& why) {
  return fail(Code::kFailedPrecondition, "kube.config.not_in_cluster",
              "this process does not run in a Pod: " + why,
              "name a kubeconfig, or give the Pod a service account with its token mounted");
}

}  // namespace

std::string ClusterConfig::server() const {
  const bool v6 = host.find(':') != std::string::npos;
  return std::string(tls ? "https://" : "http://") + (v6 ? "[" + host + "]" : host) + ":" +
         std::to_string(port) + path_prefix;
}

Result<std::string> read_small_file(const std::string& path) {
  auto file = read_plain_file("cannot read " + path, path, kFileBytesMax);
  if (file) return std::move(file->text);
  Error error = std::move(file).error();
  error.reason = "kube.config.unreadable";
  error.hint = "check the path and who may read it";
  return fail(std::move(error));
}

Result<ClusterConfig> in_cluster_config(const std::string& directory) {
  ClusterConfig config;
  config.host = environment("KUBERNETES_SERVICE_HOST");
  const std::string port = environment("KUBERNETES_SERVICE_PORT");
  if (config.host.empty() || port.empty())
    return not_in_cluster("KUBERNETES_SERVICE_HOST or KUBERNETES_SERVICE_PORT is not set");
  const auto [end, problem] = std::from_chars(port.data(), port.data() + port.size(), config.port);
  if (problem != std::errc() || end != port.data() + port.size() || config.port == 0)
    return not_in_cluster("KUBERNETES_SERVICE_PORT is " + quoted(port));
  config.token.file = directory + "/token";
  config.authorities.file = directory + "/ca.crt";
  for (const std::string& file : {config.token.file, config.authorities.file}) {
    const auto readable = read_small_file(file);
    if (!readable) return not_in_cluster(readable.error().message);
  }
  if (auto space = read_small_file(directory + "/namespace")) {
    std::string name = trimmed(std::move(*space));
    if (!name.empty()) config.space = std::move(name);
  }
  return config;
}

Result<ClusterConfig> find_config(const std::string& path, std::string_view context) {
  if (!path.empty()) return load_kubeconfig(path, context);
  const std::string named = environment("KUBECONFIG");
  if (named.find(':') != std::string::npos) {
    return fail(Code::kInvalidArgument, "kube.config.unsupported",
                "KUBECONFIG names several files, which is not supported: " + quoted(named, 200),
                "name one; `kubectl config view --flatten` makes one of several");
  }
  if (!named.empty()) return load_kubeconfig(named, context);
  if (!environment("KUBERNETES_SERVICE_HOST").empty()) return in_cluster_config();
  const std::string home = environment("HOME");
  if (home.empty()) return not_in_cluster("neither KUBECONFIG nor KUBERNETES_SERVICE_HOST is set");
  return load_kubeconfig(home + "/.kube/config", context);
}

}  // namespace tangram::kube
