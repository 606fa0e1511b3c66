// The decision core: who runs where, who waits and why. Pure and deterministic: no clock, file, socket,
// random number, floating point or hash order. Events go in with their time, decisions come out as data.
//
// Not thread-safe. One writer owns the live instance; a reader works on a copy (copying is a handful of flat
// arrays).
//
//   scheduler.apply(input, now);
//   for (auto batch = scheduler.decide(now); !batch.empty(); batch = scheduler.decide(now))
//     for (const Decision& decision : batch) scheduler.apply(decision, now);
//
// The rules (docs/scheduling.md tells them at length):
//  - Order: a job that waited past the bound first; then priority class; then submit sequence.
//  - A job is admitted when its charge fits the quota of its tenant and of every ancestor, and starts when
//  one node
//    has enough free healthy NPUs of one model with the memory asked. One step: admitted, placed and charged.
//  - A request for a slice gets the smallest template that holds it, on the NPU where the cut loses least; a
//  whole
//    NPU when no template is large enough. An NPU is in use whole or in slices, never both.
//  - A job that does not fit does not block one that does, until it has waited longer than keep_after_ms:
//  then free
//    NPUs are kept for it, and so is the quota of the tenant at which it waits.
//  - A job that could never run is refused by check(); one that cannot run now waits with a reason.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "catalog/catalog.h"
#include "model/ids.h"
#include "model/job.h"
#include "model/npu.h"
#include "model/record.h"
#include "model/tenant.h"
#include "placement/node_verdict.h"
#include "placement/slice_choice.h"

namespace tangram {

// A slice that nobody holds and that has not been returned yet.
struct ResidualSlice {
  NpuIndex npu;
  StraySlice slice;
};

// What a request is given, and charged for, that asks for less than that.
struct Granted {
  std::string template_name;  // of a slice; empty: whole NPUs
  Bytes memory;               // nominal; of a whole NPU what it has to give
  std::int32_t ai_cores = 0;
};

// One thing that stands in a job's way, with its numbers.
struct Blocker {
  ReasonCode reason = ReasonCode::kNone;
  TenantId tenant;  // quota reasons: whose limit (the job's tenant or an ancestor)
  Dimension dimension = Dimension::kNpus;
  std::int64_t asked = 0;  // in the unit of the dimension: NPUs, bytes, cores, jobs, bits/s
  std::int64_t used = 0;
  std::int64_t limit = 0;                // capacity reasons: NPUs that exist and would fit
  std::int64_t free = 0;                 // capacity reasons: of those, free and healthy
  std::int64_t unhealthy = 0;            // capacity reasons
  std::vector<NpuIndex> unhealthy_npus;  // of those, ascending, at most 16
  std::int64_t cut = 0;                  // capacity reasons: with slices on them
  std::vector<ResidualSlice> residual;   // of those, slices that nobody holds, at most 16
  JobId kept_for;                        // kNpusKept, kQuotaKept
  std::vector<JobId> holders;            // who holds what is missing, first to end first, at most 16
  // The smallest that the request comes to, behind `asked` if that is of a quota. Of a request for a slice;
  // of one for whole NPUs where their memory is charged and is more than was asked for.
  std::optional<Granted> granted;
};

// Something that would let the job start, replayed on a copy of the state before it is offered.
struct Remedy {
  enum class Kind : std::uint8_t {
    // These running jobs end (or are cancelled): the fewest that will do. Of equally few those of the lowest
    // priorities, then those that lose the least work (AI cores held, each for the time since the start),
    // then
    // those that hold the fewest AI cores, then those that have to end first, then the lowest ids.
    kJobsEnd,
    kWaitForLimit,    // running jobs end at their time limits: starts at `at`
    kFewerNpus,       // ask for `npus` instead
    kLessMemory,      // ask for `memory_per_npu` instead
    kRaiseQuota,      // the limit of `tenant` in `dimension` raised to `limit`
    kSlicesReturned,  // these, which nobody holds and nothing uses, are returned
  };
  Kind kind = Kind::kJobsEnd;
  std::vector<JobId> jobs;
  std::vector<ResidualSlice> slices;
  TimeMs at;
  std::int32_t npus = 0;
  Bytes memory_per_npu;
  TenantId tenant;
  Dimension dimension = Dimension::kNpus;
  std::int64_t limit = 0;
  bool starts = false;  // what the replay showed; remedies that change nothing are not listed
};

struct Explanation {
  JobState state = JobState::kReady;
  std::vector<Blocker> blockers;  // ranked, the decisive one first; never empty for a job that waits
  std::vector<Remedy> remedies;
  std::int64_t position = 0;  // in the queue, from 1; 0: not in it
  std::int64_t queue_length = 0;
  std::optional<TimeMs>
      estimated_start;  // assumes that running jobs end at their limits; none: some have no limit
};

// What a request for a slice comes to on the NPUs of one kind, whatever is free.
struct SliceOption {
  std::string chip;                    // as the driver names it
  SliceGrant grant;                    // kSlice or kWhole
  std::vector<std::string> templates;  // kSlice: any of them, as the NPU's state makes it best
};

// One tenant as seen from outside.
struct TenantView {
  TenantId id;
  TenantSpec spec;
  Usage used;               // of its subtree
  std::int64_t queued = 0;  // jobs of its subtree
};

// One NPU as seen from outside.
struct NpuView {
  NpuIndex index;
  NodeIndex node;
  NpuReport report;
  NpuMode mode = NpuMode::kFree;
  JobId job;  // kWhole
  struct Slice {
    JobId job;
    SlicePlacement placement;
  };
  std::vector<Slice> slices;  // kSliced: those of jobs, ascending; strays are in the report
};

class Scheduler {
 public:
  // `catalog`: which slices NPUs can be cut into. What was decided by another one before stays as it is.
  explicit Scheduler(std::shared_ptr<const Catalog> catalog = Catalog::builtin());
  Scheduler(const Scheduler& other);
  Scheduler(Scheduler&&) noexcept;
  Scheduler& operator=(const Scheduler& other);
  Scheduler& operator=(Scheduler&&) noexcept;
  ~Scheduler();

