// One request on its way through the API, and the forms of an answer. Private to src/server.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "net/http.h"
#include "net/server.h"
#include "server/parameters.h"
#include "server/request_meter.h"
#include "service/service.h"
#include "wire/errors.h"
#include "wire/schema.h"

namespace tangram::server {

struct Exchange {
  service::Service& service;
  const net::Request& request;
  net::Responder responder;
  service::Caller caller;
  std::vector<std::string> parts;  // what stood for the placeholders of the path
  Parameters parameters;           // as the call's table says
  const RequestMeter& requests;
};

// The type of the body without its parameters, older names of YAML as the one of RFC 9512; empty: not said.
std::string media_type(const net::Request& request);

inline net::Response json_response(int status, std::string body) {
  net::Response response;
  response.status = status;
  response.headers.set("Content-Type", status >= 400 ? "application/problem+json" : "application/json");
  response.body = std::move(body);
  return response;
}

inline net::Response problem_response(const Error& error) {
  return json_response(wire::http_status(error), wire::write_problem(error));
}

// Any document of wire/schema.h, or the error in its place.
template <class T>
net::Response respond(int status, const Result<T>& result) {
  return result ? json_response(status, wire::write(*result)) : problem_response(result.error());
}

// ---- the calls, one function each
void get_version(Exchange& exchange);
void get_openapi(Exchange& exchange);
void get_status(Exchange& exchange);
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
void post_leases(Exchange& exchange);
void post_hold(Exchange& exchange);
void post_release(Exchange& exchange);

}  // namespace tangram::server
