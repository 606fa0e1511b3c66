// admit, place and observe under random interleavings, against the plain book of ClusterBook; and decide()
// against admit and place on a single node. A failure prints the seed; RC_PARAMS="seed=…" runs it again.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/cluster.h"
#include "scheduler/cluster_book.h"

namespace tangram::testing {

// One random move; the numbers are taken modulo what there is.
struct Move {
  std::uint32_t kind = 0;
  std::uint32_t a = 0;
  std::uint32_t b = 0;
};

void showValue(const Move& move, std::ostream& os) {  // NOLINT(readability-identifier-naming)
  os << "{" << move.kind << "," << move.a << "," << move.b << "}";
}

}  // namespace tangram::testing

namespace rc {

template <>
struct Arbitrary<tangram::testing::Move> {
  static Gen<tangram::testing::Move> arbitrary() {
    using tangram::testing::Move;
    const auto number = gen::inRange<std::uint32_t>(0, 4096);
    return gen::build<Move>(gen::set(&Move::kind, gen::inRange<std::uint32_t>(0, 24)),
                            gen::set(&Move::a, number), gen::set(&Move::b, number));
  }
};

}  // namespace rc

namespace tangram::testing {
namespace {

constexpr std::uint32_t kNodes = 3;
constexpr std::uint32_t kTenants = 3;

std::vector<Move> story() {
  const auto count = *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::size_t>(0, 120));
  return *rc::gen::container<std::vector<Move>>(count, rc::gen::arbitrary<Move>());
}

Quota random_quota(std::uint32_t number) {
  Quota quota;
  switch (number % 6) {
    case 0:
      quota.npus = 1 + number / 6 % 6;
      break;
    case 1:
      quota.running_jobs = 1 + number / 6 % 4;
      break;
    case 2:
      quota.memory_total = Bytes::mib(3072 * (1 + std::int64_t{number} / 6 % 16));
      break;
    case 3:
      quota.ai_cores = 1 + number / 6 % 20;
      break;
    default:
      break;
  }
  return quota;
}

std::vector<Part> random_parts(std::uint32_t number) {
  const Part kinds[] = {slice_part(3072, 1), slice_part(6144, 2), slice_part(12'288, 4), whole_part(1),
                        whole_part(2)};
  std::vector<Part> parts;
  const std::uint32_t count = number % 4 == 0 ? 1 + number / 4 % 3 : 1;
  for (std::uint32_t i = 0; i < count; ++i) {
    parts.push_back(kinds[number / 16 % 5]);
    number /= 5;
  }
  return parts;
}

class Play {
 public:
  Play() {
    const char* const names[] = {"org", "team-a", "team-b"};
    for (std::uint32_t i = 0; i < kTenants; ++i) {
      const TenantSpec spec{names[i], i == 0 ? "" : "org", {}};
      input(TenantPut{TenantId(i), spec});
      book_.tenants[i] = spec;
    }
    for (std::uint32_t node = 0; node < kNodes; ++node) report(node);
  }

  void take(const Move& move) {
    switch (move.kind % 24) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
        submit(move);
        return;
      case 5:
      case 6:
        change_quota(move);
        return;
      case 7:
      case 8:
      case 9:
      case 10:
      case 11:
      case 12:
        place(move);
        return;
      case 13:
        drop(move);
        return;
      case 14:
      case 15:
        observe(move);
        return;
      case 16:
        change_node(move);
        return;
      case 17:
        observe_known(move);
        return;
      case 18:
        cancel(move);
        return;
      default:
        end(move);
        return;
    }
  }

  void check() {
    admit();
    for (std::uint32_t tenant = 0; tenant < kTenants; ++tenant) {
      RC_ASSERT(to_amounts(cluster_.core.tenant(TenantId(tenant))->used) == book_.used(tenant));
    }
    check_npus();
    check_states();
  }

  void check_bytes() const {
    const std::string bytes = cluster_.core.to_bytes();
    const Result<Scheduler> read = Scheduler::from_bytes(bytes);
    RC_ASSERT(read.has_value());
    RC_ASSERT(read->to_bytes() == bytes);
    const std::vector<NodeIndex> nodes = all_nodes();
    for (const JobId job : cluster_.core.unplaced()) {
      RC_ASSERT(*read->place(job, nodes) == *cluster_.core.place(job, nodes));
    }
  }

  std::int64_t placed = 0;

 private:
  using Where = ClusterBook::Where;

  void input(const Input& input) {
    RC_ASSERT(cluster_.core.check(input).has_value());
    cluster_.core.apply(input, cluster_.now);
  }

  void report(std::uint32_t node) {
    NodeReported reported;
    reported.node = "node-" + std::to_string(node);
    if (away_[node] == 0) {
      NodeShape shape = node_310p3(static_cast<int>(1 + node));
      shape.name = reported.node;
      reported = World().node_report(shape);
      for (NpuReport& npu : reported.npus) {
        if (broken_[{node, npu.physical_id}] != 0) npu.health = Health::kAlarm;
        npu.cuttable = uncut_[{node, npu.physical_id}] == 0;
      }
    }
    input(reported);
  }

  static std::vector<NodeIndex> all_nodes() {
    std::vector<NodeIndex> nodes;
    for (std::uint32_t node = 0; node < kNodes; ++node) nodes.emplace_back(node);
    return nodes;
  }

  JobSpec random_spec(const Move& move) {
    JobSpec spec;
    spec.id = JobId(next_++);
    spec.tenant = TenantId(move.b % kTenants);
    spec.priority = static_cast<Priority>(move.b / 3 % 3);
    return spec;
  }

  void submit(const Move& move) {
    const PartsSubmitted submitted{random_spec(move), random_parts(move.a)};
    if (!cluster_.core.check(Step(submitted))) return;
    cluster_.core.apply(Step(submitted), cluster_.now);
    book_.jobs[submitted.spec.id.value] = {submitted.spec, submitted.parts, Where::kQueued, {}, false};
  }

  void change_quota(const Move& move) {
    const std::uint32_t tenant = move.a % kTenants;
    book_.tenants[tenant].quota = random_quota(move.b);
    input(TenantPut{TenantId(tenant), book_.tenants[tenant]});
  }

  // What is admitted is exactly what the book says, in its order, and never above a limit.
  void admit() {
    const std::vector<std::uint64_t> expected = book_.admitted();
    std::vector<std::uint64_t> actual;
    for (std::size_t rounds = 0;; ++rounds) {
      RC_ASSERT(rounds < 1000U);
      const std::vector<Admission> batch = cluster_.core.admit(cluster_.now, 1 + rounds % 3);
      RC_ASSERT(cluster_.core.admit(cluster_.now, 1 + rounds % 3) == batch);
      if (batch.empty()) break;
      for (const Admission& admission : batch) {
        if (const auto* admitted = std::get_if<JobAdmitted>(&admission)) {
          ClusterBook::Job& job = book_.jobs.at(admitted->job.value);
          RC_ASSERT(book_.fits_quota(job));
          RC_ASSERT(to_amounts(admitted->charge) == ClusterBook::charge_of(job));
          job.where = Where::kUnplaced;
          actual.push_back(admitted->job.value);
        }
        cluster_.core.apply(admission, cluster_.now);
      }
    }
    RC_ASSERT(actual == expected);
  }

  std::vector<std::uint64_t> those(Where where) const {
    std::vector<std::uint64_t> ids;
    for (const auto& [id, job] : book_.jobs) {
      if (job.where == where) ids.push_back(id);
    }
    return ids;
  }

  void place(const Move& move) {
    const std::vector<std::uint64_t> unplaced = those(Where::kUnplaced);
    if (unplaced.empty()) return;
    const JobId id(unplaced[move.a % unplaced.size()]);
    ClusterBook::Job& job = book_.jobs.at(id.value);
    const std::vector<NodeIndex> nodes = all_nodes();
    const std::vector<NodeFit> fits = *cluster_.core.place(id, nodes);
    // What is remembered of nodes is what one who remembers nothing finds.
    const Scheduler copy = cluster_.core;
    RC_ASSERT(*copy.place(id, nodes) == fits);
    bool has_room = false;
    for (const NodeIndex node : nodes) {
      const NodeFit& fit = fits[node.value];
      RC_ASSERT(fit.fits == ClusterBook::fits_on(cluster_.core, job.parts, node));
      RC_ASSERT(fit.fits == (fit.reason == ReasonCode::kNone));
      RC_ASSERT(fit.score >= 0 && fit.score <= 100);
      RC_ASSERT(cluster_.core.choose_place(id, node)->has_value() == fit.fits);
      has_room = has_room || fit.fits;
    }
    const std::vector<JobId> ready = cluster_.core.with_room(unplaced.size());
    RC_ASSERT((std::find(ready.begin(), ready.end(), id) != ready.end()) == has_room);
    const std::optional<JobPlaced> chosen = *cluster_.core.choose_place(id, nodes[move.b % kNodes]);
    if (!chosen) return;
    RC_ASSERT(cluster_.core.check(Step(*chosen)).has_value());
    cluster_.core.apply(Step(*chosen), cluster_.now);
    job.where = Where::kPlaced;
    job.places = chosen->places;
    job.observed = false;
    ++placed;
  }

  void drop(const Move& move) {
    const std::vector<std::uint64_t> there = those(Where::kPlaced);
    if (there.empty()) return;
    const JobId id(there[move.a % there.size()]);
    const PlaceDropped dropped{id, cluster_.core.job(id)->attempt};
    const bool starting = cluster_.core.job(id)->state == JobState::kStarting;
    RC_ASSERT(cluster_.core.check(Step(dropped)).has_value() == starting);
    if (!starting) return;
    cluster_.core.apply(Step(dropped), cluster_.now);
    book_.jobs.at(id.value).where = Where::kUnplaced;
    book_.jobs.at(id.value).places.clear();
    book_.jobs.at(id.value).observed = false;
  }

  // On any NPU at all, whoever has it: somebody else has decided so.
  std::vector<PartPlace> random_places(const std::vector<Part>& parts, const Move& move) const {
    const std::vector<NpuView> npus = cluster_.core.npus();
    std::vector<PartPlace> places;
    std::uint32_t number = move.a / 8 + move.b / 16;
    for (const Part& part : parts) {
      PartPlace& place = places.emplace_back();
      number = number / 3 + 7;
      if (number % 5 == 0) continue;  // nobody knows where
      for (std::int32_t i = 0; i < part.npus; ++i) {
        place.npus.push_back(npus[(number + static_cast<std::uint32_t>(i)) % npus.size()].index);
      }
      std::sort(place.npus.begin(), place.npus.end());
      if (part.kind == RequestKind::kSlice) {
        place.slice = SlicePlacement{"vir01", static_cast<std::int32_t>(number % 4), part.memory_per_npu,
                                     part.memory_per_npu, part.ai_cores};
      }
    }
    return places;
  }

  void observe(const Move& move) {
    PartsObserved observed{random_spec(move), random_parts(move.a), 1, {}, move.b % 2 == 0};
    if (move.b % 4 != 0) observed.places = random_places(observed.parts, move);
    RC_ASSERT(cluster_.core.check(Step(observed)).has_value());
    cluster_.core.apply(Step(observed), cluster_.now);
    book_.jobs[observed.spec.id.value] = {observed.spec, observed.parts,
                                          observed.places.empty() ? Where::kUnplaced : Where::kPlaced,
                                          observed.places, true};
  }

  void observe_known(const Move& move) {
    const std::vector<std::uint64_t> from = those(move.b % 2 == 0 ? Where::kQueued : Where::kUnplaced);
    if (from.empty()) return;
    ClusterBook::Job& job = book_.jobs.at(from[move.a % from.size()]);
    const PartsObserved observed{job.spec, job.parts, 1, random_places(job.parts, move), true};
    RC_ASSERT(cluster_.core.check(Step(observed)).has_value());
    cluster_.core.apply(Step(observed), cluster_.now);
    job.where = Where::kPlaced;
    job.places = observed.places;
    job.observed = true;
  }

  void cancel(const Move& move) {
    std::vector<std::uint64_t> waiting = those(Where::kQueued);
    const std::vector<std::uint64_t> unplaced = those(Where::kUnplaced);
    waiting.insert(waiting.end(), unplaced.begin(), unplaced.end());
    if (waiting.empty()) return;
    const std::uint64_t id = waiting[move.a % waiting.size()];
    input(JobCancelled{JobId(id)});
    RC_ASSERT(!cluster_.core.job(JobId(id)));
    book_.jobs.erase(id);
  }

  void end(const Move& move) {
    const std::vector<std::uint64_t> there = those(Where::kPlaced);
    if (there.empty()) return;
    const JobId id(there[move.a % there.size()]);
    const std::int32_t attempt = cluster_.core.job(id)->attempt;
    if (move.b % 3 == 0) input(AttemptRunning{id, attempt});
    if (move.b % 3 == 1) return;
    input(AttemptEnded{id, attempt, Outcome::kSucceeded, false});
    book_.jobs.erase(id.value);
  }

  void change_node(const Move& move) {
    const std::uint32_t node = move.a % kNodes;
    if (move.b % 4 == 0) {
      away_[node] ^= 1U;
    } else if (move.b % 4 == 1) {
      uncut_[{node, move.b / 4 % (1 + node)}] ^= 1U;
    } else {
      broken_[{node, move.b / 4 % (1 + node)}] ^= 1U;
    }
    report(node);
  }

  // Nobody has an NPU that another one has; what was decided is held, part by part.
  void check_npus() const {
    const std::vector<NpuView> npus = cluster_.core.npus();
    for (const NpuView& npu : npus) {
      RC_ASSERT(!npu.job.valid() || npu.slices.empty());
      if (npu.job.valid()) RC_ASSERT(book_.jobs.at(npu.job.value).where == Where::kPlaced);
      for (const NpuView::Slice& slice : npu.slices)
        RC_ASSERT(book_.jobs.at(slice.job.value).where == Where::kPlaced);
    }
    for (const auto& [id, job] : book_.jobs) {
      if (job.observed) continue;
      std::map<std::uint32_t, std::int64_t> slices;
      for (const PartPlace& place : job.places) {
        for (const NpuIndex index : place.npus) {
          if (!place.slice) RC_ASSERT(npus[index.value].job == JobId(id));
          if (place.slice) ++slices[index.value];
        }
      }
      for (const auto& [index, count] : slices) {
        const std::vector<NpuView::Slice>& all = npus[index].slices;
        RC_ASSERT(std::count_if(all.begin(), all.end(), [id](const auto& s) { return s.job == JobId(id); }) ==
                  count);
      }
    }
  }

  void check_states() const {
    RC_ASSERT(cluster_.core.unplaced().size() == those(Where::kUnplaced).size());
    const std::vector<std::uint64_t> queued = those(Where::kQueued);
    RC_ASSERT(cluster_.core.queue_length() == queued.size());
    if (!queued.empty())
      RC_ASSERT(!cluster_.core.explain(JobId(queued.back()), cluster_.now)->blockers.empty());
    for (const auto& [id, job] : book_.jobs) {
      const JobStatus status = *cluster_.core.job(JobId(id));
      RC_ASSERT(status.admitted == (job.where != Where::kQueued));
      RC_ASSERT(status.places == job.places);
      RC_ASSERT(status.parts == job.parts);
      if (job.where == Where::kQueued) RC_ASSERT(status.reason != ReasonCode::kNone);
    }
  }

  Cluster cluster_;
  ClusterBook book_;
  std::uint64_t next_ = 1;
  std::map<std::uint32_t, std::uint32_t> away_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> broken_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> uncut_;
};

// Without this, an interleaving of steps could charge too much or too little, admit above a limit, give an
// NPU twice, or answer from what was known before.
RC_GTEST_PROP(StepsProperty, AgreeWithThePlainBook, ()) {
  Play play;
  std::uint32_t count = 0;
  for (const Move& move : story()) {
    play.take(move);
    play.check();
    if (++count % 8 == 0) play.check_bytes();
  }
  play.check_bytes();
  RC_CLASSIFY(play.placed > 5, "more than five placed");
}

struct Given {
  JobId job;
  std::vector<NpuIndex> npus;
  std::optional<SlicePlacement> slice;

