// Leases: ask for one, take it up again, release it.
#include "server/exchange.h"
#include "server/lease_stream.h"

namespace tangram::server {
namespace {

std::shared_ptr<LeaseStream> make_stream(const Exchange& exchange) {
  const bool local = exchange.request.peer.process.has_value();
  return std::make_shared<LeaseStream>(exchange.service, exchange.responder, exchange.caller.language, local,
                                       still_the_same(exchange));
}

}  // namespace

void post_leases(Exchange& exchange) {
  auto request = wire::read_lease_request(exchange.request.body);
  if (!request) {
    exchange.responder.send(problem_response(request.error(), exchange.caller.language));
    return;
  }
  const auto stream = make_stream(exchange);
  exchange.service.lease(exchange.caller, std::move(*request), stream->holder(),
                         [stream](const Result<service::HeldLease>& lease) { stream->begin(lease); });
}

void post_hold(Exchange& exchange) {
  const auto token = wire::read_lease_token(exchange.request.body);
  if (!token) {
    exchange.responder.send(problem_response(token.error(), exchange.caller.language));
    return;
  }
  const auto stream = make_stream(exchange);
  stream->begin(
      exchange.service.hold(exchange.caller, exchange.parts.front(), token->token, stream->holder()));
}

void post_release(Exchange& exchange) {
  auto token = wire::read_lease_token(exchange.request.body);
  if (!token) {
    exchange.responder.send(problem_response(token.error(), exchange.caller.language));
    return;
  }
  exchange.service.release(
      exchange.caller, exchange.parts.front(), std::move(token->token),
      [responder = exchange.responder, language = exchange.caller.language](
          const Result<wire::JobView>& job) mutable { responder.send(respond(200, job, language)); });
}

}  // namespace tangram::server
