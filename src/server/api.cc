#include "server/api.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <vector>

#include "server/exchange.h"
#include "server/route.h"

namespace tangram::server {
namespace {

// The parts that stand for placeholders, if the path is one of the pattern.
std::optional<std::vector<std::string>> match(std::string_view pattern,
                                              const std::vector<std::string>& segments) {
  std::vector<std::string> parts;
  for (const std::string& segment : segments) {
    if (pattern.empty()) return std::nullopt;
    pattern.remove_prefix(1);
    const std::string_view wanted = pattern.substr(0, pattern.find('/'));
    if (wanted.starts_with('{') && !segment.empty()) {
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

struct Match {
  const Route* route = nullptr;  // null: none of that method
  std::vector<std::string> parts;
  std::string allowed;  // methods of this path; empty: the path is unknown
};

Match find_route(const net::Request& request) {
  Match found;
  for (const Route& route : routes()) {
    auto parts = match(route.operation.path, request.segments);
    if (!parts) continue;
    found.allowed += (found.allowed.empty() ? "" : ", ") + std::string(net::to_string(route.method));
    if (found.route != nullptr || route.method != request.method) continue;
    found.route = &route;
    found.parts = std::move(*parts);
  }
  return found;
}

Result<service::Caller> identify(const service::Service& service, const net::Request& request) {
  if (request.peer.process) return service.identify(request.peer.process->uid);
  return fail(Code::kUnauthenticated, "caller.unknown",
              "the caller's identity cannot be told on this socket");
}

Result<void> authorize(const Route& route, const service::Caller& caller) {
  switch (route.access) {
    case Access::kAnyone:
    case Access::kKnown:
      return {};
    case Access::kMonitor:
    case Access::kOperator:
      return service::require_operator(
          caller, std::string(net::to_string(route.method)) + " " + std::string(route.operation.path));
  }
  return {};
}

// The first form is meant when the client names none.
Result<void> check_media(const Route& route, const net::Request& request) {
  const std::string media = media_type(request);
  if (media.empty() || route.operation.body.empty()) return {};
  std::string known;
  for (const wire::Content& content : route.operation.body) {
    if (content.media == media) return {};
    known += (known.empty() ? "" : " or ") + std::string(content.media);
  }
  return fail(Code::kInvalidArgument, "http.content_type.unsupported",
              "Content-Type " + media.substr(0, 64) + " is not read here", "send " + known);
}

Result<Parameters> check(const Route& route, const service::Caller& caller, const net::Request& request) {
  // Who may not make the call at all learns nothing about what it asks.
  TG_TRY_VOID(authorize(route, caller));
  TG_TRY_VOID(check_media(route, request));
  return Parameters::read(route.operation, request);
}

void dispatch(service::Service& service, const net::Request& request, const net::Responder& responder) {
  net::Responder answer = responder;
  Match found = find_route(request);
  const Result<service::Caller> caller = identify(service, request);
  if (!caller && (found.route == nullptr || found.route->access != Access::kAnyone)) {
    answer.send(problem_response(caller.error()));
    return;
  }
  if (found.route == nullptr) {
    answer.send(found.allowed.empty() ? problem_response(unknown_path(request))
                                      : method_refused(request, found.allowed));
    return;
  }
  const service::Caller who = caller ? *caller : service::Caller{};
  auto parameters = check(*found.route, who, request);
  if (!parameters) {
    answer.send(problem_response(parameters.error()));
    return;
  }
  Exchange exchange{service, request, responder, who, std::move(found.parts), std::move(*parameters)};
  found.route->call(exchange);
}

}  // namespace

std::string media_type(const net::Request& request) {
  const std::string_view whole = request.headers.get("Content-Type").value_or("");
  std::string media(whole.substr(0, whole.find_first_of("; \t")));
  std::transform(media.begin(), media.end(), media.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (media == "application/x-yaml" || media == "text/yaml" || media == "text/x-yaml")
    media = wire::kMediaYaml;
  return media;
}

net::Handler make_handler(service::Service& service) {
  return [&service](const net::Request& request, const net::Responder& responder) {
    dispatch(service, request, responder);
  };
}

}  // namespace tangram::server
