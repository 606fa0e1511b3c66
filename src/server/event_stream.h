// Events on their way to a reader as server-sent events: each with its cursor as id, a comment when nothing
// happens for a while. No thread waits for the reader; what it does not take is not made.
#pragma once

#include <functional>
#include <memory>

#include "net/server.h"
#include "service/service.h"

namespace tangram::server {

// `may_go_on` is asked now and then, on the service's event thread: whether the caller is still one that may
// read. `language`: of the error that ends the stream; events are English.
void stream_events(service::Service& service, std::unique_ptr<service::EventSubscription> subscription,
                   std::function<Result<void>()> may_go_on, net::Responder responder,
                   wire::Language language);

}  // namespace tangram::server
