#include "wire/openapi.h"

#include <algorithm>

#include "server/exchange.h"
#include "server/route.h"
#include "service/options.h"

namespace tangram::server {
namespace {

std::string_view who_may(Access access) {
  switch (access) {
    case Access::kAnybody:
      return "anyone";
    case Access::kKnown:
      return "the operator and viewers; a tenant for what is its own";
    case Access::kWriters:
      return "the operator; a tenant for what is its own; no viewer";
    case Access::kOverview:
      return "the operator and viewers";
    case Access::kOperator:
      return "the operator";
  }
  return "nobody";
}

// What the table says, and what the server can answer to every call.
std::vector<int> problems_of(const Route& route) {
  std::vector<int> all = route.operation.problems;
  // A bad token is refused also where nobody needs one; 501 is for a body in a transfer coding.
  all.insert(all.end(), {400, 401, 413, 417, 429, 431, 500, 501, 503});
  if (route.access != Access::kAnybody && route.access != Access::kKnown) all.push_back(403);
  if (!route.operation.body.empty()) all.push_back(415);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace

const std::string& openapi_document() {
  static const std::string document = [] {
    std::vector<wire::Call> calls;
    for (const Route& route : routes()) {
      calls.push_back({net::to_string(route.method), &route.operation, who_may(route.access),
                       problems_of(route), route.access == Access::kAnybody});
    }
    return wire::write_openapi(service::Options().version, calls);
  }();
  return document;
}

void get_openapi(Exchange& exchange) {
  exchange.responder.send(json_response(200, openapi_document(), exchange.caller.language));
}

}  // namespace tangram::server
