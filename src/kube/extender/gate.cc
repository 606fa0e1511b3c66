#include "kube/extender/gate.h"

#include <algorithm>
#include <utility>

#include "kube/extender/extender.h"
#include "kube/extender/messages.h"
#include "net/problem.h"

namespace tangram::kube::extender {
namespace {

class CallerGate final : public net::Gate {
 public:
  explicit CallerGate(GateRules rules) : rules_(std::move(rules)) {}

  std::optional<net::Share> share_of(const net::Peer& peer) override {
    return net::Share{"address " + peer.host(), false};
  }

  net::Admission admit(const net::Request& head) override {
    net::Admission admission;
    if (!Extender::is_path(head.path)) {
      admission.share = share_of(head.peer);
      admission.body_bytes_max = rules_.other_bytes_max;
      return admission;
    }
    const std::string& name = head.peer.certificate_name;
    const auto& known = rules_.schedulers;
    if (name.empty() || std::find(known.begin(), known.end(), name) == known.end()) {
      admission.refusal = net::problem(
          403, "kube.extender.caller", "the extender is for the cluster's scheduler alone",
          "give kube-scheduler a client certificate: tlsConfig.certFile and keyFile in docs/extender.md");
      return admission;
    }
    if (rules_.leads && !rules_.leads()) {
      admission.refusal = net::problem(503, "kube.extender.follower", "another process leads",
                                       "the scheduler tries again, and is led to the leader");
      return admission;
    }
    admission.share = net::Share{"scheduler", true};
    admission.body_bytes_max = kBodyBytesMax;
    return admission;
  }

 private:
  const GateRules rules_;
};

}  // namespace

std::unique_ptr<net::Gate> make_gate(GateRules rules) {
  return std::make_unique<CallerGate>(std::move(rules));
}

}  // namespace tangram::kube::extender
