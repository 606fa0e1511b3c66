// Who holds which lease, and what becomes of one that nobody holds any more.
//
// A lease is a job without a program. Its holder is whoever has the connection that asked for it, or that
// took it up again with its token:
//
//   connection ends, and that is certain (a local socket: the kernel knows) -> the lease ends
//   connection ends, and a network may be to blame; or the daemon began anew -> it ends after a grace, unless
//                                                                       its holder takes it up again
//   cancelled, time limit over, NPU lost -> its holder is asked to release it, and after a grace it ends
//
// Liveness is never on record: a daemon that begins anew gives every lease of the journal one grace. The end
// is a record of the journal like that of any job.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "service/access.h"
#include "service/clock.h"
#include "service/lost_jobs.h"
#include "service/options.h"
#include "service/state_cell.h"
#include "service/timer.h"
#include "service/worker_pool.h"
#include "service/writer.h"

namespace tangram::service {

// The connection that holds a lease, as the service sees it.
struct LeaseHolder {
  std::function<void()> changed;  // look at the lease again; on a thread of the service, must not block
  bool certain = false;           // the end of the connection is the end of the holder
};

// Why a holder is asked to release its lease, and until when.
struct LeaseStop {
  Outcome outcome = Outcome::kCancelled;
  std::string message;  // one sentence
  TimeMs release_by;
};

// Thread-safe.
class Leases {
 public:
  Leases(StateCell& cell, Writer& writer, Timer& timer, WorkerPool& notifier, Clock& clock,
         const Options& options);
  Leases(const Leases&) = delete;
  Leases& operator=(const Leases&) = delete;

  // Gives the leases of the journal their grace. After Writer::recover(), before Writer::start().
  void recover();
  // From now on the end of a connection says nothing of its holder: the daemon is going.
  void freeze();

  // The effects of durable records; on the writer's thread.
  void on_records(std::span<const wire::JournalRecord> records);
  // Asks the holders of the leases among them to release them.
  void on_lost(std::span<const LostJob> lost);

  // Makes it the holder, in the place of the one before, who is told that something changed. The number by
  // which the holder is known from now on; 0: there is no such lease any more.
  std::uint64_t attach(JobId job, LeaseHolder holder);
  // The connection of that holder has ended.
  void detach(JobId job, std::uint64_t number);
  bool is_held_by(JobId job, std::uint64_t number) const;
  std::optional<LeaseStop> stop_of(JobId job) const;

 private:
  using Handle = Timer::Handle;
  struct Entry {
    std::uint64_t holder_number = 0;  // 0: nobody holds it
    LeaseHolder holder;
    std::optional<Handle> grace;  // running while nobody holds it
    std::optional<Handle> limit;  // of its time, later of its stop
    std::optional<LeaseStop> stop;
    bool queued = true;
  };
  using Entries = std::map<JobId, Entry>;

  // All of these under mutex_.
  void follow(JobId job);
  void begin_limit(JobId job, Entry& entry, const JobStatus& status);
  void begin_grace(JobId job, Entry& entry, const std::string& message);
  void begin_stop(JobId job, Entry& entry, Outcome outcome, std::string message);
  void tell(const Entry& entry);
  void cancel(std::optional<Handle>& timer);

  void end(JobId job, Outcome outcome, std::string message);

  StateCell& cell_;
  Writer& writer_;
  Timer& timer_;
  WorkerPool& notifier_;
  Clock& clock_;
  const std::int64_t hold_grace_ms_;
  const std::int64_t stop_grace_ms_;

  mutable std::mutex mutex_;
  Entries entries_;  // the unfinished leases
  std::uint64_t next_number_ = 1;
  bool frozen_ = false;
};

// The record that ends a lease, queued or held, if it has not ended yet. One that was cancelled ends as that.
// `by`: null for the daemon itself.
void record_lease_end(Transaction& transaction, JobId job, Outcome outcome, const std::string& message,
                      const Caller* by);

}  // namespace tangram::service
