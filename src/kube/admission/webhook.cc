#include "kube/admission/webhook.h"

#include <utility>

#include "net/problem.h"

namespace tangram::kube::admission {
namespace {

net::Response text(int status, std::string body) {
  net::Response response;
  response.status = status;
  response.headers.set("Content-Type", "text/plain; charset=utf-8");
  response.body = std::move(body);
  return response;
}

net::Response answer(const Settings& settings, const Cluster& cluster, const net::Request& request) {
  if (!request.headers.get("Content-Type").value_or("").starts_with("application/json")) {
    return net::problem(415, "http.content_type.unsupported", "the body must be application/json");
  }
  Result<std::string> review = answer_review(settings, cluster, request.body);
  if (!review) {
    return net::problem(400, review.error().reason, review.error().message, review.error().hint);
  }
  net::Response response;
  response.headers.set("Content-Type", "application/json");
  response.body = std::move(*review);
  return response;
}

}  // namespace

net::Handler make_webhook(SettingsSource settings, std::shared_ptr<const Cluster> cluster) {
  return [settings = std::move(settings), cluster = std::move(cluster)](const net::Request& request,
                                                                        net::Responder responder) {
    if (request.path == "/healthz" && request.method == net::Method::kGet) {
      return responder.send(text(200, "ok\n"));
    }
    if (request.path != "/pods") {
      return responder.send(net::problem(404, "http.path.unknown", "there is only /pods and /healthz here"));
    }
    if (request.method != net::Method::kPost) {
      return responder.send(net::problem(405, "http.method.unsupported", "/pods takes POST alone"));
    }
    const std::shared_ptr<const Settings> now = settings();
    responder.send(answer(*now, *cluster, request));
  };
}

net::ServerLimits webhook_limits() {
  net::ServerLimits limits;
  limits.body_bytes_max = kReviewBytesMax;
  // All API servers may come from one address, behind a proxy of the service.
  limits.connections_per_share_max = limits.connections_max;
  limits.bytes_per_share_max = limits.bytes_max;
  limits.handshakes_per_second = 500;
  return limits;
}

}  // namespace tangram::kube::admission
