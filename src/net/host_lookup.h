// The addresses of a host by its name. The system's look-up knows neither deadline nor interrupt, and a name
// server that is silent holds it for half a minute: it runs on a thread of its own, which is left behind when
// nobody waits for it any more.
#pragma once

#include <netdb.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "net/client_wait.h"

namespace tangram::net {

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;  // at least one

// getaddrinfo(3), or what stands for it in a test; called on another thread, and maybe still running after
// the answer was given up.
using LookUp =
    std::function<int(const char* host, const char* port, const addrinfo* wanted, addrinfo** found)>;

// Addresses for a stream. An address in digits is read here, without a thread. `interrupt` may be null.
// Thread-safe. Errors: kUnavailable "client.unreachable" with the system's own word, those of wait_for().
Result<Addresses> look_up_host(const std::string& host, std::uint16_t port, ClientDeadline deadline,
                               const Interrupt* interrupt, LookUp look_up = getaddrinfo);

}  // namespace tangram::net
