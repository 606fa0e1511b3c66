// The use-cases of Tangram on one machine: what the API offers, for a caller whose identity is known.
//
// Thread-safe after start(). Functions with a `done` answer later, on a thread of the service, once what they
// did is durable; `done` must not block. The others answer at once from the durable state.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ports/devices.h"
#include "ports/executor.h"
#include "ports/store.h"
#include "service/access.h"
#include "service/clock.h"
#include "service/event_subscription.h"
#include "service/history.h"
#include "service/leases.h"
#include "service/metric_families.h"
#include "service/options.h"
#include "service/slices_view.h"
#include "service/views.h"
#include "wire/doctor.h"
#include "wire/fit.h"
#include "wire/schema.h"
#include "wire/tokens.h"

namespace tangram::service {

template <class T>
using Done = std::function<void(Result<T>)>;

// A whole answer on the wire, because a repeat of the request must get the same bytes.
struct Answer {
  int status = 200;
  std::string body;
};

struct SubmitRequest {
  wire::Submissions submissions;
  std::string idempotency_key;  // empty: none
  std::string request_hash;     // of the body; any text that differs when the body does
};

// The output of one attempt.
struct AttemptLog {
  JobId job;
  std::int32_t attempt = 0;  // 0: the job has not started yet
  std::string path;          // empty with attempt 0
  std::int64_t bytes_max = 0;
  bool ended = false;  // nothing more is written
};

// A lease and the connection that holds it.
struct HeldLease {
  JobId job;
  std::uint64_t holder = 0;  // 0: it had ended before it could be held
  std::string token;         // of a new lease; told to its holder once
};

struct JobQuery {
  std::string tenant;  // empty: all that the caller may see
  std::vector<std::pair<std::string, std::string>> labels;
  std::vector<JobState> states;
  bool all = false;
  std::size_t limit = 1'000;
  std::string after;  // an id
};

// Of which events is asked. What is empty does not restrict.
struct EventQuery {
  std::string tenant;                // its subtree
  std::string job;                   // its own, and those of the jobs that wait with it while it waits
  std::optional<std::uint32_t> npu;  // physical id
  std::vector<std::string> types;    // "job.running", "job.*"
};

// Where to begin; nothing given: now.
struct EventStart {
  std::optional<EventCursor> after;
  bool oldest = false;
};

class Service {
 public:
  // The ports must outlive the service.
  Service(Options options, Store& store, Executor& executor, Devices& devices, Clock& clock);
  ~Service();  // stop()
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Recovers, looks at the devices, finds running attempts again, then decides. Ready to serve when it
  // returns.
  Result<void> start();
  // Jobs run on. What was acknowledged is durable; open waits are answered. Idempotent.
  void stop();

  // Who a uid or a bearer token ("tgt_…") is; see Identities for the errors. Wait for nobody: may be asked on
  // a thread that must not block.
  Result<Caller> identify(uid_t uid) const;
  Result<Caller> authenticate(std::string_view token);
  wire::VersionView version() const;
  wire::StatusView status(const Caller& caller) const;
  // How the NPUs are cut, and how they could be. kNotFound "npu.unknown".
  Result<wire::SlicesView> slices(const Caller& caller, const SlicesQuery& query) const;
  // Whether a job that asks for this would start now; nothing is submitted. Errors: see resolve_fit().
  Result<wire::FitView> fit(const Caller& caller, const wire::LeaseRequest& request) const;
  // What is wrong with the machine. Not for tenants.
  wire::DoctorView diagnose(const Caller& caller) const;

  void apply(const Caller& caller, std::vector<wire::Document> documents, Done<wire::ApplyAnswer> done);
  Result<wire::QuotaList> tenants(const Caller& caller) const;
  Result<wire::QuotaView> tenant(const Caller& caller, std::string_view name) const;
  void delete_tenant(const Caller& caller, std::string name, Done<void> done);
  // Takes the place of the limits that the tenant has; everything else of it stays.
  void set_quota(const Caller& caller, std::string name, Quota quota, Done<wire::QuotaView> done);

