// Version, status, tenants and documents.
#include "server/exchange.h"
#include "server/parameters.h"

namespace tangram::server {
namespace {

Result<wire::Format> format_of(const net::Request& request) {
  const auto type = request.headers.get("Content-Type");
  if (!type) return wire::Format::kYaml;
  const std::string_view media = type->substr(0, type->find(';'));
  if (media == "application/json") return wire::Format::kJson;
  if (media == "application/yaml" || media == "application/x-yaml" || media == "text/yaml") {
    return wire::Format::kYaml;
  }
  return fail(Code::kInvalidArgument, "http.content_type.unsupported",
              "Content-Type " + std::string(media.substr(0, 64)) + " is not read here",
              "send application/yaml or application/json");
}

}  // namespace

void get_version(Exchange& exchange) {
  exchange.responder.send(json_response(200, wire::write(exchange.service.version())));
}

void get_status(Exchange& exchange) {
  if (const auto known = check_parameters(exchange.request.query, {}); !known) {
    exchange.responder.send(problem_response(known.error()));
    return;
  }
  exchange.responder.send(json_response(200, wire::write(exchange.service.status(exchange.caller))));
}

void post_apply(Exchange& exchange) {
  // Who may not apply at all learns nothing about the documents.
  if (const auto allowed = service::require_operator(exchange.caller, "apply documents"); !allowed) {
    exchange.responder.send(problem_response(allowed.error()));
    return;
  }
  const auto format = format_of(exchange.request);
  auto documents = format ? wire::read_documents(exchange.request.body, *format) : fail(format.error());
  if (!documents) {
    exchange.responder.send(problem_response(documents.error()));
    return;
  }
  exchange.service.apply(exchange.caller, std::move(*documents),
                         [responder = exchange.responder](const Result<wire::ApplyAnswer>& answer) mutable {
                           responder.send(respond(200, answer));
                         });
}

void get_tenants(Exchange& exchange) {
  exchange.responder.send(respond(200, exchange.service.tenants(exchange.caller)));
}

void get_tenant(Exchange& exchange) {
  exchange.responder.send(respond(200, exchange.service.tenant(exchange.caller, exchange.parts.front())));
}

void put_quota(Exchange& exchange) {
  if (const auto allowed = service::require_operator(exchange.caller, "set quotas"); !allowed) {
    exchange.responder.send(problem_response(allowed.error()));
    return;
  }
  const auto quota = wire::read_quota(exchange.request.body);
  if (!quota) {
    exchange.responder.send(problem_response(quota.error()));
    return;
  }
  exchange.service.set_quota(exchange.caller, exchange.parts.front(), *quota,
                             [responder = exchange.responder](const Result<wire::QuotaView>& view) mutable {
                               responder.send(respond(200, view));
                             });
}

void delete_tenant(Exchange& exchange) {
  exchange.service.delete_tenant(exchange.caller, exchange.parts.front(),
                                 [responder = exchange.responder](const Result<void>& done) mutable {
                                   net::Response empty;
                                   empty.status = 204;
                                   responder.send(done ? std::move(empty) : problem_response(done.error()));
                                 });
}

}  // namespace tangram::server