  // Whether the input could be applied: a tenant that exists, a job that could run some day. The only place
  // that refuses; reasons are tokens of ReasonCode for policy, "tenant.unknown", "tenant.exists",
  // "tenant.busy", "tenant.cycle", "quota.below_zero" … for the rest. Never changes anything.
  Result<void> check(const Input& input) const;

  // Whether a record of the past can be applied at all: what the invariants of apply() ask of the state at
  // hand, and nothing that another version may judge differently (quotas, what the hardware could ever hold).
  // For what is read back, which may be damaged. Never changes anything.
  Result<void> check_recorded(const Input& input) const;
  Result<void> check_recorded(const Decision& decision) const;

  // Changes the state; the only functions that do. An input must have passed check() against the state at
  // hand, one that is read back check_recorded().
  void apply(const Input& input, TimeMs now);
  void apply(const Decision& decision, TimeMs now);

  // What follows from the state at `now`, best first. Each decision holds given that those before it were
  // applied. Pure. Bounded by `limit`: call again after applying until empty.
  std::vector<Decision> decide(TimeMs now, std::size_t limit = 256) const;

  // ---- the three steps apart, where somebody else chooses the node (SettingsChanged::places_elsewhere):
  // then decide() has nothing to say.

  // Whether the step could be applied. Never changes anything. What is observed is refused only where it says
  // what cannot be: an unknown tenant or NPU, a job that has a place already.
  Result<void> check(const Step& step) const;
  // Must have passed check() against the state at hand, or come from choose_place() on it.
  void apply(const Step& step, TimeMs now);

  // Who may have what it asks for, by quota and order alone, and what is then charged; why others wait. As
  // decide() in all else.
  std::vector<Admission> admit(TimeMs now, std::size_t limit = 256) const;
  void apply(const Admission& admission, TimeMs now);

