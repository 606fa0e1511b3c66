// The REST API of docs/api.md: who asks, what is asked, and the answer's form. Everything else is the
// service's.
#pragma once

#include <memory>

#include "net/server.h"
#include "server/rate_limiter.h"
#include "server/request_meter.h"
#include "service/service.h"

namespace tangram::server {

// What the API works with beside its service. All may be null: then nobody is held back, or nothing counted.
struct ApiParts {
  std::shared_ptr<RateLimiter> limiter;  // charged for what a request costs beyond itself
  std::shared_ptr<RequestMeter> meter = std::make_shared<RequestMeter>();
};

// A handler for net::HttpServer, behind the gate of server/gate.h, which says who asks. `service` must be
// started and outlive the server. Thread-safe.
net::Handler make_handler(service::Service& service, const ApiParts& parts);

}  // namespace tangram::server