  friend bool operator==(const Given&, const Given&) = default;
};

// One node that decides by itself, and one that is told where.
class Twins {
 public:
  Twins() {
    machine_.add_node(node_310p3(4));
    told_.input(machine_.node_report(node_310p3(4)));
    for (const char* const name : {"one", "two"}) put(name, {});
  }

  void put(const std::string& name, const Quota& quota) {
    const TenantId id = machine_.core.find_tenant(name).value_or(machine_.core.next_tenant_id());
    both(TenantPut{id, {name, "", quota}});
  }

  void take(const Move& move) {
    const std::vector<JobId> active = machine_.core.active();
    if (move.kind % 3 == 0 && !active.empty()) {
      const JobId job = active[move.a % active.size()];
      both(AttemptEnded{job, machine_.core.job(job)->attempt, Outcome::kSucceeded, false});
    } else if (move.kind % 7 == 1) {
      put(move.a % 2 == 0 ? "one" : "two", random_quota(move.b));
    } else {
      submit(move);
    }
    RC_ASSERT(started_alone() == started_as_told());
    for (const TenantView& tenant : machine_.core.tenants()) {
      RC_ASSERT(told_.core.tenant(tenant.id)->used == tenant.used);
    }
    RC_ASSERT(told_.core.active() == machine_.core.active());
  }