  // Whether an admitted job without a place fits on each of these nodes, in their order; with a reason and a
  // score. Answers from what is known of each node, and looks again only at those that have changed.
  // "job.unknown", "job.not_admitted", "job.placed".
  Result<std::vector<NodeFit>> place(JobId job, std::span<const NodeIndex> nodes,
                                     const NpuChoice& choice = {}) const;
  // A reservation on that node, to be applied; none: it does not fit there, as place() would say. Errors as
  // place().
  Result<std::optional<JobPlaced>> choose_place(JobId job, NodeIndex node,
                                                const NpuChoice& choice = {}) const;
  // At most `most` admitted jobs without a place that some node has room for now, by class, then by number:
  // whom to wake. Each as if it were alone; what a place costs beyond the charge is not looked at.
  std::vector<JobId> with_room(std::size_t most) const;
  // Admitted jobs without a place, by class, then by number.
  std::vector<JobId> unplaced() const;

  // When time alone would change a decision; TimeMs::never() if it would not.
  TimeMs next_wakeup() const;

  // Whether the job goes back into the queue after an attempt ended so (AttemptEnded::requeue).
  bool restarts_after(JobId job, Outcome outcome) const;

  // Why a queued job waits and what would start it. Expensive (replays on copies): call it on a copy.
  Result<Explanation> explain(JobId job, TimeMs now) const;

  // The numbers behind `reason` for a job that waits, or is refused, for it; none when there are none
  // or the reason no longer holds. Cheap: one look, nothing is replayed; holders are not named.
  std::optional<Blocker> blocker(const JobSpec& spec, ReasonCode reason) const;

  // ---- views. Order is always that of the handles or of the queue, never of a hash.
  TenantId next_tenant_id() const;
  std::optional<TenantId> find_tenant(std::string_view name) const;
  std::optional<TenantView> tenant(TenantId id) const;
  std::vector<TenantView> tenants() const;
  // At most `most`: first those that hold or wait for something, then the others. Cheap also where there are
  // many more.
  std::vector<TenantView> tenants(std::size_t most) const;
  std::size_t tenant_count() const;
  // The tightest limit on the path from the tenant to the top, for limits of one job (memory per NPU, run
  // time).
  Quota effective_quota(TenantId id) const;
  std::optional<JobStatus> job(JobId id) const;
  std::vector<JobId> queue() const;   // queued jobs in the order in which they would be served now
  std::vector<JobId> active() const;  // admitted, starting and running, by id
  std::size_t queue_length() const;
  std::size_t active_count() const;
  // Where a queued job stands: who has less is served first, as of now. None: it is not queued.
  std::optional<std::uint64_t> rank(JobId id) const;
  // How many queued jobs a JobWaits of this job speaks of: those of its tenant, priority, request and
  // bandwidth. 0: it is not queued.
  std::int64_t queued_alike(JobId id) const;
  // How many queued jobs wait for which reason, ascending; kNone: ready. Cheap: no job is looked at.
  std::vector<std::pair<ReasonCode, std::int64_t>> queue_by_reason() const;
  std::vector<NpuView> npus() const;
  std::optional<NpuView> npu(NpuIndex index) const;
  std::string node_name(NodeIndex node) const;
  // What a request for a slice comes to, the smallest first: in this order it is looked for. Empty: no NPU
  // is so large, or none is cut.
  std::vector<SliceOption> slice_options(const Request& request) const;
  std::shared_ptr<const Catalog> catalog() const;
  std::optional<NodeIndex> find_node(std::string_view name) const;
  std::optional<NpuIndex> find_npu(std::string_view node, std::uint32_t physical_id) const;
  SettingsChanged settings() const;

  // The whole state as bytes: equal states give equal bytes. For snapshots and for tests.
  std::string to_bytes() const;
  static Result<Scheduler> from_bytes(std::string_view bytes,
                                      std::shared_ptr<const Catalog> catalog = Catalog::builtin());

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tangram
