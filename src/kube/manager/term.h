// One leadership: a book that is made for it, what feeds it, and what acts on it. Private to
// src/kube/manager.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "kube/api/client.h"
#include "kube/api/event_recorder.h"
#include "kube/manager/book.h"
#include "kube/manager/feed.h"
#include "kube/manager/gate_keeper.h"
#include "kube/manager/options.h"
#include "kube/manager/teller.h"
#include "net/interrupt.h"

namespace tangram::kube::manager {

class Term {
 public:
  // `client` must outlive it. Begins at once. `leads`: whether this process leads at that moment.
  Term(ApiClient& client, const ManagerOptions& options, std::function<bool()> leads);
  // The book answers nothing any more; calls that are on their way are given up.
  ~Term();
  Term(const Term&) = delete;
  Term& operator=(const Term&) = delete;

  void end();  // as the destructor; may be called more than once

  ClusterBook& book() { return book_; }
  GateKeeper::Counters gates() const { return keeper_.counters(); }
  Teller::Counters told() const { return teller_.counters(); }

 private:
  template <class Worker>
  void work(Worker& worker);

  ApiClient& client_;
  net::Interrupt stop_;
  ClusterBook book_;
  EventRecorder events_;
  GateKeeper keeper_;
  Teller teller_;
  std::unique_ptr<Feed> feed_;
  std::thread gates_thread_;
  std::thread teller_thread_;
  std::thread events_thread_;
};

}  // namespace tangram::kube::manager
