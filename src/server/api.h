// The REST API of docs/api.md: who asks, what is asked, and the answer's form. Everything else is the
// service's.
#pragma once

#include "net/server.h"
#include "service/service.h"

namespace tangram::server {

// A handler for net::HttpServer. `service` must be started and outlive the server. Thread-safe.
net::Handler make_handler(service::Service& service);

}  // namespace tangram::server
