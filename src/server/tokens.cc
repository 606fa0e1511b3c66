// Bearer tokens: list, create, rotate, revoke.
#include "wire/tokens.h"
#include "server/exchange.h"

namespace tangram::server {
namespace {

// The answer may hold a secret: nobody on the way is to keep it.
service::Done<wire::TokenView> answer_token(const Exchange& exchange, int status) {
  return [responder = exchange.responder, status,
          language = exchange.caller.language](const Result<wire::TokenView>& token) mutable {
    net::Response response = respond(status, token, language);
    response.headers.set("Cache-Control", "no-store");
    responder.send(std::move(response));
  };
}

}  // namespace

void get_tokens(Exchange& exchange) {
  exchange.responder.send(respond(200, exchange.service.tokens(exchange.caller), exchange.caller.language));
}

void post_tokens(Exchange& exchange) {
  auto request = wire::read_token_request(exchange.request.body);
  if (!request) {
    exchange.responder.send(problem_response(request.error(), exchange.caller.language));
    return;
  }
  exchange.service.create_token(exchange.caller, std::move(*request), answer_token(exchange, 201));
}

void post_rotate(Exchange& exchange) {
  const auto rotation = wire::read_token_rotation(exchange.request.body);
  if (!rotation) {
    exchange.responder.send(problem_response(rotation.error(), exchange.caller.language));
    return;
  }
  exchange.service.rotate_token(exchange.caller, exchange.parts.front(), *rotation,
                                answer_token(exchange, 200));
}

void post_revoke(Exchange& exchange) {
  exchange.service.revoke_token(exchange.caller, exchange.parts.front(), answer_token(exchange, 200));
}

}  // namespace tangram::server
