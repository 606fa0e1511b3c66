// The use-cases about events: following them, and looking into the past.
#include <algorithm>
#include <utility>

#include "service/events.h"
#include "service/history.h"
#include "service/service_impl.h"
#include "wire/event.h"
#include "wire/texts.h"

namespace tangram::service {
namespace {

std::optional<TenantId> viewer_of(const Caller& caller) {
  return caller.sees_all() ? std::nullopt : std::optional(caller.tenant);
}

// Whose streams count together; empty: only all of them do.
std::string seat_owner(const Caller& caller) {
  switch (caller.kind) {
    case Caller::Kind::kOperator:
      return {};
    case Caller::Kind::kTenant:
      return "tenant " + caller.tenant_name;
    case Caller::Kind::kViewer:
      return caller.who();
  }
  return caller.who();
}

// The job itself may be forgotten while its events are still kept: then its id is enough.
Result<JobTrack> track_of(const StateCell& cell, Store& store, const Caller& caller,
                          const std::string& reference) {
  struct Known {
    JobId id;
    JobSpec spec;
  };
  const auto known = cell.read([&](const State& state) -> Result<Known> {
    TG_TRY(const JobId id, find_job(state, caller, reference));
    const auto ended = state.ended(id);
    return Known{id, ended ? ended->status.spec : state.core().job(id)->spec};
  });
  if (known) return JobTrack(job_topic(known->id), queue_topic(known->spec), true);
  const auto id = parse_job_id(reference);
  if (!id) return fail(known.error());
  EventRange first;
  first.topic = job_topic(*id);
  first.limit = 1;
  TG_TRY(const StoredEvents stored, store.read_events(first));
  if (stored.events.empty() || !may_see(stored.events.front().event, viewer_of(caller))) {
    return fail(known.error());
  }
  return JobTrack(first.topic, stored.events.front().event.group, true);
}

}  // namespace

Result<EventFilter> Service::Impl::event_filter(const Caller& caller, const EventQuery& query) {
  EventFilter filter;
  filter.viewer = viewer_of(caller);
  filter.types = query.types;
  for (const std::string& type : query.types) TG_TRY_VOID(wire::check_event_type(type, "type"));
  if (!query.tenant.empty()) {
    TG_TRY(filter.tenant,
           cell.read([&](const State& state) { return find_tenant(state, caller, query.tenant); }));
  }
  if (!query.job.empty()) {
    TG_TRY(JobTrack track, track_of(cell, store, caller, query.job));
    filter.job = std::move(track);
  }
  if (query.npu) {
    const bool known = cell.read([&](const State& state) {
      const auto npus = state.core().npus();
      return std::any_of(npus.begin(), npus.end(),
                         [&](const NpuView& npu) { return npu.report.physical_id == *query.npu; });
    });
    if (!known) {
      return fail(Code::kNotFound, "npu.unknown", "no NPU " + std::to_string(*query.npu),
                  "`tangram status` lists them", {{"npu", std::int64_t{*query.npu}}});
    }
    filter.topic = npu_topic(*query.npu);
  }
  return filter;
}

Result<std::unique_ptr<EventSubscription>> Service::follow_events(const Caller& caller,
                                                                  const EventQuery& query,
                                                                  const EventStart& start) {
  TG_TRY(EventFilter filter, impl_->event_filter(caller, query));
  EventCursor position = impl_->hub.newest();
  if (start.oldest) {
    EventRange nothing;
    nothing.limit = 0;
    TG_TRY(const StoredEvents stored, impl_->store.read_events(nothing));
    position = {stored.lost_through, EventCursor::kItemMax};
  } else if (start.after) {
    position = *start.after;
    // Said now, while there is still a status to say it with.
    TG_TRY_VOID(impl_->hub.read(position));
  }
  if (filter.job) {
    TG_TRY(filter.job, track_at(impl_->store, std::move(*filter.job), position));
  }
  TG_TRY(EventSeats::Seat seat, impl_->seats.take(seat_owner(caller)));
  return std::make_unique<EventSubscription>(impl_->hub, std::move(seat), std::move(filter), position);
}

std::chrono::milliseconds Service::event_silence() const {
  return std::chrono::milliseconds(impl_->options.event_silence_ms);
}

Result<EventHistory> Service::history(const Caller& caller, const EventQuery& query,
                                      const HistoryRange& range) {
  TG_TRY(EventFilter filter, impl_->event_filter(caller, query));
  if (range.after) TG_TRY_VOID(impl_->hub.check_not_ahead(*range.after));
  // Nothing that is not published yet: its cursor would be ahead of those who follow.
  HistoryRange published = range;
  const EventCursor end{impl_->hub.newest().sequence + 1, 0};
  published.before = std::min(range.before.value_or(end), end);
  return read_history(impl_->store, std::move(filter), published);
}

}  // namespace tangram::service
