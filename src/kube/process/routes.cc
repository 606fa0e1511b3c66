#include "kube/process/routes.h"

#include <utility>

#include "net/problem.h"

namespace tangram::kube::process {
namespace {

net::Response text(int status, std::string body, std::string type = "text/plain; charset=utf-8") {
  net::Response response;
  response.status = status;
  response.headers.set("Content-Type", std::move(type));
  response.body = std::move(body);
  return response;
}

}  // namespace

net::Handler make_routes(Routes routes) {
  return [routes = std::move(routes)](const net::Request& request, net::Responder responder) {
    if (routes.is_extender(request.path)) return routes.extender(request, std::move(responder));
    if (request.method == net::Method::kGet && request.path == "/readyz") {
      const bool ready = routes.ready();
      return responder.send(text(ready ? 200 : 503, ready ? "ok\n" : "the cluster is being read\n"));
    }
    routes.webhook(request, std::move(responder));
  };
}

net::Handler make_metrics_routes(std::function<std::string()> page) {
  return [page = std::move(page)](const net::Request& request, net::Responder responder) {
    if (request.method != net::Method::kGet) {
      return responder.send(net::problem(405, "http.method.unsupported", "metrics are read with GET"));
    }
    if (request.path == "/healthz") return responder.send(text(200, "ok\n"));
    if (request.path == "/metrics") {
      return responder.send(text(200, page(), "text/plain; version=0.0.4; charset=utf-8"));
    }
    responder.send(net::problem(404, "http.path.unknown", "there is only /metrics and /healthz here"));
  };
}

}  // namespace tangram::kube::process
