// One request on its way through the API, and the forms of an answer. Private to src/server.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "net/http.h"
#include "net/server.h"
#include "server/parameters.h"
#include "server/rate_limiter.h"
#include "server/request_meter.h"
#include "service/service.h"
#include "wire/errors.h"
#include "wire/schema.h"
#include "wire/sentences.h"

namespace tangram::server {

struct Exchange {
  service::Service& service;
  RateLimiter* limiter;  // null: nobody is held back
  const net::Request& request;
  net::Responder responder;
  service::Caller caller;
  std::vector<std::string> parts;  // what stood for the placeholders of the path
  Parameters parameters;           // as the call's table says
  const RequestMeter& requests;
};

// What a request asks, before anything else of it is looked at.
struct Asked {
  std::string_view operation;  // id of the call; "unknown": none. Lives for ever
  bool is_public = false;      // anybody may ask it, known or not
};
Asked look_up(const net::Request& head);

// The type of the body without its parameters, older names of YAML as the one of RFC 9512; empty: not said.
std::string media_type(const net::Request& request);

inline wire::Language language_of(const net::Request& request) {
  return wire::accepted_language(request.headers.get("Accept-Language").value_or(""));
}

inline net::Response json_response(int status, std::string body, wire::Language language) {
  net::Response response;
  response.status = status;
  response.headers.set("Content-Language", std::string(wire::language_tag(language)));
  response.headers.set("Content-Type", status >= 400 ? "application/problem+json" : "application/json");
  response.body = std::move(body);
  return response;
}

inline net::Response problem_response(const Error& error, wire::Language language) {
  net::Response response = json_response(wire::http_status(error),
                                         wire::write_problem(wire::localised(error, language)), language);
  if (response.status == 401) response.headers.set("WWW-Authenticate", "Bearer realm=\"tangram\"");
  if (response.status == 429 || response.status == 503) response.headers.set("Retry-After", "1");
  return response;
}

// Any document of wire/schema.h, or the error in its place.
template <class T>
net::Response respond(int status, const Result<T>& result, wire::Language language) {
  return result ? json_response(status, wire::write(*result), language)
                : problem_response(result.error(), language);
}

// For a stream, which outlives its request: whether the caller is still one that may go on. A token may be
// revoked, expired or rotated by then, a uid no longer a tenant's. Thread-safe.
std::function<Result<void>()> still_the_same(const Exchange& exchange);
// The last event of a stream that ends with an error.
inline std::string problem_event(const Error& error, wire::Language language) {
  return "event: problem\ndata: " + wire::write_problem(wire::localised(error, language)) + "\n\n";
}

// ---- the calls, one function each
void get_version(Exchange& exchange);
void get_openapi(Exchange& exchange);
void get_status(Exchange& exchange);
void get_slices(Exchange& exchange);
void get_fit(Exchange& exchange);
void get_doctor(Exchange& exchange);
void get_metrics(Exchange& exchange);
void post_apply(Exchange& exchange);
void get_tenants(Exchange& exchange);
void get_tenant(Exchange& exchange);
void delete_tenant(Exchange& exchange);
void put_quota(Exchange& exchange);
void post_jobs(Exchange& exchange);
void get_jobs(Exchange& exchange);
void get_job(Exchange& exchange);
void get_why(Exchange& exchange);
void get_wait(Exchange& exchange);
void get_logs(Exchange& exchange);
void post_cancel(Exchange& exchange);
void get_events(Exchange& exchange);
void get_history(Exchange& exchange);
void get_tokens(Exchange& exchange);
void post_tokens(Exchange& exchange);
void post_rotate(Exchange& exchange);
void post_revoke(Exchange& exchange);
void post_leases(Exchange& exchange);
void post_hold(Exchange& exchange);
void post_release(Exchange& exchange);

}  // namespace tangram::server
