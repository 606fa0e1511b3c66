// The API of tangramd (docs/api.md) as calls: one method per endpoint, documents of wire/types.h in and out.
//
// Errors of the service come back as the Error they were there, with the detail "retryAfterMs" where the
// answer had a Retry-After; errors on the way are kUnavailable ("client.unreachable",
// "client.connection_lost") or kDeadlineExceeded ("client.timeout"). Nothing is sent twice unless it may be
// (reads, and writes with an Idempotency-Key). Thread-safe.
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
#include "wire/doctor.h"
#include "wire/event.h"
#include "wire/fit.h"
#include "wire/language.h"
#include "wire/schema.h"
#include "wire/slices.h"
#include "wire/tokens.h"
#include "wire/types.h"

namespace tangram::net {
class Interrupt;
}

namespace tangram::client {

// How the user of a client says what it needs, for messages: options of a command, or members of a struct.
struct OptionNames {
  std::string server = "--server";
  std::string socket = "--socket PATH";
  std::string ca_file = "--ca-file FILE";
};

struct ApiClientOptions {
  std::string socket_path = "/run/tangram/tangram.sock";
  std::chrono::milliseconds timeout{30'000};           // of one call; wait and logs add their own time
  wire::Language language = wire::Language::kEnglish;  // of the sentences in the answers
  std::string host{};                                  // of a server elsewhere; empty: the socket
  std::uint16_t port = 0;
  bool tls = true;
  std::string ca_file{};  // PEM: whose certificates are trusted; empty: those the system trusts
  std::string token{};    // says who asks; empty: the socket's peer
  OptionNames names{};
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
  std::int64_t offset = 0;              // bytes of the output, also of those that are no longer kept
  bool follow = false;
};

// Which events. Empty fields do not restrict.
struct EventQuery {
  std::string tenant;                // its subtree
  std::string job;                   // id, tenant/name or name
  std::optional<std::uint32_t> npu;  // physical id
  std::vector<std::string> types;    // "job.running", "job.*"
};

struct HistoryRequest {
  EventQuery query;
  std::string after;  // cursors; empty: no bound
  std::string before;
  bool newest = false;    // the newest first, going back
  std::size_t limit = 0;  // of one page; 0: the service's own
};

struct FollowedEvent {
  wire::EventView view;
  std::string json;  // as it came
};

struct SlicesRequest {
  std::optional<std::uint32_t> npu;  // physical id; none: all
  std::vector<std::string> cut;      // templates: could they be cut as well, all of them?
};

class ApiClient {
 public:
  explicit ApiClient(const ApiClientOptions& options);
  ~ApiClient();
  ApiClient(const ApiClient&) = delete;
  ApiClient& operator=(const ApiClient&) = delete;

  Result<wire::VersionView> version();
  Result<wire::StatusView> status();

  Result<wire::SlicesView> slices(const SlicesRequest& request);
  // Nothing of a program in the request, and neither a name nor labels.
  Result<wire::FitView> fit(const wire::LeaseRequest& request);
  Result<wire::DoctorView> diagnose();

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

  // `token` is an id or a name.
  Result<wire::TokenList> tokens();
  Result<wire::TokenView> create_token(const wire::TokenRequest& request);
  Result<wire::TokenView> rotate_token(std::string_view token, const wire::TokenRotation& rotation);
  Result<wire::TokenView> revoke_token(std::string_view token);

  // Gives what becomes of the lease, for as long as this call goes on: it is what holds the lease. Returns
  // when the server ends the stream, or when `on_event` returns false. `interrupt` may be null.
  Result<void> lease(const wire::LeaseRequest& request, const net::Interrupt* interrupt,
                     const std::function<bool(const wire::LeaseView&)>& on_event);
  // Takes a lease up again, with the token that its first event told.
  Result<void> hold(std::string_view job, const wire::LeaseToken& token, const net::Interrupt* interrupt,
                    const std::function<bool(const wire::LeaseView&)>& on_event);
  Result<wire::JobView> release(std::string_view job, const wire::LeaseToken& token);

  // Gives the log piece by piece until its end, or with `follow` until the attempt's; `on_chunk` returns
  // false to stop. With `follow` the offset moves on with each piece, so that the same call after an error
  // goes on with the next byte, and an empty piece (whose answer is not looked at) is a sign of life. Where
  // output is no longer kept a mark stands for it.
  Result<void> logs(std::string_view job, LogRequest& request,
                    const std::function<bool(std::string_view)>& on_chunk);

  // One page, see wire::EventList.
  Result<wire::EventList> history(const HistoryRequest& request);

  // Gives events as they come, those that came together at once; also none, as a sign of life. Ends when
  // `on_events` returns false, else always with an error. `cursor` ("oldest", or empty for now) moves on with
  // them: the same call after an error misses none and gives none twice. `interrupt` may be null.
  Result<void> follow_events(const EventQuery& query, std::string& cursor,
                             const std::function<bool(std::span<const FollowedEvent>)>& on_events,
                             const net::Interrupt* interrupt = nullptr);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tangram::client
