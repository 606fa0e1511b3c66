// The use-cases of Tangram on one machine: what the API offers, for a caller whose identity is known.
//
// Thread-safe after start(). Functions with a `done` answer later, on a thread of the service, once what they
// did is durable; `done` must not block. The others answer at once from the durable state.
#pragma once

#include <prometheus/metric_family.h>

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
#include "service/leases.h"
#include "service/options.h"
#include "service/views.h"
#include "wire/schema.h"

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

  Result<Caller> identify(uid_t uid) const;
  wire::VersionView version() const;
  wire::StatusView status(const Caller& caller) const;

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
  std::optional<wire::LeaseView> lease_view(const HeldLease& lease) const;
  // The connections are about to end because the daemon is: that says nothing of those who hold leases.
  void keep_leases();

  // `attempt`: absent, the present or last one.
  Result<AttemptLog> log(const Caller& caller, std::string_view reference,
                         std::optional<std::int32_t> attempt) const;
  // The same attempt later; with attempt 0 the first one once there is one.
  AttemptLog log_again(const AttemptLog& log) const;
  // Every metric but those of the server; see wire/metric_table.h. Waits for nobody but short look-ups.
  std::vector<prometheus::MetricFamily> metrics() const;

  // Calls later, on a thread of the service; never after stop(). The call must be short.
  void call_after(std::chrono::milliseconds delay, std::function<void()> call);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tangram::service
