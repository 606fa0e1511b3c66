// Who may call which path of tangram-kube's one HTTPS address, decided when a request's header is read: the
// scheduler alone its extender, whoever comes the webhook.
//
// kube-scheduler can show a client certificate to an extender and nothing else (no token, no header of its
// own), so that is what it is known by. A process that does not lead refuses it and closes the connection:
// the scheduler keeps its connection open, and would stay with a process that can only say no.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/gate.h"

namespace tangram::kube::extender {

inline constexpr std::string_view kSchedulerName = "system:kube-scheduler";

struct GateRules {
  // Common names of the certificates that may call the extender.
  std::vector<std::string> schedulers{std::string(kSchedulerName)};
  std::function<bool()> leads{};           // empty: always. Thread-safe, and never blocks
  std::size_t other_bytes_max = 8U << 20;  // of a body on any other path
};

std::unique_ptr<net::Gate> make_gate(GateRules rules);

}  // namespace tangram::kube::extender
