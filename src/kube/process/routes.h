// Which part of tangram-kube answers which path. Thread-safe.
#pragma once

#include <functional>
#include <string>

#include "net/server.h"

namespace tangram::kube::process {

// The HTTPS address: GET /healthz (the process is there), GET /readyz (admission can answer: 200, else 503),
// the extender's paths, and all others the webhook's.
struct Routes {
  net::Handler webhook;
  std::function<bool(const std::string& path)> is_extender;
  net::Handler extender;
  std::function<bool()> ready;
};
net::Handler make_routes(Routes routes);

// The address for Prometheus: GET /metrics, /healthz.
net::Handler make_metrics_routes(std::function<std::string()> page);

}  // namespace tangram::kube::process
