#include "server/gate.h"

#include <limits>
#include <utility>

#include "net/listen.h"
#include "server/exchange.h"

namespace tangram::server {
namespace {

std::string origin_of(const net::Peer& peer) {
  if (!peer.process) return peer.address;
  return "uid " + std::to_string(peer.process->uid) + " pid " + std::to_string(peer.process->pid);
}

// Each try may come from another process, port or address of its network.
std::string party_of(const net::Peer& peer) {
  if (peer.process) return "uid " + std::to_string(peer.process->uid);
  return net::network_of(peer);
}

AuditEntry entry_of(const net::Request& head) {
  AuditEntry entry;
  entry.from = origin_of(head.peer);
  entry.party = party_of(head.peer);
  entry.method = net::to_string(head.method);
  entry.path = head.path;
  return entry;
}

void name_caller(AuditEntry& entry, const service::Caller& caller) {
  entry.who = caller.who();
  entry.name = caller.token_name;
  entry.role = caller.role();
  entry.tenant = caller.tenant_name;
}

class ApiGate final : public net::Gate {
 public:
  ApiGate(service::Service& service, const ApiParts& parts, AuditLog* audit)
      : service_(service), parts_(parts), audit_(audit) {}

  std::optional<net::Share> share_of(const net::Peer& peer) override {
    if (!peer.process) return std::nullopt;
    const auto caller = service_.identify(peer.process->uid);
    if (!caller) return std::nullopt;
    return net::Share{share_name(*caller), caller->is_operator()};
  }

  net::Admission admit(const net::Request& head) override {
    const bool has_token = head.headers.get("Authorization").has_value();
    auto caller = identify(head);
    if (caller) return admit_known(head, std::move(*caller), has_token);
    if (!has_token && look_up(head).is_public) {
      net::Admission admission;
      admission.body_bytes_max = kUnknownBodyBytesMax;
      return admission;
    }
    return refuse(head, caller.error());
  }

 private:
  Result<service::Caller> identify(const net::Request& head) {
    if (const auto token = net::bearer_token(head.headers)) return service_.authenticate(*token);
    if (head.peer.process) return service_.identify(head.peer.process->uid);
    return fail(Code::kUnauthenticated, "token.missing", "the request carries no token",
                "send one: Authorization: Bearer tgt_…; the operator makes them with tangram token create");
  }

  net::Admission refuse(const net::Request& head, const Error& error) {
    net::Admission admission;
    admission.refusal = problem_response(error, language_of(head));
    AuditEntry entry = entry_of(head);
    entry.reason = error.reason;
    for (const auto& [name, value] : error.details) {
      // Only whoever has the secret of a token is told which it is.
      if (name == "token") entry.who = "token " + std::get<std::string>(value);
    }
    tell_refusal(admission, head, std::move(entry));
    return admission;
  }

  // No handler will count or audit it.
  void tell_refusal(net::Admission& admission, const net::Request& head, AuditEntry entry) {
    admission.answered = [audit = audit_, meter = parts_.meter, operation = look_up(head).operation,
                          entry = std::move(entry)](int status) mutable {
      meter->count(operation, status);
      entry.status = status;
      if (audit != nullptr) audit->record_refusal(entry);
    };
  }

  net::Admission admit_known(const net::Request& head, service::Caller caller, bool has_token) {
    net::Admission admission;
    admission.share = net::Share{share_name(caller), caller.is_operator()};
    admission.body_bytes_max = std::numeric_limits<std::size_t>::max();
    AuditEntry entry = entry_of(head);
    name_caller(entry, caller);
    const bool bounded = parts_.limiter != nullptr && !caller.is_operator();
    if (const auto wait = bounded ? parts_.limiter->take(admission.share->name) : std::nullopt) {
      admission.refusal = too_fast(admission.share->name, *wait, language_of(head));
      entry.reason = "rate.exceeded";
      tell_refusal(admission, head, std::move(entry));
      return admission;
    }
    const bool reads = head.method == net::Method::kGet || head.method == net::Method::kHead;
    // What a uid merely reads is nobody's business: it could read the same before there were tokens.
    if (audit_ != nullptr && (has_token || !reads)) {
      admission.answered = [audit = audit_, entry = std::move(entry)](int status) mutable {
        entry.status = status;
        audit->record(entry);
      };
    }
    admission.identity = std::make_shared<const service::Caller>(std::move(caller));
    return admission;
  }

  net::Response too_fast(const std::string& share, std::chrono::milliseconds wait,
                         wire::Language language) const {
    const Rate& rate = parts_.limiter->rate();
    const Error error{
        Code::kResourceExhausted,
        "rate.exceeded",
        share + " makes more than " + std::to_string(rate.per_second) + " requests a second",
        "try again after the time that Retry-After says; a batch and a long wait ask less often",
        {{"limit", rate.per_second}, {"burst", rate.burst}, {"retryAfterMs", wait.count()}},
        nullptr};
    net::Response response = problem_response(error, language);
    response.headers.set("Retry-After", std::to_string((wait.count() + 999) / 1'000));
    return response;
  }

  service::Service& service_;
  const ApiParts parts_;
  AuditLog* audit_;
};

}  // namespace

std::function<Result<void>()> still_the_same(const Exchange& exchange) {
  return [&service = exchange.service, caller = exchange.caller,
          token = net::bearer_token(exchange.request.headers)]() -> Result<void> {
    TG_TRY(service::Caller now, token ? service.authenticate(*token) : service.identify(caller.uid));
    now.language = caller.language;
    if (now == caller) return {};
    return fail(Code::kUnauthenticated, "caller.changed", "the caller's rights have changed",
                "connect again");
  };
}

std::unique_ptr<net::Gate> make_gate(service::Service& service, const ApiParts& parts, AuditLog* audit) {
  return std::make_unique<ApiGate>(service, parts, audit);
}

std::string share_name(const service::Caller& caller) {
  switch (caller.kind) {
    case service::Caller::Kind::kOperator:
      return "operator";
    case service::Caller::Kind::kTenant:
      return "tenant " + caller.tenant_name;
    case service::Caller::Kind::kViewer:
      return caller.who();
  }
  return "unknown";
}

}  // namespace tangram::server
