// The REST API of docs/api.md: who asks, what is asked, and the answer's form. Everything else is the
// service's.
#pragma once

#include <span>
#include <string_view>

#include "net/http.h"
#include "net/server.h"
#include "service/service.h"

namespace tangram::server {

// One line of the routing table. "{}" stands for one segment of the path.
struct Route {
  net::Method method;
  std::string_view path;  // "/v1/jobs/{}/why"
};

// Every call that there is, as in docs/api.md.
std::span<const Route> routes();

// A handler for net::HttpServer. `service` must be started and outlive the server. Thread-safe.
net::Handler make_handler(service::Service& service);

}  // namespace tangram::server
