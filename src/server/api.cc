#include "server/api.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "server/exchange.h"

namespace tangram::server {
namespace {

struct Entry {
  Route route;
  void (*call)(Exchange&);
};

constexpr std::array kEntries{
    Entry{{net::Method::kGet, "/v1/version"}, get_version},
    Entry{{net::Method::kGet, "/v1/status"}, get_status},
    Entry{{net::Method::kPost, "/v1/apply"}, post_apply},
    Entry{{net::Method::kGet, "/v1/tenants"}, get_tenants},
    Entry{{net::Method::kGet, "/v1/tenants/{}"}, get_tenant},
    Entry{{net::Method::kDelete, "/v1/tenants/{}"}, delete_tenant},
    Entry{{net::Method::kPut, "/v1/tenants/{}/quota"}, put_quota},
    Entry{{net::Method::kPost, "/v1/jobs"}, post_jobs},
    Entry{{net::Method::kGet, "/v1/jobs"}, get_jobs},
    Entry{{net::Method::kGet, "/v1/jobs/{}"}, get_job},
    Entry{{net::Method::kGet, "/v1/jobs/{}/why"}, get_why},
    Entry{{net::Method::kGet, "/v1/jobs/{}/wait"}, get_wait},
    Entry{{net::Method::kGet, "/v1/jobs/{}/logs"}, get_logs},
    Entry{{net::Method::kPost, "/v1/jobs/{}/cancel"}, post_cancel},
    Entry{{net::Method::kPost, "/v1/leases"}, post_leases},
    Entry{{net::Method::kPost, "/v1/leases/{}/hold"}, post_hold},
    Entry{{net::Method::kPost, "/v1/leases/{}/release"}, post_release},
};

constexpr std::array kRoutes = [] {
  std::array<Route, kEntries.size()> table{};
  for (std::size_t i = 0; i < kEntries.size(); ++i) table[i] = kEntries[i].route;
  return table;
}();

// The parts that stand for "{}", if the path is one of the pattern.
std::optional<std::vector<std::string>> match(std::string_view pattern,
                                              const std::vector<std::string>& segments) {
  std::vector<std::string> parts;
  for (const std::string& segment : segments) {
    if (pattern.empty()) return std::nullopt;
    pattern.remove_prefix(1);
    const std::string_view wanted = pattern.substr(0, pattern.find('/'));
    if (wanted == "{}" && !segment.empty()) {
      parts.push_back(segment);
    } else if (wanted != segment) {
      return std::nullopt;
    }
    pattern.remove_prefix(wanted.size());
  }
  if (!pattern.empty()) return std::nullopt;
  return parts;
}

Error unknown_path(const net::Request& request) {
  return {Code::kNotFound,
          "http.path.unknown",
          "nothing is at " + request.path.substr(0, 200),
          "docs/api.md lists every call",
          {},
          nullptr};
}

net::Response method_refused(const net::Request& request, const std::string& allowed) {
  const Error error{Code::kInvalidArgument,
                    "http.method.unsupported",
                    std::string(net::to_string(request.method)) + " is not offered here",
                    "use " + allowed,
                    {},
                    nullptr};
  net::Response response = problem_response(error);
  response.headers.set("Allow", allowed);
  return response;
}

// The daemon's version is no secret, and a stranger's client may have to tell what it talks to.
bool is_public(const Entry& entry) {
  return entry.call == get_version;
}

void dispatch(service::Service& service, const net::Request& request, const net::Responder& responder) {
  std::string allowed;
  const Entry* found = nullptr;
  std::vector<std::string> parts;
  for (const Entry& entry : kEntries) {
    auto matched = match(entry.route.path, request.segments);
    if (!matched) continue;
    allowed += (allowed.empty() ? "" : ", ") + std::string(net::to_string(entry.route.method));
    if (entry.route.method != request.method) continue;
    found = &entry;
    parts = std::move(*matched);
  }
  net::Responder answer = responder;
  Result<service::Caller> caller = request.peer.process
                                       ? service.identify(request.peer.process->uid)
                                       : fail(Code::kUnauthenticated, "caller.unknown",
                                              "the caller's identity cannot be told on this socket");
  if (!caller && (found == nullptr || !is_public(*found))) {
    answer.send(problem_response(caller.error()));
    return;
  }
  if (found == nullptr) {
    answer.send(allowed.empty() ? problem_response(unknown_path(request)) : method_refused(request, allowed));
    return;
  }
  Exchange exchange{service, request, responder, caller ? *caller : service::Caller{}, std::move(parts)};
  found->call(exchange);
}

}  // namespace

std::span<const Route> routes() {
  return kRoutes;
}

net::Handler make_handler(service::Service& service) {
  return [&service](const net::Request& request, const net::Responder& responder) {
    dispatch(service, request, responder);
  };
}

}  // namespace tangram::server
