// GET /metrics.
#include <utility>

#include "server/exchange.h"

namespace tangram::server {

void get_metrics(Exchange& exchange) {
  service::MetricFamilies families;
  exchange.service.add_metrics(families);
  exchange.requests.add_metrics(families);
  net::Response response;
  response.headers.set("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
  response.body = families.text();
  exchange.responder.send(std::move(response));
}

}  // namespace tangram::server
