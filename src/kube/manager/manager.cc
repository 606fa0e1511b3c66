#include "kube/manager/manager.h"

#include <utility>

#include "base/log.h"
#include "kube/manager/term.h"

namespace tangram::kube::manager {
namespace {

tl::unexpected<Error> not_ready() {
  return fail(Code::kUnavailable, "kube.book.not_ready",
              "this process does not lead, or has not read the cluster yet", "try again in some seconds");
}

}  // namespace

Manager::Manager(ApiClient& client, ManagerOptions options)
    : client_(client), options_(std::move(options)), election_(client, [this] {
        ElectionOptions election;
        election.space = options_.lease.space;
        election.name = options_.lease.name;
        election.identity = options_.lease.identity;
        election.lease_duration = options_.lease.duration;
        election.renew_deadline = options_.lease.renew_deadline;
        election.retry_period = options_.lease.retry_period;
        election.on_lead = [this](std::int64_t number) { begin_term(number); };
        election.on_lose = [this] { end_term(); };
        election.on_leader = [](const std::string& leader) {
          if (!leader.empty()) log::info("the leader is " + leader);
        };
        election.on_trouble = [](const Error& error) { log::warn("election: " + error.to_string()); };
        return election;
      }()) {}

Manager::~Manager() {
  stop();
}

void Manager::start() {
  thread_ = std::thread([this] { election_.run(stop_); });
}

void Manager::stop() {
  stop_.raise();
  if (thread_.joinable()) thread_.join();
  end_term();
}

void Manager::begin_term(std::int64_t number) {
  log::info("leads, term " + std::to_string(number));
  auto term = std::make_shared<Term>(client_, options_, [this] { return leads(); });
  const std::lock_guard lock(mutex_);
  term_ = std::move(term);
}

void Manager::end_term() {
  std::shared_ptr<Term> term;
  {
    const std::lock_guard lock(mutex_);
    term = std::exchange(term_, nullptr);
  }
  if (!term) return;
  term->end();
  log::info("leads no more");
}

bool Manager::leads() const {
  return election_.leads();
}

std::shared_ptr<Term> Manager::term() const {
  const std::lock_guard lock(mutex_);
  return term_;
}

std::shared_ptr<Term> Manager::ready_term() const {
  std::shared_ptr<Term> present = term();
  return present && leads() && present->book().ready() ? present : nullptr;
}

bool Manager::ready() const {
  return ready_term() != nullptr;
}

ManagerStatus Manager::status() const {
  ManagerStatus status;
  status.leads = leads();
  status.term = election_.term();
  const std::shared_ptr<Term> present = term();
  if (!present) return status;
  status.ready = status.leads && present->book().ready();
  const BookCounts counts = present->book().counts();
  status.nodes = counts.nodes;
  status.npus = counts.npus;
  status.pods_queued = counts.queued;
  status.pods_waiting = counts.waiting;
  status.pods_placed = counts.placed;
  status.reservations_expired = counts.expired;
  status.books_rebuilt = counts.rebuilt;
  const GateKeeper::Counters gates = present->gates();
  status.gates_opened = gates.opened;
  status.gates_conflicts = gates.conflicts;
  status.gates_failed = gates.failed;
  const Teller::Counters told = present->told();
  status.pods_woken = told.woken;
  status.notes_written = told.notes;
  status.statuses_written = told.statuses;
  return status;
}

Result<PodWhy> Manager::why(const extender::PodRef& pod, wire::Language language) const {
  const std::shared_ptr<Term> present = ready_term();
  if (!present) return not_ready();
  return present->book().why(pod, language);
}

bool Manager::concerns(const extender::PodRef& pod) const {
  const std::shared_ptr<Term> present = ready_term();
  return !present || present->book().concerns(pod);
}

Result<std::vector<extender::Fit>> Manager::filter(const extender::PodRef& pod,
                                                   std::span<const std::string> nodes) const {
  const std::shared_ptr<Term> present = ready_term();
  if (!present) return not_ready();
  return present->book().filter(pod, nodes);
}

Result<extender::Reservation> Manager::reserve(const extender::PodRef& pod, const std::string& node) {
  const std::shared_ptr<Term> present = ready_term();
  if (!present) return not_ready();
  return present->book().reserve(pod, node);
}

void Manager::drop(const extender::PodRef& pod) {
  if (const std::shared_ptr<Term> present = ready_term()) present->book().drop(pod);
}

}  // namespace tangram::kube::manager
