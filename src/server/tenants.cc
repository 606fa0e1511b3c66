// Version, status, tenants and documents.
#include "server/exchange.h"

namespace tangram::server {
namespace {

wire::Format format_of(const net::Request& request) {
  return media_type(request) == wire::kMediaJson ? wire::Format::kJson : wire::Format::kYaml;
}

}  // namespace

void get_version(Exchange& exchange) {
  exchange.responder.send(
      json_response(200, wire::write(exchange.service.version()), exchange.caller.language));
}

void get_status(Exchange& exchange) {
  exchange.responder.send(
      json_response(200, wire::write(exchange.service.status(exchange.caller)), exchange.caller.language));
}

void post_apply(Exchange& exchange) {
  auto documents = wire::read_documents(exchange.request.body, format_of(exchange.request));
  if (!documents) {
    exchange.responder.send(problem_response(documents.error(), exchange.caller.language));
    return;
  }
  exchange.service.apply(exchange.caller, std::move(*documents),
                         [responder = exchange.responder, language = exchange.caller.language](
                             const Result<wire::ApplyAnswer>& answer) mutable {
                           responder.send(respond(200, answer, language));
                         });
}

void get_tenants(Exchange& exchange) {
  exchange.responder.send(respond(200, exchange.service.tenants(exchange.caller), exchange.caller.language));
}

void get_tenant(Exchange& exchange) {
  exchange.responder.send(respond(200, exchange.service.tenant(exchange.caller, exchange.parts.front()),
                                  exchange.caller.language));
}

void put_quota(Exchange& exchange) {
  const auto quota = wire::read_quota(exchange.request.body);
  if (!quota) {
    exchange.responder.send(problem_response(quota.error(), exchange.caller.language));
    return;
  }
  exchange.service.set_quota(
      exchange.caller, exchange.parts.front(), *quota,
      [responder = exchange.responder, language = exchange.caller.language](
          const Result<wire::QuotaView>& view) mutable { responder.send(respond(200, view, language)); });
}

void delete_tenant(Exchange& exchange) {
  exchange.service.delete_tenant(
      exchange.caller, exchange.parts.front(),
      [responder = exchange.responder,
       language = exchange.caller.language](const Result<void>& done) mutable {
        net::Response empty;
        empty.status = 204;
        responder.send(done ? std::move(empty) : problem_response(done.error(), language));
      });
}

}  // namespace tangram::server
