// The stock kube-scheduler's HTTP extender: POST /filter, /prioritize and /bind. It decides nothing: the book
// does (placer.h).
//
// An answer is never a guess. While there is no book the scheduler is told so and tries again later; a Pod
// that asks for NPUs never "fits" because nobody knew of it; a Pod that asks for none passes, whatever is the
// matter here.
//
// Thread-safe. handle() answers filter and prioritize before it returns; a bind goes to threads of its own,
// because it waits for the API server and the scheduler's next question must not wait behind it. Pods of one
// namespace cannot hold all of them.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "kube/api/client.h"
#include "kube/extender/binder.h"
#include "kube/extender/messages.h"
#include "kube/extender/placer.h"
#include "kube/extender/pod_notes.h"
#include "kube/metrics/extender_meters.h"
#include "net/handler_pool.h"
#include "net/server.h"

namespace tangram::kube::extender {

struct ExtenderOptions {
  BinderOptions bind{};
  std::size_t bind_threads = 16;
};

class Extender {
 public:
  // Both must outlive it.
  Extender(Placer& placer, ApiClient& client, ExtenderOptions options = {});
  ~Extender();  // finish()
  Extender(const Extender&) = delete;
  Extender& operator=(const Extender&) = delete;

  static bool is_path(std::string_view path);

  // For net::Handler. Who may call is the gate's to decide.
  void handle(const net::Request& request, net::Responder responder);

  // Waits for the bindings that are under way; what comes later is not answered. Idempotent. Before the
  // server is stopped, so that they are still answered.
  void finish();

  const metrics::ExtenderMeters& meters() const { return meters_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Outcome {
    net::Response response;
    metrics::CallOutcome outcome;
  };

  Outcome filter(const net::Request& request);
  Outcome filter_known(Question& question);
  Outcome prioritize(const net::Request& request);
  void bind(const net::Request& request, net::Responder responder, Clock::time_point begun);

  Placer& placer_;
  PodNotes notes_;
  Binder binder_;
  metrics::ExtenderMeters meters_;
  net::HandlerPool binds_;
};

}  // namespace tangram::kube::extender
