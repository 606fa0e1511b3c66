#include "service/event_filter.h"

#include <algorithm>

#include "service/events.h"
#include "wire/event.h"

namespace tangram::service {
namespace {

using wire::EventType;

bool is(const NewEvent& event, EventType type) {
  return event.type == wire::to_string(type);
}

bool is_of(const NewEvent& event, TenantId tenant) {
  return std::find(event.tenants.begin(), event.tenants.end(), tenant.value) != event.tenants.end();
}

bool type_matches(std::string_view wanted, std::string_view type) {
  if (!wanted.ends_with('*')) return wanted == type;
  return type.starts_with(wanted.substr(0, wanted.size() - 1));
}

}  // namespace

bool JobTrack::is_of_health(const NewEvent& event) {
  return is(event, EventType::kNpuHealth) || is(event, EventType::kNpuGone) ||
         is(event, EventType::kNpuAppeared);
}

bool JobTrack::is_of_slice(const NewEvent& event) const {
  return event.group == topic_ && (is(event, EventType::kSliceMade) || is(event, EventType::kSliceReturned));
}

void JobTrack::note(const NewEvent& own) {
  if (is(own, EventType::kJobSubmitted)) group_ = own.group;
  if (is(own, EventType::kJobSubmitted) || is(own, EventType::kJobRequeued)) {
    queued_ = true;
  } else if (!is(own, EventType::kJobForgotten)) {
    queued_ = false;
  }
  if (is(own, EventType::kJobStarting)) {
    held_.clear();
    const auto started = wire::read_event_view(own.body);
    if (!started) return;
    has_slice_ = !started->template_name.empty();
    for (const std::uint32_t npu : started->npus) held_.push_back(npu_topic(npu));
  } else if (is(own, EventType::kJobRequeued) || is(own, EventType::kJobEnded)) {
    held_.clear();
  }
}

bool JobTrack::passes(const NewEvent& event) {
  if (event.topic == topic_) {
    note(event);
    return true;
  }
  if (is_of_slice(event)) return true;
  if (is_of_health(event)) return std::find(held_.begin(), held_.end(), event.topic) != held_.end();
  return queued_ && !group_.empty() && event.topic == group_;
}

bool EventFilter::passes(const NewEvent& event) {
  if (job && !job->passes(event)) return false;
  if (!topic.empty() && event.topic != topic) return false;
  if (tenant && !is_of(event, *tenant)) return false;
  if (!may_see(event, viewer)) return false;
  return types.empty() || std::any_of(types.begin(), types.end(), [&](const std::string& wanted) {
           return type_matches(wanted, event.type);
         });
}

bool may_see(const NewEvent& event, const std::optional<TenantId>& viewer) {
  return !viewer || event.tenants.empty() || is_of(event, *viewer);
}

}  // namespace tangram::service
