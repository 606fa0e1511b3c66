// What tests of the extender have in common: a book that answers what a test says, and an API server with one
// Pod, whose answers a test can spoil.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/api/client.h"
#include "kube/extender/placer.h"
#include "kube_api/api_server.h"
#include "kube_api/fake_timing.h"

namespace tangram::kube::extender {

Fit fitting(std::int64_t score = 50);
Fit refusing(std::string reason, bool unresolvable = false);

class FakePlacer final : public Placer {
 public:
  bool concerns(const PodRef&) const override { return true; }
  Result<std::vector<Fit>> filter(const PodRef& pod, std::span<const std::string> nodes) const override;
  Result<Reservation> reserve(const PodRef& pod, const std::string& node) override;
  void drop(const PodRef& pod) override;

  void answer(const std::string& node, Fit fit);  // nodes without one fit
  void refuse(Error error);                       // everything
  void accept();
  void on_reserve(std::function<void()> hook);

  std::vector<std::string> calls() const;  // "filter 3", "reserve train n1", "drop train"

  Reservation reservation;  // its node is the one that is asked for; to be set before anything is asked

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Fit> fits_;
  std::optional<Error> refusal_;
  std::function<void()> on_reserve_;
  mutable std::vector<std::string> calls_;
};

inline Error book_error(Code code, std::string reason, std::string message) {
  return {code, std::move(reason), std::move(message), {}, {}, nullptr};
}

// The Pod of all tests: team-a/train, uid "u-1", a main container with a slice of 6144 MiB, beside one without
// NPUs.
PodRef train();
Reservation slice_reservation();
std::string granted_slice();
// As kube-scheduler sends it.
json::object train_pod(std::string_view node = "");

// Speaks as the API server does of that one Pod.
class PodServer {
 public:
  PodServer();

  ApiClient& client() { return *client_; }
  // What becomes of the next call of that method, instead of success: a status, or 0 to cut the connection.
  // `first`: whether it is carried out all the same.
  void spoil(std::string method, int status, bool carried_out = false);
  void set_uid(std::string uid);
  void bind_to(std::string node);
  std::string bound_to() const;
  std::string allocation() const;  // of the Pod
  // "PATCH", "POST binding", "GET": all calls in order.
  std::vector<std::string> calls() const;
  std::vector<std::string> bodies(std::string_view method) const;

 private:
  struct Spoilt {
    int status = 0;
    bool carried_out = false;
  };

  void answer(const SeenRequest& request, Conversation& conversation);
  std::pair<int, std::string> carry_out(const SeenRequest& request);
  std::string pod_text() const;

  mutable std::mutex mutex_;
  std::map<std::string, std::deque<Spoilt>> spoilt_;
  std::string uid_ = "u-1";
  std::string node_;
  std::string allocation_;
  std::shared_ptr<FakeTiming> timing_ = std::make_shared<FakeTiming>();
  std::unique_ptr<ApiServer> server_;
  std::unique_ptr<ApiClient> client_;
};

}  // namespace tangram::kube::extender
