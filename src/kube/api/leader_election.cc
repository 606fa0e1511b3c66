#include "kube/api/leader_election.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <utility>

#include "base/invariant.h"

namespace tangram::kube {
namespace {

using std::chrono::milliseconds;

// A single call is given up in time for another one before the deadline.
constexpr milliseconds kCallMost{5'000};

// Whether a write that failed so may have been carried out.
bool leaves_open(Failure failure) {
  return failure == Failure::kConnection || failure == Failure::kTimeout ||
         failure == Failure::kInterrupted || failure == Failure::kUnavailable ||
         failure == Failure::kUnreadable;
}

}  // namespace

LeaderElection::LeaderElection(ApiClient& client, ElectionOptions options)
    : client_(client), options_(std::move(options)) {
  TG_ASSERT(!options_.identity.empty(), "a leader has a name");
  TG_ASSERT(options_.renew_deadline < options_.lease_duration, "a leader stops before another can begin");
  TG_ASSERT(options_.retry_period < options_.renew_deadline, "a leader tries before it must stop");
}

ObjectName LeaderElection::object() const {
  return {resources::leases(), options_.space, options_.name};
}

bool LeaderElection::leads() const {
  const std::int64_t until = leads_until_ms_;
  return until != kNever && client_.timing().now().count() < until;
}

void LeaderElection::run(const net::Interrupt& stop) {
  while (!stop.raised()) {
    const milliseconds rest = step(stop);
    client_.timing().rest(rest, &stop);
  }
  release();
}

milliseconds LeaderElection::step(const net::Interrupt& stop) {
  Timing& timing = client_.timing();
  const auto went = take_or_renew(stop);
  if (!went && failure_of(went.error()) != Failure::kInterrupted && options_.on_trouble)
    options_.on_trouble(went.error());
  if (leading_ && !leads()) lose();
  if (leading_) {
    // Not beyond the deadline, so that whoever must stop is told in time.
    const milliseconds left = milliseconds(leads_until_ms_.load()) - timing.now();
    return std::clamp(left, milliseconds(0), options_.retry_period);
  }
  return options_.retry_period +
         milliseconds(static_cast<std::int64_t>(static_cast<double>(options_.retry_period.count()) * 0.2 *
                                                timing.jitter()));
}

Result<void> LeaderElection::take_or_renew(const net::Interrupt& stop) {
  const milliseconds begun = client_.timing().now();
  milliseconds most = std::min(kCallMost, options_.retry_period * 2);
  if (leading_) most = std::clamp(milliseconds(leads_until_ms_.load()) - begun, milliseconds(1), most);
  const CallOptions call{&stop, most};
  // The leader knows what it wrote: one call instead of two, and a conflict when it is wrong.
  if (!leading_ || !seen_) {
    TG_TRY(const bool open, look(call));
    if (!open) return {};
  }
  auto written = write(own_record(), call);
  unsure_ = !written && leaves_open(failure_of(written.error()));
  if (!written) {
    const Failure failure = failure_of(written.error());
    // Somebody else was faster or has deleted it, or the leader does not know whether its write was carried
    // out: look before the next try. A follower goes on counting from when it saw the last change.
    if (leading_ || !is_transient(failure)) seen_.reset();
    const bool race = failure == Failure::kConflict || failure == Failure::kAlreadyExists;
    if (race && !leading_) return {};
    return fail(std::move(written).error());
  }
  observe(*written);
  lead(*written, begun);
  return {};
}

// Reads the Lease: whether this process may take it.
Result<bool> LeaderElection::look(const CallOptions& call) {
  auto found = read(call);
  if (!found && failure_of(found.error()) != Failure::kNotFound) return fail(std::move(found).error());
  if (!found) {
    seen_.reset();
    return true;
  }
  observe(*found);
  if (found->holder != options_.identity) lose();
  return !held_by_another(*found);
}

Result<LeaseRecord> LeaderElection::read(const CallOptions& call) {
  TG_TRY(const std::string text, client_.get(object(), call));
  TG_TRY(const json::object lease, parse_object(text));
  return lease_record(lease);
}

Result<LeaseRecord> LeaderElection::write(const LeaseRecord& record, const CallOptions& call) {
  std::string text;
  if (record.resource_version.empty()) {
    const json::object body{
        {"apiVersion", "coordination.k8s.io/v1"},
        {"kind", "Lease"},
        {"metadata", json::object{{"name", options_.name}, {"namespace", options_.space}}},
        {"spec", lease_spec(record)}};
    TG_TRY(text, client_.create(resources::leases(), options_.space, json::serialize(body), call));
  } else {
    TG_TRY(text, client_.merge_patch(object(), json::object{{"spec", lease_spec(record)}},
                                     record.resource_version, call));
  }
  TG_TRY(const json::object lease, parse_object(text));
  return lease_record(lease);
}

// The clock of a follower starts anew with each renewal, whatever times the holder writes. Labels and the
// like are no renewal.
void LeaderElection::observe(const LeaseRecord& record) {
  LeaseRecord before = seen_.value_or(LeaseRecord{});
  before.resource_version = record.resource_version;
  if (!seen_ || before != record) seen_at_ = client_.timing().now();
  seen_ = record;
  if (record.holder == options_.identity || record.holder == told_leader_) return;
  told_leader_ = record.holder;
  if (options_.on_leader) options_.on_leader(told_leader_);
}

bool LeaderElection::held_by_another(const LeaseRecord& record) const {
  if (record.holder.empty() || record.holder == options_.identity) return false;
  return client_.timing().now() < seen_at_ + std::chrono::seconds(record.duration_seconds);
}

LeaseRecord LeaderElection::own_record() const {
  LeaseRecord record = seen_.value_or(LeaseRecord{});
  const std::string now = micro_time(client_.timing().wall());
  if (!seen_) {
    // A new Lease. Where an old one was deleted, terms go on from the last that is known here.
    record.transitions = leading_ ? term_ - 1 : term_.load();
  } else if (!leading_) {
    ++record.transitions;  // also when it had this one's name: a term is one leadership
  }
  if (!leading_) record.acquire_time = now;
  record.holder = options_.identity;
  record.duration_seconds = options_.lease_duration.count();
  record.renew_time = now;
  return record;
}

void LeaderElection::lead(const LeaseRecord& record, milliseconds since) {
  leads_until_ms_ = (since + options_.renew_deadline).count();
  term_ = record.transitions + 1;
  if (std::exchange(leading_, true)) return;
  told_leader_ = options_.identity;
  if (options_.on_lead) options_.on_lead(term_);
}

void LeaderElection::lose() {
  leads_until_ms_ = kNever;
  if (!std::exchange(leading_, false)) return;
  if (options_.on_lose) options_.on_lose();
}

void LeaderElection::release() {
  const bool unsure = std::exchange(unsure_, false);
  const bool concerned = leading_ || unsure;
  std::optional<LeaseRecord> held = std::exchange(seen_, std::nullopt);
  lose();
  if (!concerned) return;
  CallOptions call;
  call.timeout = kCallMost;
  if (!held || unsure) {
    // The last write was cut short, perhaps by the stop itself: only the server knows what became of it.
    auto found = read(call);
    held = found ? std::optional(std::move(*found)) : std::nullopt;
  }
  if (!held || held->holder != options_.identity) return;
  LeaseRecord record = *held;
  record.holder.clear();
  record.duration_seconds = 1;  // 0 is not valid
  record.renew_time = micro_time(client_.timing().wall());
  // Whoever is next finds out by the clock if this fails.
  if (auto written = write(record, call); !written && options_.on_trouble)
    options_.on_trouble(written.error());
}

}  // namespace tangram::kube
