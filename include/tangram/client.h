// The C++ client of Tangram: tenants and quotas, jobs, leases of NPUs, events and the health of devices.
//
//   #include <tangram/client.h>
//
//   namespace tg = tangram::api;
//   auto client = tg::Client::connect().value();
//   auto lease = client.allocate({.tenant = "team-a", .npus = 2}).value();
//   setenv("ASCEND_RT_VISIBLE_DEVICES", lease.visible_devices().c_str(), 1);
//   …
//   lease.release().value();
//
// With CMake: find_package(tangram 0.1 REQUIRED), and link tangram::client.
//
// Errors are values (result.h): those of the service as docs/api.md tells them, and those of the way there:
// kUnavailable "client.unreachable" and "client.connection_lost", kDeadlineExceeded "client.timeout". Nothing
// is sent twice unless it may be. Units are those of types.h.
//
// Threads: a Client, a Lease and a Subscription may be used from several threads at a time, and outlive each
// other in any order; moving or destroying an object must not meet another call of it. Handlers run on a
// thread of the lease or subscription that they belong to, one call at a time; they must not destroy it and
// must not throw. Destroying a lease or subscription waits for a handler that runs.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tangram/result.h"
#include "tangram/types.h"

namespace tangram::api {

struct ConnectOptions {
  // "/run/tangram/tangram.sock" or "unix:/…": the socket of a daemon on this machine, where the user is known
  // by the kernel. "https://HOST:PORT": a daemon anywhere, where a token says who asks; plain "http://" is
  // for 127.0.0.1 only. Empty: $TANGRAM_SERVER, else $TANGRAM_SOCKET, else /run/tangram/tangram.sock.
  std::string endpoint = {};
  // A file of the caller's own, mode 600, that holds the token. Empty: the token in $TANGRAM_TOKEN, if any.
  std::string token_file = {};
  // PEM: whose certificates are trusted. Empty: $TANGRAM_CA_FILE, else those that the system trusts.
  std::string ca_file = {};
  milliseconds timeout{30'000};  // of one call; those that wait add their own time
};

// ---- leases

// What becomes of a lease.
enum class LeaseState : std::uint8_t {
  kWaiting,  // in the queue
  kHeld,
  kUncertain,  // the daemon does not answer: the lease lives on for LeaseNews::grace after it is back
  kStopping,   // to be released until LeaseNews::release_by, then it ends
  kEnded,      // the NPUs are not this caller's any more
};

struct LeaseNews {
  LeaseState state = LeaseState::kWaiting;
  Job job;
  milliseconds grace{0};
  std::optional<Outcome> stopping;  // kStopping: as what it will have ended
  std::optional<TimePoint> release_by;
  std::string message;  // kStopping, kEnded: why, one sentence
};

using LeaseHandler = std::function<void(const LeaseNews&)>;

// NPUs that this process holds. It holds them as long as this object lives: when the process dies, however it
// does, the daemon takes them back. A restart of the daemon does no harm.
//
// A child that was forked without exec keeps the lease alive, since it has the connection as well.
class Lease {
 public:
  Lease(Lease&& other) noexcept;
  Lease& operator=(Lease&& other) noexcept;
  ~Lease();  // release(), without the time to complain

  std::string id() const;                   // "j-17": also for Client::job, why, cancel
  std::vector<std::uint32_t> npus() const;  // ascending; the first is the primary device
  std::string visible_devices() const;      // "0,1": the value of ASCEND_RT_VISIBLE_DEVICES for a program

  LeaseNews news() const;
  // When it has ended, or after `timeout` (absent: however long it takes); look at the state.
  LeaseNews wait_ended(std::optional<milliseconds> timeout = std::nullopt) const;

  // Gives the NPUs back; they are free when it returns. A lease that has ended is no error.
  Result<void> release();

