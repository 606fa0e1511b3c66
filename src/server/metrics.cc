// GET /metrics.
#include <prometheus/text_serializer.h>

#include <utility>

#include "server/exchange.h"

namespace tangram::server {

void get_metrics(Exchange& exchange) {
  std::vector<prometheus::MetricFamily> families = exchange.service.metrics();
  service::MetricFamilies own;
  exchange.requests.add_metrics(own);
  for (prometheus::MetricFamily& family : own.take()) families.push_back(std::move(family));
  net::Response response;
  response.headers.set("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
  response.body = prometheus::TextSerializer().Serialize(families);
  exchange.responder.send(std::move(response));
}

}  // namespace tangram::server