  void submit(const Caller& caller, SubmitRequest request, std::function<void(Answer)> done);
  Result<wire::JobList> jobs(const Caller& caller, const JobQuery& query) const;
  Result<wire::JobView> job(const Caller& caller, std::string_view reference) const;
  Result<wire::WhyView> why(const Caller& caller, std::string_view reference) const;
  void cancel(const Caller& caller, std::string reference, Done<wire::JobView> done);
  // Answers when the job has ended or the time is over. The returned function answers at once; it may be
  // called at any time, also after the answer.
  std::function<void()> wait(const Caller& caller, std::string_view reference,
                             std::chrono::milliseconds timeout, Done<wire::JobView> done);

  // Tokens are the operator's; viewers see the list. The secret is in the answer to create and rotate, and
  // nowhere else. What a lost answer said cannot be asked for again: rotate.
  Result<wire::TokenList> tokens(const Caller& caller) const;
  void create_token(const Caller& caller, wire::TokenRequest request, Done<wire::TokenView> done);
  void rotate_token(const Caller& caller, std::string reference, wire::TokenRotation rotation,
                    Done<wire::TokenView> done);
  void revoke_token(const Caller& caller, std::string reference, Done<wire::TokenView> done);

  // ---- leases: jobs without a program, alive as long as somebody holds them (docs/api.md)

  // Answers when the lease is on record: given, or waiting in the queue.
  void lease(const Caller& caller, wire::LeaseRequest request, LeaseHolder holder, Done<HeldLease> done);
  // Makes a new connection the holder. kPermissionDenied "lease.token.wrong".
  Result<HeldLease> hold(const Caller& caller, std::string_view reference, std::string_view token,
                         LeaseHolder holder);
  void release(const Caller& caller, std::string reference, std::string token, Done<wire::JobView> done);
  // The connection has ended.
  void let_go(const HeldLease& lease);
  // As it is now; none: another connection holds it, or it is forgotten.
  std::optional<wire::LeaseView> lease_view(const HeldLease& lease,
                                            wire::Language language = wire::Language::kEnglish) const;
  // The connections are about to end because the daemon is: that says nothing of those who hold leases.
  void keep_leases();

  // `attempt`: absent, the present or last one.
  Result<AttemptLog> log(const Caller& caller, std::string_view reference,
                         std::optional<std::int32_t> attempt) const;
  // The same attempt later; with attempt 0 the first one once there is one.
  AttemptLog log_again(const AttemptLog& log) const;
  // A tenant sees the events of its own subtree, and those that are everybody's. The subscription must go
  // before the service. Besides bad input: "events.cursor.gone", "events.cursor.ahead",
  // "events.streams.too_many".
  Result<std::unique_ptr<EventSubscription>> follow_events(const Caller& caller, const EventQuery& query,
                                                           const EventStart& start);
  std::chrono::milliseconds event_silence() const;
  Result<EventHistory> history(const Caller& caller, const EventQuery& query, const HistoryRange& range);
  // Every metric but those of the server; see wire/metric_table.h. Waits for nobody but short look-ups.
  void add_metrics(MetricFamilies& families) const;

  // Calls later, on the one thread that keeps all deadlines, those of leases too; never after stop(). The
  // call must not wait for a disk, a lock that is held for long, or anybody.
  void call_after(std::chrono::milliseconds delay, std::function<void()> call);

  // Of a service without threads (Options::pace): the parts that work side by side otherwise, and the next
  // step of one of them. False: it has nothing to do at this moment. All from one thread; within a call of a
  // port the others may be stepped, as they go on while one is blocked, but none that is at work itself.
  enum class Part : std::uint8_t {
    kWriter,
    kEncoder,
    kSlices,
    kWatch,
    kEffects,
    kRemovals,
    kTimer,
    kNotifier
  };
  bool step(Part part);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tangram::service