  struct Impl;
  explicit Lease(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

// ---- events

// One change, in the order in which changes became durable. Fields that do not belong to its type are empty.
struct Event {
  std::string cursor;  // go on behind it: EventQuery::after
  TimePoint at;
  std::string type;  // "job.running", "npu.health", "tenant.changed", …: docs/api.md. New ones may come
  std::string tenant;
  std::string job;                   // id
  std::optional<JobState> state;     // of the job since then
  std::vector<std::uint32_t> npus;   // that the job holds, or held
  std::optional<std::uint32_t> npu;  // of npu.* events
  std::optional<Health> health;      // of the NPU since then
  std::optional<Health> health_before;
  std::optional<Outcome> outcome;
  std::string json;  // the whole document
};

// Of which events. Empty fields do not restrict.
struct EventQuery {
  std::string tenant = {};  // with its subtree
  std::string job = {};     // id, tenant/name or name
  std::optional<std::uint32_t> npu = {};
  std::vector<std::string> types = {};  // "job.ended", "npu.*"
  std::string after = {};               // a cursor, or "oldest"; empty: from now on
};

using EventHandler = std::function<void(const Event&)>;
// Why no more will come: the service said so ("events.cursor.gone": events after the cursor are not kept any
// more). A daemon that is away is no reason; it is waited for.
using EndHandler = std::function<void(const Error&)>;

// How the health of an NPU changed.
struct HealthChange {
  std::uint32_t npu = 0;
  std::optional<Health> before;  // absent: this is the first that is heard of it
  Health now = Health::kUnknown;
  std::string note;  // why it is not kOk, as far as it is known
};

using HealthHandler = std::function<void(const HealthChange&)>;

// A reader of events. It goes on across restarts of the daemon: each event comes once, in order.
class Subscription {
 public:
  Subscription(Subscription&& other) noexcept;
  Subscription& operator=(Subscription&& other) noexcept;
  ~Subscription();  // no handler is called any more when it returns

  std::string cursor() const;  // behind the last event that was handled
  bool ended() const;          // EndHandler has been called

  struct Impl;
  explicit Subscription(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

// ---- the client

class Client {
 public:
  // Fails with "client.unreachable" when nobody answers there, "client.tls.untrusted" when it is somebody
  // else, "client.server.invalid", "client.token_file.unreadable", "client.token_file.exposed" or
  // "client.token.invalid" when the options cannot be used.
  static Result<Client> connect(const ConnectOptions& options = {});

  Client(Client&& other) noexcept;
  Client& operator=(Client&& other) noexcept;
  ~Client();

  Result<std::string> version() const;  // of the daemon
  Result<Status> status() const;

  // Tenants. Changing them is the operator's.
  Result<void> put_tenant(const Tenant& tenant) const;  // registers it, or makes it what is said here
  Result<TenantStatus> tenant(std::string_view name) const;
  Result<std::vector<TenantStatus>> tenants() const;  // that the caller may see
  Result<void> delete_tenant(std::string_view name) const;
  // In the place of all limits that the tenant has; the rest of it stays. Takes effect at once: running jobs
  // stay, jobs in the queue start or wait by the new limits.
  Result<TenantStatus> set_quota(std::string_view tenant, const Quota& quota) const;

  // Jobs, named by id, tenant/name or name.
  Result<Job> submit(const JobRequest& request) const;
  Result<Job> job(std::string_view job) const;
  Result<std::vector<Job>> jobs(const JobQuery& query = {}) const;
  Result<Explanation> why(std::string_view job) const;
  // A running one gets SIGTERM, after a grace SIGKILL; the holder of a lease is asked to release it.
  Result<Job> cancel(std::string_view job) const;
  // When it has ended, or after `timeout` (absent: however long it takes); look at the state. A daemon that
  // goes and comes back within a minute is waited for, one that is busy or holds the caller back for ten.
  Result<Job> wait(std::string_view job, std::optional<milliseconds> timeout = std::nullopt) const;

  // NPUs without a program. Returns when they are held. After `timeout` (absent: however long it takes) it
  // gives up with kNotNow, the reason that the lease waits for, and its numbers.
  Result<Lease> allocate(const LeaseRequest& request, std::optional<milliseconds> timeout = std::nullopt,
                         LeaseHandler on_change = {}) const;

  Result<Subscription> subscribe(const EventQuery& query, EventHandler on_event,
                                 EndHandler on_end = {}) const;
  // Called for each NPU once before this returns, then for each change. What changed while the daemon was
  // away comes when it is back.
  Result<Subscription> watch_health(HealthHandler on_change, EndHandler on_end = {}) const;

  struct Impl;
  explicit Client(std::shared_ptr<Impl> impl);

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace tangram::api
