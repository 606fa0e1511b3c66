// The API of tangramd (docs/api.md) as calls: one method per endpoint, documents of wire/types.h in and out.
//
// Errors of the service come back as the Error they were there; errors on the way are kUnavailable
// ("client.unreachable", "client.connection_lost") or kDeadlineExceeded ("client.timeout"). Nothing is sent
// twice unless it may be (reads, and writes with an Idempotency-Key). Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/schema.h"
#include "wire/types.h"

namespace tangram::net {
class Interrupt;
}

namespace tangram::client {

struct ApiClientOptions {
  std::string socket_path = "/run/tangram/tangram.sock";
  std::chrono::milliseconds timeout{30'000};  // of one call; wait and logs add their own time
};

// Which jobs `jobs` lists. Empty fields do not restrict.
struct JobFilter {
  std::string tenant;
  std::vector<std::pair<std::string, std::string>> labels;  // all of them
  std::optional<JobState> state;
  bool all = false;       // ended ones too
  std::size_t limit = 0;  // of one page; 0: the service's own
  std::string after;      // JobList::next of the page before
};

struct LogRequest {
  std::optional<std::int32_t> attempt;  // absent: the last one
  std::int64_t offset = 0;              // in bytes
  bool follow = false;
};

class ApiClient {
 public:
  explicit ApiClient(const ApiClientOptions& options);
  ~ApiClient();
  ApiClient(const ApiClient&) = delete;
  ApiClient& operator=(const ApiClient&) = delete;

  Result<wire::VersionView> version();
  Result<wire::StatusView> status();

  // All or nothing.
  Result<wire::ApplyAnswer> apply(std::string_view documents, wire::Format format);

  Result<wire::QuotaList> tenants();
  Result<wire::QuotaView> tenant(std::string_view name);
  Result<void> delete_tenant(std::string_view name);
  // In the place of the limits that the tenant has; everything else of it stays.
  Result<wire::QuotaView> set_quota(std::string_view name, const Quota& quota);

  // `idempotency_key` may be empty; with one, a lost answer is asked for again.
  Result<wire::JobView> submit(const wire::JobSubmission& submission, std::string_view idempotency_key);
  // At most wire::kBatchItemsMax; each item succeeds or fails by itself.
  Result<wire::SubmitAnswer> submit_all(std::span<const wire::JobSubmission> submissions,
                                        std::string_view idempotency_key);

  Result<wire::JobList> jobs(const JobFilter& filter);      // one page
  Result<wire::JobList> all_jobs(const JobFilter& filter);  // every page

  // `job` is an id, tenant/name or name.
  Result<wire::JobView> job(std::string_view job);
  Result<wire::WhyView> why(std::string_view job);
  Result<wire::JobView> cancel(std::string_view job);

  // Returns when the job has ended or after `timeout` (at most 60 s), whichever comes first: look at the
  // state.
  Result<wire::JobView> wait(std::string_view job, std::chrono::milliseconds timeout);

  // Gives what becomes of the lease, for as long as this call goes on: it is what holds the lease. Returns
  // when the server ends the stream, or when `on_event` returns false. `interrupt` may be null.
  Result<void> lease(const wire::LeaseRequest& request, const net::Interrupt* interrupt,
                     const std::function<bool(const wire::LeaseView&)>& on_event);
  // Takes a lease up again, with the token that its first event told.
  Result<void> hold(std::string_view job, const wire::LeaseToken& token, const net::Interrupt* interrupt,
                    const std::function<bool(const wire::LeaseView&)>& on_event);
  Result<wire::JobView> release(std::string_view job, const wire::LeaseToken& token);

  // Gives the log piece by piece until its end, or with `follow` until the attempt's; `on_chunk` returns
  // false to stop. The answer is the offset of the first byte that came, which is larger than asked for where
  // the log was cut.
  Result<std::int64_t> logs(std::string_view job, const LogRequest& request,
                            const std::function<bool(std::string_view)>& on_chunk);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tangram::client
