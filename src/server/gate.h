// Who may come in over the API: identity, rate and audit, decided when a request's header is read and before
// anything else is spent on it.
#pragma once

#include <memory>
#include <string>

#include "net/gate.h"
#include "server/api.h"
#include "server/audit_log.h"
#include "service/service.h"

namespace tangram::server {

// Of a body that comes from somebody who is not known.
inline constexpr std::size_t kUnknownBodyBytesMax = 4'096;

// `audit` may be null. All but the parts must outlive the gate.
//
// An Authorization header alone says who asks, on every kind of socket; without one it is the peer's uid, and
// on TCP nobody. The operator has no rate.
std::unique_ptr<net::Gate> make_gate(service::Service& service, const ApiParts& parts, AuditLog* audit);

// Whose connections and requests count together: "operator", "tenant team-a", "token t-3" of a viewer.
std::string share_name(const service::Caller& caller);

}  // namespace tangram::server