  std::int64_t starts = 0;

 private:
  void both(const Input& input) {
    RC_ASSERT(machine_.core.check(input).has_value());
    RC_ASSERT(told_.core.check(input).has_value());
    machine_.core.apply(input, machine_.now);
    told_.core.apply(input, machine_.now);
  }

  void submit(const Move& move) {
    JobSpec job;
    job.id = JobId(next_++);
    job.tenant = TenantId(move.a % 2);
    job.priority = static_cast<Priority>(move.a / 2 % 3);
    const std::int64_t sizes[] = {1024, 3072, 4096, 7000, 12'288, 13'000, 20'000};
    if (move.b % 4 == 0) {
      job.request.npus = 1 + static_cast<std::int32_t>(move.b / 4 % 3);
      job.request.memory_per_npu = Bytes::gib(16);
    } else {
      job.request.kind = RequestKind::kSlice;
      job.request.memory_per_npu = Bytes::mib(sizes[move.b / 4 % 7]);
    }
    if (!machine_.core.check(JobSubmitted{job})) return;
    both(JobSubmitted{job});
  }

  std::vector<Given> started_alone() {
    std::vector<Given> all;
    for (auto batch = machine_.core.decide(machine_.now); !batch.empty();
         batch = machine_.core.decide(machine_.now)) {
      for (const Decision& decision : batch) {
        if (const auto* started = std::get_if<JobStarted>(&decision))
          all.push_back({started->job, started->npus, started->slice});
        machine_.core.apply(decision, machine_.now);
      }
    }
    starts += static_cast<std::int64_t>(all.size());
    return all;
  }

  // Who is admitted and finds no room would wait on a machine, and hold nothing meanwhile: here it is let go
  // of, on a copy that is thrown away.
  std::vector<Given> started_as_told() {
    std::vector<Given> all;
    Scheduler fork = told_.core;
    for (auto batch = fork.admit(machine_.now, 1); !batch.empty(); batch = fork.admit(machine_.now, 1)) {
      fork.apply(batch.front(), machine_.now);
      const auto* admitted = std::get_if<JobAdmitted>(&batch.front());
      if (admitted == nullptr) continue;
      const std::optional<JobPlaced> placed = *fork.choose_place(admitted->job, NodeIndex(0));
      if (!placed) {
        fork.apply(Input(JobCancelled{admitted->job}), machine_.now);
        continue;
      }
      fork.apply(Step(*placed), machine_.now);
      told_.core.apply(batch.front(), machine_.now);
      RC_ASSERT(told_.core.check(Step(*placed)).has_value());
      told_.core.apply(Step(*placed), machine_.now);
      all.push_back({placed->job, placed->places.front().npus, placed->places.front().slice});
    }
    return all;
  }

  World machine_;
  Cluster told_;
  std::uint64_t next_ = 1;
};

// Without this, one machine and a cluster would follow two sets of rules.
RC_GTEST_PROP(StepsProperty, DecideIsAdmitAndPlaceOnOneNode, ()) {
  Twins twins;
  for (const Move& move : story()) twins.take(move);
  RC_CLASSIFY(twins.starts > 10, "more than ten started");
}

}  // namespace
}  // namespace tangram::testing
