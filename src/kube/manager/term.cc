#include "kube/manager/term.h"

#include <algorithm>
#include <utility>

namespace tangram::kube::manager {
namespace {

using std::chrono::milliseconds;

// Between two turns, so that a storm of events is taken in together.
constexpr milliseconds kBreath{5};

RecorderOptions recorder_options(const ManagerOptions& options) {
  RecorderOptions recorder;
  recorder.controller = "tangram.dev/manager";
  recorder.instance = options.lease.identity;
  return recorder;
}

}  // namespace

Term::Term(ApiClient& client, const ManagerOptions& options, std::function<bool()> leads)
    : client_(client),
      book_(options.book, client.timing()),
      events_(client, recorder_options(options)),
      keeper_(client, book_, leads, options.gates, &events_),
      teller_(client, book_, leads, options.tell, &events_),
      feed_(std::make_unique<Feed>(client, book_, options.watch_list)),
      gates_thread_([this] { work(keeper_); }),
      teller_thread_([this] { work(teller_); }),
      events_thread_([this] { events_.run(stop_); }) {}

Term::~Term() {
  end();
}

void Term::end() {
  book_.close();
  stop_.raise();
  for (std::thread* const thread : {&gates_thread_, &teller_thread_, &events_thread_}) {
    if (thread->joinable()) thread->join();
  }
  feed_.reset();
}

template <class Worker>
void Term::work(Worker& worker) {
  std::uint64_t seen = 0;
  while (!stop_.raised()) {
    // Before the turn: what changes during it is seen by the next.
    const std::uint64_t now = book_.changes();
    const milliseconds rest = worker.step(stop_);
    seen = now;
    if (rest.count() > 0) (void)book_.wait(seen, rest);
    (void)client_.timing().rest(kBreath, &stop_);
  }
}

}  // namespace tangram::kube::manager
