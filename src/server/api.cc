#include "server/api.h"

#include <algorithm>
#include <cctype>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/quote.h"
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
  const Error error{
      Code::kInvalidArgument,
      "http.method.unsupported",
      (request.method == net::Method::kOther ? "this method" : std::string(net::to_string(request.method))) +
          " is not offered here",
      "use " + allowed,
      {},
      nullptr};
  net::Response response = problem_response(error, language_of(request));
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
    const bool is_get = route.method == net::Method::kGet;
    found.allowed += (found.allowed.empty() ? "" : ", ") + std::string(net::to_string(route.method));
    if (is_get) found.allowed += ", HEAD";
    // The same answer; the server leaves its body out.
    const bool is_meant = route.method == request.method || (is_get && request.method == net::Method::kHead);
    if (found.route != nullptr || !is_meant) continue;
    found.route = &route;
    found.parts = std::move(*parts);
  }
  return found;
}

Result<void> authorize(const Route& route, const service::Caller& caller) {
  const std::string call =
      std::string(net::to_string(route.method)) + " " + std::string(route.operation.path);
  switch (route.access) {
    case Access::kAnybody:
    case Access::kKnown:
      return {};
    case Access::kWriters:
      return service::require_writer(caller, call);
    case Access::kOverview:
      return caller.sees_all() ? Result<void>() : service::require_operator(caller, call);
    case Access::kOperator:
      return service::require_operator(caller, call);
  }
  return {};
}

// Everything is read as UTF-8 (RFC 8259, 8.1).
bool is_utf8_charset(const std::string& charset) {
  return net::same_ignoring_case(charset, "utf-8") || net::same_ignoring_case(charset, "us-ascii");
}

// The first form is meant when the client names none.
Result<void> check_media(const Route& route, const net::Request& request) {
  if (route.operation.body.empty()) return {};
  const std::string_view coding = request.headers.get("Content-Encoding").value_or("identity");
  if (!net::same_ignoring_case(coding, "identity")) {
    return fail(Code::kInvalidArgument, "http.content_encoding.unsupported",
                "Content-Encoding " + printable(coding, 64) + " is not read here", "send the body as it is");
  }
  const std::string media = media_type(request);
  if (media.empty()) return {};
  const auto type = request.headers.get("Content-Type").value_or("");
  for (const std::string& charset : net::field_parameters(type, "charset")) {
    if (is_utf8_charset(charset)) continue;
    return fail(Code::kInvalidArgument, "http.content_type.unsupported",
                "a body in the charset " + quoted(charset, 64) + " is not read here", "send UTF-8");
  }
  std::string known;
  for (const wire::Content& content : route.operation.body) {
    if (content.media == media) return {};
    known += (known.empty() ? "" : " or ") + std::string(content.media);
  }
  return fail(Code::kInvalidArgument, "http.content_type.unsupported",
              "Content-Type " + printable(media, 64) + " is not read here", "send " + known);
}

Result<Parameters> check(const Route& route, const service::Caller& caller, const net::Request& request) {
  // Who may not make the call at all learns nothing about what it asks.
  TG_TRY_VOID(authorize(route, caller));
  TG_TRY_VOID(check_media(route, request));
  return Parameters::read(route.operation, request);
}

void dispatch(service::Service& service, const ApiParts& parts, const net::Request& request,
              const net::Responder& responder) {
  net::Responder answer = responder;
  const wire::Language language = language_of(request);
  Match found = find_route(request);
  const std::string_view operation = found.route == nullptr ? "unknown" : found.route->operation.id;
  answer.on_answer([meter = parts.meter, operation](int status) { meter->count(operation, status); });
  const auto* caller = static_cast<const service::Caller*>(request.identity.get());
  if (caller == nullptr && (found.route == nullptr || found.route->access != Access::kAnybody)) {
    answer.send(problem_response(
        {Code::kUnauthenticated, "caller.unknown", "the caller is not known", "", {}, nullptr}, language));
    return;
  }
  if (found.route == nullptr) {
    answer.send(found.allowed.empty() ? problem_response(unknown_path(request), language)
                                      : method_refused(request, found.allowed));
    return;
  }
  service::Caller who = caller != nullptr ? *caller : service::Caller{};
  who.language = language;
  auto parameters = check(*found.route, who, request);
  if (!parameters) {
    answer.send(problem_response(parameters.error(), language));
    return;
  }
  Exchange exchange{service,
                    parts.limiter.get(),
                    request,
                    responder,
                    who,
                    std::move(found.parts),
                    std::move(*parameters),
                    *parts.meter};
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

Asked look_up(const net::Request& head) {
  const Route* route = find_route(head).route;
  if (route == nullptr) return {"unknown", false};
  return {route->operation.id, route->access == Access::kAnybody};
}

net::Handler make_handler(service::Service& service, const ApiParts& parts) {
  return [&service, parts](const net::Request& request, const net::Responder& responder) {
    dispatch(service, parts, request, responder);
  };
}

}  // namespace tangram::server
