// Who vouches for the scheduler's client certificate.
#pragma once

#include <string>

#include "base/result.h"
#include "kube/api/client.h"

namespace tangram::kube::process {

// The PEM by which the API server knows clients, as it publishes it for servers that stand beside it: the
// ConfigMap extension-apiserver-authentication of kube-system. The role of that name's reader may read it.
// Errors: those of the call; kFailedPrecondition "kube.config.invalid" when the cluster knows nobody by a
// certificate.
Result<std::string> cluster_client_authority(ApiClient& client);

// Writes a text that anybody may read; whole or not at all. "net.tls.unreadable".
Result<void> write_public_file(const std::string& path, const std::string& text);

}  // namespace tangram::kube::process
