#include "kube/process/client_authority.h"

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <utility>

namespace tangram::kube::process {

Result<std::string> cluster_client_authority(ApiClient& client) {
  const Resource maps{"", "v1", "configmaps", true, "ConfigMap"};
  TG_TRY(const std::string text, client.get({maps, "kube-system", "extension-apiserver-authentication"}));
  TG_TRY(const json::object map, parse_object(text));
  std::string pem(text_at(map, {"data", "client-ca-file"}));
  if (!pem.empty()) return pem;
  return fail(Code::kFailedPrecondition, "kube.config.invalid",
              "the API server knows nobody by a certificate, so that the scheduler cannot show one",
              "sign a certificate for the scheduler, and name its authority: --scheduler-ca FILE");
}

Result<void> write_public_file(const std::string& path, const std::string& text) {
  const std::string draft = path + ".new";
  {
    std::ofstream file(draft, std::ios::binary | std::ios::trunc);
    file << text;
    file.close();
    if (!file) {
      Error error = system_error("cannot write " + path, errno);
      error.reason = "net.tls.unreadable";
      return fail(std::move(error));
    }
  }
  if (std::rename(draft.c_str(), path.c_str()) == 0) return {};
  Error error = system_error("cannot write " + path, errno);
  error.reason = "net.tls.unreadable";
  return fail(std::move(error));
}

}  // namespace tangram::kube::process
